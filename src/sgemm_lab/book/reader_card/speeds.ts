// After each plot of speed over size: the same kernels in WGSL on the saved card, over its sizes.

import { number, percent } from "../../text.ts";
import type { Measured } from "../../wgsl/form.ts";
import { medianOf } from "../../wgsl/spread.ts";
import { html, svg } from "../../widgets/shared/dom.ts";
import { onResize } from "../../widgets/shared/model.ts";
import { logScale } from "../../widgets/shared/scale.ts";
import type { BookCard, Row } from "./compared.ts";
import { isFp32 } from "./compared.ts";

/** smallest size first */
type Curve = [size: number, gflops: number][];

/** of the book's GPU in CUDA, by the name of the step */
export type Curves = Record<string, Curve>;

interface Drawn {
  row: Row;
  mine: Curve;
  theirs: Curve;
  hue: string;
}

const HEIGHT = 320;
const WIDEST = 680;
const BOX = { left: 56, top: 26, right: 14, bottom: 42 };
const HUES = ["var(--lab-dram)", "var(--lab-shared)", "var(--lab-l2)", "var(--lab-focus)"];

export function addSpeeds(measured: Measured, book: BookCard, rows: Row[], curves: Curves) {
  const pictures: NodeListOf<SVGElement> = document.querySelectorAll("svg[data-speeds]");
  for (const place of pictures) {
    const named = place.dataset.speeds?.split(" ") ?? [];
    const known = rows.filter(isFp32);
    const mine = known.filter(({ step }) => named.includes(step.name)).slice(0, HUES.length);
    // Instead of kernels that WGSL lacks: the fastest step of both languages, or of WGSL alone.
    const both = known.some(({ cuda }) => cuda) ? known.filter(({ cuda }) => cuda) : known;
    const best = both.reduce((a, b) => (b.mine.gflops > a.mine.gflops ? b : a));
    const drawn = (mine.length ? mine : [best]).map((row, i) => ({
      row,
      mine: curveOf(measured, row),
      theirs: curves[row.step.name] ?? [],
      hue: HUES[i],
    }));
    const figure = place.closest("figure") ?? place;
    figure.after(speedsFigure(measured, book, drawn, mine.length ? "" : INSTEAD));
  }
}

const INSTEAD =
  "None of the kernels above can be said in WGSL, so this is the card's fastest step that CUDA has too. ";

function curveOf({ size, smaller }: Measured, { step, mine }: Row): Curve {
  const others = (smaller ?? []).flatMap((one) => {
    const seconds = one.seconds[step.name];
    return seconds ? [[one.size, (2 * one.size ** 3) / medianOf(seconds) / 1e9]] : [];
  });
  return ([...others, [size, mine.gflops]] as Curve).sort((a, b) => a[0] - b[0]);
}

function speedsFigure(measured: Measured, book: BookCard, drawn: Drawn[], instead: string) {
  const figure = html("figure", { class: "lab-card-plot lab-card-beside" });
  const caption = html("figcaption", {}, ...conclusion(measured, book, drawn, instead));
  const legend = html("p", { class: "lab-card-key" }, ...drawn.map(keyOf));
  const draw = () => {
    const width = Math.min(WIDEST, figure.clientWidth || WIDEST);
    figure.replaceChildren(picture(measured, book, drawn, width), legend, caption);
  };
  draw();
  onResize(figure, draw);
  return figure;
}

function keyOf({ row, hue }: Drawn) {
  const swatch = html("span", { class: "lab-card-swatch", style: `background:${hue}` });
  return html("span", {}, swatch, row.step.title);
}

