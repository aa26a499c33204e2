// @ts-check
// When each GPU multiplies and when it receives a tile: the timeline of windows, one level up.

import { number } from "../text.js";
import { choiceSlider, key } from "./shared/controls.js";
import { button, html, say, setAttributes, svg } from "./shared/dom.js";
import { keepDrawn, put, redrawer, roomIn } from "./shared/model.js";
import { range, ticks, within } from "./shared/scale.js";
import { Scene, scrubByPointer } from "./shared/scene.js";

/**
 * @typedef {{ gpu: number, what: "multiplies" | "receives", label: string, start: number,
 *   end: number, lane: number }} Span
 * @typedef {{ label: string, note: string, words: string, spans: Span[] }} Run
 * @typedef {{ runs: Run[], run: number, time: number }} State
 *
 * A run and what follows from it; `events` are the times at which something begins or ends.
 * @typedef {{ run: Run, gpus: number, lanes: number, end: number, events: number[],
 *   longest: number }} Settled
 */

const STATE = /** @type {const} */ (["runs", "run", "time"]);
/** @type {[string, string][]} */
const KEY = [
  ["lab-k-multiplies", "multiplies"],
  ["lab-k-receives", "receives a tile"],
];
const [GUTTER, MARGIN] = [52, 10]; // px beside the rows
const [TALL, LOW, APART] = [30, 12, 12]; // px of a product, of a transfer, between GPUs
const SCRUB_STEPS = 240;
const INSTANT = 1e-6; // ms; closer events are one

/** @param {View<State>} view */
export function render({ model, el }) {
  const redraw = redrawer(update);
  /** @type {(time: number) => void} */
  const go = (time) => {
    put(model, "time", time);
    redraw();
  };
  const choice = html("select", { class: "lab-select" });
  model.get("runs").forEach(({ label }, i) => {
    choice.append(html("option", { value: i }, label));
  });
  choice.addEventListener("change", () => {
    model.set("run", Number(choice.value));
    go(0);
  });
  const run = html("label", { class: "lab-field" }, html("span", {}, "Run"), choice);
  const back = button("◀", () => go(before(now, model.get("time"))), "Back to the last event");
  const on = button("▶", () => go(after(now, model.get("time"))), "On to the next event");
  const scrub = choiceSlider("Time", (i) => go((i / SCRUB_STEPS) * now.end));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const told = html("p", { class: "lab-told", role: "status" });
  const [words, note] = [html("p"), html("p")];
  const root = html(
    "div",
    { class: "sgemm-lab lab-tool lab-gpu-timeline" },
    html("div", { class: "lab-bar" }, run),
    [picture, key(KEY)],
    html("div", { class: "lab-scrub" }, back, scrub.element, on),
    told,
    html("div", { class: "lab-verdict", role: "status" }, words, note),
  );
  el.append(root);
  const scene = new Scene(picture);
  let now = settled(model);

  function update() {
    now = settled(model);
    const time = Math.min(model.get("time"), now.end);
    choice.value = `${model.get("run")}`;
    const at = Math.round((SCRUB_STEPS * time) / now.end);
    scrub.show(at, range(0, SCRUB_STEPS), `${number(time)} ms`);
    back.disabled = time <= 0;
    on.disabled = time >= now.end;
    new Drawing(scene, now, time, Math.max(270, roomIn(root))).draw(picture);
    say([told, words, note], [momentWords(now, time), now.run.words, now.run.note]);
    const label = `When each GPU multiplies and receives. ${now.run.words}`;
    setAttributes(picture, { "aria-label": label });
  }

  scrubByPointer(picture, (x) => {
    const room = Math.max(270, roomIn(root)) - GUTTER - MARGIN;
    go(within(((x - GUTTER) * now.longest) / room, 0, now.end));
  });
  return keepDrawn(model, STATE, root, update, redraw);
}

/**
 * @param {Model<State>} model
 * @returns {Settled}
 */
function settled(model) {
  const runs = model.get("runs");
  const run = runs[model.get("run")] ?? runs[0];
  const ends = runs.map(({ spans }) => Math.max(...spans.map(({ end }) => end)));
  const events = run.spans.flatMap(({ start, end }) => [start, end]);
  return {
    run,
    gpus: 1 + Math.max(...run.spans.map(({ gpu }) => gpu)),
    lanes: 1 + Math.max(...run.spans.map(({ lane }) => lane)),
    end: Math.max(...run.spans.map(({ end }) => end)),
    events: events.sort((a, b) => a - b),
    longest: Math.max(...ends), // one axis for all runs, so that they compare
  };
}

