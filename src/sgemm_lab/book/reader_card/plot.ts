// The steps of a measured card on a log scale, between what its memory feeds and its arithmetic
// reaches.

import { number, percent } from "../../text.ts";
import type { Measured } from "../../wgsl/form.ts";
import { html, svg } from "../../widgets/shared/dom.ts";
import { onResize } from "../../widgets/shared/model.ts";
import { logScale } from "../../widgets/shared/scale.ts";
import type { Row } from "./compared.ts";
import { isFp32 } from "./compared.ts";

const HEIGHT = 280;
const WIDEST = 680;
const BOX = { left: 52, top: 30, right: 12, bottom: 30 };
/** Two floats for a multiplication and an addition, where nothing is read once for several. */
const FLOP_PER_BYTE = 2 / 8;

/**
 * A figure that is drawn anew where its width changes, so that its letters keep their size.
 * @param width px that it will have
 */
export function plot(measured: Measured, rows: Row[], width: number) {
  const figure = html("figure", { class: "lab-card-plot" });
  const caption = html("figcaption", {}, conclusion(measured, rows));
  const draw = (room: number) =>
    figure.replaceChildren(picture(measured, rows, Math.min(WIDEST, room || WIDEST)), caption);
  draw(width);
  onResize(figure, () => draw(figure.clientWidth));
  return figure;
}

function conclusion(measured: Measured, rows: Row[]) {
  const fed = measured.copy_gbs * FLOP_PER_BYTE;
  const above = rows.filter(({ mine }) => mine.gflops > fed).length;
  const best = Math.max(...rows.filter(isFp32).map(({ mine }) => mine.share));
  const hollow = rows.every(isFp32) ? "" : " The hollow mark is f16, half precision.";
  return (
    `${above} of ${rows.length} steps do more than memory could feed if nothing were reused; the ` +
    `best reaches ${percent(best)} of arithmetic alone. Both lines are measured on ` +
    `this card. Upper: multiply-adds without memory. Lower: a copy moves ` +
    `${number(measured.copy_gbs)} GB/s, and a multiply-add that reuses nothing needs 8 bytes.${hollow}`
  );
}

/** @param width px */
function picture(measured: Measured, rows: Row[], width: number) {
  const arithmetic = measured.multiply_add_gflops;
  const fed = measured.copy_gbs * FLOP_PER_BYTE;
  const speeds = rows.map(({ mine }) => mine.gflops);
  const best = Math.max(...speeds);
  const right = width - BOX.right;
  const ends = [Math.min(fed, ...speeds) / 1.8, Math.max(arithmetic, best) * 1.4];
  const y = logScale(ends[0], ends[1], HEIGHT - BOX.bottom, BOX.top);
  const apart = (right - BOX.left) / rows.length;
  const words =
    `${measured.card}: ${rows.length} steps from ${number(speeds[0])} to ${number(best)} ` +
    `GFLOP/s, below ${number(arithmetic)} GFLOP/s of arithmetic alone`;
  return svg(
    "svg",
    { role: "img", "aria-label": words, viewBox: `0 0 ${width} ${HEIGHT}` },
    ...y.decades.flatMap((value) => [
      line("grid", y(value), right),
      text(number(value), BOX.left - 8, y(value) + 4, "end"),
    ]),
    line("roof", y(arithmetic), right),
    text(`arithmetic alone: ${number(arithmetic)}`, BOX.left + 4, y(arithmetic) - 7),
    line("fed", y(fed), right),
    text(`memory, no reuse: ${number(fed)}`, right, y(fed) + 16, "end"),
    text("GFLOP/s", 2, 14),
    text("steps in WGSL, in the order of the table", right, HEIGHT - 8, "end"),
    ...rows.map((row, place) => dot(row, BOX.left + (place + 0.5) * apart, y(row.mine.gflops))),
  );
}

const line = (kind: string, y: number, right: number) =>
  svg("line", { class: `lab-card-${kind}`, x1: BOX.left, x2: right, y1: y, y2: y });

const text = (words: string, x: number, y: number, anchor: "start" | "end" = "start") =>
  svg("text", { x, y, "text-anchor": anchor }, words);

function dot({ step, mine }: Row, cx: number, cy: number) {
  const name = svg("title", {}, `${step.title}: ${number(mine.gflops)} GFLOP/s`);
  const look = step.arithmetic === "fp32" ? "lab-card-dot" : "lab-card-dot lab-card-half";
  return svg("circle", { class: look, cx, cy, r: 4 }, name);
}
