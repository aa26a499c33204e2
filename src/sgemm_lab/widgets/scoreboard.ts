// The scoreboard: a table of what was measured, with filters above it and a button in each head.

import "./scoreboard.css";
import type { Column, Row } from "../formulas/scoreboard_rows.ts";
import { cellWords, chosenRows, scoreWords } from "../formulas/scoreboard_rows.ts";
import { chooser, key } from "./shared/controls.ts";
import { button, html, say, setAttributes, write } from "./shared/dom.ts";
import { keepDrawn, put, tool } from "./shared/model.ts";

interface State {
  rows: Row[];
  heads: Record<Column, string>;
  gpu: string;
  size: string;
  arithmetic: string;
  search: string;
  sort: Column;
  falling: boolean;
}

type Filter = "gpu" | "size" | "arithmetic";

const STATE = ["rows", "gpu", "size", "arithmetic", "search", "sort", "falling"] as const;
const FILTERS: [Filter, string][] = [
  ["size", "Size"],
  ["arithmetic", "Arithmetic"],
  ["gpu", "GPU"],
];
const RISING = ["kernel", "size", "bound_by", "arithmetic", "error", "of_cublas_error"]; // at first
const KEY: [string, string][] = [
  ["lab-k-past", "faster than cuBLAS in the same arithmetic"],
  ["lab-k-short", "slower"],
];
const MOST = 200; // rows drawn

export function render({ model, el }: View<State>) {
  const filters = FILTERS.map(([name, label]) => filter(model, name, label));
  const search = searchField(model);
  const readout = html("p", { role: "status" });
  const columns = Object.keys(model.get("heads")) as Column[];
  const heads = columns.map((column) => head(model, column));
  const body = html("tbody");
  const more = html("p", { class: "lab-about" });
  const table = html(
    "table",
    {},
    html("caption", { class: "lab-hidden-words" }, "The scoreboard"),
    html("thead", {}, html("tr", {}, heads)),
    body,
  );
  const room = { class: "lab-rows", role: "region", tabindex: 0, "aria-label": "The rows" };
  const box = html("div", room, table);
  const fill = filler(body, model.get("heads"));
  const root = tool(
    el,
    "lab-scoreboard",
    html(
      "div",
      { class: "lab-bar" },
      [...filters, search].map(({ field }) => field),
    ),
    html("div", { class: "lab-verdict" }, readout),
    key(KEY),
    box,
    more,
  );

  function update() {
    const rows = model.get("rows");
    const [sort, falling] = [model.get("sort"), model.get("falling")];
    const wanted = [model.get("gpu"), model.get("size")] as const;
    const [arithmetic, name] = [model.get("arithmetic"), model.get("search")];
    table.classList.toggle("lab-one-size", wanted[1] !== "");
    const shown = chosenRows(rows, ...wanted, arithmetic, name, sort, falling);
    fill(shown.map((i) => rows[i]));
    for (const { show } of [...filters, search]) show();
    heads.forEach((cell, i) => {
      const order = falling ? "descending" : "ascending";
      setAttributes(cell, { "aria-sort": columns[i] === sort ? order : null });
    });
    const left = shown.length - MOST;
    const rest = left > 0 ? `${left} more rows fit. Choose a size, or name a kernel.` : "";
    say([readout, more], [scoreWords(rows, shown), rest]);
  }
  return keepDrawn(model, STATE, root, update);
}

/** A choice among the values that rows have; nothing where there is only one. */
function filter(model: Model<State>, name: Filter, label: string) {
  const values = model.get("rows").map((row) => (name === "size" ? row.size.join("×") : row[name]));
  const among = [...new Set(values)].filter((value) => value !== undefined);
  const options = among.map((value): [string, string] => [value, value]);
  const choice = chooser(label, [["", "all"], ...options], (value) => put(model, name, value));
  choice.field.hidden = among.length < 2;
  return { field: choice.field, show: () => choice.show(model.get(name)) };
}

function searchField(model: Model<State>) {
  const input = html("input", { type: "search", class: "lab-input", size: 12 });
  input.addEventListener("input", () => put(model, "search", input.value));
  const field = html("label", { class: "lab-field" }, html("span", {}, "Kernel"), input);
  const show = () => {
    if (input.value !== model.get("search")) input.value = model.get("search");
  };
  return { field, show };
}

/** A head that sorts by its column, and the other way round when it is pressed again. */
function head(model: Model<State>, column: Column) {
  const act = () => {
    const again = model.get("sort") === column;
    const falling = again ? !model.get("falling") : !RISING.includes(column);
    model.set("sort", column);
    put(model, "falling", falling);
  };
  return html("th", { scope: "col" }, button(model.get("heads")[column], act));
}

/** Fills the lines of the table. A line that is there already is filled anew. */
function filler(body: HTMLElement, heads: Record<Column, string>) {
  const lines: Line[] = [];
  return (rows: Row[]) => {
    const most = Math.max(...rows.map((row) => row.of_cublas ?? 0), 1); // the largest share on show
    const drawn = rows.slice(0, MOST);
    for (const { node } of lines.splice(drawn.length)) node.remove();
    while (lines.length < drawn.length) lines.push(new Line(heads));
    body.append(...lines.slice(body.children.length).map(({ node }) => node));
    drawn.forEach((row, i) => {
      lines[i].show(row, most);
    });
  };
}

/** A row. On a phone its cells stand below each other, each with its head beside it. */
class Line {
  columns = Object.keys(this.heads) as Column[];
  bar = html("span", { class: "lab-bar-fill", "aria-hidden": "true" });
  /** what each cell says */
  words: string[] = [];
  /** what each cell says it in */
  places: HTMLElement[] = [];
  node = html("tr", {}, ...this.columns.map((column) => this.cell(column)));

  constructor(public heads: Record<Column, string>) {}

  cell(column: Column) {
    const head = { "data-head": this.heads[column] };
    const share = column === "of_cublas";
    const place = share ? html("span") : html(column === "kernel" ? "th" : "td");
    this.places.push(place);
    if (share) return html("td", { class: "lab-share", ...head }, this.bar, place);
    setAttributes(place, column === "kernel" ? { scope: "row" } : head);
    if (column === "bound_by") place.classList.add("lab-wide", "lab-text");
    return place;
  }

  /** @param most the largest share of cuBLAS on show */
  show(row: Row, most: number) {
    const share = row.of_cublas ?? 0;
    setAttributes(this.node, { class: share >= 1 ? "lab-past" : null });
    const width = `${(100 * share) / most}%`;
    if (this.bar.style.width !== width) this.bar.style.width = width;
    this.columns.forEach((column, i) => {
      const words = cellWords(row, column);
      if (words === this.words[i]) return;
      this.words[i] = words;
      const place = this.places[i];
      if (column === "kernel") place.replaceChildren(...broken(words));
      else write(place, words);
      if (column === "arithmetic" || column === "date") {
        place.classList.toggle("lab-text", row[column] !== undefined); // a dash stands at the right
      }
    });
  }
}

/** A name that may break between its words and before its constants. */
function broken(name: string) {
  return name.split(/(?<=[:,_])/).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
}
