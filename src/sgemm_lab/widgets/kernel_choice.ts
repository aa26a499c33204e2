// Which kernel for M, N, K: the best candidate of each kernel, and what the model says that it costs.

import "./kernel_choice.css";
import { sentence } from "../formulas/sentences.ts";
import { TERMS } from "../gemm/dispatch/model.py";
import type { Candidate, Size } from "../gemm/dispatch/model.ts";
import { costsOf, isCandidate, seconds, terms } from "../gemm/dispatch/model.ts";
import { comma, number, sizeText } from "../text.ts";
import { choiceSlider, chosenGpu, controls, gpuChooser } from "./shared/controls.ts";
import { button, html, say } from "./shared/dom.ts";
import { keepDrawn, put, tool } from "./shared/model.ts";

interface State {
  gpus: { id: string; name: string; sms: number; candidates: Candidate[] }[];
  gpu: string;
  m: number;
  n: number;
  k: number;
  kernel: string;
}

/** The best candidate of a kernel; `time` is infinite where it has none at this size. */
interface Row {
  kernel: string;
  best: Candidate;
  time: number;
}

const STATE = ["gpus", "gpu", "m", "n", "k", "kernel"] as const;
const SIDES = ["m", "n", "k"] as const;
const POWERS = Array.from({ length: 15 }, (_, power) => 2 ** power);
const LENGTHS = POWERS.flatMap((side) => (side < 2 ? [side] : [side, side * 1.5])).slice(0, -1);
const PRESETS: [words: string, size: Size][] = [
  ["256³", [256, 256, 256]],
  ["512³", [512, 512, 512]],
  ["1024³", [1024, 1024, 1024]],
  ["4096³", [4096, 4096, 4096]],
  ["one row", [1, 4096, 4096]],
  ["one column", [4096, 1, 4096]],
  ["long K", [300, 500, 7000]],
  ["K = 1", [4096, 4096, 1]],
];
/** Terms that kernels without tiles count in other units. */
const UNTILED: Record<string, string> = {
  work: "products of the busiest SM",
  depth: "loads of one thread that follow one another",
  stores: "blocks of the busiest SM",
};

export function render({ model, el }: View<State>) {
  const gpu = gpuChooser(model);
  gpu.field.hidden = false; // of one GPU too: the page's header may name another
  const sliders = SIDES.map((side) =>
    choiceSlider(side.toUpperCase(), (value) => put(model, side, value)),
  );
  const presets = PRESETS.map(([words, size]) =>
    button(words, () => {
      for (const [i, side] of SIDES.entries()) put(model, side, size[i]);
    }),
  );
  const readout = [html("p"), html("p")];
  const list = html("div", { class: "lab-candidates" });
  const heading = html("summary");
  const body = html("tbody");
  const heads = ["term of the model", "count", "µs"].map((head) =>
    html("th", { scope: "col" }, head),
  );
  const root = tool(
    el,
    "lab-kernel-choice",
    html("div", { class: "lab-bar" }, gpu.field),
    html("div", { class: "lab-chips", role: "group", "aria-label": "M×N×K" }, presets),
    controls(sliders),
    html("div", { class: "lab-verdict", role: "status" }, readout),
    list,
    html(
      "details",
      { class: "lab-terms" },
      heading,
      html("table", { class: "lab-table" }, html("thead", {}, html("tr", {}, heads)), body),
    ),
  );
  const rows = new Map(kernelsOf(model).map((kernel) => [kernel, candidateRow(kernel, pick)]));

  function pick(kernel: string) {
    put(model, "kernel", kernel === model.get("kernel") ? "" : kernel);
  }

  function update() {
    const size: Size = [model.get("m"), model.get("n"), model.get("k")];
    const { name, sms, candidates } = chosenGpu(model);
    const found = kernelsOf(model).map((kernel) => bestOf(kernel, candidates, size, sms));
    const order = found.filter(({ time }) => time < Infinity).sort((a, b) => a.time - b.time);
    const shown = order.find(({ kernel }) => kernel === model.get("kernel")) ?? order[0];
    gpu.show();
    sliders.forEach((slider, i) => {
      slider.show(size[i], LENGTHS, comma(size[i]));
    });
    const slowest = order[order.length - 1].time;
    for (const one of order) rows.get(one.kernel)?.show(one, order[0], shown, slowest);
    const elements = order.flatMap(({ kernel }) => rows.get(kernel)?.element ?? []);
    if (elements.some((one, i) => one !== list.children[i])) list.replaceChildren(...elements);
    while (list.children.length > elements.length) list.lastChild?.remove();
    say(readout, wordsOf(order, shown, size, name));
    say([heading], [`What the model adds up for ${shown.best.label}`]);
    body.replaceChildren(...termRows(shown, size, sms));
  }

  return keepDrawn(model, STATE, root, update);
}

function kernelsOf(model: Model<State>) {
  return [...new Set(model.get("gpus").flatMap((gpu) => gpu.candidates.map((one) => one.kernel)))];
}

function bestOf(kernel: string, candidates: Candidate[], size: Size, sms: number): Row {
  const own = candidates.filter((one) => one.kernel === kernel);
  return own
    .filter((one) => isCandidate(one, size))
    .map((best) => ({ kernel, best, time: seconds(best, size, sms) }))
    .reduce((a, b) => (b.time < a.time ? b : a), { kernel, best: own[0], time: Infinity });
}

/** A bar as long as a candidate takes, as a button that shows its terms. */
function candidateRow(kernel: string, pick: (kernel: string) => void) {
  const [name, fill, value] = [html("span"), html("span"), html("span", { class: "lab-value" })];
  fill.className = "lab-bar-fill";
  const track = html("span", { class: "lab-bar-track" }, fill);
  const element = html("button", { type: "button", class: "lab-candidate" }, name, track, value);
  element.addEventListener("click", () => pick(kernel));
  return {
    element,
    show({ best, time }: Row, first: Row, shown: Row, slowest: number) {
      say([name, value], [best.label, timeWords(time, first.time)]);
      fill.style.width = `${(100 * time) / slowest}%`;
      element.classList.toggle("lab-pick", kernel === first.kernel);
      element.setAttribute("aria-pressed", String(kernel === shown.kernel));
    },
  };
}

function timeWords(time: number, fastest: number) {
  return `${number(1e6 * time)} µs${time > fastest ? `, ${number(time / fastest)} ×` : ""}`;
}

function wordsOf(order: Row[], shown: Row, size: Size, gpu: string) {
  const [first, next] = order;
  const last = order[order.length - 1];
  const label = first.best.label;
  const pick = sentence("choice.pick", {
    ...{ gpu, size: sizeText(size), label, time: 1e6 * first.time },
  });
  const times = shown.time / first.time;
  if (shown !== first) return [pick, sentence("choice.wrong", { label: shown.best.label, times })];
  const values = { second: next.best.label, worst: last.best.label };
  const us = { next: 1e6 * next.time, last: 1e6 * last.time };
  return [pick, sentence("choice.others", { ...values, ...us })];
}

/** All terms in the same order, so that nothing moves. */
function termRows({ best }: Row, size: Size, sms: number) {
  const [counts, costs] = [terms(best, size, sms), costsOf(best, size)];
  const untiled = best.values.BM ? {} : UNTILED;
  return Object.values({ ...TERMS, ...untiled }).map((words, i) => {
    const times = [counts[i], 1e6 * counts[i] * costs[i]];
    const cells = times.map((value) => html("td", {}, number(value)));
    return html("tr", {}, html("th", { scope: "row" }, words), cells);
  });
}