/** @type {(now: Settled, time: number) => number} */
const before = ({ events }, time) => events.findLast((one) => one < time - INSTANT) ?? 0;

/** @type {(now: Settled, time: number) => number} */
const after = ({ events, end }, time) => events.find((one) => one > time + INSTANT) ?? end;

/**
 * What each GPU does at one time.
 * @param {Settled} now
 * @param {number} time
 */
function momentWords({ run, gpus, end }, time) {
  if (time >= end) return `At ${number(time)} ms: all is done.`;
  const parts = range(0, gpus - 1).map((gpu) => {
    const mine = run.spans.filter(
      (span) => span.gpu === gpu && span.start <= time && time < span.end,
    );
    const does = mine.map(({ what, label }) => `${what} ${label}`);
    return `GPU ${gpu} ${does.length ? does.join(" and ") : "waits"}`;
  });
  return `At ${number(time)} ms: ${parts.join("; ")}.`;
}

/** Two rows for each GPU: what it multiplies, and below what it receives. */
class Drawing {
  /**
   * @param {Scene} scene
   * @param {Settled} now
   * @param {number} time where the cursor stands
   * @param {number} width
   */
  constructor(scene, now, time, width) {
    this.scene = scene;
    this.now = now;
    this.time = time;
    this.width = width;
    /** @param {number} at in ms */
    this.x = (at) => GUTTER + ((width - GUTTER - MARGIN) * at) / now.longest;
  }

  /** @param {SVGSVGElement} picture */
  draw(picture) {
    const { scene, now, time, width, x } = this;
    const each = TALL + LOW + APART;
    now.run.spans.forEach((span, i) => {
      const top = 12 + span.gpu * each;
      this.drawSpan(`span${i}`, span, top);
    });
    for (const gpu of range(0, now.gpus - 1)) {
      this.text(`gpu${gpu}`, GUTTER - 8, 12 + gpu * each + TALL / 2 + 4, `GPU ${gpu}`, "end");
    }
    const axis = 12 + now.gpus * each;
    scene.draw("axis", "path", { class: "lab-axis", d: `M${GUTTER} ${axis}H${width - MARGIN}` });
    for (const at of ticks(now.longest, Math.max(2, Math.floor(width / 110)))) {
      scene.draw(`tick${at}`, "path", { class: "lab-axis", d: `M${x(at)} ${axis}v5` });
      this.text(`at${at}`, x(at), axis + 18, number(at));
    }
    this.text("unit", GUTTER - 8, axis + 18, "ms", "end");
    const head = `M${x(time) - 5} 0h10l-5 7z`;
    scene.draw("cursor", "path", { class: "lab-cursor", d: `M${x(time)} 4V${axis}${head}` });
    setAttributes(picture, { viewBox: `0 0 ${width} ${axis + 26}`, height: axis + 26 });
    scene.finish();
  }

  /** @type {(id: string, span: Span, top: number) => void} */
  drawSpan(id, { what, label, start, end, lane }, top) {
    const look = start <= this.time && this.time < end ? " lab-now" : "";
    const node = this.scene.draw(id, "g", { class: `lab-${what}${look}` });
    if (!node.firstChild) node.append(svg("rect"), svg("text", { "text-anchor": "middle" }));
    const [frame, name] = node.children;
    const [x, wide] = [this.x(start), Math.max(1, this.x(end) - this.x(start) - 1)];
    const height = what === "receives" ? LOW : TALL / this.now.lanes;
    const y = what === "receives" ? top + TALL + 2 : top + lane * height;
    setAttributes(frame, { x, y, width: wide, height });
    setAttributes(name, { x: x + wide / 2, y: y + height / 2 + 4 });
    name.textContent = what === "multiplies" && wide > 8 * label.length + 4 ? label : "";
  }

  /** @type {(id: string, x: number, y: number, words: string, anchor?: string) => void} */
  text(id, x, y, words, anchor = "middle") {
    this.scene.draw(id, "text", { class: "lab-tick", x, y, "text-anchor": anchor }, words);
  }
}
