// The main loops of one kernel or two as ribbons of instructions: what each is for, and which of them
// wait for a register bank.

import "./machine_code.css";
import { sentence } from "../formulas/sentences.ts";
import { comma, percent, plural, tenthsPercent } from "../text.ts";
import { choiceSlider, key, showFacts } from "./shared/controls.ts";
import { button, html, say, setAttributes, svg } from "./shared/dom.ts";
import { changer, keepDrawn, redrawer, roomIn } from "./shared/model.ts";
import { range, within } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

/** What an instruction may be for. */
type Kind = (typeof KINDS)[number];

/** An instruction; a key that is not there stands for 0, true, or no registers. */
interface Line {
  text: string;
  kind: Kind;
  extra?: number;
  always?: boolean;
  fresh?: number[];
  kept?: number[];
}

interface Code {
  name: string;
  lines: Line[];
  steps: number;
  multiply_adds: number;
  extra: number;
  stalls: Record<string, number>;
  note: string;
}

interface State {
  kernels: Code[];
  left: string;
  right: string;
  left_at: number;
  right_at: number;
}

const STATE = ["kernels", "left", "right", "left_at", "right_at"] as const;
const KINDS = ["multiply", "shared", "global", "store", "barrier", "branch", "other"] as const;
/** What an instruction is for, in words. */
const wordsOf = (kind: Kind) => sentence(`code.${kind}`, {});
const KEY: [string, string][] = [
  ...KINDS.map((kind) => [`lab-i-${kind}`, wordsOf(kind)] as [string, string]),
  ["lab-i-conflict", "waits for a register bank"],
  ["lab-i-some", "pale: not in every turn"],
];
const [WIDE, HIGH] = [7, 11]; // px of an instruction in the ribbon
const APART = 20; // px between two ribbons side by side
const NARROW = 560; // px under which two ribbons stand one below the other

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const change = changer(model, redraw);
  const panels = [
    new Panel(model, change, "left", "left_at"),
    new Panel(model, change, "right", "right_at"),
  ];
  const sides = html("div", { class: "lab-sides" }, ...panels.map(({ element }) => element));
  const words = html("div", { class: "lab-verdict", role: "status" });
  const root = html(
    "div",
    { class: "sgemm-lab lab-tool lab-code-tool" },
    [sides, key(KEY), words],
    html(
      "details",
      { class: "lab-fold" },
      html("summary", {}, "More: why warps wait, and the whole listing"),
      html("div", { class: "lab-sides" }, ...panels.map(({ more }) => more)),
    ),
  );
  el.append(root);
  const fold = root.querySelector("details") as HTMLDetailsElement;
  fold.addEventListener("toggle", redraw);

  function update() {
    const room = Math.max(270, roomIn(root));
    const both = model.get("right") !== "";
    const apart = both && room > NARROW;
    root.classList.toggle("lab-wide", apart);
    for (const panel of panels) panel.show(apart ? (room - APART) / 2 : room, fold.open);
    const lines = panels.flatMap(({ code }) => (code ? [codeWords(code)] : []));
    if (words.children.length !== lines.length) {
      words.replaceChildren(...lines.map(() => html("p")));
    }
    say(words.children, lines);
  }

  return keepDrawn(model, STATE, root, update, redraw);
}

/** One kernel: its ribbon, its three numbers, the instruction with the frame, its listing. */
class Panel {
  code: Code | undefined;
  /** the one whose listing is written */
  listed: Code | undefined;
  columns = 1;
  choice;
  facts;
  picture;
  scene;
  slider;
  next;
  told;
  element;
  stalls;
  why;
  listing;
  more;

  constructor(
    public model: Model<State>,
    change: <K extends keyof State & string>(name: K, value: State[K]) => void,
    public side: "left" | "right",
    public place: "left_at" | "right_at",
  ) {
    this.code = undefined;
    this.listed = undefined;
    this.choice = this.chooser(change);
    this.facts = html("dl", { class: "lab-facts" });
    this.picture = svg("svg", { class: "lab-chart lab-ribbon", role: "img" });
    this.scene = new Scene(this.picture);
    const go = (at: number) => change(place, at);
    this.slider = choiceSlider("Instruction", go);
    this.next = button("Next wait", () => go(this.nextWait()));
    this.told = html("p", { class: "lab-told", role: "status" });
    this.element = html(
      "div",
      { class: "lab-side" },
      [this.choice.field, this.facts, this.picture],
      html("div", { class: "lab-scrub" }, this.slider.element, this.next),
      this.told,
    );
    this.stalls = html("dl", { class: "lab-stalls" });
    this.why = html("p", { class: "lab-why" });
    this.listing = html("pre", { class: "lab-line lab-listing", tabindex: 0 });
    this.more = html("div", { class: "lab-side" }, this.why, this.stalls, this.listing);
    this.picture.addEventListener("click", ({ clientX, clientY }) => {
      const box = this.picture.getBoundingClientRect();
      const column = within(Math.floor((clientX - box.left) / WIDE), 0, this.columns - 1);
      const at = Math.floor((clientY - box.top) / HIGH) * this.columns + column;
      if (this.code && at >= 0) go(Math.min(at, this.code.lines.length - 1));
    });
  }

  chooser(change: <K extends keyof State & string>(name: K, value: State[K]) => void) {
    const select = html("select", { class: "lab-select" });
    const kernels = this.model.get("kernels");
    for (const { name } of kernels) select.append(html("option", { value: name }, name));
    if (this.side === "right") select.append(html("option", { value: "" }, "none"));
    select.addEventListener("change", () => {
      this.model.set(this.place, 0);
      change(this.side, select.value);
    });
    const words = this.side === "left" ? "Kernel" : "Beside it";
    const field = html("label", { class: "lab-field" }, html("span", {}, words), select);
    field.hidden = kernels.length < 2;
    return { field, select };
  }

