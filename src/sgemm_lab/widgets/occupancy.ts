// The occupancy calculator: what a block takes, how many fit on an SM, and what decides it.

import "./occupancy.css";
import { REGISTER_UNIT, THREADS_PER_BLOCK } from "../formulas/occupancy.py";
import type { Launch, Resource, Sm } from "../formulas/occupancy.ts";
import { blockTakes, fitOf, fitWords, smHas } from "../formulas/occupancy.ts";
import { MAX_REGISTERS, WARP } from "../hardware.py";
import { comma, number, plural, tenthsPercent } from "../text.ts";
import { chosenGpu, fillTo, gpuChooser } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { textWidth } from "./shared/labels.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { within } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

type Gpu = Sm & { id: string; name: string };

type State = { gpus: Gpu[]; gpu: string } & Launch;

/**
 * One of the three numbers of a launch: `step` is what a slider or a drag moves by, `ticks` stand
 * in the what-if curve, `per` is the unit of the field, `grain` what nothing changes within.
 */
interface Quantity {
  name: keyof Launch;
  label: string;
  hue: string;
  low: number;
  step: number;
  per: number;
  grain: number;
  unit: string;
  ticks: number[];
  high: (gpus: Gpu[]) => number;
}

/** Where occupancy is the same along one number. */
interface Run {
  from: number;
  to: number;
  share: number;
}

const STATE = ["gpus", "gpu", "threads", "registers", "shared"] as const;
const QUANTITIES: Quantity[] = [
  {
    ...{ name: "threads", label: "Threads per block", unit: "threads", hue: "peak" },
    ...{ low: 1, step: WARP, per: 1, grain: WARP, ticks: [256, 512, 1024] },
    high: () => THREADS_PER_BLOCK,
  },
  {
    ...{ name: "registers", label: "Registers per thread", unit: "registers", hue: "register" },
    ...{ low: 1, step: 1, per: 1, grain: REGISTER_UNIT / WARP, ticks: [64, 128, 255] },
    high: () => MAX_REGISTERS,
  },
  {
    ...{ name: "shared", label: "Shared KB per block", unit: "KB", hue: "shared" },
    // 512 bytes are less than a pixel.
    ...{ low: 0, step: 1024, per: 1024, grain: 512, ticks: [0, 64, 128, 192] },
    high: (gpus) => Math.max(...gpus.map((gpu) => gpu.shared_per_block)),
  },
];
const RESOURCES: { name: Resource; label: string; hue: string }[] = [
  { name: "blocks", label: "Block slots", hue: "peak" },
  { name: "warps", label: "Warp slots", hue: "peak" },
  { name: "registers", label: "Registers", hue: "register" },
  { name: "shared", label: "Shared memory", hue: "shared" },
];

export function render({ model, el }: View<State>) {
  const gpus = gpuChooser(model);
  const panels = QUANTITIES.map((quantity) => whatIfPanel(quantity, change));
  const conclusion = html("strong");
  const reasons = html("p");
  const readout = { class: "lab-verdict", role: "status", "aria-live": "polite" };
  const words = html("div", readout, html("p", {}, conclusion), reasons);
  const rooms = html("dl", { class: "lab-rooms" });
  const slots = svg("svg", { class: "lab-slots", role: "img" });
  const caption = html("p", { class: "lab-about" });
  const sheets = panels.map((panel) => panel.element);
  const root = tool(
    el,
    "lab-occupancy",
    html("div", { class: "lab-bar" }, gpus.field),
    html("div", { class: "lab-panels" }, sheets),
    words,
    html("div", { class: "lab-columns" }, rooms, html("div", {}, slots, caption)),
  );
  const slotScene = new Scene(slots);

  function change(name: keyof Launch, value: number) {
    if (model.get(name) === value) return;
    put(model, name, value);
  }

  function update() {
    const gpu = chosenGpu(model);
    const launch = launchOf(model);
    const width = availableWidth(root);
    const wide = width >= 540;
    root.classList.toggle("lab-wide", wide);
    gpus.show();
    const panelWidth = wide ? (width - 2 * 20) / 3 : width;
    for (const panel of panels) panel.show(gpu, model.get("gpus"), launch, panelWidth);
    const [first, ...others] = fitWords(gpu, launch);
    words.classList.toggle("lab-impossible", fitOf(gpu, launch).blocks === 0);
    say([conclusion, reasons], [first, others.join(" ")]);
    showLimits(rooms, gpu, launch);
    drawSlots(slotScene, slots, gpu, launch, wide ? { width: 240, rows: 8 } : { width, rows: 4 });
    const many = gpu.warps_per_sm;
    caption.textContent = `The ${many} warp slots of an SM, each with the number of its block.`;
  }

  return keepDrawn(model, STATE, root, update);
}

