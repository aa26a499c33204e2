// What the roofline tells: about a point, about its roofs, about its signs.

import { roofAt } from "../formulas/roofs.ts";
import { limitWords } from "../models/limits.ts";
import { number, percent } from "../text.ts";
import type { Content, Point } from "./roofline_model.ts";
import { html, present, svg } from "./shared/dom.ts";
import { HUES, LEVEL_NAMES, mark } from "./shared/levels.ts";

export function pointText({ gpu, here, steps }: Content, point: Point) {
  const { kernel, kind, level, intensity, gflops, note } = point;
  const roof = roofAt(gpu, level, intensity);
  const source = roof.roof && !roof.capped ? roof.roof.source : `FP32 peak, ${gpu.peaks[0].source}`;
  const share = percent(gflops / roof.gflops);
  const path = stepWords(steps, point);
  const places = here.filter((one) => one.kernel === kernel);
  return present([
    html("p", { class: "lab-headline" }, html("strong", {}, kernel), ` · ${kind}`),
    html(
      "p",
      {},
      html("span", { class: `lab-swatch lab-${HUES[level]}` }, LEVEL_NAMES[level]),
      ` · ${number(intensity)} FLOP/B · `,
      html("strong", {}, `${number(gflops)} GFLOP/s`),
      ` · ${share} of the roof there, ${number(roof.gflops)} (${source})`,
    ),
    html("p", {}, limitWords(gpu, places)),
    path && html("p", {}, path),
    note && html("p", { class: "lab-note" }, note),
  ]);
}

/** How far a path has come from the kernel before. */
function stepWords(steps: Point[], point: Point) {
  const before = steps[steps.indexOf(point) - 1];
  if (!before) return "";
  const speed = number(point.gflops / before.gflops);
  const reuse = number(point.intensity / before.intensity);
  return `From ${before.kernel} to here: ${speed} times the speed at ${reuse} times the FLOP/B.`;
}

/** Where the roofs meet, while no point is read. */
export function roofText({ gpu, here, level, visible }: Content) {
  const measured = ({ kind }: Point) => kind === "measured";
  const [ridge, peak] = [gpu.peak_gflops / level.gbs, number(gpu.peak_gflops)];
  const uncounted =
    `No kernel has a measured place here: the bytes that this level of ${gpu.name} moves were not ` +
    "counted. L1 and shared memory need no counters.";
  return present([
    html(
      "p",
      {},
      html("span", { class: `lab-swatch lab-${HUES[level.id]}` }, level.label),
      ` of ${gpu.name} is the lower roof up to `,
      html("strong", {}, `${number(ridge)} FLOP/B`),
      `. From there on it is the FP32 peak, ${peak} GFLOP/s.`,
    ),
    here.some(measured) && !visible.some(measured) && html("p", { class: "lab-hint" }, uncounted),
    visible.length > 0 &&
      html("p", { class: "lab-hint" }, "Point at a mark, or Tab to it and use the arrow keys."),
  ]);
}

/** Explain only those signs that the picture uses in two forms. */
export function keyEntries({ gpu, visible, level }: Content) {
  const drawn = [...gpu.levels.filter(({ id }) => id === level.id), ...gpu.peaks];
  const roofs = new Set(drawn.map(({ measured }) => measured));
  const marks = new Set(visible.map((point) => point.mark));
  const outline = (id: string) =>
    svg("path", { d: mark(id, 5), transform: "translate(13 7)", class: `lab-${HUES[id]}` });
  const both = level.id === "shared" && marks.has("l1");
  const entry = (name: string, shape: SVGElement, words: string): Node => {
    const frame = { viewBox: "0 0 26 14", width: 26, "aria-hidden": true };
    const sample = svg("svg", { class: `lab-sample ${name}`, ...frame }, shape);
    return html("span", {}, sample, words);
  };
  const kindEntry = (kind: string) => {
    const one = visible.find((point) => point.kind === kind);
    const needed = !both || visible.some((point) => point.kind !== kind);
    return one && needed && entry(`lab-${kind}`, outline(one.mark), kind);
  };
  const line = () => svg("path", { d: "M1 7H25" });
  return present([
    kindEntry("predicted"),
    kindEntry("measured"),
    both && entry("lab-mark", outline("l1"), "mostly through L1"),
    both && marks.has("shared") && entry("lab-mark", outline("shared"), "through shared memory"),
    roofs.size > 1 && entry("lab-solid", line(), "measured roof"),
    roofs.size > 1 && entry("lab-dashed", line(), "data sheet"),
    roofs.size === 1 && html("span", {}, roofs.has(true) ? "Roofs: measured" : "Roofs: data sheet"),
  ]);
}

/** The hue of what bounds a kernel: its memory level's, or else that of the arithmetic. */
function hueOf(unit: string) {
  const levels = Object.entries(LEVEL_NAMES);
  const [level] = levels.find(([, name]) => unit.startsWith(name)) ?? ["register"];
  return HUES[level];
}

/**
 * A bar for each measured kernel at the level shown: its speed, and how far its bound would let it.
 * Where points of the picture coincide, these tell them apart.
 */
export function barRows({ visible }: Content) {
  const measured = visible.filter(({ kind }) => kind === "measured");
  if (!measured.length) return [];
  const most = Math.max(...measured.map((point) => Math.max(point.gflops, point.bound_gflops)));
  return measured.map(({ kernel, gflops, bound_by: unit, bound_gflops: bound }) => {
    const width = (amount: number) => `width:${((100 * amount) / most).toFixed(2)}%`;
    const track = html(
      "span",
      { class: `lab-track lab-${hueOf(unit)}`, "aria-hidden": "true" },
      bound > 0 && html("span", { class: "lab-cap", style: width(bound) }),
      html("span", { class: "lab-fill", style: width(gflops) }),
    );
    const of =
      bound > 0 ? ` of at most ${number(bound)} · ${unit} · ${percent(gflops / bound)}` : "";
    const numbers = html("span", {}, html("strong", {}, number(gflops)), `${of}`);
    const look = { role: "listitem", "data-kernel": kernel };
    return html("div", look, html("span", { class: "lab-of" }, kernel), track, numbers);
  });
}