  /** The next instruction behind the frame that waits for a bank; the first again after the last. */
  nextWait() {
    const waits = this.code?.lines.flatMap((line, i) => (line.extra ? [i] : [])) ?? [];
    const at = this.model.get(this.place);
    return waits.find((i) => i > at) ?? waits[0] ?? at;
  }

  /** @param open whether more is asked for */
  show(width: number, open: boolean) {
    const name = this.model.get(this.side);
    this.code = this.model.get("kernels").find((one) => one.name === name);
    this.choice.select.value = name;
    const parts = [this.facts, this.picture, this.slider.element, this.next, this.told, this.more];
    for (const part of parts) part.toggleAttribute("hidden", !this.code);
    if (!this.code) return;
    const { lines, steps, multiply_adds: multiplied, extra } = this.code;
    const at = Math.min(this.model.get(this.place), lines.length - 1);
    showFacts(this.facts, [
      ["Instructions that multiply", percent(multiplied / steps)],
      ["Clocks of a multiply-add", (1 + extra / multiplied).toFixed(2)],
      ["Of the peak, about", tenthsPercent(multiplied / (steps + extra))],
    ]);
    this.drawRibbon(this.code, at, width);
    this.slider.show(at, range(0, lines.length - 1), `${comma(at + 1)} of ${comma(lines.length)}`);
    this.next.disabled = !lines.some((line) => line.extra);
    say([this.told], [lineWords(lines[at])]);
    setAttributes(this.picture, { "aria-label": `The main loop. ${codeWords(this.code)}` });
    if (open) this.showMore(this.code);
  }

  drawRibbon(code: Code, at: number, width: number) {
    const { scene } = this;
    this.columns = Math.floor(width / WIDE);
    const corner = (i: number) =>
      `M${(i % this.columns) * WIDE} ${Math.floor(i / this.columns) * HIGH}`;
    const paths: Map<string, string[]> = new Map();
    const waits: string[] = [];
    code.lines.forEach(({ kind, extra, always = true }, i) => {
      const look = `lab-i-${kind}${always ? "" : " lab-i-pale"}`;
      const cell = `${corner(i)}h${WIDE - 1}v${HIGH - 1}h${1 - WIDE}z`;
      const there = paths.get(look);
      if (there) there.push(cell);
      else paths.set(look, [cell]);
      if (extra) waits.push(`${corner(i)}m1.5 3.5h3v3h-3z`);
    });
    for (const [look, cells] of paths) scene.draw(look, "path", { class: look, d: cells.join("") });
    scene.draw("waits", "path", { class: "lab-i-wait", d: waits.join("") || "M0 0" });
    const d = `${corner(at)}m-1.5 -1.5h${WIDE + 2}v${HIGH + 2}h${-WIDE - 2}z`;
    scene.draw("frame", "path", { class: "lab-frame", d });
    const height = Math.ceil(code.lines.length / this.columns) * HIGH + 2;
    setAttributes(this.picture, { viewBox: `0 0 ${width} ${height}`, height });
    scene.finish();
  }

  showMore(code: Code) {
    if (this.listed === code) return;
    this.listed = code;
    const stalls = Object.entries(code.stalls);
    this.why.textContent = stalls.length
      ? `${code.name}: how many warps wait for what, for each instruction that starts ` +
        `(${code.note}, counted by the GPU)`
      : `${code.name}: no record has the GPU's own counts of why its warps wait.`;
    const most = Math.max(...stalls.map(([, warps]) => warps));
    this.stalls.replaceChildren(...stalls.map(([words, warps]) => bar(words, warps, most)));
    const digits = `${code.lines.length}`.length;
    const listing = code.lines.map(({ text, extra, always = true }, i) => {
      const wait = extra ? `   ${plural(1 + extra, "clock")}` : "";
      return `${`${i + 1}`.padStart(digits)}${always ? " " : "?"} ${text}${wait}`;
    });
    this.listing.textContent = listing.join("\n");
    setAttributes(this.listing, { role: "region", "aria-label": `Listing of ${code.name}` });
  }
}

/** A name, a number, and a bar as long as its share of the largest. */
function bar(words: string, value: number, most: number) {
  const fill = html("span", { class: "lab-bar-fill" });
  fill.style.width = `${(100 * value) / most}%`;
  const track = html("span", { class: "lab-bar-track", "aria-hidden": "true" }, fill);
  return html("div", {}, html("dt", {}, words), html("dd", {}, value.toFixed(2), track));
}

/** What a turn of a loop is made of. */
function codeWords(code: Code) {
  const { name, steps, multiply_adds, extra } = code;
  const share = multiply_adds / (steps + extra);
  return sentence("code.turn", { name, steps, multiply_adds, extra, share });
}

/** One instruction, what it is for, and the registers that it fetches. */
function lineWords({ text, kind, extra = 0, always = true, fresh = [], kept = [] }: Line) {
  const start = `${text}: ${wordsOf(kind)}${always ? "" : ", not in every turn"}.`;
  if (kind !== "multiply") return start;
  const banks = ["even", "odd"].flatMap((bank, odd) => {
    const mine = fresh.filter((register) => register % 2 === odd);
    return mine.length ? [`${named(mine)} from the ${bank} bank`] : [];
  });
  const left = kept.length ? `; ${named(kept)} ${kept.length > 1 ? "are" : "is"} still there` : "";
  const fetched = banks.join(", ") || "nothing";
  return `${start} It fetches ${fetched}${left}: ${plural(1 + extra, "clock")}.`;
}

const named = (registers: number[]) => registers.map((one) => `R${one}`).join(" and ");
