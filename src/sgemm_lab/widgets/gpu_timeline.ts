// When each GPU multiplies and when it receives a tile: the timeline of windows, one level up.

import "./gpu_timeline.css";
import { number } from "../text.ts";
import { chooser, key } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { OverTime, scale, scrubber } from "./shared/over_time.ts";
import { range, within } from "./shared/scale.ts";
import { Scene, scrubByPointer } from "./shared/scene.ts";

interface Span {
  gpu: number;
  what: "multiplies" | "receives";
  label: string;
  start: number;
  end: number;
  lane: number;
}

interface Run {
  label: string;
  note: string;
  words: string;
  spans: Span[];
}

interface State {
  runs: Run[];
  run: number;
  time: number;
}

/** A run and what follows from it; `events` are the times at which something begins or ends. */
interface Settled {
  run: Run;
  gpus: number;
  lanes: number;
  end: number;
  events: number[];
  longest: number;
}

const STATE = ["runs", "run", "time"] as const;
const KEY: [string, string][] = [
  ["lab-k-multiplies", "multiplies"],
  ["lab-k-receives", "receives a tile"],
];
const GUTTER = 52; // px beside the rows
const [TALL, LOW, APART] = [30, 12, 12]; // px of a product, of a transfer, between GPUs

export function render({ model, el }: View<State>) {
  const go = (time: number) => put(model, "time", time);
  const labels = model.get("runs").map(({ label }, i): [number, string] => [i, label]);
  const run = chooser("Run", labels, (chosen) => {
    model.set("run", Number(chosen));
    go(0);
  });
  const scrub = scrubber(
    () => now,
    () => model.get("time"),
    go,
  );
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const readout = html("p", { class: "lab-told", role: "status" });
  const [words, note] = [html("p"), html("p")];
  const root = tool(
    el,
    "lab-over-time lab-gpu-timeline",
    html("div", { class: "lab-bar" }, run.field),
    [picture, key(KEY)],
    scrub.element,
    readout,
    html("div", { class: "lab-verdict", role: "status" }, words, note),
  );
  const scene = new Scene(picture);
  let now = settled(model);

  function update() {
    now = settled(model);
    const time = Math.min(model.get("time"), now.end);
    run.show(model.get("run"));
    scrub.show(time, `${number(time)} ms`);
    new Drawing(scene, now, time, availableWidth(root)).draw(picture);
    say([readout, words, note], [momentWords(now, time), now.run.words, now.run.note]);
    const label = `When each GPU multiplies and receives. ${now.run.words}`;
    setAttributes(picture, { "aria-label": label });
  }

  scrubByPointer(picture, (x) => {
    const { at } = scale(now.longest, GUTTER, availableWidth(root));
    go(within(at(x), 0, now.end));
  });
  return keepDrawn(model, STATE, root, update);
}

function settled(model: Model<State>): Settled {
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

/** What each GPU does at one time. */
function momentWords({ run, gpus, end }: Settled, time: number) {
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
class Drawing extends OverTime {
  settled: Settled;

  /** @param time where the cursor stands */
  constructor(scene: Scene, now: Settled, time: number, width: number) {
    super(scene, time, now.longest, { gutter: GUTTER, width });
    this.settled = now;
  }

  draw(picture: SVGSVGElement) {
    const { width, settled } = this;
    const each = TALL + LOW + APART;
    settled.run.spans.forEach((span, i) => {
      const top = 12 + span.gpu * each;
      this.drawSpan(`span${i}`, span, top);
    });
    for (const gpu of range(0, settled.gpus - 1)) {
      this.name(`gpu${gpu}`, 12 + gpu * each + TALL / 2 + 4, `GPU ${gpu}`);
    }
    const axis = 12 + settled.gpus * each;
    this.drawAxis(axis, "ms");
    this.drawCursor(axis);
    setAttributes(picture, { viewBox: `0 0 ${width} ${axis + 26}`, height: axis + 26 });
    this.scene.finish();
  }

  drawSpan(id: string, { what, label, start, end, lane }: Span, top: number): void {
    const node = this.scene.draw(id, "g", { class: `lab-${what}${this.now(start, end)}` });
    if (!node.firstChild) node.append(svg("rect"), svg("text", { "text-anchor": "middle" }));
    const [frame, name] = node.children;
    const [x, wide] = [this.x(start), Math.max(1, this.x(end) - this.x(start) - 1)];
    const height = what === "receives" ? LOW : TALL / this.settled.lanes;
    const y = what === "receives" ? top + TALL + 2 : top + lane * height;
    setAttributes(frame, { x, y, width: wide, height });
    setAttributes(name, { x: x + wide / 2, y: y + height / 2 + 4 });
    name.textContent = what === "multiplies" && wide > 8 * label.length + 4 ? label : "";
  }
}
