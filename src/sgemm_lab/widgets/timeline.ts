// The timeline of a block's windows: when each is asked for, comes in and is multiplied, with one
// buffer or several.

import "./timeline.css";
import type { Piece, Pipeline, TimedWindow } from "../formulas/overlap.ts";
import { pipelineReport, schedule } from "../formulas/overlap.ts";
import { number, percent, plural } from "../text.ts";
import { choiceSlider, key, segments, showFacts } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { changer, keepDrawn, redrawer, roomIn } from "./shared/model.ts";
import { MARGIN, OverTime, scale, scrubber } from "./shared/over_time.ts";
import { range, within } from "./shared/scale.ts";
import { Scene, scrubByPointer, slanted } from "./shared/scene.ts";

interface MeasuredPace {
  label: string;
  measured: number;
  note: string;
}

type Kernel = Pipeline & MeasuredPace;

type State = Pipeline & { kernels: Kernel[]; time: number };

/**
 * The present settings, scheduled; `events` are the times at which something changes, `kernel` is
 * the one that was measured with these times.
 */
interface Settled {
  pipeline: Pipeline;
  items: TimedWindow[];
  events: number[];
  kernel: Kernel | undefined;
}

type Plan = Settled & ReturnType<typeof pipelineReport>;

const SETTINGS = ["latency", "load", "compute", "windows", "stages", "blocks"] as const;
const STATE = ["kernels", ...SETTINGS, "time"] as const;
const SLIDERS = [
  { name: "latency", label: "Latency, clocks", choices: range(0, 2000, 40) },
  { name: "load", label: "Load, clocks", choices: range(0, 2000, 40) },
  { name: "compute", label: "Multiply, clocks", choices: range(0, 4096, 64) },
  { name: "windows", label: "Windows of K", choices: range(1, 12) },
] as const;
const KEY: [string, string][] = [
  ["lab-k-latency", "latency: asked for"],
  ["lab-k-load", "load: it comes in"],
  ["lab-k-held", "in shared memory"],
  ["lab-k-compute", "multiplied"],
  ["lab-k-gap", "waits for a window"],
];
const GUTTER = 66; // px beside the rows
const TALL = 34; // px, of the row of the arithmetic

const clocks = (value: number) => `${number(value)} clock${value === 1 ? "" : "s"}`;

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const change = changer(model, redraw);
  const controls = pipelineControls(model, change);
  const facts = html("dl", { class: "lab-facts" });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const scrub = scrubber(
    () => ({ events: plan.events, end: plan.total }),
    () => model.get("time"),
    (time) => change("time", time),
  );
  const told = html("p", { class: "lab-told", role: "status" });
  const about = html(
    "p",
    { class: "lab-about" },
    "Blocks share the arithmetic: while two multiply, each has half of it and is drawn half as high.",
  );
  const [bound, measured] = [html("p"), html("p")];
  const root = html(
    "div",
    { class: "sgemm-lab lab-tool lab-over-time lab-timeline" },
    controls.starts,
    html("div", { class: "lab-controls" }, controls.switches),
    [facts, picture, key(KEY), about],
    scrub.element,
    told,
    html("div", { class: "lab-verdict", role: "status" }, bound, measured),
    html("div", { class: "lab-controls" }, controls.sliders),
  );
  el.append(root);
  const scene = new Scene(picture);
  let plan = planOf(model);

  function update() {
    const width = Math.max(270, roomIn(root));
    plan = planOf(model, plan);
    controls.show(plan);
    const time = Math.min(model.get("time"), plan.total);
    scrub.show(time, clocks(Math.round(time)));
    about.hidden = plan.pipeline.blocks < 2;
    showFacts(facts, factsOf(plan));
    new Drawing(scene, plan, time, width).draw(picture);
    say([told, bound, measured], [momentWords(plan, time), boundWords(plan), measuredWords(plan)]);
    const label = `When each window is loaded and multiplied. ${boundWords(plan)}`;
    setAttributes(picture, { "aria-label": label });
  }

  scrubByPointer(picture, (x) => {
    const { at } = scale(axisOf(plan).end, GUTTER, Math.max(270, roomIn(root)));
    change("time", within(at(x), 0, plan.total));
  });
  return keepDrawn(model, STATE, root, update, redraw);
}

