// The launch of a kernel from a pasted file: read from the file's own host code where that can be
// worked out, else assumed. Each value says where it comes from, and the reader can change it.

import { LabError } from "../../errors.ts";
import type { CudaFile, KernelSource, LaunchSource, Parameter } from "./cuda_file.ts";
import type { Lookup } from "./host_values.ts";
import { bytesOf, evaluate } from "./host_values.ts";

/** One value of a launch, as text that may name the sizes. */
export interface Setting {
  /** unique within a launch: "size N", "grid", "block", "shared", "template", "argument x" */
  key: string;
  label: string;
  text: string;
  origin: string;
  assumed: boolean;
}

/** All that a launch needs, still as text. */
export interface LaunchPlan {
  kernel: KernelSource;
  template: Setting | null;
  sizes: Setting[];
  grid: Setting;
  block: Setting;
  shared: Setting;
  /** for arrays the number of elements, for numbers the value */
  args: { parameter: Parameter; setting: Setting }[];
  /** what an array should hold, such as "y = 2 * x"; empty if that is not known */
  expected: Setting;
}

/** An argument as the engine takes it. */
export type LaunchArgument =
  | { kind: "number"; name: string; value: number }
  | { kind: "array"; name: string; type: string; length: number; constant: boolean };

export interface ResolvedLaunch {
  grid: number[];
  block: number[];
  sharedBytes: number;
  args: LaunchArgument[];
  /** of the plan, by name */
  sizes: Record<string, number>;
  expected: string;
}

/** In the origin of a size that was made smaller. */
export const TOO_LARGE = "too large for a page";
/** Ragged for blocks of 256; whole where a kernel takes no size, so cannot guard. */
const ONE_SIZE = 1000;
const NO_SIZE = 1024;
const SEVERAL_SIZES = 64;
/** The page runs smaller sizes than a file's own where these are passed. */
const MOST_THREADS = 1 << 15;
const MOST_ELEMENTS = 1 << 19;
const SMALLER = [4096, 2048, 1024, 512, 256, 128, 64, 32];
const SMALLEST_SIZE = 32;
const THREADS = 256;
const SIDE = 16;
const MOST_IN_A_BLOCK = 1024;
const NAMES = /(?<![\w.])[A-Za-z_]\w*(?:\.[xyz]\b)?/g;
const AXES = ["x", "y", "z"];
const HOST_POINTER = /^&?\s*|\.\s*data\s*\(\s*\)|\.\s*get\s*\(\s*\)/g;

/**
 * Plan the launch of a kernel.
 * @param edits texts that the reader set, by the key of the setting
 */
export function planLaunch(
  file: CudaFile,
  kernel: KernelSource,
  edits: Map<string, string>,
): LaunchPlan {
  const launch = file.launches.find((one) => one.kernel === kernel.name) ?? null;
  const made = new Planner(file, kernel, launch);
  let plan = made.plan(edits, Number.POSITIVE_INFINITY);
  for (const most of SMALLER) {
    if (!isLarge(file, plan)) break;
    plan = made.plan(edits, most);
  }
  return plan;
}

function isLarge(file: CudaFile, plan: LaunchPlan) {
  try {
    const { grid, block, args } = resolve(file, plan);
    const threads = [...grid, ...block].reduce((product, one) => product * one, 1);
    const elements = args.map((one) => (one.kind === "array" ? one.length : 0));
    return threads > MOST_THREADS || elements.reduce((sum, one) => sum + one, 0) > MOST_ELEMENTS;
  } catch {
    return false;
  }
}

/** What was assumed, in words. */
export function assumptions({ template, sizes, grid, block, args }: LaunchPlan): string[] {
  const all = [template, ...sizes, grid, block, ...args.map(({ setting }) => setting)];
  return all
    .filter((one) => one !== null)
    .filter((one) => one.assumed)
    .map((one) => `${one.label} = ${one.text}`);
}

/**
 * Work out a plan's numbers.
 *
 * Throws a LabError that names the field where one is not known.
 */
