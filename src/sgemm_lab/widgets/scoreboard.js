// @ts-check
// The scoreboard: a table of what was measured, with filters above it and a button in each head.

import { cellWords, chosenRows, scoreWords } from "../rules/score_rows.js";
import { key } from "./shared/controls.js";
import { button, html, say, setAttributes } from "./shared/dom.js";
import { keepDrawn, put, redrawer } from "./shared/model.js";

/**
 * @typedef {import("../rules/score_rows.js").Row} Row
 * @typedef {import("../rules/score_rows.js").Column} Column
 * @typedef {{ rows: Row[], heads: Record<Column, string>, gpu: string, size: string,
 *   arithmetic: string, search: string, sort: Column, falling: boolean }} State
 * @typedef {"gpu" | "size" | "arithmetic"} Filter
 */

const STATE = /** @type {const} */ ([
  "rows",
  "gpu",
  "size",
  "arithmetic",
  "search",
  "sort",
  "falling",
]);
/** @type {[Filter, string][]} */
const FILTERS = [
  ["size", "Size"],
  ["arithmetic", "Arithmetic"],
  ["gpu", "GPU"],
];
const RISING = ["kernel", "size", "bound_by", "arithmetic", "error", "of_cublas_error"]; // at first
/** @type {[string, string][]} */
const KEY = [
  ["lab-k-past", "faster than cuBLAS in FP32"],
  ["lab-k-short", "slower"],
];
const MOST = 200; // rows drawn at once

/** @param {View<State>} view */
export function render({ model, el }) {
  const redraw = redrawer(update);
  const filters = FILTERS.map(([name, label]) => filter(model, name, label));
  const search = searchField(model);
  const told = html("p", { role: "status" });
  const columns = /** @type {Column[]} */ (Object.keys(model.get("heads")));
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
  const root = html(
    "div",
    { class: "sgemm-lab lab-tool lab-scoreboard" },
    html(
      "div",
      { class: "lab-bar" },
      [...filters, search].map(({ field }) => field),
    ),
    html("div", { class: "lab-verdict" }, told),
    key(KEY),
    html("div", room, table),
    more,
  );
  el.append(root);

  function update() {
    const rows = model.get("rows");
    const [sort, falling] = [model.get("sort"), model.get("falling")];
    const wanted = /** @type {const} */ ([model.get("gpu"), model.get("size")]);
    const [arithmetic, name] = [model.get("arithmetic"), model.get("search")];
    const shown = chosenRows(rows, ...wanted, arithmetic, name, sort, falling);
    for (const { show } of [...filters, search]) show();
    heads.forEach((cell, i) => {
      const order = falling ? "descending" : "ascending";
      setAttributes(cell, { "aria-sort": columns[i] === sort ? order : null });
    });
    const most = Math.max(...shown.map((i) => rows[i].of_cublas), 1);
    const drawn = shown.slice(0, MOST).map((i) => line(rows[i], model.get("heads"), most));
    body.replaceChildren(...drawn);
    const left = shown.length - MOST;
    const rest = left > 0 ? `${left} more rows fit. Choose a size, or name a kernel.` : "";
    say([told, more], [scoreWords(rows, shown), rest]);
  }
  return keepDrawn(model, STATE, root, update, redraw);
}

/**
 * A choice among the values that rows have; nothing where there is only one.
 * @param {Model<State>} model
 * @param {Filter} name
 * @param {string} label
 */
function filter(model, name, label) {
  const select = html("select", { class: "lab-select" }, html("option", { value: "" }, "all"));
  const values = model.get("rows").map((row) => (name === "size" ? row.size.join("×") : row[name]));
  const among = [...new Set(values)].filter((value) => value !== undefined);
  for (const value of among) select.append(html("option", { value }, value));
  select.addEventListener("change", () => put(model, name, select.value));
  const field = html("label", { class: "lab-field" }, html("span", {}, label), select);
  field.hidden = among.length < 2;
  const show = () => {
    select.value = model.get(name);
  };
  return { field, show };
}

/** @param {Model<State>} model */
function searchField(model) {
  const input = html("input", { type: "search", class: "lab-input", size: 12 });
  input.addEventListener("input", () => put(model, "search", input.value));
  const field = html("label", { class: "lab-field" }, html("span", {}, "Kernel"), input);
  const show = () => {
    if (input.value !== model.get("search")) input.value = model.get("search");
  };
  return { field, show };
}

/**
 * A head that sorts by its column, and the other way round when it is pressed again.
 * @param {Model<State>} model
 * @param {Column} column
 */
function head(model, column) {
  const act = () => {
    const again = model.get("sort") === column;
    const falling = again ? !model.get("falling") : !RISING.includes(column);
    model.set("sort", column);
    put(model, "falling", falling);
  };
  return html("th", { scope: "col" }, button(model.get("heads")[column], act));
}

/**
 * A row. On a phone its cells stand below each other, each with its head beside it.
 * @param {Row} row
 * @param {Record<Column, string>} heads
 * @param {number} most the largest share of cuBLAS on show
 */
function line(row, heads, most) {
  const cells = /** @type {Column[]} */ (Object.keys(heads)).map((column) => {
    const words = cellWords(row, column);
    if (column === "kernel") return html("th", { scope: "row" }, broken(words));
    const head = { "data-head": heads[column] };
    if (column !== "of_cublas") {
      const kind = typeof row[column] === "string" ? "lab-text" : null;
      const wide = column === "bound_by" ? "lab-text lab-wide" : kind;
      return html("td", { class: wide, ...head }, words);
    }
    const bar = html("span", { class: "lab-bar-fill", "aria-hidden": "true" });
    bar.style.width = `${(100 * row.of_cublas) / most}%`;
    return html("td", { class: "lab-share", ...head }, bar, html("span", {}, words));
  });
  return html("tr", { class: row.of_cublas >= 1 ? "lab-past" : null }, cells);
}

/**
 * A name that may break between its words and before its constants.
 * @param {string} name
 */
function broken(name) {
  return name.split(/(?<=[:,_])/).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
}
