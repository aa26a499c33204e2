// After each roofline of a page the same widget once more: the saved card between the roofs that it
// measured itself, with those of the kernels that it ran.

import { number, percent } from "../../text.ts";
import type { Measured } from "../../wgsl/form.ts";
import type { Drawn } from "../../widgets/page/draw.ts";
import { PageModel } from "../../widgets/page/model.ts";
import type { Point } from "../../widgets/roofline_model.ts";
import { html } from "../../widgets/shared/dom.ts";
import type { Row } from "./compared.ts";

/** What a page calls such a widget: its class. */
const ROOFLINE = "sgemm_lab.widgets.roofline.Roofline";
const ASKED =
  "as its threads ask for numbers: browsers do not tell how many bytes came from memory";

export async function addRooflines(measured: Measured, rows: Row[]) {
  await window.labWidgetsDrawn;
  const places: NodeListOf<HTMLElement & { labDrawn?: Drawn }> =
    document.querySelectorAll(".lab-widget");
  for (const place of places) {
    if (place.labDrawn?.kind === ROOFLINE) await addRoofline(place, place.labDrawn, measured, rows);
  }
}

/** @param place of a roofline */
async function addRoofline(
  place: HTMLElement,
  { model, widget }: Drawn,
  measured: Measured,
  rows: Row[],
) {
  const named = (model.get("points") as Point[]).map(({ kernel }) => kernel);
  const mine = rows.filter(({ step }) => named.includes(step.name));
  const gpu = roofsOf(measured);
  const state = {
    gpus: [gpu],
    gpu: gpu.id,
    points: mine.map((row) => pointOf(row, gpu, measured)),
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

/** The two roofs that a card measured. */
function roofsOf({ card, date, copy_gbs, multiply_add_gflops }: Measured): RoofedGpu {
  const source = `measured in WGSL, ${card}, ${date.slice(0, 10)}`;
  return {
    id: "kept",
    name: `${card}, WGSL`,
    peak_gflops: multiply_add_gflops,
    peak_source: source,
    peaks: [{ gflops: multiply_add_gflops, source, measured: true }],
    levels: [{ id: "dram", label: "Memory, by a copy", gbs: copy_gbs, source, measured: true }],
  };
}

/** Where a step came out. */
function pointOf({ step, mine }: Row, gpu: RoofedGpu, { size, date }: Measured): Point {
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

/** @param named by the roofline of the page */
function conclusion(
  { card, size, copy_gbs, multiply_add_gflops }: Measured,
  mine: Row[],
  named: Set<string>,
) {
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