export function resolve(file: CudaFile, plan: LaunchPlan): ResolvedLaunch {
  const lookup = lookupOf(file, plan);
  const numberOf = ({ label, text }: Setting, part: string = text) => {
    const value = evaluate(part, lookup);
    if (value === null) {
      throw new LabError(`${label}: the value of “${part.trim()}” is not known. Write a number.`);
    }
    return value;
  };
  const dimensions = (setting: Setting) => {
    const sides = sidesOf(setting.text, file).map((part) => numberOf(setting, part));
    const wrong = sides.length < 1 || sides.length > 3 || sides.some((one) => !(one >= 1));
    if (wrong) throw new LabError(`${setting.label}: write one to three whole numbers from 1 on.`);
    return sides.map(Math.trunc);
  };
  const block = dimensions(plan.block);
  const threads = block.reduce((product, one) => product * one, 1);
  if (threads > MOST_IN_A_BLOCK) {
    throw new LabError(`Block: ${threads} threads. A block has at most ${MOST_IN_A_BLOCK}.`);
  }
  const args = plan.args.map(({ parameter, setting }): LaunchArgument => {
    const value = numberOf(setting);
    const { name, type, pointer, constant } = parameter;
    if (!pointer) return { kind: "number", name, value };
    const length = Math.trunc(value);
    if (!(length >= 1)) throw new LabError(`${setting.label}: an array has at least one element.`);
    return { kind: "array", name, type: substituted(type, plan), length, constant };
  });
  const numbers = args.flatMap((one) => (one.kind === "number" ? [[one.name, one.value]] : []));
  const sizes = plan.sizes.map((size) => [size.label, numberOf(size)]);
  return {
    grid: dimensions(plan.grid),
    block,
    sharedBytes: numberOf(plan.shared),
    args,
    sizes: Object.fromEntries([...sizes, ...numbers]),
    expected: plan.expected.text,
  };
}

/** The type that a template's value gives to T. */
function substituted(type: string, { kernel, template }: LaunchPlan) {
  const at = kernel.template.findIndex(({ name }) => name === type);
  return at < 0 ? type : (template?.text.split(",")[at]?.trim() ?? type);
}

function lookupOf(file: CudaFile, plan: Pick<LaunchPlan, "kernel" | "template" | "sizes">): Lookup {
  const known = new Map(plan.sizes.map(({ label, text }) => [label, text]));
  for (const [at, { name }] of plan.kernel.template.entries()) {
    known.set(name, plan.template?.text.split(",")[at] ?? "");
  }
  const open = new Set<string>();
  const lookup: Lookup = (name) => {
    const text = known.get(name) ?? file.values.get(name)?.text;
    if (open.has(name)) return null;
    open.add(name);
    const [variable, axis] = name.split(".");
    const side = axis && sidesOf(variable, file)[AXES.indexOf(axis)];
    const value =
      text !== undefined ? evaluate(text, lookup) : side ? evaluate(side, lookup) : null;
    open.delete(name);
    return value;
  };
  return lookup;
}

