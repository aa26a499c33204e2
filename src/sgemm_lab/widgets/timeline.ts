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

type State = Pipeline;

const STATE = ["latency", "load", "compute", "windows", "stages"] as const;
const MOST_BUFFERS = 2;
const KEY: [string, string][] = [
  ["lab-k-load", "on its way from global memory"],
  ["lab-k-waits", "waits in registers"],
  ["lab-k-held", "in shared memory"],
  ["lab-k-compute", "being multiplied (number: the K tile)"],
  ["lab-k-gap", "nothing to multiply"],
];
const GUTTER = 66; // px beside the rows
const EACH = 18; // px, of the row of a buffer
const TALL = 34; // px, of the row of the arithmetic
const ABOVE = 18; // px above the rows, for the mark of one buffer

/** The K tiles, when the last one is done, and when it would be with one buffer. */
interface Plan extends Pipeline {
  items: TimedWindow[];
  total: number;
  serial: number;
}

export function render({ model, el }: View<State>) {
  const buffers = choiceSlider("Buffers", (count) => put(model, "stages", count));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const root = tool(el, "lab-over-time lab-timeline", controls([buffers]), [
    picture,
    key(KEY),
    verdict,
  ]);
  const scene = new Scene(picture);

  function update() {
    const width = availableWidth(root);
    const plan = planOf(model);
    buffers.show(plan.stages, range(1, MOST_BUFFERS), `${plan.stages}`);
    new Drawing(scene, plan, width).draw(picture);
    say(verdict.children, [planWords(plan)]);
    const label = `When each K tile is copied and multiplied. ${planWords(plan)}`;
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
  };
  const items = schedule(pipeline, Math.max(1, pipeline.stages - 1));
  const alone = schedule({ ...pipeline, stages: 1 });
  return { ...pipeline, items, total: items.at(-1)?.done ?? 0, serial: alone.at(-1)?.done ?? 0 };
}

/** How long it takes, and how much of that is arithmetic. */
function planWords({ items, total, stages, windows, compute }: Plan) {
  const share = total ? (windows * compute) / total : 0;
  const time = `${number(total)} clocks; the arithmetic is busy for ${percent(share)} of them.`;
  if (stages === 1 || !total) return time;
  const runs = items.every(({ begins }, i) => i === 0 || begins === items[i - 1].done);
  return runs ? `${time} Once it has started, it never waits.` : time;
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
    const { stages, items, total, serial } = this.plan;
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
    const axis = lane + TALL + 12;
    this.drawAxis(axis, "clocks");
    if (serial > total) {
      const x = this.x(serial);
      this.scene.draw("serial", "path", { class: "lab-serial", d: `M${x} ${ABOVE}V${axis}` });
      this.scene.text("serial-name", "lab-tick lab-halo", x, ABOVE - 5, "one buffer", "end");
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
    this.box(`waits${n}`, "lab-waits", there, begins, ABOVE + 2, tall, says);
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
