// The occupancy calculator: what a block takes, how many fit on an SM, and what decides it.

import "./occupancy.css";
import { THREADS_PER_BLOCK } from "../formulas/occupancy.py";
import type { Launch, Resource, Sm } from "../formulas/occupancy.ts";
import { blockTakes, fitOf, fitWords, smHas } from "../formulas/occupancy.ts";
import { MAX_REGISTERS, WARP } from "../hardware.py";
import { comma, number, plural } from "../text.ts";
import { choiceSlider, chosenGpu, controls, gpuChooser } from "./shared/controls.ts";
import { boxWithText, html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { range } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

type Gpu = Sm & { id: string; name: string };

type State = { gpus: Gpu[]; gpu: string } & Launch;

const STATE = ["gpus", "gpu", "threads", "registers", "shared"] as const;
/** The numbers of a launch: `most` of any GPU, and how one is written. */
const QUANTITIES: {
  name: keyof Launch;
  label: string;
  least: number;
  step: number;
  most: (gpus: Gpu[]) => number;
  words: (value: number) => string;
}[] = [
  {
    ...{ name: "threads", label: "Threads per block", least: WARP, step: WARP },
    ...{ most: () => THREADS_PER_BLOCK, words: comma },
  },
  {
    ...{ name: "registers", label: "Registers per thread", least: 16, step: 1 },
    ...{ most: () => MAX_REGISTERS, words: comma },
  },
  {
    ...{ name: "shared", label: "Shared KB per block", least: 0, step: 1024 },
    most: (gpus) => Math.max(...gpus.map((gpu) => gpu.shared_per_block)),
    words: (value) => number(value / 1024),
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
  const sliders = QUANTITIES.map(({ name, label, least, step, most, words }) => {
    const slider = choiceSlider(label, (value) => put(model, name, value));
    const choices = range(least, most(model.get("gpus")), step);
    const show = () => slider.show(model.get(name), choices, words(model.get(name)));
    return { element: slider.element, show };
  });
  const conclusion = html("strong");
  const reasons = html("p");
  const readout = { class: "lab-verdict", role: "status", "aria-live": "polite" };
  const words = html("div", readout, html("p", {}, conclusion), reasons);
  const rooms = html("dl", { class: "lab-rooms" });
  const slots = svg("svg", { class: "lab-slots", role: "img" });
  const caption = html("p", { class: "lab-about" });
  const root = tool(
    el,
    "lab-occupancy",
    html("div", { class: "lab-bar" }, gpus.field),
    controls(sliders),
    words,
    html("div", { class: "lab-columns" }, rooms, html("div", {}, slots, caption)),
  );
  const slotScene = new Scene(slots);

  function update() {
    const gpu = chosenGpu(model);
    const [threads, registers] = [model.get("threads"), model.get("registers")];
    const launch = { threads, registers, shared: model.get("shared") };
    const width = availableWidth(root);
    const wide = width >= 540;
    root.classList.toggle("lab-wide", wide);
    gpus.show();
    for (const { show } of sliders) show();
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
    const [box, name] = boxWithText(node, { x: 1, y: 1, rx: 2 });
    setAttributes(box, { width: side - 2, height: side - 2 });
    setAttributes(name, { x: side / 2, y: side / 2 + 4 });
    name.textContent = taken ? `${block + 1}` : "";
  }
  scene.finish();
}
