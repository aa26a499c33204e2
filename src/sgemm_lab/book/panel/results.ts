// What a panel says after Run: the verdict, the lines that it is about, the counts line by line.

import { comma, number, sizeText } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import type { Counted, Verdict } from "./engine.ts";

/** The counts of a line, in this order: the name of a count, and its words. */
const TOLD = [
  ["global_load_sectors", "sectors read"],
  ["global_store_sectors", "sectors written"],
  ["async_copy_sectors", "sectors copied"],
  ["atomic_sectors", "sectors updated"],
  ["shared_load_wavefronts", "shared wavefronts, loads"],
  ["shared_store_wavefronts", "shared wavefronts, stores"],
  ["async_copy_wavefronts", "shared wavefronts, copies"],
  ["ffma_thread_instructions", "multiply-adds"],
  ["barriers", "barriers"],
] as [string, string][];
/** What a kind of hazard is called over its sentence. */
export const HEADS: Record<string, string> = {
  race: "Threads race",
  "in flight": "A copy is read before it is there",
  barrier: "A barrier is missed",
  "out of bounds": "An access lies outside",
  misaligned: "A vector is not aligned",
  unwritten: "What nothing wrote is read",
  order: "The result depends on the order",
  unset: "A variable without a first value is used",
  refused: "Not run",
  broken: "Does not compile",
};

/** A sentence or two under a heading with a sign. */
export function say(
  into: HTMLElement,
  state: "right" | "wrong" | "busy" | "none",
  head: string,
  ...rest: (Node | string)[]
) {
  const sign = { right: "✓ ", wrong: "✗ ", busy: "", none: "" }[state];
  into.dataset.state = state;
  into.replaceChildren(html("p", {}, html("b", {}, sign + head)), ...rest);
}

/**
 * @param source all lines of the file
 * @param by what compiled it
 */
export function sayVerdict(into: HTMLElement, verdict: Verdict, source: string[], by: string) {
  if (verdict.right) {
    const found = verdict.says.charAt(0).toUpperCase() + verdict.says.slice(1);
    say(into, "right", "Right, and no race", html("p", {}, found), note(by));
    return;
  }
  const what = HEADS[verdict.kind] ?? "Wrong";
  const where = verdict.size ? ` at ${sizeText(verdict.size)}` : "";
  const says = html("p", {}, withoutFile(verdict.says));
  const named = namedLines(verdict.lines, source);
  say(into, "wrong", `${what}${where}`, says, ...named, by && note(by));
}

/** The lines of a file that something is about, with their numbers. */
export function namedLines(named: number[], source: string[]) {
  const lines = named
    .filter((line) => line <= source.length)
    .map((line) => html("span", {}, html("i", {}, `${line}`), `${source[line - 1].trim()}\n`));
  return lines.length ? [html("pre", { tabindex: 0 }, lines)] : [];
}

/** The reader has one file: "tiled.cu, line 31: thread …" is "Line 31: thread …". */
export function withoutFile(text: string) {
  const bare = text.replace(/\S+\.cu, line (\d+)/g, "line $1");
  // The name of an array stays as it is.
  if (/^\w+ (is wrong|depends on)\b/.test(bare)) return bare;
  return bare.charAt(0).toUpperCase() + bare.slice(1);
}

export const note = (text: string) => html("p", { class: "lab-bench-by" }, text);

/** The counts of each line, next to the book's where the code differs. */
export function showCounts(
  into: HTMLElement,
  found: {
    size: string;
    /** all lines of the file */
    source: string[];
    mine: Counted;
    bookSource: string[];
    /** null where the code is the book's */
    book: Counted | null;
    /** the book's line that a line equals or replaces */
    twin: (line: number) => number | null;
    gpu: string;
  },
) {
  const { book, mine, source, bookSource } = found;
  const rows = [];
  const lines = [...mine.lines.keys()].filter((line) => line > 0).sort((a, b) => a - b);
  const seen = new Set();
  for (const line of lines) {
    const twin = found.twin(line);
    if (twin !== null) seen.add(twin);
    const theirs = book && twin !== null ? book.lines.get(twin) : undefined;
    rows.push(
      ...rowsOf(`${line}`, source[line - 1], mine.lines.get(line) ?? {}, book && (theirs ?? {})),
    );
  }
  for (const [line, counts] of book?.lines ?? []) {
    if (line > 0 && !seen.has(line)) rows.push(...rowsOf("–", bookSource[line - 1], {}, counts));
  }
  const heads = book ? ["yours", "the book’s"] : ["count"];
  const table = countTable(["line", `counted at ${found.size}`, ...heads], rows);
  into.replaceChildren(table, boundOf(found));
}

export function countTable(heads: string[], rows: Node[]) {
  const cells = heads.map((text) => html("th", { scope: "col" }, text));
  const head = html("thead", {}, html("tr", {}, cells));
  return html(
    "div",
    { class: "lab-bench-counts" },
    html("table", {}, head, html("tbody", {}, rows)),
  );
}

/**
 * The counts of a line, a row for each that is not zero.
 * @param about what else is said of a count
 */
export function rowsOf(
  line: string,
  text: string,
  mine: Record<string, number>,
  book: Record<string, number> | null = null,
  about: (key: string) => Child = () => null,
) {
  const code = text.replace(/\/\/.*$/, "").trim();
  return TOLD.filter(([key]) => mine[key] || book?.[key]).map(([key, words], place) => {
    const same = book && mine[key] === book[key];
    const name = place ? "" : html("code", {}, html("i", {}, line), ` ${code}`);
    const heard = html("td", { "data-of": book && "yours" }, comma(mine[key] ?? 0));
    const cells = [html("td", {}, name), html("td", {}, words, about(key)), heard];
    if (book) cells.push(html("td", { "data-of": "the book’s" }, comma(book[key] ?? 0)));
    return html("tr", { class: `${same ? "is-same" : ""} ${place ? "is-more" : ""}` }, ...cells);
  });
}

/** The bound of the reader's kernel, and the book's where the code differs. */
function boundOf({ mine, book, gpu }: { mine: Counted; book: Counted | null; gpu: string }) {
  if (!mine.bound) return html("p", {}, mine.whyNoBound);
  const { demand, countedIn, gflops, label } = mine.bound;
  const other = book?.bound;
  const beside =
    other && other.gflops !== gflops
      ? ` The book’s: at most ${number(other.gflops)}, by ${other.label}.`
      : "";
  const cost = countedIn && ` A multiply-add of a warp takes ${number(demand)} ${countedIn}.`;
  return html(
    "p",
    { "data-lab": "bound" },
    html("b", {}, `Limit at 4096³ on ${gpu}: ${number(gflops)} GFLOP/s, by ${label}.`),
    `${cost}${beside} Issue slots are not counted here: with them the limit may be lower, as in a box.`,
  );
}
