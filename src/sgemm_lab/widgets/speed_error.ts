// Speed over error: every way to multiply as a point, with switches for inputs, K and size.

import "./speed_error.css";
import { TIMED } from "../formulas/error_points.py";
import { errorWords, placeWords, shownWays, wayWords } from "../formulas/error_points.ts";
import { segments, steadyVerdict } from "./shared/controls.ts";
import { html, svg } from "./shared/dom.ts";
import { mark } from "./shared/levels.ts";
import { availableWidth, keepDrawn, listen, put, tool } from "./shared/model.ts";
import { rowPicker } from "./shared/row_picker.ts";
import { layersOf, nearest } from "./shared/scene.ts";
import { type DrawnWay, drawErrors, LAYERS, LOOKS, type Point } from "./speed_error_picture.ts";

interface State {
  ways: DrawnWay[];
  sizes: string[];
  classes: Record<string, string>;
  lengths: number[];
  side: number;
  gpu: string;
  /** of each arithmetic */
  words: Record<string, string>;
  inputs: string;
  /** 0 for the product that was timed */
  k: number;
  size: string;
  every: boolean;
  selected: string;
}

/** Which size, class of inputs and K are chosen. */
type Place = [size: number, inputs: number, k: number];

const STATE = ["ways", "inputs", "k", "size", "every"] as const;
const HINT = "Point at a mark for its numbers, or Tab to it and use the arrow keys.";

export function render({ model, el }: View<State>) {
  const controls = switches(model);
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const readout = steadyVerdict();
  const key = html("div", { class: "lab-key" });
  const root = tool(
    el,
    "lab-speed-error",
    html("div", { class: "lab-controls" }, controls.elements),
    picture,
    html("div", { class: "lab-under" }, key, controls.every),
    [readout.element, readout.measure],
  );
  const layers = layersOf(picture, ...LAYERS);
  /** those drawn last */
  let points: Point[] = [];
  const near = (event: MouseEvent) => nearest(points, picture, event)?.title ?? null;
  const words = (title: string | undefined) => textOf(model, title);
  const point = rowPicker({ model, root, picture, row: "lab-way", readout, words, near });

  function update() {
    const width = availableWidth(root); // asked before anything changes: cheap
    const ways = model.get("ways");
    const place = placeIn(model);
    controls.show();
    const shown = shownWays(ways, ...place, model.get("every"));
    const wanted = ways.filter(({ first }) => model.get("every") || first[place[0]]);
    points = drawErrors(picture, layers, ways, { shown, wanted, place, width });
    key.replaceChildren(...keyEntries(model, wanted));
    const names = [undefined, ...points.map(({ title }) => title)];
    readout.reserve(`${width} ${place} ${model.get("every")}`, () => names.map(words));
    point();
  }
  const stop = listen(model, ["selected"], point);
  return keepDrawn(model, STATE, root, update, { stop });
}

/** The choices of inputs, K, size, and whether all are shown. */
function switches(model: Model<State>) {
  const [classes, lengths, sizes] = [
    model.get("classes"),
    model.get("lengths"),
    model.get("sizes"),
  ];
  const names = Object.keys(classes);
  const options = names.map((name) => html("option", { value: name }, classes[name]));
  const inputs = html("select", { class: "lab-select" }, options);
  inputs.addEventListener("change", () => {
    // Of the products that were timed, errors are known of the first class alone.
    const timed = model.get("k") === 0 && inputs.value !== names[0];
    if (timed) model.set("k", lengths[Math.floor(lengths.length / 2)]);
    put(model, "inputs", inputs.value);
  });
  const field = html("label", { class: "lab-inputs" }, html("span", {}, "Inputs"), inputs);
  const by = lengths.map((k) => [`${k}`, `${k}`]);
  const k = segments("Error at K", Object.fromEntries([["0", "as timed"], ...by]), (value) => {
    if (value === "0") model.set("inputs", names[0]);
    put(model, "k", Number(value));
  });
  const size = segments("Speed at", Object.fromEntries(sizes.map((one) => [one, one])), (value) =>
    put(model, "size", value),
  );
  const every = html("button", { type: "button", class: "lab-chip" }, "all kernels");
  every.addEventListener("click", () => put(model, "every", !model.get("every")));
  const chips = html("div", { class: "lab-chips" }, every);
  // Where all are shown at first there are no others.
  chips.hidden = model.get("ways").every(({ first }) => first.every(Boolean));
  return {
    elements: [field, k.element, size.element],
    every: chips,
    show() {
      inputs.value = model.get("inputs");
      k.show(model.get("k"));
      size.show(model.get("size"));
      every.setAttribute("aria-pressed", String(model.get("every")));
    },
  };
}

function placeIn(model: Model<State>): Place {
  const k = model.get("k");
  return [
    model.get("sizes").indexOf(model.get("size")),
    Object.keys(model.get("classes")).indexOf(model.get("inputs")),
    k ? model.get("lengths").indexOf(k) : TIMED,
  ];
}

/** The numbers of one way, or the conclusion of all that are shown. */
function textOf(model: Model<State>, title: string | undefined) {
  const [ways, place] = [model.get("ways"), placeIn(model)];
  const shown = shownWays(ways, ...place, model.get("every"));
  const at = shown.find((i) => ways[i].title === title);
  const about = html("p", { class: "lab-note" }, aboutWords(model, place, shown.length));
  if (at === undefined) return [html("p", {}, errorWords(ways, shown, ...place)), about, hint()];
  const { arithmetic } = ways[at];
  const name = html("strong", {}, ways[at].title);
  const products = ` · products in ${model.get("words")[arithmetic]} · `;
  const words = wayWords(ways, at, ...place, model.get("size"));
  return [html("p", {}, name, products, words), about];
}

function hint() {
  return html("p", { class: "lab-note" }, HINT);
}

/**
 * Of which products speed and error are.
 * @param shown how many
 */
function aboutWords(model: Model<State>, [size]: Place, shown: number) {
  const wanted = model.get("ways").filter(({ first }) => model.get("every") || first[size]);
  const inputs = model.get("classes")[model.get("inputs")];
  const missing = wanted.length - shown;
  return placeWords(model.get("size"), inputs, model.get("k"), model.get("side"), missing);
}

/** What the marks mean: one entry for each arithmetic, and one for each other kind. */
function keyEntries(model: Model<State>, wanted: DrawnWay[]) {
  const words = model.get("words");
  const entry = (look: string, shape: string, name: string): Node => {
    const outline = svg("path", { d: mark(shape, 5), transform: "translate(7 7)" });
    const frame = { viewBox: "0 0 14 14", width: 14, "aria-hidden": true };
    return html("span", {}, svg("svg", { class: `lab-sample ${look}`, ...frame }, outline), name);
  };
  const arithmetics = [...new Set(wanted.map(({ arithmetic }) => arithmetic))];
  const kinds = new Set(wanted.map(({ kind }) => kind));
  const others = [
    { kind: "library", words: "cuBLAS" },
    { kind: "strassen", words: "Strassen, by levels" },
  ].filter(({ kind }) => kinds.has(kind));
  return [
    ...arithmetics.map((one) => entry(`lab-${LOOKS.hues[one]}`, "dram", words[one])),
    ...others.map(({ kind, words }) => entry(`lab-plain lab-${kind}`, LOOKS.marks[kind], words)),
  ];
}