/** The parts of "dim3(a, b)", "{a, b}", "a, b" or the name of such a variable. */
function sidesOf(text: string, file: CudaFile): string[] {
  const plain = text.trim();
  const variable = file.values.get(plain)?.text;
  if (variable !== undefined && /^(dim3|\{)/.test(variable)) return sidesOf(variable, file);
  const inside = /^(?:dim3\s*)?(?:\(([\s\S]*)\)|\{([\s\S]*)\})$/.exec(plain);
  const list =
    plain.startsWith("dim3") || plain.startsWith("{") ? (inside?.[1] ?? inside?.[2]) : null;
  return splitAtCommas(list ?? plain);
}

function splitAtCommas(text: string) {
  const parts = [""];
  let depth = 0;
  for (const letter of text) {
    depth += Number(letter === "(") - Number(letter === ")");
    if (letter === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim());
}

class Planner {
  constructor(
    public file: CudaFile,
    public kernel: KernelSource,
    public launch: LaunchSource | null,
  ) {}

  /** @param most a size of the file that is larger is made smaller */
  plan(edits: Map<string, string>, most: number): LaunchPlan {
    const set = (
      key: string,
      label: string,
      [text, origin, assumed]: [string, string, boolean],
    ) => {
      const edit = edits.get(key);
      if (edit === undefined) return { key, label, text, origin, assumed };
      return { key, label, text: edit, origin: "set here", assumed: false };
    };
    const scalars = this.kernel.parameters.filter((one) => !one.pointer && !isReal(one.type));
    const exprs = this.#expressions();
    const sizes = this.launch ? this.#fileSizes(exprs, most) : this.#assumedSizes(scalars);
    const names = sizes.map(([name]) => name);
    const start = {
      kernel: this.kernel,
      template: this.kernel.template.length
        ? set("template", "Template values", this.#template())
        : null,
      sizes: sizes.map(([name, ...value]) => set(`size ${name}`, name, value)),
    };
    const lookup = lookupOf(this.file, start);
    return {
      ...start,
      block: set("block", "Block", this.#block()),
      grid: set("grid", "Grid", this.#grid(names)),
      shared: set("shared", "Dynamic shared memory, bytes", this.#shared()),
      expected: set("expected", "Expected result", ["", "such as y = 2 * x, or A @ B", false]),
      args: this.kernel.parameters.map((parameter, at) => {
        const label = parameter.pointer ? `Elements of ${parameter.name}` : parameter.name;
        const value = this.#argument(parameter, at, names, lookup);
        return { parameter, setting: set(`argument ${parameter.name}`, label, value) };
      }),
    };
  }

  get #where() {
    return `line ${this.launch?.line}`;
  }

  /** The texts whose names must be known. */
  #expressions() {
    if (!this.launch) return [];
    const { grid, block, shared, args } = this.launch;
    const pointers = args.map((arg) => this.file.allocations.get(arg.replace(HOST_POINTER, "")));
    return [
      ...sidesOf(grid, this.file),
      ...sidesOf(block, this.file),
      shared,
      ...args.filter((_, at) => !this.kernel.parameters[at]?.pointer),
      ...pointers.map((one) => one?.text ?? ""),
    ];
  }

  /** Sizes that the launch depends on, largest ones made smaller; unknown ones assumed. */
  #fileSizes(expressions: string[], most: number): [string, string, string, boolean][] {
    const found = new Map<string, [string, string, string, boolean]>();
    const seen = new Set<string>();
    const waiting = [...expressions];
    for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
      const plain = text.replace(/sizeof\s*\([^)]*\)|static_cast\s*<[^>]*>/g, "");
      for (const name of plain.match(NAMES) ?? []) {
        if (seen.has(name) || bytesOf(name)) continue;
        seen.add(name);
        const [variable, axis] = name.split(".");
        if (axis) {
          waiting.push(...sidesOf(variable, this.file));
          continue;
        }
        const value = this.file.values.get(name);
        if (name === "size" || (!value && this.file.values.has(`${name}.size`))) {
          waiting.push(this.file.values.get(`${name}.size`)?.text ?? "");
          continue;
        }
        if (!value) {
          if (!isCall(plain, name)) found.set(name, [name, `${ONE_SIZE}`, "assumed", true]);
          continue;
        }
        const number = evaluate(value.text, () => null);
        if (number === null) waiting.push(value.text);
        else if (number > SMALLEST_SIZE && !value.fixed) {
          const used = number > most ? smaller(number, most) : number;
          const says = used === number ? "" : `, which says ${number}: ${TOO_LARGE}`;
          found.set(name, [name, `${used}`, `line ${value.line}${says}`, false]);
        }
      }
    }
    const unknown = [...found.values()].filter(([, , , assumed]) => assumed);
    if (unknown.length > 1) for (const one of unknown) one[1] = `${SEVERAL_SIZES}`;
    return [...found.values()];
  }

  #assumedSizes(scalars: Parameter[]): [string, string, string, boolean][] {
    const value = scalars.length > 1 || this.#isFlat ? SEVERAL_SIZES : ONE_SIZE;
    return scalars.map(({ name }) => [name, `${value}`, "assumed", true]);
  }

  /** Whether threads have two coordinates. */
  get #isFlat() {
    return /\b(threadIdx|blockIdx)\s*\.\s*y\b/.test(this.kernel.text);
  }

  get #noSize() {
    return `${this.#isFlat ? SEVERAL_SIZES : NO_SIZE}`;
  }

  #template(): [string, string, boolean] {
    if (this.launch?.template) return [this.launch.template, this.#where, false];
    const values = this.kernel.template.map(
      ({ isType, value }) => value || (isType ? "float" : `${SIDE}`),
    );
    return [values.join(", "), "assumed", true];
  }

  #block(): [string, string, boolean] {
    if (this.launch) return [sidesOf(this.launch.block, this.file).join(", "), this.#where, false];
    const bounds = /__launch_bounds__\s*\(\s*([^,)]+)/.exec(this.kernel.text)?.[1];
    if (bounds && !this.#isFlat) return [bounds, "its launch bounds", false];
    const [, rows = "", columns = ""] =
      /__shared__[^;=[]*\[([^\]]+)\](?:\s*\[([^\]]+)\])?/.exec(this.kernel.text) ?? [];
    const side = /\w+/.exec(rows)?.[0] ?? "";
    if (this.#isFlat)
      return [side && columns ? `${side}, ${side}` : `${SIDE}, ${SIDE}`, "assumed", true];
    return [side && !columns ? side : `${THREADS}`, "assumed", true];
  }

  #grid(sizes: string[]): [string, string, boolean] {
    if (this.launch) return [sidesOf(this.launch.grid, this.file).join(", "), this.#where, false];
    const sides = sidesOf(this.#block()[0], this.file);
    const most =
      sizes.reduce((all, name) => (all ? `max(${all}, ${name})` : name), "") || this.#noSize;
    return [sides.map((side) => `ceil_div(${most}, ${side})`).join(", "), "assumed", true];
  }

  #shared(): [string, string, boolean] {
    if (this.launch) return [this.launch.shared, this.#where, false];
    const dynamic =
      /extern\s+__shared__\s+(?:__align__\s*\([^)]*\)\s*)?([\w ]+?)\s+\w+\s*\[\s*\]/.exec(
        this.kernel.text,
      );
    if (!dynamic) return ["0", "the kernel has none", false];
    const threads = sidesOf(this.#block()[0], this.file).map((side) => `(${side})`);
    return [`${threads.join(" * ")} * sizeof(${dynamic[1]})`, "assumed", true];
  }

  #argument(
    { name, type, pointer }: Parameter,
    at: number,
    sizes: string[],
    lookup: Lookup,
  ): [string, string, boolean] {
    const given = this.launch?.args[at];
    if (!pointer) {
      if (given !== undefined) return [given, this.#where, false];
      return sizes.includes(name) ? [name, "the size above", false] : ["1", "assumed", true];
    }
    const allocated = given && this.file.allocations.get(given.replace(HOST_POINTER, ""));
    if (allocated && evaluate(allocated.text, lookup) !== null) {
      return [`(${allocated.text}) / ${bytesOf(type) || 4}`, `line ${allocated.line}`, false];
    }
    const product = { A: "MK", B: "KN", C: "MN" }[name.replace(/^d_?/, "").toUpperCase()];
    const sides = [...(product ?? "")].map((side) =>
      sizes.find((one) => one.toUpperCase() === side),
    );
    if (sides.length && sides.every(Boolean)) return [sides.join(" * "), "assumed", true];
    if (sizes.length > 1) return [sizes.slice(0, 2).join(" * "), "assumed", true];
    const [only = this.#noSize] = sizes;
    return [this.#isFlat ? `${only} * ${only}` : only, "assumed", true];
  }
}

const isReal = (type: string) => /float|double|half/.test(type);

const isCall = (text: string, name: string) => new RegExp(`\\b${name}\\s*(\\(|::|\\.)`).test(text);

/** A smaller number with the same remainder, so that whole tiles stay whole and ragged ones ragged. */
function smaller(number: number, most: number) {
  const half = most / 2;
  return number % half ? half + (number % half) : most;
}
