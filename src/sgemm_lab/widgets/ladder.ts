// The ladder: one bar per kernel at one size on one GPU, cuBLAS of the same run as the line to
// reach.

import "./ladder.css";
import { ladderWords } from "../formulas/comparisons.ts";
import { number, percent, plural, sizeText } from "../text.ts";
import { choiceSlider, chosenGpu, gpuChooser, segments, steadyVerdict } from "./shared/controls.ts";
import { html, present, setAttributes, svg, write } from "./shared/dom.ts";
import { textWidth } from "./shared/labels.ts";
import { availableWidth, keepDrawn, listen, put, tool } from "./shared/model.ts";
import { rowPicker } from "./shared/row_picker.ts";
import { fit, Scene } from "./shared/scene.ts";

type Size = [m: number, n: number, k: number];

interface Kernel {
  name: string;
  title: string;
  variant: boolean;
  /** a sentence where it is not FP32 */
  arithmetic: string;
  chapter: string;
  href: string;
}

/** Samples of a kernel, GFLOP/s. */
interface Result {
  /** how many */
  samples: number;
  min: number;
  p25: number;
  median: number;
  p75: number;
  max: number;
  /** in the same arithmetic; 0 where it was not measured */
  cublas: number;
  note: string;
}

type Step = Kernel & { result: Result | undefined };

type MeasuredStep = Kernel & { result: Result };

interface State {
  kernels: Kernel[];
  gpus: { id: string; name: string }[];
  sizes: Size[];
  notes: string[];
  /** compact results, see ladder.py */
  rows: number[][];
  gpu: string;
  size: Size;
  measure: "share" | "gflops";
  variants: boolean;
  selected: string;
}

const STATE = ["rows", "gpu", "size", "measure", "variants"] as const;
const LIBRARY = "cublas";
const NO_LIBRARY = "cuBLAS was not measured in this arithmetic";
const HINT =
  "Point at a bar for its numbers, or Tab to it and use the arrow keys. The mark on its end spans " +
  "all samples, the thick part the middle half. A bar with a break is longer than drawn.";

const isSquare = (size: Size) => new Set(size).size === 1;
const share = (result: Result) => result.median / result.cublas;
const isMeasured = (step: Step): step is MeasuredStep => step.result !== undefined;

export function render({ model, el }: View<State>) {
  const controls = ladderControls(model);
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const readout = steadyVerdict();
  const root = tool(
    el,
    "lab-ladder",
    html("div", { class: "lab-bar" }, controls.gpu),
    html("div", { class: "lab-controls" }, controls.others),
    [picture, readout.element, readout.measure],
  );
  const scene = new Scene(picture);
  const open = () => readout.element.querySelector("a")?.click();
  const row = "lab-kernel";
  const point = rowPicker({ model, root, picture, row, readout, words: wordsOf, open });
  /** those drawn last */
  let shown: Step[] = [];
  let withVariants = model.get("variants");

  function update() {
    const width = availableWidth(root); // asked before anything changes: cheap
    controls.show();
    root.classList.toggle("lab-uneven", !isSquare(model.get("size")));
    shown = steps(model);
    // Rows jump when others come between: then bars jump too, and do not glide beside other names.
    root.classList.toggle("lab-jumps", withVariants !== model.get("variants"));
    withVariants = model.get("variants");
    drawLadder(scene, picture, shown, model.get("measure") === "share", width);
    const place = `${sizeText(model.get("size"))} on ${chosenGpu(model).name}`;
    setAttributes(picture, { "aria-label": `Kernels at ${place}, ${shown.length} bars` });
    const cause = [width, model.get("gpu"), model.get("variants")].join();
    readout.reserve(cause, () => [conclusion(model, shown), ...shown.map(textOf)]);
    point();
  }

  function wordsOf(name: string | undefined) {
    const active = shown.find((step) => step.name === name);
    return active ? textOf(active) : conclusion(model, shown);
  }

  function textOf(step: Step) {
    const onPage = root.closest(".lab-widget") !== null; // of the book, not in a notebook
    return stepText(step, model.get("size"), onPage);
  }

  return keepDrawn(model, STATE, root, update, {
    stop: listen(model, ["selected"], point),
  });
}

/** The choices of GPU, size, measure and variants. */
function ladderControls(model: Model<State>) {
  const chooser = gpuChooser(model);
  const sizes = sizeControls(model, (size) => put(model, "size", size));
  const measure = segments("Bars show", { share: "share of cuBLAS", gflops: "GFLOP/s" }, (value) =>
    put(model, "measure", value),
  );
  const variants = html("button", { type: "button", class: "lab-chip" }, "all kernels");
  variants.addEventListener("click", () => put(model, "variants", !model.get("variants")));
  const chips = html("div", { class: "lab-chips" }, variants);
  return {
    gpu: chooser.field,
    others: [...sizes.elements, measure.element, chips],
    show() {
      chooser.show();
      sizes.show();
      measure.show(model.get("measure"));
      chips.hidden = !model.get("kernels").some(({ variant }) => variant);
      variants.setAttribute("aria-pressed", String(model.get("variants")));
    },
  };
}

