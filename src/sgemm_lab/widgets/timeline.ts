// K tiles over time: loads into registers above, buffers of shared memory, multiplying below.

import "./timeline.css";
import { type Pipeline, schedule, type TimedWindow } from "../formulas/overlap.ts";
import { number, percent } from "../text.ts";
import { choiceSlider, controls, key } from "./shared/controls.ts";
import { boxWithText, html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { MARGIN, OverTime } from "./shared/over_time.ts";
import { range } from "./shared/scale.ts";
import { fit, Scene, slanted } from "./shared/scene.ts";

type State = Required<Pipeline> & { ahead: boolean };

const STATE = ["latency", "load", "compute", "windows", "stages", "store", "ahead"] as const;
const MOST_BUFFERS = 2;
const KEY: [string, string][] = [
  ["lab-k-load", "on its way from global memory"],
  ["lab-k-waits", "waits in registers"],
  ["lab-k-store", "being stored, each warp its part"],
  ["lab-k-held", "being read by all warps"],
  ["lab-k-gap", "nothing to multiply"],
  ["lab-k-barrier", "barrier: all warps meet"],
];
/** What a block may do, from slow to fast: its name, and what follows from it. */
const WAYS = [
  ["load, then multiply", "While a K tile is loaded, nothing is multiplied."],
  [
    "load ahead, one buffer",
    "Loads lie under multiplying. But before the store, all warps must have read buffer 0, and after it, all of the next K tile must be there: two barriers, and nothing to multiply between them.",
  ],
  [
    "load ahead, two buffers",
    "Warps that are done store into the other buffer while others still read this one. One barrier is left. Only the first load and store are not hidden.",
  ],
];
const GUTTER = 66; // px beside the rows
const EACH = 18; // px, of the row of a buffer
const TALL = 34; // px, of the row of the arithmetic
const ABOVE = 18; // px above the rows, for the mark of the slowest way

/** The K tiles, when the last one is done, and when it would be without loading ahead. */
interface Plan extends State {
  way: number;
  items: TimedWindow[];
  total: number;
  serial: number;
}

export function render({ model, el }: View<State>) {
  const ways = choiceSlider("How the block loads", (way) => {
    model.set("ahead", way > 0);
    put(model, "stages", Math.max(1, way));
  });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const root = tool(el, "lab-over-time lab-timeline", controls([ways]), [
    picture,
    key(KEY),
    verdict,
  ]);
  const scene = new Scene(picture);

  function update() {
    const width = availableWidth(root);
    const plan = planOf(model);
    ways.show(plan.way, range(0, MOST_BUFFERS), WAYS[plan.way][0]);
    new Drawing(scene, plan, width).draw(picture);
    say(verdict.children, [planWords(plan)]);
    const label = `When each K tile is loaded, stored and multiplied. ${planWords(plan)}`;
    setAttributes(picture, { "aria-label": label });
  }

  return keepDrawn(model, STATE, root, update);
}

function planOf(model: Model<State>): Plan {
  const pipeline = {
    latency: model.get("latency"),
    load: model.get("load"),
    compute: model.get("compute"),
    windows: model.get("windows"),
    stages: model.get("stages"),
    store: model.get("store"),
    ahead: model.get("ahead"),
  };
  const way = pipeline.stages > 1 ? MOST_BUFFERS : Number(pipeline.ahead);
  const items = schedule(pipeline, 1, way > 0);
  const alone = schedule({ ...pipeline, stages: 1 });
  return {
    ...pipeline,
    way,
    items,
    total: items.at(-1)?.done ?? 0,
    serial: alone.at(-1)?.done ?? 0,
  };
}

/** How long it takes, and how much of that is arithmetic. */
function planWords({ way, total, windows, compute }: Plan) {
  const share = total ? (windows * compute) / total : 0;
  return `${number(total)} clocks, ${percent(share)} of them multiplying. ${WAYS[way][1]}`;
}

/** A row for the registers, one per buffer, and one for the arithmetic. */
class Drawing extends OverTime {
  constructor(
    scene: Scene,
    public plan: Plan,
    width: number,
  ) {
    super(scene, Math.max(1, plan.serial, plan.total), GUTTER, width);
  }

  draw(picture: SVGSVGElement) {
    const { width } = this;
    const { stages, items, total, serial, way } = this.plan;
    for (const row of range(0, stages)) {
      const below = ABOVE + (row + 1) * EACH;
      this.name(`name${row}`, below - 4, row ? `buffer ${row - 1}` : "registers");
      const d = `M${GUTTER} ${below}H${width - MARGIN}`;
      this.scene.draw(`row${row}`, "path", { class: "lab-grid", d });
    }
    const lane = ABOVE + (1 + MOST_BUFFERS) * EACH + 6;
    this.name("work", lane + TALL / 2 + 4, "multiply");
    let idle = 0;
    for (const item of items) {
      this.drawItem(item, lane, idle);
      idle = item.done;
    }
    if (way > 0) {
      const middle = this.x(items[0].begins / 2);
      this.scene.text("once", "lab-tick lab-halo", middle, lane + TALL / 2 + 4, "once", "middle");
    }
    const last = items.length - 1;
    const ends = stages > 1 ? [] : items.slice(0, last).map(({ done }) => done);
    [...items.map(({ begins }) => begins), ...ends].forEach((at, i) => {
      const d = `M${this.x(at)} ${ABOVE + EACH}V${lane + TALL + 5}`;
      this.scene.draw(`barrier${i}`, "path", { class: "lab-barrier", d });
    });
    const axis = lane + TALL + 12;
    this.drawAxis(axis, "clocks");
    if (serial > total) {
      const x = this.x(serial);
      this.scene.draw("serial", "path", { class: "lab-serial", d: `M${x} ${ABOVE}V${axis}` });
      this.scene.text("serial-name", "lab-tick lab-halo", x, ABOVE - 5, WAYS[0][0], "end");
    }
    fit(picture, width, axis + 28);
    this.scene.finish();
  }

  /** @param idle since when nothing is multiplied */
  drawItem(
    { number: n, buffer, asked, there, begins, done }: TimedWindow,
    lane: number,
    idle: number,
  ) {
    const [own, tall, says] = [ABOVE + (1 + buffer) * EACH + 2, EACH - 3, `${n}`];
    const stored = begins - this.plan.store;
    this.box(`waits${n}`, "lab-waits", there, stored, ABOVE + 2, tall, says);
    this.box(`store${n}`, "lab-store", stored, begins, own, tall, "");
    this.box(`load${n}`, "lab-load", asked, there, ABOVE + 2, tall, says);
    this.box(`held${n}`, "lab-held", begins, done, own, tall, says);
    const d = begins > idle ? slanted(this.x(idle), this.x(begins), lane, TALL) : "";
    this.scene.draw(`gap${n}`, "path", { class: "lab-gap", d });
    this.box(`work${n}`, "lab-work", begins, done, lane, TALL, says);
  }

  /** A bar with the number of its K tile, where that fits. */
  box(
    id: string,
    look: string,
    from: number,
    to: number,
    y: number,
    height: number,
    label: string,
  ): void {
    const node = this.scene.draw(id, "g", { class: look });
    const [frame, name] = boxWithText(node);
    const [x, wide] = [this.x(from), this.x(to) - this.x(from)];
    setAttributes(frame, { x, y, width: Math.max(0, wide - 1), height });
    setAttributes(name, { x: x + wide / 2, y: y + height / 2 + 4.5 });
    name.textContent = wide > 9 * label.length + 4 ? label : "";
  }
}