function conclusion(
  { card, size, multiply_add_gflops }: Measured,
  book: BookCard,
  drawn: Drawn[],
  instead: string,
) {
  const last = drawn[drawn.length - 1];
  const { title } = last.row.step;
  const there = last.theirs.find(([at]) => at === size) ?? last.theirs.at(-1);
  const share = percent(last.row.mine.gflops / multiply_add_gflops);
  const theirs = there
    ? ` On the ${book.name}, in CUDA, at ${there[0]}³: ${number(there[1])}, ` +
      `${percent(there[1] / book.cuda.fma_gflops)} of its ${number(book.cuda.fma_gflops)}.`
    : ` It is WGSL's alone, so the ${book.name} has no speed in CUDA.`;
  return [
    html("strong", {}, `${card}, WGSL`),
    `: at ${size}³ “${title}” makes ${number(last.row.mine.gflops)} GFLOP/s, ${share} of the ` +
      `${number(multiply_add_gflops)} that its arithmetic reaches, the dashed line.${theirs} ${instead}` +
      `Diamonds: this card, WGSL. Pale dots: the ${book.name}, CUDA.`,
  ];
}

/** @param width px */
function picture(measured: Measured, book: BookCard, drawn: Drawn[], width: number) {
  const points = drawn.flatMap(({ mine, theirs }) => [...mine, ...theirs]);
  const roof = measured.multiply_add_gflops;
  const sizes = [...new Set(points.map(([size]) => size))].sort((a, b) => a - b);
  const speeds = [...points.map(([, gflops]) => gflops), roof];
  const [right, bottom] = [width - BOX.right, HEIGHT - BOX.bottom];
  const x = logScale(sizes[0] / 1.3, sizes[sizes.length - 1] * 1.3, BOX.left, right);
  const y = logScale(Math.min(...speeds) / 1.6, Math.max(...speeds) * 1.6, bottom, BOX.top);
  const label =
    `Speed over size: ${drawn.map(({ row }) => row.step.title).join(", ")} in WGSL on ` +
    `${measured.card}, and in CUDA on the ${book.name}`;
  return svg(
    "svg",
    { role: "img", "aria-label": label, viewBox: `0 0 ${width} ${HEIGHT}` },
    ...y.decades.flatMap((value) => [
      svg("line", { class: "lab-card-grid", x1: BOX.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: BOX.left - 8, y: y(value) + 4, "text-anchor": "end" }, number(value)),
    ]),
    ...sizes.map((size) =>
      svg("text", { x: x(size), y: bottom + 17, "text-anchor": "middle" }, String(size)),
    ),
    svg("text", { x: right, y: HEIGHT - 6, "text-anchor": "end" }, "M = N = K"),
    svg("text", { x: 2, y: 14 }, "GFLOP/s"),
    svg("line", { class: "lab-card-fed", x1: BOX.left, x2: right, y1: y(roof), y2: y(roof) }),
    svg("text", { x: right, y: y(roof) - 6, "text-anchor": "end" }, "this card's arithmetic"),
    ...drawn.flatMap(({ row, mine, theirs, hue }) => [
      ...curve(theirs, x, y, hue, "theirs", `${row.step.title}, ${book.name}, CUDA`),
      ...curve(mine, x, y, hue, "mine", `${row.step.title}, ${measured.card}, WGSL`),
    ]),
  );
}

function curve(
  points: Curve,
  x: LogScale,
  y: LogScale,
  hue: string,
  whose: "mine" | "theirs",
  words: string,
) {
  const line = points
    .map(([size, gflops], i) => `${i ? "L" : "M"}${x(size)} ${y(gflops)}`)
    .join("");
  const look = { class: `lab-card-curve lab-card-${whose}-curve`, style: `--hue:${hue}` };
  const mark = whose === "mine" ? "M0 -6L6 0L0 6L-6 0Z" : "M-3 0A3 3 0 1 0 3 0A3 3 0 1 0 -3 0Z";
  return [
    svg("path", { ...look, d: line, fill: "none" }),
    ...points.map(([size, gflops]) =>
      svg(
        "path",
        {
          ...look,
          class: `${look.class} lab-card-mark`,
          d: mark,
          transform: `translate(${x(size)} ${y(gflops)})`,
        },
        svg("title", {}, `${words}, ${size}³: ${number(gflops)} GFLOP/s`),
      ),
    ),
  ];
}
