// When each GPU multiplies and when it receives a tile: the timeline of windows, one level up.

import "./gpu_timeline.css";
import { chooser, key } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { OverTime } from "./shared/over_time.ts";
import { range } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

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
}

/** A run and what follows from it; `longest` is the end of the longest run. */
interface Settled {
  run: Run;
  gpus: number;
  lanes: number;
  longest: number;
}

const KEY: [string, string][] = [
  ["lab-k-multiplies", "multiplies"],
  ["lab-k-receives", "receives a tile"],
];
const GUTTER = 52; // px beside the rows
const [TALL, LOW, APART] = [30, 12, 12]; // px of a product, of a transfer, between GPUs

export function render({ model, el }: View<State>) {
  const labels = model.get("runs").map(({ label }, i): [number, string] => [i, label]);
  const run = chooser("Run", labels, (chosen) => put(model, "run", Number(chosen)));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const [words, note] = [html("p"), html("p")];
  const root = tool(
    el,
    "lab-gpu-timeline",
    html("div", { class: "lab-bar" }, run.field),
    [picture, key(KEY)],
    html("div", { class: "lab-verdict", role: "status" }, words, note),
  );
  const scene = new Scene(picture);

  function update() {
    const now = settled(model);
    run.show(model.get("run"));
    new Drawing(scene, now, availableWidth(root)).draw(picture);
    say([words, note], [now.run.words, now.run.note]);
    const label = `When each GPU multiplies and receives. ${now.run.words}`;
    setAttributes(picture, { "aria-label": label });
  }

  return keepDrawn(model, ["runs", "run"], root, update);
}

function settled(model: Model<State>): Settled {
  const runs = model.get("runs");
  const run = runs[model.get("run")] ?? runs[0];
  const ends = runs.map(({ spans }) => Math.max(...spans.map(({ end }) => end)));
  return {
    run,
    gpus: 1 + Math.max(...run.spans.map(({ gpu }) => gpu)),
    lanes: 1 + Math.max(...run.spans.map(({ lane }) => lane)),
    longest: Math.max(...ends), // one axis for all runs, so that they compare
  };
}

/** Two rows for each GPU: what it multiplies, and below what it receives. */
class Drawing extends OverTime {
  constructor(
    scene: Scene,
    public settled: Settled,
    width: number,
  ) {
    super(scene, settled.longest, GUTTER, width);
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
    setAttributes(picture, { viewBox: `0 0 ${width} ${axis + 26}`, height: axis + 26 });
    this.scene.finish();
  }

  drawSpan(id: string, { what, label, start, end, lane }: Span, top: number): void {
    const node = this.scene.draw(id, "g", { class: `lab-${what}` });
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
