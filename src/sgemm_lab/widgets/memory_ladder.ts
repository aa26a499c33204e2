// The memory ladder: latency and bandwidth of each level of memory on one GPU, on log scales, and
// in words what a number means for the arithmetic units.

import "./memory_ladder.css";
import type { MeasuredGpu } from "../formulas/comparisons.ts";
import { memoryWords } from "../formulas/comparisons.ts";
import { FLOAT_BYTES, FLOP_PER_FMA, WARP } from "../hardware.py";
import { number, ratio } from "../text.ts";
import { chosenGpu, gpuChooser, steadyVerdict } from "./shared/controls.ts";
import { html, setAttributes, svg } from "./shared/dom.ts";
import { HUES, mark } from "./shared/levels.ts";
import { availableWidth, keepDrawn, listen, tool } from "./shared/model.ts";
import { rowPicker } from "./shared/row_picker.ts";
import { logScale } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

type Kind = "latency" | "bandwidth";

type Level = "register" | "shared" | "constant" | "l1" | "l2" | "dram" | "copy";

interface More {
  id: string;
  note: string;
  sms: number;
  clock_mhz: number;
  fma_gflops: number;
}

type Gpu = MeasuredGpu & More;

interface State {
  gpus: Gpu[];
  gpu: string;
  selected: string;
}

/** A row of the picture. */
interface Row {
  id: string;
  kind: Kind;
  level: Level;
}

interface Panel {
  x: number;
  y: number;
  width: number;
}

const STATE = ["gpus", "gpu"] as const;
const BOTH: Kind[] = ["latency", "bandwidth"];
const KINDS: Record<Kind, { unit: string; title: string; levels: Level[] }> = {
  latency: {
    unit: "cycles",
    title: "Latency, cycles until the value is there",
    levels: ["register", "shared", "constant", "l1", "l2", "dram"],
  },
  bandwidth: {
    unit: "GB/s",
    title: "Bandwidth, GB/s of all SMs together",
    levels: ["shared", "l1", "l2", "dram", "copy"],
  },
};
const NAMES: Record<Level, string> = {
  register: "registers",
  shared: "shared memory",
  constant: "constant cache",
  l1: "L1 cache",
  l2: "L2 cache",
  dram: "DRAM",
  copy: "DRAM, copy",
};
const [ROW, TOP, FOOT, GAP] = [42, 26, 30, 36]; // px
const BESIDE = 560; // px from which both panels stand side by side

export function render({ model, el }: View<State>) {
  const chooser = gpuChooser(model);
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const readout = steadyVerdict();
  const root = tool(el, "lab-memory", html("div", { class: "lab-bar" }, chooser.field), [
    picture,
    readout.element,
    readout.measure,
  ]);
  const scene = new Scene(picture);
  const point = rowPicker({ model, root, picture, row: "lab-level", readout, words: wordsOf });
  const rows = BOTH.flatMap(rowsOf);

  function update() {
    const width = availableWidth(root); // asked before anything changes: cheap
    chooser.show();
    drawPanels(scene, picture, model, width);
    readout.reserve(`${width}`, () =>
      model
        .get("gpus")
        .flatMap((gpu) => [conclusion(gpu), ...rows.map((row) => levelText(gpu, row))]),
    );
    point();
  }

  function wordsOf(id: string | undefined) {
    const gpu = chosenGpu(model);
    const active = rows.find((row) => row.id === id);
    return active ? levelText(gpu, active) : conclusion(gpu);
  }

  return keepDrawn(model, STATE, root, update, {
    stop: listen(model, ["selected"], point),
  });
}

function rowsOf(kind: Kind): Row[] {
  return KINDS[kind].levels.map((level) => ({ id: `${kind} ${level}`, kind, level }));
}

/** Latency and bandwidth, side by side or one above the other. */
function drawPanels(scene: Scene, picture: SVGSVGElement, model: Model<State>, width: number) {
  const gpu = chosenGpu(model);
  const sideBySide = width >= BESIDE;
  const panel = sideBySide ? (width - GAP) / 2 : width;
  const talls = BOTH.map((kind) => TOP + ROW * KINDS[kind].levels.length + FOOT);
  const height = sideBySide ? Math.max(...talls) : talls.reduce((sum, tall) => sum + tall + 10, 0);
  const label = `latency and bandwidth of memory on ${gpu.name}`;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
  let y = 0;
  BOTH.forEach((kind, i) => {
    drawPanel(scene, kind, gpu, limits(model.get("gpus"), kind), {
      x: sideBySide ? i * (panel + GAP) : 0,
      y,
      width: panel,
    });
    if (!sideBySide) y += talls[i] + 10;
  });
  scene.finish();
}

/** Whole decades that hold every GPU, so that nothing moves but the marks. */
function limits(gpus: Gpu[], kind: Kind): [low: number, high: number] {
  const values = gpus.flatMap((gpu) => KINDS[kind].levels.map((level) => gpu[kind][level]));
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)));
  return [low, 10 ** Math.ceil(Math.log10(Math.max(...values)))];
}

