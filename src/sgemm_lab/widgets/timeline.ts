// K tiles over time in two lanes: copying above, multiplying below, with one buffer or several.

import "./timeline.css";
import type { Pipeline, TimedWindow } from "../formulas/overlap.ts";
import { pipelineReport, schedule } from "../formulas/overlap.ts";
import { number, percent } from "../text.ts";
import { choiceSlider, key, segments } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { changer, keepDrawn, redrawer, roomIn } from "./shared/model.ts";
import { MARGIN, OverTime } from "./shared/over_time.ts";
import { range } from "./shared/scale.ts";
import { Scene, slanted } from "./shared/scene.ts";

type State = Pipeline;

const STATE = ["latency", "load", "compute", "windows", "stages", "blocks"] as const;
const MOST_BUFFERS = 3;
const KEY: [string, string][] = [
  ["lab-k-load", "being copied"],
  ["lab-k-held", "loaded, until it has been multiplied"],
  ["lab-k-compute", "being multiplied; numbers are K tiles"],
  ["lab-k-gap", "nothing to multiply"],
];
const GUTTER = 66; // px beside the rows
const EACH = 18; // px, of the row of a buffer
const TALL = 34; // px, of the row of the arithmetic
const ABOVE = 18; // px above a block, for its name

type Plan = Pipeline & { items: TimedWindow[] } & ReturnType<typeof pipelineReport>;

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const change = changer(model, redraw);
  const buffers = choiceSlider("Buffers", (count) => change("stages", count));
  const blocks = segments("Blocks on the SM", { 1: "1", 2: "2" }, (count) =>
    change("blocks", Number(count)),
  );
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const root = html(
    "div",
    { class: "sgemm-lab lab-tool lab-over-time lab-timeline" },
    html("div", { class: "lab-controls" }, buffers.element, blocks.element),
    [picture, key(KEY), verdict],
  );
  el.append(root);
  const scene = new Scene(picture);

  function update() {
    const width = Math.max(270, roomIn(root));
    const plan = planOf(model);
    buffers.show(plan.stages, range(1, MOST_BUFFERS), `${plan.stages}`);
    blocks.show(plan.blocks);
    new Drawing(scene, plan, width).draw(picture);
    say(verdict.children, [planWords(plan)]);
    const label = `When each K tile is copied and multiplied. ${planWords(plan)}`;
    setAttributes(picture, { "aria-label": label });
  }

  return keepDrawn(model, STATE, root, update, redraw);
}

function planOf(model: Model<State>): Plan {
  const pipeline = {
    latency: model.get("latency"),
    load: model.get("load"),
    compute: model.get("compute"),
    windows: model.get("windows"),
    stages: model.get("stages"),
    blocks: model.get("blocks"),
  };
  return { ...pipeline, items: schedule(pipeline), ...pipelineReport(pipeline) };
}

/** How long it takes, and how much of that is arithmetic. */
function planWords({ total, speedup, share, stages, blocks, bound }: Plan) {
  const time = `${number(total)} clocks, and the arithmetic runs ${percent(share)} of them`;
  const gain = stages > 1 ? `: ${number(speedup)} times as fast as with one buffer` : "";
  const never = stages > 1 && bound === "compute" && " Once it runs, the arithmetic never waits.";
  const half =
    blocks > 1 && " While both blocks multiply, each has half of it and is drawn half as high.";
  return `${time}${gain}.${never || ""}${half || ""}`;
}

/** The rows of each block: one per buffer for its copies, and one for the arithmetic. */
class Drawing extends OverTime {
  constructor(
    scene: Scene,
    public plan: Plan,
    width: number,
  ) {
    super(scene, 0, Math.max(1, plan.serial, plan.total), { gutter: GUTTER, width });
  }

  draw(picture: SVGSVGElement) {
    const { plan, width } = this;
    const each = MOST_BUFFERS * EACH + TALL + 10;
    range(0, plan.blocks - 1).forEach((block) => {
      this.drawBlock(block, ABOVE + block * (each + 26));
    });
    const axis = ABOVE + plan.blocks * (each + 26) - 18;
    this.drawAxis(axis, "clocks");
    const { total, serial } = plan;
    if (serial > total) {
      const x = this.x(serial);
      this.scene.draw("serial", "path", { class: "lab-serial", d: `M${x} ${ABOVE}V${axis}` });
      this.text("serial-name", "lab-tick lab-halo", x, ABOVE - 5, "one buffer", "end");
    }
    setAttributes(picture, { viewBox: `0 0 ${width} ${axis + 28}`, height: axis + 28 });
    this.scene.finish();
  }

  drawBlock(block: number, top: number) {
    const { stages, blocks, items } = this.plan;
    if (blocks > 1)
      this.text(`block${block}`, "lab-tick", 0, top - 5, `block ${block + 1}`, "start");
    for (const buffer of range(0, stages - 1)) {
      const letter = "ABC"[buffer];
      this.name(`buffer${block}-${buffer}`, top + buffer * EACH + 14, `buffer ${letter}`);
      const d = `M${GUTTER} ${top + (buffer + 1) * EACH}H${this.width - MARGIN}`;
      this.scene.draw(`row${block}-${buffer}`, "path", { class: "lab-grid", d });
    }
    const lane = top + MOST_BUFFERS * EACH + 6;
    this.name(`work${block}`, lane + TALL / 2 + 4, "multiply");
    let idle = 0;
    for (const item of items.filter((one) => one.block === block)) {
      this.drawItem(item, top + item.buffer * EACH + 2, lane, idle);
      idle = item.done;
    }
  }

  /** @param idle since when the block multiplies nothing */
  drawItem(
    { block, number: n, asked, there, pieces, done }: TimedWindow,
    top: number,
    lane: number,
    idle: number,
  ) {
    const id = `${block}-${n}`;
    const tall = EACH - 3;
    this.box(`held${id}`, "lab-held", there, done, top, tall);
    this.box(`load${id}`, "lab-load", asked, there, top, tall, `${n + 1}`);
    const begin = pieces[0]?.start ?? done;
    const d = begin > idle ? slanted(this.x(idle), this.x(begin), lane, TALL) : "";
    this.scene.draw(`gap${id}`, "path", { class: "lab-gap", d });
    pieces.forEach(({ start, end, share }, i) => {
      const high = TALL * share;
      const label = i === 0 ? `${n + 1}` : "";
      this.box(`work${id}-${i}`, "lab-work", start, end, lane + TALL - high, high, label);
    });
  }

  /** A bar with the number of its K tile, where that fits. */
  box(
    id: string,
    look: string,
    from: number,
    to: number,
    y: number,
    height: number,
    label: string = "",
  ): void {
    const node = this.scene.draw(id, "g", { class: look });
    if (!node.firstChild) node.append(svg("rect"), svg("text", { "text-anchor": "middle" }));
    const [frame, name] = node.children;
    const [x, wide] = [this.x(from), this.x(to) - this.x(from)];
    setAttributes(frame, { x, y, width: Math.max(0, wide - 1), height });
    setAttributes(name, { x: x + wide / 2, y: y + height / 2 + 4.5 });
    name.textContent = wide > 9 * label.length + 4 ? label : "";
  }
}