/** A slider over cubes, and a list of the other shapes. */
function sizeControls(model: Model<State>, choose: (size: Size) => void) {
  /** where the slider stands while another shape is chosen */
  let side: number | undefined;
  const cube = (m: number): Size => [m, m, m];
  const square = choiceSlider("M = N = K", (m) => choose(cube(m)));
  const shape = html("select", { class: "lab-select", "aria-label": "Other shapes, M×N×K" });
  shape.addEventListener("change", () =>
    choose(shape.value ? model.get("sizes")[Number(shape.value)] : cube(side ?? 0)),
  );
  const label = html("span", { class: "lab-slider-name" }, "Other shapes");
  return {
    elements: [square.element, html("label", { class: "lab-shape" }, label, shape)],
    show() {
      const [size, sizes] = [model.get("size"), model.get("sizes")];
      const sides = sizes.filter(isSquare).map(([m]) => m);
      if (isSquare(size)) [side] = size;
      side ??= sides.at(-1) ?? size[0];
      square.show(side, sides, isSquare(size) ? `${side}` : "not now");
      if (shape.dataset.sizes !== String(sizes)) {
        shape.dataset.sizes = String(sizes);
        shape.replaceChildren(...shapeOptions(sizes));
      }
      const at = sizes.findIndex((entry) => String(entry) === String(size));
      shape.value = isSquare(size) ? "" : String(at);
    },
  };
}

function shapeOptions(sizes: Size[]) {
  const others = sizes.flatMap((entry, i) =>
    isSquare(entry) ? [] : [html("option", { value: i }, sizeText(entry))],
  );
  return [html("option", { value: "" }, "none, a square"), ...others];
}

/** The kernels to draw, cuBLAS last, each with its result at the chosen size and GPU, if any. */
function steps(model: Model<State>): Step[] {
  const card = model.get("gpus").findIndex(({ id }) => id === model.get("gpu"));
  const at = model.get("sizes").findIndex((entry) => String(entry) === String(model.get("size")));
  const notes = model.get("notes");
  /** kernel → its result */
  const results: Map<number, Result> = new Map();
  for (const row of model.get("rows")) {
    if (row[0] !== card || row[2] !== at) continue;
    const [, kernel, , note, samples, min, p25, median, p75, max, cublas] = row;
    results.set(kernel, { samples, min, p25, median, p75, max, cublas, note: notes[note] });
  }
  const kernels = model.get("kernels").map((step, i) => ({ ...step, result: results.get(i) }));
  const library = {
    name: LIBRARY,
    title: "cuBLAS",
    variant: false,
    arithmetic: "",
    chapter: "",
    href: "",
  };
  const all = [...kernels, { ...library, result: results.get(-1) }];
  return all.filter((step) => !step.variant || model.get("variants"));
}

/** The conclusion, and how to read on. */
function conclusion(model: Model<State>, shown: Step[]) {
  const measured = shown.filter(isMeasured).filter(({ name }) => name !== LIBRARY);
  const alike = measured.filter(({ arithmetic }) => !arithmetic);
  const words = ladderWords(
    sizeText(model.get("size")),
    chosenGpu(model).name,
    alike.map(({ title, result }) => [title, result]),
    alike.length < measured.length,
  );
  return [html("p", {}, words), html("p", { class: "lab-hint" }, HINT)];
}

/**
 * The numbers of one kernel.
 * @param onPage whether the chapter's address leads anywhere
 */
function stepText(step: Step, size: Size, onPage: boolean) {
  const { name, title, result, arithmetic, chapter, href } = step;
  const link = onPage && href ? html("a", { href }, `Read ${chapter}`) : `See ${chapter}.`;
  const source = chapter ? html("p", {}, link) : null;
  if (!result) {
    const missing = ` · not measured at ${sizeText(size)}`;
    return present([html("p", {}, html("strong", {}, title), missing), source]);
  }
  const { samples, min, p25, median, p75, max, cublas, note } = result;
  const [own, whole] = [number(median), number(cublas)];
  const of = cublas
    ? ` · ${percent(share(result))} of cuBLAS, ${whole} in the same run`
    : ` · ${NO_LIBRARY}`;
  const speed = html("strong", {}, `${own} GFLOP/s`);
  const spread =
    `Median of ${plural(samples, "sample")}: all from ${number(min)} to ${number(max)}, ` +
    `the middle half from ${number(p25)} to ${number(p75)}.`;
  return present([
    html("p", {}, html("strong", {}, title), " · ", speed, name !== LIBRARY && of),
    arithmetic ? html("p", {}, arithmetic) : null,
    html("p", {}, spread),
    source,
    html("p", { class: "lab-note" }, note),
  ]);
}

type Layout = ReturnType<typeof layOut>;

