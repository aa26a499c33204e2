// A kernel file as an object: kernel.py in TypeScript; a test compares them. Here are the head
// comment, the constants, the launch and what an edit changed; which files there are, Python knows.

import { LabError } from "./errors.ts";
import { UnreadableError, wholeNumber } from "./expression.ts";
import sentences from "./kernel.json";
import { ARITHMETICS, SMS } from "./kernel.py";
import { faultOf, type TensorMap } from "./tensor_map.ts";
import { filled } from "./text.ts";

/** M, N, K of a product. */
export type Size = [number, number, number];

/** A tile constant of a kernel: its name, its value and what it means. */
interface Constant {
  name: string;
  value: number;
  label: string;
}

/** Blocks in the grid (x, y), threads in a block (x, y), bytes of memory besides A, B and C. */
export interface LaunchShape {
  grid: [number, number];
  block: [number, number];
  sharedBytes: number;
  workspaceBytes: number;
  maps: TensorMap[];
}

export interface Kernel {
  name: string;
  title: string;
  parent: string | null;
  change: string | null;
  chapter: number;
  constants: Constant[];
  grid: [string, string];
  block: [string, string];
  shared: string;
  workspace: string;
  maps: string[];
  needs: string | null;
  arithmetic: string;
  variants: string[];
  source: string;
}

/** The name of every kernel's entry. */
export const ENTRY = "sgemm";

const HEAD_FIELD =
  /^\/\/ (title|parent|change|chapter|grid|block|shared|workspace|map|needs|arithmetic|variants): +(.+?) *$/gm;
const MAP =
  /^(\w+) = (fp16|bf16|fp32|tf32) ([ABC])?(?: or )?(?:workspace \+ (.+?))?, (.+?) x (.+?), pitch (.+?), box (.+?) x (.+?), swizzle (.+)$/;
const CONSTANT = /^((?:constexpr int|const) (\w+) = )(\d+)(u?;(?:[ ]*\/\/[ ]*(.*?))?[ ]*)$/gm;
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;
const REQUIRED = ["title", "parent", "chapter", "grid", "block"];

