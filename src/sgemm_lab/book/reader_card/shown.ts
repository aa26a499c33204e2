// A measured card as a table: the steps, the reader's card, the book's GPU.

import { comma, number, percent, plural, sizeText } from "../../text.ts";
import type { Measured } from "../../wgsl/form.ts";
import { html } from "../../widgets/shared/dom.ts";
import type { BookCard, Row, Speed } from "./compared.ts";
import { helpedWhere, isFp32, rowsOf, TOO_FAR_APART } from "./compared.ts";

export function shownCard(measured: Measured, book: BookCard): HTMLElement[] {
  const rows = rowsOf(measured, book);
  if (!rows.some(isFp32)) {
    return [html("p", {}, "All programs have changed since this was measured. Measure again.")];
  }
  return [
    html("p", {}, ...conclusion(measured, book, rows)),
    ladder(measured, book, rows),
    ...carriesOver(rows, book).map((text) => html("p", {}, text)),
    html("p", { class: "lab-card-note" }, origin(measured, book, rows)),
  ];
}

function conclusion(measured: Measured, book: BookCard, rows: Row[]) {
  const first = rows[0].mine.gflops;
  const best = rows.filter(isFp32).reduce((a, b) => (b.mine.gflops > a.mine.gflops ? b : a));
  const theirs = rows.flatMap(({ cuda }) => (cuda ? [cuda.gflops] : []));
  return [
    html("strong", {}, `${measured.card}, WGSL: ${times(best.mine.gflops / first)}`),
    `, from ${number(first)} to ${number(best.mine.gflops)} GFLOP/s, with “${best.step.title}”. `,
    `That is ${percent(best.mine.share)} of the ${number(measured.multiply_add_gflops)} GFLOP/s ` +
      "that its arithmetic reaches without memory. ",
    theirs.length > 1 &&
      `The same steps in CUDA make the ${book.name} ${times(Math.max(...theirs) / theirs[0])}.`,
  ].filter((part) => part !== false);
}

function ladder(measured: Measured, book: BookCard, rows: Row[]) {
  const head = ["Step", `This card, WGSL, ${sizeText([measured.size])}`];
  if (book.wgsl) head.push(`${book.name}, WGSL, ${sizeText([book.wgsl.size])}`);
  head.push(`${book.name}, CUDA, ${sizeText([book.cuda.size])}`);
  const caption =
    "GFLOP/s, and how many times as fast as the step that it builds on. A bar is the share of what " +
    "the card's own arithmetic reaches, so that a bar as wide as its column is the roof." +
    (rows.every(isFp32)
      ? ""
      : " f16 is half precision, not FP32: not to be compared with the other steps.");
  return html(
    "table",
    { class: "lab-card-ladder" },
    html("caption", {}, caption),
    html("thead", {}, html("tr", {}, ...head.map((text) => html("th", { scope: "col" }, text)))),
    html("tbody", {}, ...rows.map((row) => ladderRow(row, book.wgsl !== null))),
  );
}

/** @param withWgsl whether the book's GPU has a column of its own for WGSL */
function ladderRow({ step, mine, wgsl, cuda }: Row, withWgsl: boolean) {
  const title = step.href ? html("a", { href: step.href }, step.title) : step.title;
  const half = step.arithmetic === "fp16" && html("small", {}, " f16");
  const cells = [
    cell(mine, "mine"),
    withWgsl && cell(wgsl, "theirs"),
    cell(cuda, "theirs", "not in CUDA"),
  ];
  return html("tr", {}, html("th", { scope: "row" }, title, half), ...cells);
}

/** @param missing stands there without a speed */
function cell(speed: Speed | null, whose: "mine" | "theirs", missing: string = "not measured") {
  if (!speed) return html("td", {}, missing);
  const width = `${Math.min(100, 100 * speed.share).toFixed(1)}%`;
  const bar = html("span", { class: `lab-card-bar lab-card-${whose}`, style: `width:${width}` });
  const factor = speed.factor && html("small", {}, ` ${factorText(speed.factor)}`);
  return html("td", {}, number(speed.gflops), factor, bar);
}

function carriesOver(rows: Row[], book: BookCard) {
  const worst = Math.max(...rows.map(({ spread }) => spread));
  if (worst > TOO_FAR_APART) {
    return [
      `The samples of one step differ by ${percent(worst)}, too much to tell what a step gains here. ` +
        "Close what else is running, and measure again.",
    ];
  }
  const [thereOnly, hereOnly] = ["there", "here"].map((where) =>
    rows.filter((row) => helpedWhere(row) === where),
  );
  const named = ({ step, mine, cuda }: Row) =>
    `“${step.title}” (${factorText(mine.factor ?? 1)} here, ${factorText(cuda?.factor ?? 1)} there)`;
  const list = (some: Row[]) => some.map(named).join(", ");
  return [
    thereOnly.length && `Helped on the ${book.name} and not here: ${list(thereOnly)}.`,
    hereOnly.length && `Helped here and not on the ${book.name}: ${list(hereOnly)}.`,
    `CUDA goes further than WGSL: “${book.best.title}” reaches ${number(book.best.gflops)} GFLOP/s ` +
      `on the ${book.name}.`,
  ].filter((text) => typeof text === "string");
}

function origin(measured: Measured, book: BookCard, rows: Row[]) {
  const { date, clock, rungs } = measured;
  const worst = Math.max(...rows.map(({ spread }) => spread));
  const told = clock === "timestamps" ? "by the card's clock" : "by the browser's clock";
  const leftOut = (measured.left_out ?? []).filter(({ name }) =>
    book.steps.some((step) => step.name === name),
  );
  const lacking = book.steps.length - rows.length - leftOut.length;
  return [
    `Measured on ${date.slice(0, 10)} in this browser or the one that saved the file, ${told}. ` +
      `Medians of ${comma(rungs[0].seconds.length)} samples, each several runs in a row; the ` +
      `middle half of a step's samples reaches over up to ${percent(worst)} of its median. `,
    "Every program was checked against exact products first.",
    ...leftOut.map(({ name, why }) => {
      const title = book.steps.find((step) => step.name === name)?.title;
      return ` “${title}” was left out: ${why}.`;
    }),
    lacking ? ` Not here, because their programs are newer: ${plural(lacking, "step")}.` : "",
  ].join("");
}

const times = (factor: number) => `${number(Number(factor.toPrecision(2)))} times as fast`;

const factorText = (factor: number) => `×${number(Number(factor.toPrecision(factor < 1 ? 2 : 3)))}`;