/** Everything that changes the pipeline. */
function pipelineControls(
  model: Model<State>,
  change: <K extends keyof State & string>(name: K, value: State[K]) => void,
) {
  const chips = model.get("kernels").map((kernel) => {
    const chip = html("button", { type: "button", class: "lab-chip" }, kernel.label);
    chip.addEventListener("click", () => {
      for (const name of SETTINGS) model.set(name, kernel[name]);
      change("time", 0);
    });
    return chip;
  });
  const group = { class: "lab-chips", role: "group", "aria-label": "Start from a kernel" };
  const sliders = SLIDERS.map(({ name, label, choices }) => {
    return { name, choices, ...choiceSlider(label, (value) => change(name, value)) };
  });
  const stages = segments("Buffers (1 = serial, 2 = double)", upTo(6), (value) =>
    change("stages", Number(value)),
  );
  const blocks = segments("Blocks on the SM", upTo(4), (value) => change("blocks", Number(value)));
  return {
    starts:
      chips.length > 0 &&
      html(
        "div",
        { class: "lab-bar" },
        html("span", { class: "lab-field" }, "Start from"),
        html("div", group, chips),
      ),
    switches: [stages.element, blocks.element],
    sliders: sliders.map(({ element }) => element),
    show({ pipeline, kernel }: Plan) {
      const kernels = model.get("kernels");
      chips.forEach((chip, i) => {
        chip.setAttribute("aria-pressed", `${kernels[i] === kernel}`);
      });
      for (const { name, choices, show } of sliders) {
        show(pipeline[name], [...choices], number(pipeline[name]));
      }
      stages.show(pipeline.stages);
      blocks.show(pipeline.blocks);
    },
  };
}

/** Choices 1 to `last`, as they stand. */
const upTo = (last: number): Record<string, string> =>
  Object.fromEntries(range(1, last).map((n) => [`${n}`, `${n}`]));

/** The plan for the present settings; `known` if they are still its own. */
function planOf(model: Model<State>, known?: Plan): Plan {
  const pipeline = {
    latency: model.get("latency"),
    load: model.get("load"),
    compute: model.get("compute"),
    windows: model.get("windows"),
    stages: model.get("stages"),
    blocks: model.get("blocks"),
  };
  // Where the kernel was measured with these times, its pace can be set beside the model's.
  const kernel = model
    .get("kernels")
    .find((one) => SETTINGS.every((name) => name === "windows" || one[name] === pipeline[name]));
  if (known && SETTINGS.every((name) => known.pipeline[name] === pipeline[name])) {
    return { ...known, kernel };
  }
  const items = schedule(pipeline);
  const times = items.flatMap(({ asked, comes, there, pieces, done }) => [
    ...[asked, comes, there, done],
    pieces[0]?.start ?? done,
  ]);
  const events = [...new Set(times)].sort((a, b) => a - b);
  return { pipeline, items, events, kernel, ...pipelineReport(pipeline) };
}

function factsOf({ total, share, speedup, barriers, pipeline }: Plan): [string, string][] {
  return [
    ["Total", clocks(total)],
    ["Arithmetic runs", percent(share)],
    ["Speed-up over serial", `${number(speedup)}×`],
    ["Barriers per window", `${barriers}`],
    ["Buffers per block", `${pipeline.stages}`],
  ];
}

/** What sets the pace, and what would help. */
function boundWords({ pipeline, bound, pace, enough }: Plan) {
  const { windows, stages, blocks, latency, load, compute } = pipeline;
  if (latency + load + compute === 0) return "Nothing takes any time.";
  if (windows === 1) {
    return "There is one window only: nothing can overlap with it, however many buffers there are.";
  }
  const each = `${clocks(pace)} per window${blocks > 1 ? " of each block" : ""}`;
  const share = blocks > 1 ? `${blocks} blocks × ` : "";
  if (bound === "compute") {
    const times = `${share}${number(compute)} = ${each}`;
    return `Arithmetic decides here: once it runs, it never waits. ${times}.`;
  }
  if (bound === "load") {
    const times = `${share}${number(load)} = ${each}`;
    return (
      `The memory pipe decides here: windows come in one after the other, ${times}. More buffers ` +
      "do not help; a larger tile, which reuses its window more, would."
    );
  }
  const why =
    stages > 1
      ? "a buffer is free for the next load only after its window was multiplied."
      : "with one buffer, load and multiplication take turns.";
  const help = enough
    ? `${plural(enough, "buffer")} would hide the wait.`
    : "Even 6 buffers do not hide the wait.";
  return `Waiting decides here, ${each}: ${why} ${help}`;
}