/** The lines of a text, as Python's splitlines() gives them. */
export function linesOf(text: string) {
  const lines = text.split(LINE_END);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** How many lines the head comment takes. */
export function bodyStart(source: string) {
  const lines = linesOf(source);
  const first = lines.findIndex((line) => !line.startsWith("//"));
  return first < 0 ? lines.length : first;
}

/**
 * Read a kernel from its source text. Throws a LabError where the head comment lacks a field, or a
 * field cannot be read.
 */
export function parseKernel(name: string, source: string): Kernel {
  const head = linesOf(source).slice(0, bodyStart(source)).join("\n");
  const lines = [...head.matchAll(HEAD_FIELD)];
  const fields = new Map(lines.map((match) => [match[1], match[2]]));
  const missing = REQUIRED.filter((field) => !fields.has(field));
  if (missing.length) {
    fail("head.missing", { kernel: name, missing: missing.join(", "), first: missing[0] });
  }
  const said = (field: string) => fields.get(field) as string;
  if (!/^\d+$/.test(said("chapter"))) {
    fail("head.chapter", { kernel: name, text: said("chapter") });
  }
  const arithmetic = fields.get("arithmetic") ?? "fp32";
  if (!Object.hasOwn(ARITHMETICS, arithmetic)) {
    const known = Object.keys(ARITHMETICS).join(", ");
    fail("head.arithmetic", { kernel: name, text: arithmetic, known });
  }
  return {
    name,
    title: said("title"),
    parent: said("parent") === "none" ? null : said("parent"),
    change: fields.get("change") ?? null,
    chapter: Number(said("chapter")),
    constants: constantsOf(source),
    grid: pair(said("grid"), "grid", name),
    block: pair(said("block"), "block", name),
    shared: fields.get("shared") ?? "0",
    workspace: fields.get("workspace") ?? "0",
    maps: lines.filter(([, field]) => field === "map").map(([, , text]) => text),
    needs: fields.get("needs") ?? null,
    arithmetic,
    variants: (fields.get("variants") ?? "").split(/\s+/).filter(Boolean),
    source,
  };
}

/** The constants by name. */
export function valuesOf(kernel: Kernel) {
  return Object.fromEntries(kernel.constants.map(({ name, value }) => [name, value]));
}

/**
 * The launch for C of m×n and inner dimension k, on a GPU of `sms` SMs. Throws a LabError where a
 * dimension is below 1, or the head comment gives no shape that can be.
 */
export function launchShape(kernel: Kernel, [m, n, k]: Size, sms: number = SMS): LaunchShape {
  for (const [name, size] of Object.entries({ M: m, N: n, K: k })) {
    if (size < 1) fail("size", { name, size });
  }
  const names = { ...valuesOf(kernel), M: m, N: n, K: k, SMS: sms };
  const value = (text: string, least: number = 1): number =>
    evaluate(text, names, kernel.name, least);
  return {
    grid: [value(kernel.grid[0]), value(kernel.grid[1])],
    block: [value(kernel.block[0]), value(kernel.block[1])],
    sharedBytes: value(kernel.shared, 0),
    workspaceBytes: value(kernel.workspace, 0),
    maps: kernel.maps.map((text) => tensorMap(text, kernel.name, (term) => value(term, 0))),
  };
}

/** The tensor map of a head comment's line. */
function tensorMap(text: string, kernel: string, value: (text: string) => number): TensorMap {
  const match = MAP.exec(text);
  if (!match || !(match[3] || match[4])) fail("head.map", { kernel, text });
  const [, name, dtype, matrix, offset, ...terms] = match;
  const at = offset ? value(offset) : null;
  const [rows, columns, pitchBytes, boxRows, boxColumns, swizzle] = terms.map((term) =>
    value(term),
  );
  const where = { name, dtype, matrix: matrix ?? null, offset: at } as TensorMap;
  const found = { ...where, rows, columns, pitchBytes, boxRows, boxColumns, swizzle };
  const fault = faultOf(found);
  if (fault) fail(`map.${fault}`, { kernel, name });
  return found;
}

/**
 * The same kernel with other tile constants written into its source. Throws a LabError where it has
 * no such constant, or a value is below 1.
 * @param defaults the constants of the book's kernel of this base name;
 *   the name says what differs from them
 */
export function withConstants(
  kernel: Kernel,
  values: Record<string, number>,
  defaults: Record<string, number> = valuesOf(kernel),
): Kernel {
  const known = valuesOf(kernel);
  for (const [name, value] of Object.entries(values)) {
    if (!Object.hasOwn(known, name)) {
      const names = Object.keys(known).join(", ") || sentences["constant.none"];
      fail("constant.unknown", { kernel: kernel.name, name, known: names });
    }
    if (value < 1) fail("constant.below", { name, value });
  }
  const source = kernel.source.replace(
    CONSTANT,
    (_, head, name, old, rest) => `${head}${values[name] ?? Number(old)}${rest}`,
  );
  const constants = constantsOf(source);
  const base = kernel.name.split(":")[0];
  const other = constants.filter(({ name, value }) => value !== defaults[name]);
  const settings = other.map(({ name, value }) => `${name}=${value}`).join(",");
  return { ...kernel, name: settings ? `${base}:${settings}` : base, source, constants };
}

function constantsOf(source: string): Constant[] {
  return [...source.matchAll(CONSTANT)].map(([, , name, value, , label]) => ({
    name,
    value: Number(value),
    label: label ?? "",
  }));
}

function pair(text: string, field: string, kernel: string): [string, string] {
  const parts = terms(text);
  if (parts.length !== 2) fail("head.pair", { kernel, field, text });
  return [parts[0], parts[1]];
}

/** Split at commas, but for those inside brackets: they belong to min(…) or max(…). */
function terms(text: string) {
  const found = [""];
  let depth = 0;
  for (const letter of text) {
    depth += Number(letter === "(") - Number(letter === ")");
    if (letter === "," && depth === 0) found.push("");
    else found[found.length - 1] += letter;
  }
  return found.map((term) => term.trim());
}

/** The whole number that an expression of a head comment stands for. */
function evaluate(text: string, names: Record<string, number>, kernel: string, least: number) {
  let found = 0;
  try {
    found = wholeNumber(text, names);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    fail("head.term", { kernel, text, fault: error.message });
  }
  if (found < least) fail("head.least", { kernel, text, found, least });
  return found;
}

function fail(key: keyof typeof sentences, values: Record<string, unknown>): never {
  throw new LabError(filled(sentences[key], values));
}