function launchOf(model: Model<State>): Launch {
  return {
    threads: model.get("threads"),
    registers: model.get("registers"),
    shared: model.get("shared"),
  };
}

/**
 * One number of the launch: a field, a slider, and above the slider the occupancy that each of its
 * places would give. `react` gets the name and the new value.
 */
function whatIfPanel(quantity: Quantity, react: (name: keyof Launch, value: number) => void) {
  const { name, label, hue, low, step, per } = quantity;
  const number = { type: "number", step: "any", inputmode: "decimal", "aria-label": label };
  const field = html("input", { ...number, class: "lab-input" });
  const slider = { type: "range", step: "any", class: "lab-range", "aria-label": label };
  const range = html("input", slider);
  const picture = svg("svg", { class: "lab-what-if", role: "img" });
  const scene = new Scene(picture);
  let [value, high] = [0, 1];
  let valueAt = (_pixel: number) => value;

  const shown = (bytes: number) => String(Number((bytes / per).toFixed(2)));
  const move = (wanted: number) => react(name, within(Math.round(wanted / step) * step, low, high));

  field.addEventListener("change", () => {
    const typed = Number(field.value);
    const good = field.value !== "" && Number.isFinite(typed);
    const wanted = good ? within(Math.round(typed * per), low, high) : value;
    if (good) react(name, wanted);
    field.value = shown(wanted);
  });
  range.addEventListener("input", () => {
    move(Number(range.value));
    range.value = String(value); // the thumb rests where it was snapped to, once that is drawn
  });
  stepByKeys(
    range,
    () => value / step,
    (steps) => move(step * steps),
  );
  dragAlong(picture, range, (pixel) => move(valueAt(pixel)));

  const head = html("span", { class: "lab-slider-name" }, label);
  return {
    element: html(
      "div",
      { class: `lab-panel lab-${hue}`, "data-name": name },
      html("div", { class: "lab-panel-head" }, head, field),
      [picture, range],
    ),
    show(gpu: Gpu, gpus: Gpu[], launch: Launch, width: number): void {
      high = quantity.high(gpus);
      value = launch[name];
      const words = `${shown(value)} ${quantity.unit}`;
      setAttributes(range, { min: low, max: high, "aria-valuetext": words });
      setAttributes(field, { min: low / per, max: high / per });
      range.value = String(value);
      fillTo(range, (value - low) / (high - low));
      if (document.activeElement !== field) field.value = shown(value);
      const curve = layOut(quantity, gpu, launch, high, width);
      drawWhatIf(scene, picture, curve);
      valueAt = curve.invert;
    },
  };
}

