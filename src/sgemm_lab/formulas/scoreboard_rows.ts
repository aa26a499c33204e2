// Which rows of the scoreboard are shown, and in which order.

import { errorText, number, percent, sizeText } from "../text.ts";
import { sentence } from "./sentences.ts";

/** A row; what is not known of it is left out. */
export interface Row {
  kernel: string;
  gpu: string;
  size: number[];
  gflops: number;
  of_cublas?: number;
  of_bound?: number;
  bound_by?: string;
  arithmetic?: string;
  error?: number;
  of_cublas_error?: number;
  date: string;
}

export type Column = Exclude<keyof Row, "gpu">;

/**
 * The indices of the rows to show, in order. Rows without a value of the column come last.
 * @param gpu only its rows; "" for all
 * @param size only this M×N×K, such as "4096×4096×4096"; "" for all
 * @param arithmetic only this; "" for all
 * @param search only kernels whose name contains it, in any case
 * @param sort the column to sort by; a size by M·N·K
 */
export function chosenRows(
  rows: Row[],
  gpu: string,
  size: string,
  arithmetic: string,
  search: string,
  sort: Column,
  falling: boolean,
) {
  const wanted = search.toLowerCase();
  const found = [...rows.keys()].filter((i) => {
    const row = rows[i];
    return (
      ["", row.gpu].includes(gpu) &&
      ["", row.size.join("×")].includes(size) &&
      ["", row.arithmetic].includes(arithmetic) &&
      row.kernel.toLowerCase().includes(wanted)
    );
  });
  const known = found.filter((i) => rows[i][sort] !== undefined);
  const unknown = found.filter((i) => rows[i][sort] === undefined);
  const way = falling ? -1 : 1;
  known.sort((a, b) => way * ordered(valueIn(rows[a], sort), valueIn(rows[b], sort)) || a - b);
  return [...known, ...unknown];
}

/** What stands in a cell of a row; "–" where it is not known. */
export function cellWords(row: Row, column: Column) {
  const value = row[column];
  if (value === undefined) return "–";
  if (column === "size") return sizeText(row.size);
  if (column === "gflops" || column === "of_cublas_error") return number(Number(value));
  if (column === "error") return errorText(Number(value));
  return typeof value === "string" ? value : percent(Number(value));
}

/** How many rows are shown, and which of them is the fastest. */
export function scoreWords(rows: Row[], shown: number[]) {
  if (!shown.length) return sentence("score.none", {});
  const best = shown.map((i) => rows[i]).reduce((a, b) => (b.gflops > a.gflops ? b : a));
  return sentence(best.of_cublas === undefined ? "score.fastest" : "score.best", {
    count: shown.length,
    kernel: best.kernel,
    size: sizeText(best.size),
    gpu: best.gpu,
    gflops: best.gflops,
    share: best.of_cublas ?? 0,
  });
}

/** Below zero where the first of two texts or numbers comes first. */
function ordered(one: string | number, other: string | number) {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** What a row is sorted by. */
function valueIn(row: Row, column: Column) {
  if (column === "size") return row.size.reduce((a, b) => a * b);
  return row[column] as string | number;
}