/** Where the bars stand, in shares of cuBLAS or in GFLOP/s. */
function layOut(shown: Step[], asShare: boolean, width: number) {
  const wide = width >= 560;
  const names = Math.max(...shown.map((step) => textWidth(step.title, 13.5))) + 14;
  const [left, right] = [wide ? names : 0, width - 58];
  const [row, bar, above] = wide ? [27, 17, 5] : [40, 15, 21];
  const top = 24;
  const measured = shown.filter(isMeasured).filter(({ result }) => result.cublas || !asShare);
  const unit = (result: Result) => (asShare ? result.cublas : 1);
  const library = measured.find((step) => step.name === LIBRARY);
  const reference = asShare ? 1 : (library?.result.median ?? 0);
  // The steps fill the width. A bar of another arithmetic that is longer breaks off at its end.
  const steps = measured.filter(({ arithmetic }) => !arithmetic);
  const drawn = steps.length > 1 ? steps : measured; // cuBLAS is always one
  const most = Math.max(reference, ...drawn.map(({ result }) => result.max / unit(result))) || 1;
  const x = (value: number) => left + ((right - left) * Math.min(value, most)) / most;
  const height = top + row * shown.length + 4;
  return { wide, width, height, left, top, row, bar, above, unit, reference, most, x };
}

/** One row per step: name, bar to the median, and on its end the spread of the samples. */
function drawLadder(
  scene: Scene,
  picture: SVGSVGElement,
  shown: Step[],
  asShare: boolean,
  width: number,
) {
  const layout = layOut(shown, asShare, width);
  const { height, reference, top, x } = layout;
  fit(picture, width, height);
  if (reference) {
    const at = x(reference);
    scene.draw("reference", "path", { class: "lab-reference", d: `M${at} ${top - 6}V${height}` });
    const words = asShare ? "cuBLAS in the same run" : "cuBLAS";
    const anchor = at < textWidth(words, 12.5) ? "start" : "end"; // to the side that has room
    const place = { x: at, y: top - 11, "text-anchor": anchor };
    scene.draw("reference-name", "text", { class: "lab-reference-name", ...place }, words);
  }
  shown.forEach((step, i) => {
    drawStep(scene, step, i, layout, asShare);
  });
  scene.finish();
}

function drawStep(scene: Scene, step: Step, i: number, layout: Layout, asShare: boolean) {
  const { wide, width, left, top, row, bar, above, unit, most, x } = layout;
  const result = step.result?.cublas || !asShare ? step.result : undefined;
  const node = scene.draw(`step-${step.name}`, "g", {
    class: `lab-kernel${step.name === LIBRARY ? " lab-library" : ""}${step.arithmetic ? " lab-other" : ""}`,
    role: "img",
    "data-name": step.name,
    "aria-label": stepLabel(step),
    transform: `translate(0 ${top + i * row})`,
  });
  if (!node.firstChild) node.append(...stepParts());
  const [hit, name, body, all, half, value] = node.children;
  setAttributes(hit, { x: -6, width: width + 12, height: row });
  const [at, anchor] = wide ? [{ x: left - 10, y: above + 13 }, "end"] : [{ x: 0, y: 15 }, "start"];
  setAttributes(name, { ...at, "text-anchor": anchor });
  const place = (part: "min" | "p25" | "median" | "p75" | "max") =>
    result ? x(result[part] / unit(result)) : left;
  const [min, max, middle] = [place("min"), place("max"), above + bar / 2];
  const breaksOff = result !== undefined && result.median / unit(result) > most;
  const stop = (end: number) => `M${end} ${middle - 4}V${middle + 4}`;
  setAttributes(body, { x: left, y: above, height: bar, width: place("median") - left });
  const spread = `M${min} ${middle}H${max}${stop(min)}${stop(max)}`;
  const broken = [14, 9].map((back) => `M${max - back} ${above + bar + 2}l5 ${-bar - 4}`).join("");
  setAttributes(all, { d: breaksOff ? broken : result ? spread : "" });
  const [from, to] = [place("p25"), place("p75")];
  setAttributes(half, { x: from, y: middle - 2.5, height: 5, width: to - from });
  const look = result ? "lab-value" : "lab-value lab-missing";
  setAttributes(value, { x: max + (result ? 7 : 0), y: middle + 4.5, class: look });
  const speed = result && (asShare ? percent(share(result)) : number(result.median));
  write(name, step.title);
  write(value, speed ?? (step.result ? NO_LIBRARY : "not measured at this size"));
}

function stepParts() {
  return [
    svg("rect", { class: "lab-hit" }),
    svg("text", { class: "lab-name" }),
    svg("rect", { class: "lab-speed" }),
    svg("path", { class: "lab-all" }),
    svg("rect", { class: "lab-half" }),
    svg("text", { class: "lab-value" }),
  ];
}

function stepLabel({ name, title, result }: Step) {
  if (!result) return `${title}, not measured at this size`;
  const speed = `${title}, ${number(result.median)} GFLOP/s`;
  if (name === LIBRARY) return speed;
  return `${speed}, ${result.cublas ? `${percent(share(result))} of cuBLAS` : NO_LIBRARY}`;
}