/** From between two steps an arrow key leads to the next of them. */
function stepByKeys(range: HTMLInputElement, steps: () => number, move: (steps: number) => void) {
  range.addEventListener("keydown", (event) => {
    const up = ["ArrowRight", "ArrowUp"].includes(event.key);
    if (!up && !["ArrowLeft", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    move(up ? Math.floor(steps()) + 1 : Math.ceil(steps()) - 1);
  });
}

/** A drag along a picture moves its slider. `move` gets the place in the picture's own units. */
function dragAlong(picture: SVGSVGElement, range: HTMLInputElement, move: (pixel: number) => void) {
  const drag = (event: PointerEvent) => {
    const { left, width } = picture.getBoundingClientRect();
    move(((event.clientX - left) * picture.viewBox.baseVal.width) / width);
  };
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault(); // no selection; the slider takes the focus instead
    range.focus({ preventScroll: true });
    picture.setPointerCapture(event.pointerId);
    drag(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (picture.hasPointerCapture(event.pointerId)) drag(event);
  });
}

/** Where occupancy changes along one number of the launch, left to right. */
function whatIf({ name, low, grain }: Quantity, gpu: Gpu, launch: Launch, high: number) {
  const runs: Run[] = [];
  for (let start = 0; start < high; start += grain) {
    const to = Math.min(high, start + grain);
    const from = Math.max(low, start);
    const { share } = fitOf(gpu, { ...launch, [name]: to });
    // What cannot run cannot run with more either.
    if (share === 0) return [...runs, { from, to: high, share }];
    const last = runs.at(-1);
    if (last?.share === share) last.to = to;
    else runs.push({ from, to, share });
  }
  return runs;
}

type Curve = ReturnType<typeof layOut>;

/** The curve of one number and where it stands. */
function layOut(quantity: Quantity, gpu: Gpu, launch: Launch, high: number, width: number) {
  const { low } = quantity;
  const height = 112;
  const box = { left: 44, top: 12, right: width - 12, bottom: height - 24 };
  const wide = box.right - box.left;
  const runs = whatIf(quantity, gpu, launch, high);
  return {
    ...{ quantity, high, width, height, box, runs },
    now: launch[quantity.name],
    share: fitOf(gpu, launch).share,
    barred: runs.find(({ share }) => share === 0),
    x: (value: number) => box.left + ((value - low) / (high - low)) * wide,
    y: (share: number) => box.bottom - share * (box.bottom - box.top),
    invert: (pixel: number) => low + ((pixel - box.left) / wide) * (high - low),
  };
}

/** The curve of one number, and the present value on it. */
function drawWhatIf(scene: Scene, picture: SVGSVGElement, curve: Curve) {
  const { quantity, high, width, height, box, runs, now, share, barred, x, y } = curve;
  const { label, low, hue } = quantity;
  drawShares(scene, curve);
  if (barred) {
    const size = { width: x(high) - x(barred.from), height: box.bottom - box.top };
    const at = { x: x(barred.from), y: box.top };
    scene.draw("barred", "rect", { class: "lab-barred", ...at, ...size });
  }
  const steps = runs.map((run) => `L${x(run.from)} ${y(run.share)}L${x(run.to)} ${y(run.share)}`);
  const d = steps.join("");
  const area = `M${x(low)} ${y(0)}${d}L${x(high)} ${y(0)}Z`;
  scene.draw("area", "path", { class: "lab-area", d: area });
  scene.draw("curve", "path", { class: "lab-curve", d: `M${d.slice(1)}` });
  drawTicks(scene, curve);
  scene.draw("now", "path", { class: "lab-now", d: `M${x(now)} ${box.top}V${box.bottom}` });
  if (barred && x(high) - x(barred.from) > textWidth("cannot run", 12) + 8) {
    const at = { x: (x(barred.from) + x(high)) / 2, y: y(0.5) + 4, "text-anchor": "middle" };
    const look = { class: "lab-tick lab-barred-label" };
    scene.draw("barred-label", "text", { ...look, ...at }, "cannot run");
  }
  const here = { r: 5, cx: x(now), cy: y(share) };
  scene.draw("here", "circle", { class: `lab-here lab-${hue}`, ...here });
  scene.finish();
  const best = tenthsPercent(Math.max(...runs.map((run) => run.share)));
  const over = label[0].toLowerCase() + label.slice(1);
  const readout = `Occupancy over ${over}: ${tenthsPercent(share)} now, ${best} at best.`;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": readout });
}

/** Lines at no, half and full occupancy. */
function drawShares(scene: Scene, { box, y }: Curve) {
  for (const share of [0, 0.5, 1]) {
    const d = `M${box.left} ${y(share)}H${box.right}`;
    scene.draw(`y${share}`, "path", { class: share ? "lab-grid" : "lab-axis", d });
    const at = { x: box.left - 6, y: y(share) + 4, "text-anchor": "end" };
    scene.draw(`ty${share}`, "text", { class: "lab-tick", ...at }, tenthsPercent(share));
  }
}

/** Numbers below the curve. */
function drawTicks(scene: Scene, { quantity: { ticks, per }, high, box, x }: Curve) {
  for (const tick of ticks) {
    const anchor = tick * per === high ? "end" : "middle";
    const at = { x: x(tick * per), y: box.bottom + 17, "text-anchor": anchor };
    scene.draw(`x${tick}`, "text", { class: "lab-tick", ...at }, number(tick));
  }
}

/** A row per resource: its room in words, and a bar of what the blocks take of it. */
function showLimits(list: HTMLElement, gpu: Gpu, launch: Launch) {
  const fit = fitOf(gpu, launch);
  const [takes, has] = [blockTakes(gpu, launch), smHas(gpu)];
  const lacks = {
    blocks: false,
    warps: false,
    registers: takes.warps > takes.warpsByRegisters,
    shared: launch.shared > gpu.shared_per_block,
  };
  const rows = RESOURCES.map(({ name, label, hue }) => {
    const room = fit.room[name];
    const limit = fit.blocks ? fit.binding.includes(name) : lacks[name];
    const many = room === null ? "no limit" : `room for ${plural(room, "block")}`;
    const head = limit && html("strong", {}, "limit: ");
    const [part, whole] = [amount(name, takes[name]), amount(name, has[name])];
    const words = html(
      "dd",
      {},
      html("span", { class: "lab-many" }, head, (limit || fit.blocks > 0) && many),
      blocksBar(takes[name] / has[name], fit.blocks, room ?? 0),
      html("span", { class: "lab-takes" }, `a block takes ${part} of ${whole}`),
    );
    const look = `lab-room lab-${hue}${limit ? " lab-limit" : ""}`;
    return html("div", { class: look, "data-name": name }, html("dt", {}, label), words);
  });
  list.replaceChildren(...rows);
}

function amount(name: Resource, value: number) {
  if (name !== "shared") return comma(value);
  return `${(value / 1024).toLocaleString("en-US")} KB`;
}

/** A bar of width 1: `blocks` pieces filled, those that it has room for besides outlined. */
function blocksBar(piece: number, blocks: number, room: number) {
  const wide = 1000 * piece;
  const pieces = (from: number, to: number): string => {
    let d = "";
    for (let i = from; i < to; i++) d += `M${wide * i} 0h${wide}v12h${-wide}z`;
    return d || "M0 0";
  };
  const frame = { viewBox: "0 0 1000 12", preserveAspectRatio: "none", "aria-hidden": "true" };
  return svg(
    "svg",
    { class: "lab-room-bar", ...frame },
    svg("path", { class: "lab-room-left", d: pieces(blocks, room) }),
    svg("path", { class: "lab-room-taken", d: pieces(0, blocks) }),
  );
}

/** The warp slots, column by column: every other block is dark, each warp bears its number. */
function drawSlots(
  scene: Scene,
  picture: SVGSVGElement,
  gpu: Gpu,
  launch: Launch,
  { width, rows }: { width: number; rows: number },
) {
  const fit = fitOf(gpu, launch);
  const { warps } = blockTakes(gpu, launch);
  const slots = gpu.warps_per_sm;
  const side = Math.min(30, Math.floor((width * rows) / slots));
  const blocks = `${plural(fit.blocks, "block")} of ${plural(warps, "warp")}`;
  const label = `${fit.warps} of ${slots} warp slots are taken, by ${blocks}.`;
  const height = side * rows;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
  for (let slot = 0; slot < slots; slot++) {
    const block = Math.floor(slot / warps);
    const taken = block < fit.blocks;
    const dark = taken && block % 2 === 0 ? " lab-dark" : "";
    const node = scene.draw(`slot${slot}`, "g", {
      class: `lab-slot${taken ? " lab-taken" : ""}${dark}`,
      transform: `translate(${Math.floor(slot / rows) * side} ${(slot % rows) * side})`,
    });
    if (!node.firstChild) {
      node.append(svg("rect", { x: 1, y: 1, rx: 2 }), svg("text", { "text-anchor": "middle" }));
    }
    const [box, name] = node.children;
    setAttributes(box, { width: side - 2, height: side - 2 });
    setAttributes(name, { x: side / 2, y: side / 2 + 4 });
    name.textContent = taken ? `${block + 1}` : "";
  }
  scene.finish();
}
