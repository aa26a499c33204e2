// @ts-check
// Beside each roofline of a page the same widget once more: the kept card between the roofs that it
// measured itself, with those of the kernels that it ran.

import { number, percent } from "../../text.js";
import { PageModel } from "../../widgets/page/model.js";
import { html } from "../../widgets/shared/dom.js";

/** @typedef {import("../../wgsl/form.js").Measured} Measured */
/** @typedef {import("./compared.js").Row} Row */
/** @typedef {import("../../widgets/page/draw.js").Drawn} Drawn */
/** @typedef {import("../../widgets/roofline_model.js").Point} Point */

/** What a page calls such a widget: its class. */
const ROOFLINE = "sgemm_lab.widgets.roofline.Roofline";
const ASKED =
  "as its threads ask for numbers: browsers do not tell how many bytes came from memory";

/**
 * @param {Measured} measured
 * @param {Row[]} rows
 */
export async function addRooflines(measured, rows) {
  await window.labWidgetsDrawn;
  /** @type {NodeListOf<HTMLElement & { labDrawn?: Drawn }>} */
  const places = document.querySelectorAll(".lab-widget");
  for (const place of places) {
    if (place.labDrawn?.kind === ROOFLINE) await addRoofline(place, place.labDrawn, measured, rows);
  }
}

/**
 * @param {HTMLElement} place of a roofline
 * @param {Drawn} drawn
 * @param {Measured} measured
 * @param {Row[]} rows
 */
async function addRoofline(place, { model, widget }, measured, rows) {
  const named = /** @type {Point[]} */ (model.get("points")).map(({ kernel }) => kernel);
  const mine = rows.filter(({ step }) => named.includes(step.name));
  const gpu = roofsOf(measured);
  const state = {
    gpus: [gpu],
    gpu: gpu.id,
    points: mine.map((row) => pointOf(row, gpu, measured)),
    hidden_levels: [],
    hidden_kernels: [],
    level: "dram",
    selected: -1,
  };
  const live = html("div", { class: "lab-widget-live" });
  const box = html("div", { class: "lab-widget is-drawing" }, live);
  place.after(
    html(
      "section",
      { class: "lab-card-beside", "aria-label": "Your card" },
      html("p", {}, ...conclusion(measured, mine, new Set(named))),
      box,
    ),
  );
  const { signal } = new AbortController();
  await widget.render({ model: new PageModel(state), el: live, signal });
  box.classList.replace("is-drawing", "is-live");
}

/**
 * The two roofs that a card measured.
 * @param {Measured} measured
 * @returns {RoofedGpu}
 */
function roofsOf({ card, date, copy_gbs, multiply_add_gflops }) {
  const source = `measured in WGSL, ${card}, ${date.slice(0, 10)}`;
  return {
    id: "kept",
    name: `${card}, WGSL`,
    peak_gflops: multiply_add_gflops,
    peak_source: source,
    peaks: [{ gflops: multiply_add_gflops, source, measured: true }],
    levels: [{ id: "dram", label: "Memory, by a copy", gbs: copy_gbs, source, measured: true }],
    max_threads_per_block: 256,
  };
}

/**
 * Where a step came out.
 * @param {Row} row
 * @param {RoofedGpu} gpu
 * @param {Measured} measured
 * @returns {Point}
 */
function pointOf({ step, mine }, gpu, { size, date }) {
  return {
    kernel: step.name,
    label: `${step.name}, WGSL`,
    gpu: gpu.id,
    level: "dram",
    mark: "dram",
    intensity: step.intensity,
    gflops: mine.gflops,
    kind: "measured",
    note: `${size}³, ${ASKED}; ${date.slice(0, 10)}`,
    href: "",
    bound_by: "",
    bound_gflops: 0,
  };
}

/**
 * @param {Measured} measured
 * @param {Row[]} mine
 * @param {Set<string>} named by the roofline of the page
 */
function conclusion({ card, size, copy_gbs, multiply_add_gflops }, mine, named) {
  const ridge = multiply_add_gflops / copy_gbs;
  const missing = named.size - mine.length;
  const reached = mine.map(({ step, mine: { gflops, share } }) => {
    return `${step.name} reaches ${number(gflops)} GFLOP/s, ${percent(share)} of its arithmetic`;
  });
  return [
    html("strong", {}, `${card}, WGSL`),
    ` at ${size}³, between its own roofs. A copy moves ${number(copy_gbs)} GB/s, multiply-adds ` +
      `alone make ${number(multiply_add_gflops)} GFLOP/s, and they meet at ${number(ridge)} FLOP/B. ` +
      `${reached.length ? `${reached.join("; ")}. ` : ""}` +
      "A point above the slanted roof has its numbers from caches." +
      (missing
        ? " Kernels that are missing here cannot be said in WGSL, or were not measured."
        : ""),
  ];
}