/** How far the model is from the kernel that it is filled with. */
function measuredWords({ kernel, pace, pipeline }: Plan) {
  if (!kernel) return "";
  const each = `per window${pipeline.blocks > 1 ? " of each block" : ""}`;
  const times = number(kernel.measured / pace);
  return (
    `Measured, ${kernel.label} takes ${clocks(kernel.measured)} ${each}, ${times} times the ` +
    "model, which knows no barriers, no reads of shared memory and no other SMs" +
    `${kernel.note ? ` (${kernel.note})` : ""}.`
  );
}

/** What happens at one time, block by block. */
function momentWords({ items, pipeline, total }: Plan, time: number) {
  const start = `At ${clocks(Math.round(time))}:`;
  if (time >= total) return `${start} all is done.`;
  const words = range(0, pipeline.blocks - 1).map((block) => {
    const mine = items.filter((item) => item.block === block);
    const name = pipeline.blocks > 1 ? ` Block ${block}:` : "";
    return `${name} ${blockParts(mine, time).join("; ")}.`;
  });
  return `${start}${words.join("")}`;
}

/** What the windows of one block do at one time. */
function blockParts(mine: TimedWindow[], time: number) {
  const inside = (from: number, to: number): boolean => from <= time && time < to;
  const now = mine.find(({ pieces }) => {
    const last = pieces.at(-1);
    return last && inside(pieces[0].start, last.end);
  });
  const next = mine.find(({ done }) => done > time);
  const waits = next ? `waits for window ${next.number}` : "all is done";
  const coming = mine.filter(({ comes, there }) => inside(comes, there));
  const asked = mine.filter((item) => inside(item.asked, item.comes)).map((item) => item.number);
  const parts = [
    now ? `window ${now.number} is multiplied from buffer ${now.buffer}` : waits,
    ...coming.map((item) => `window ${item.number} comes into buffer ${item.buffer}`),
  ];
  if (asked.length === 1) parts.push(`window ${asked[0]} is asked for`);
  if (asked.length > 1) parts.push(`windows ${asked[0]} to ${asked.at(-1)} are asked for`);
  return parts;
}

/** Where the axis ends, and the measured bar; all that is drawn has one scale. */
function axisOf({ serial, total, kernel, pipeline }: Plan) {
  const measured = kernel ? kernel.measured * pipeline.windows : 0;
  return { end: Math.max(1, serial, total, measured), measured };
}

/** The rows of each block, one per buffer and one for the arithmetic. */
class Drawing extends OverTime {
  measured;
  each;

  /** @param time where the cursor stands */
  constructor(
    scene: Scene,
    public plan: Plan,
    time: number,
    width: number,
  ) {
    const { end, measured } = axisOf(plan);
    super(scene, time, end, { gutter: GUTTER, width });
    this.measured = measured;
    this.each = plan.pipeline.stages > 3 ? 16 : 20; // px, of the row of a buffer
  }

  draw(picture: SVGSVGElement) {
    const { plan, width } = this;
    let y = 20; // the cursor's head stands above
    for (let block = 0; block < plan.pipeline.blocks; block++) y = this.drawBlock(block, y);
    if (plan.kernel) y = this.drawMeasured(y);
    this.drawBelow(y + 2);
    setAttributes(picture, { viewBox: `0 0 ${width} ${y + 28}`, height: y + 28 });
    this.scene.finish();
  }

  /** @returns where the next row begins */
  drawBlock(block: number, top: number): number {
    const { plan, each } = this;
    const { stages, blocks } = plan.pipeline;
    let y = top;
    if (blocks > 1) {
      this.text(`block${block}`, "lab-block-name", 0, y + 12, `Block ${block}`, "start");
      y += 18;
    }
    for (let buffer = 0; buffer < stages; buffer++) this.drawRow(block, buffer, y + buffer * each);
    const lane = y + stages * each + 4;
    this.name(`name${block}`, lane + TALL / 2 + 4, "multiply");
    let idle = 0;
    for (const item of plan.items.filter((one) => one.block === block)) {
      this.drawLoad(item, y + item.buffer * each + 2);
      this.drawWork(item, lane);
      this.drawWait(item, idle, lane);
      idle = item.done;
    }
    return lane + TALL + 12;
  }

