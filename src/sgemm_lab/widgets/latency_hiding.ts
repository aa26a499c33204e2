// Warps or warp groups that take turns at one unit: a row of time for each of them, and one for the unit.

import "./latency_hiding.css";
import { busy } from "../formulas/latency_hiding.ts";
import { sentence } from "../formulas/sentences.ts";
import { plural } from "../text.ts";
import { choiceSlider, controls, key, segments } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { OverTime } from "./shared/over_time.ts";
import { range } from "./shared/scale.ts";
import { fit, Scene, slanted } from "./shared/scene.ts";

/** Clocks that a worker uses the unit, and waits; how many there is room for. */
interface Case {
  name: string;
  work: number;
  wait: number;
  most: number;
}

interface State {
  cases: Case[];
  kind: keyof typeof KINDS;
  chosen: number;
  workers: number;
}

/** Of each kind: the unit, the slider's name, what bars mean, px of a row where there is no room for more. */
const KINDS = {
  warp: ["L1", "Warps on the SM", "reads from L1", "waits for its loads", 5],
  "warp group": [
    "tensor cores",
    "Warp groups that multiply",
    "multiplies",
    "waits for copies, reads B, starts wgmma",
    30,
  ],
} as const;
const GUTTER = 92; // px beside the rows
const TALLEST = 24; // px, of a bar

export function render({ model, el }: View<State>) {
  const kind = model.get("kind");
  const [, slider, work, wait] = KINDS[kind];
  const workers = choiceSlider(slider, (many) => put(model, "workers", many));
  const names = model.get("cases").map(({ name }, i) => [`${i}`, name]);
  const cases = segments("Data comes from", Object.fromEntries(names), (i) =>
    put(model, "chosen", Number(i)),
  );
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const chosen = controls(names.length > 1 ? [workers, cases] : [workers]);
  const legend = key([
    ["lab-k-work", work],
    ["lab-k-wait", wait],
    ["lab-k-queue", "waits its turn"],
    ["lab-k-gap", "idle"],
  ]);
  const root = tool(el, "lab-latency-hiding", chosen, picture, legend, verdict);
  const scene = new Scene(picture);

  function update() {
    const now = model.get("cases")[model.get("chosen")];
    const many = Math.min(model.get("workers"), now.most);
    workers.show(many, range(1, now.most), `${many}`);
    cases.show(model.get("chosen"));
    new Drawing(scene, now, kind, many, availableWidth(root)).draw(picture);
    const said = words(now, kind, many);
    setAttributes(picture, { "aria-label": `${plural(many, kind)} on ${now.name}. ${said}` });
    say(verdict.children, [said]);
  }
  return keepDrawn(model, ["cases", "chosen", "workers"], root, update);
}

function words(now: Case, kind: State["kind"], workers: number): string {
  const { work, wait, most } = now;
  const share = busy(work, wait, workers);
  const enough = Math.ceil((work + wait) / work);
  const state = share >= 1 ? "full" : enough <= most ? "idle" : "never";
  const which = kind === "warp" ? kind : "others";
  const values = { ...now, kind, unit: KINDS[kind][0], workers, idle: 1 - share, enough };
  return sentence(`latency-hiding.${which}.${state}`, values);
}

/** A row for each worker, and below them the unit. */
class Drawing extends OverTime {
  period = Math.max(this.workers * this.turn.work, this.turn.work + this.turn.wait);
  rows = this.turn.most * KINDS[this.kind][4];
  /** px; few workers share the height of many */
  row = this.rows / this.workers;

  constructor(
    scene: Scene,
    public turn: Case,
    public kind: State["kind"],
    public workers: number,
    width: number,
  ) {
    const { work, wait, most } = turn;
    // Long enough for two turns of a lone worker, and for a turn of all that there is room for.
    const end = Math.max(2 * (work + wait), (most + 1.5) * work);
    super(scene, end, GUTTER, width);
  }

  draw(picture: SVGSVGElement) {
    const { turn, workers, width, row } = this;
    const unit = this.rows + 8;
    for (let worker = 0; worker < workers; worker++) this.drawWorker(worker, worker * row);
    this.name("unit-name", unit + 17, KINDS[this.kind][0]);
    let idle = 0;
    for (const start of this.turnsOfAll()) {
      if (start - idle > 1e-6) this.drawIdle(idle, start, unit);
      this.bar(`unit${start}`, "lab-work", start, start + turn.work, unit, TALLEST);
      idle = start + turn.work;
    }
    if (idle < this.end) this.drawIdle(idle, this.end, unit);
    this.drawAxis(unit + 30, "clocks");
    fit(picture, width, unit + 58);
    this.scene.finish();
  }

  /** When turns begin, of all workers, in order. */
  turnsOfAll(): number[] {
    return range(0, this.workers - 1)
      .flatMap((worker) => this.turnsOf(worker))
      .sort((a, b) => a - b);
  }

  turnsOf(worker: number): number[] {
    const starts = [];
    for (let at = worker * this.turn.work; at < this.end; at += this.period) starts.push(at);
    return starts;
  }

  drawWorker(worker: number, y: number) {
    const { row, kind } = this;
    const { work, wait } = this.turn;
    if (row > 15 || worker % 8 === 7 || worker === 0) {
      this.name(`name${worker}`, y + row / 2 + 4, `${kind} ${worker + 1}`);
    }
    const tall = Math.min(0.75 * row, TALLEST);
    const top = y + (row - 1 - tall) / 2;
    for (const start of this.turnsOf(worker)) {
      const id = `${worker}-${start}`;
      const [done, back] = [start + work, start + work + wait];
      this.bar(`work${id}`, "lab-work", start, done, top, tall);
      this.bar(`wait${id}`, "lab-wait", done, back, top + tall / 2 - 1, 2);
      this.bar(`queue${id}`, "lab-queue", back, start + this.period, top + 1, tall - 2);
    }
  }

  drawIdle(from: number, to: number, y: number) {
    const d = slanted(this.x(from), this.x(Math.min(to, this.end)), y, TALLEST);
    this.scene.draw(`idle${from}`, "path", { class: "lab-gap", d });
  }

  bar(id: string, look: string, from: number, to: number, y: number, height: number) {
    const [x, last] = [this.x(from), this.x(Math.min(to, this.end))];
    if (last - x < 0.5) return;
    this.scene.draw(id, "rect", {
      class: look,
      x,
      y,
      width: Math.max(0.5, last - x - 0.5),
      height,
    });
  }
}