/** One row per level on a log scale. */
function drawPanel(
  scene: Scene,
  kind: Kind,
  gpu: Gpu,
  [low, high]: [low: number, high: number],
  panel: Panel,
) {
  const { title, levels } = KINDS[kind];
  const { x: left, y: top, width } = panel;
  const x = logScale(low, high, left + 2, left + width - 16);
  const bottom = top + TOP + ROW * levels.length;
  const name = { class: "lab-panel-title", x: left, y: top + 13 };
  scene.draw(`${kind}-title`, "text", name, title);
  for (const decade of x.decades) {
    const d = `M${x(decade)} ${top + TOP}V${bottom}`;
    scene.draw(`${kind}-line-${decade}`, "path", { class: "lab-grid", d });
    const anchor = decade === low ? "start" : decade === high ? "end" : "middle";
    const at = { x: x(decade), y: bottom + 16, "text-anchor": anchor };
    scene.draw(`${kind}-tick-${decade}`, "text", { class: "lab-tick", ...at }, number(decade));
  }
  scene.draw(`${kind}-axis`, "path", { class: "lab-axis", d: `M${x(low)} ${bottom}H${x(high)}` });
  rowsOf(kind).forEach((row, i) => {
    drawRow(scene, row, i, gpu[kind], x, panel);
  });
}

/** A level: its name and number above, a stem on the scale below. */
function drawRow(
  scene: Scene,
  { id, kind, level }: Row,
  i: number,
  values: Record<string, number>,
  x: LogScale,
  { x: left, y: top, width }: Panel,
) {
  const { unit, levels } = KINDS[kind];
  const value = values[level];
  const node = scene.draw(id, "g", {
    class: `lab-level ${hueOf(level)}`,
    role: "img",
    "data-name": id,
    "aria-label": `${NAMES[level]}, ${number(value)} ${unit}`,
    transform: `translate(0 ${top + TOP + ROW * i})`,
  });
  if (!node.firstChild) {
    const mine = svg("g", { class: "lab-spot" }, svg("path", { d: mark(level, 6) }));
    node.append(
      svg("rect", { class: "lab-hit" }),
      svg("text", { class: "lab-level-name" }),
      svg("text", { class: "lab-level-value", "text-anchor": "end" }),
      svg("text", { class: "lab-ratio", "text-anchor": "end" }),
      svg("path", { class: "lab-stem" }),
      mine,
    );
  }
  const [hit, name, amount, above, stem, spot] = node.children;
  setAttributes(hit, { x: left - 6, y: 1, width: width + 12, height: ROW - 2 });
  setAttributes(name, { x: left + 2, y: 17 });
  name.textContent = NAMES[level];
  setAttributes(amount, { x: left + width - 54, y: 17 });
  amount.textContent = `${number(value)} ${unit}`;
  setAttributes(above, { x: left + width - 4, y: 17 });
  above.textContent = i ? `×${ratio(value / values[levels[i - 1]])}` : "";
  setAttributes(stem, { d: `M${x(x.low)} 30H${x(value)}` });
  const at = `translate(${x(value).toFixed(1)}px,30px)`;
  (spot as SVGElement).style.transform = at;
}

function hueOf(level: Level) {
  return level === "constant" ? "lab-other" : `lab-${HUES[level] ?? "dram"}`;
}

/** The conclusion, and how to read on. */
function conclusion(gpu: Gpu) {
  const hint = "× is the number of the row above. Point at a row, or Tab to it, for what it means.";
  return [html("p", {}, memoryWords(gpu)), html("p", { class: "lab-note" }, hint)];
}

/** What one number means. */
function levelText(gpu: Gpu, { kind, level }: Row) {
  const tell = kind === "latency" ? latencyText : bandwidthText;
  const { number: amount, meaning } = tell(gpu, level);
  const name = html("strong", { class: `lab-swatch ${hueOf(level)}` }, NAMES[level]);
  return [
    html("p", {}, name, ` · ${amount}`),
    html("p", {}, meaning),
    html("p", { class: "lab-note" }, gpu.note),
  ];
}

/** Multiply-adds per clock and SM: the measured rate, not the data sheet's. */
function fmasOf({ fma_gflops, sms, clock_mhz }: Gpu) {
  return (fma_gflops * 1e3) / FLOP_PER_FMA / sms / clock_mhz;
}

function latencyText(gpu: Gpu, level: Level) {
  const cycles = gpu.latency[level];
  const fmas = fmasOf(gpu);
  const meantime = number(Math.round(cycles * fmas));
  const warps = Math.ceil((cycles * fmas) / WARP);
  return {
    number: `${number(cycles)} cycles, ${number((cycles * 1e3) / gpu.clock_mhz)} ns`,
    meaning:
      level === "register"
        ? `The SM does ${number(fmas)} multiply-adds per clock. To keep it busy, ${meantime} must ` +
          `be under way that do not wait for each other: one each of ${warps} warps.`
        : `While one value is on its way, the SM could do ${meantime} multiply-adds. Other warps ` +
          "must have that work ready, or the SM waits.",
  };
}

function bandwidthText(gpu: Gpu, level: Level) {
  const gbs = gpu.bandwidth[level];
  const bytes = (gbs * 1e3) / gpu.sms / gpu.clock_mhz;
  const floats = bytes / FLOAT_BYTES;
  const fmas = fmasOf(gpu);
  const both = level === "copy" ? " Half of these bytes are read, half are written." : "";
  return {
    number: `${number(gbs)} GB/s, ${number(bytes)} bytes per clock and SM`,
    meaning:
      `That is ${number(floats)} floats per clock, and the SM does ${number(fmas)} multiply-adds ` +
      `in it. To keep the SM busy, each float must be used in ${number(fmas / floats)} of ` +
      `them.${both}`,
  };
}