  drawRow(block: number, buffer: number, y: number) {
    const id = `${block}-${buffer}`;
    this.name(`name${id}`, y + this.each / 2 + 4, `buffer ${buffer}`);
    const d = `M${GUTTER} ${y + this.each}H${this.width - MARGIN}`;
    this.scene.draw(`row${id}`, "path", { class: "lab-grid", d });
  }

  /** From asking for a window until it is multiplied, in the row of its buffer. */
  drawLoad({ block, number: n, asked, comes, there, done }: TimedWindow, top: number) {
    const { each } = this;
    const id = `${block}-${n}`;
    const tall = each - 4;
    if (comes > asked) {
      const look = `lab-latency${this.now(asked, comes)}`;
      this.rect(`asked${id}`, look, asked, comes, top + each / 2 - 4, 6);
    }
    if (done > there) this.rect(`held${id}`, "lab-held", there, done, top, tall);
    if (there > comes) {
      this.box(`load${id}`, `lab-load${this.now(comes, there)}`, comes, there, top, tall, `${n}`);
    }
  }

  /** The multiplication of a window, as high as its share of the arithmetic. */
  drawWork({ block, number: n, pieces }: TimedWindow, lane: number) {
    const named = longest(pieces.filter(({ share }) => TALL * share > 14));
    pieces.forEach((piece, i) => {
      const { start, end, share } = piece;
      const [id, tall] = [`work${block}-${n}-${i}`, TALL * share];
      const look = `lab-work${this.now(start, end)}`;
      this.box(id, look, start, end, lane + TALL - tall, tall, piece === named ? `${n}` : "");
    });
  }

  /**
   * Where the block multiplies nothing before a window.
   * @param idle since when
   */
  drawWait({ block, number: n, pieces, done }: TimedWindow, idle: number, lane: number) {
    const begin = pieces[0]?.start ?? done;
    if (!this.plan.pipeline.compute) return;
    const [from, to] = [this.x(idle), this.x(begin)];
    if (begin > idle) {
      const d = slanted(from, to, lane, TALL);
      this.scene.draw(`gap${block}-${n}`, "path", { class: "lab-gap", d });
    }
    if (to - from > 42) {
      this.text(`wait${block}-${n}`, "lab-wait", (from + to) / 2, lane + TALL / 2 + 4, "waits");
    }
  }

  /** @returns where the next row begins */
  drawMeasured(y: number): number {
    this.name("name-measured", y + 15, "measured");
    this.rect("measured", "lab-measured-bar", 0, this.measured, y + 4, 14);
    return y + 26;
  }

  drawBelow(axis: number) {
    const { scene, x, plan } = this;
    this.drawAxis(axis, "clocks");
    const { serial, total, pipeline } = plan;
    if (pipeline.stages > 1 && serial > total) {
      scene.draw("serial", "path", { class: "lab-serial", d: `M${x(serial)} 4V${axis}` });
      this.text("serial-name", "lab-tick lab-halo", x(serial) - 5, 13, "serial ends", "end");
    }
    this.drawCursor(axis);
  }

  rect(id: string, look: string, from: number, to: number, y: number, height: number): void {
    const width = Math.max(0.5, this.x(to) - this.x(from));
    this.scene.draw(id, "rect", { class: look, x: this.x(from), y, width, height });
  }

  /** A box with its window's number, where that fits. */
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
    if (!node.firstChild) node.append(svg("rect"), svg("text", { "text-anchor": "middle" }));
    const [frame, name] = node.children;
    const [x, wide] = [this.x(from), this.x(to) - this.x(from)];
    setAttributes(frame, { x, y, width: Math.max(0.5, wide - 1), height });
    setAttributes(name, { x: x + wide / 2, y: y + height / 2 + 4.5 });
    name.textContent = wide > 9 * label.length + 4 ? label : "";
  }
}

/** The piece that lasts longest; undefined if there is none. */
const longest = (pieces: Piece[]) =>
  [...pieces].sort((p, q) => q.end - q.start - (p.end - p.start)).at(0);
