// The launch of a kernel of a file, as the page shows it: each value says where it comes from, and
// the reader can change it.

import { LabError } from "../../errors.ts";
import { readArguments, textOf } from "../../external_cuda/arguments.ts";
import type { Argument, Attempt, Compiled } from "../../external_cuda/assumed_launch.ts";
import { attempts } from "../../external_cuda/assumed_launch.ts";
import { constantOf } from "../../external_cuda/constants.ts";
import type { CudaFile } from "../../external_cuda/cuda_file.ts";
import { isWhole, resolve as resolveType } from "../../external_cuda/elements.ts";
import type { FoundFunction } from "../../external_cuda/kernels.ts";
import { type Opened, openKernel } from "../../external_cuda/open_kernel.ts";
import { bytesOfType, slotsOf } from "../../external_cuda/structs.ts";
import { inside, split, tokensOf } from "../../external_cuda/tokens.ts";
import { STATIC_SHARED } from "../../hardware.py";
import { MAX_THREADS } from "../../simulator/limits.py";

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
  opened: Opened;
  template: Setting | null;
  sizes: Setting[];
  grid: Setting;
  block: Setting;
  shared: Setting;
  /** for arrays the number of elements, for numbers the value */
  args: { argument: Argument; setting: Setting }[];
  /** what an array should hold, such as "y = 2 * x"; empty if that is not known */
  expected: Setting;
}

/** A launch as `--args`, `--grid` and `--block` have it. */
export interface ResolvedLaunch {
  grid: string[];
  block: string[];
  sharedBytes: string;
  args: string;
  /** of the plan, and the numbers that the kernel takes, by name */
  sizes: Record<string, number>;
  expected: string;
}

/** The sides of the matrices of a product, by their usual names. */
export const MATRICES: Record<string, string> = { A: "MK", B: "KN", C: "MN" };
/** The page runs smaller launches than the command. */
const MOST = { threads: 2 ** 15, elements: 2 ** 19 };

/**
 * Plan the launch of a kernel. Throws a LabError where it cannot be run.
 * @param edits texts that the reader set, by the key of the setting
 */
export function planLaunch(
  file: CudaFile,
  kernel: FoundFunction,
  edits: Map<string, string>,
): LaunchPlan {
  const values = edits.get("template");
  const opened = openKernel(file, values === undefined ? kernel.name : `${kernel.name}<${values}>`);
  const compiled = beforeCompiling(opened);
  const types = compiled.parameters.map(({ type }) => type);
  const slots = slotsOf(opened.kernel.parameters, types, file, opened.values);
  const sizes = new Map<string, number>();
  for (const [key, text] of edits) {
    const [, name] = /^size (.*)$/.exec(key) ?? [];
    const value = name && evaluated(text, opened, {});
    if (value) sizes.set(name, value);
  }
  const known = { grid: [], block: [], sharedBytes: "0" };
  const [attempt] = attempts({ opened, slots, compiled, known }, MOST, sizes);
  if (!attempt) throw new LabError("No launch of it is small enough to run here.");
  return planOf(opened, attempt, edits);
}

/** What the source alone says of the compiled kernel. */
function beforeCompiling({ file, kernel, values }: Opened): Compiled {
  const { head } = kernel.declaration;
  const bounds = head.findIndex(({ text }) => text === "__launch_bounds__");
  const [most] = bounds < 0 ? [] : split(inside(head, bounds + 1));
  const threads = most && constantOf(most, file);
  const parameters = kernel.parameters.map(({ name, type, pointer }) => {
    const bytes =
      pointer || resolveType(type, file, values) ? null : bytesOfType(type, file, values);
    return { name, type: bytes ? `b8[${bytes}]` : "u64" };
  });
  return { parameters, images: [], mostThreads: threads ? [threads] : [], usesY: true };
}

function planOf(opened: Opened, attempt: Attempt, edits: Map<string, string>): LaunchPlan {
  const set = (key: string, label: string, text: string, origin = "assumed") => {
    const edit = edits.get(key);
    if (edit !== undefined) return { key, label, text: edit, origin: "set here", assumed: false };
    return { key, label, text, origin, assumed: origin === "assumed" };
  };
  const values = [...opened.values.values()].join(", ");
  const isDynamic = opened.kernel.declaration.words.has("extern");
  return {
    opened,
    template: opened.values.size
      ? set(
          "template",
          "Template values",
          values,
          opened.line ? `line ${opened.line}` : opened.line === null ? "set here" : "assumed",
        )
      : null,
    sizes: [...attempt.sizes].map(([name, value]) => set(`size ${name}`, name, `${value}`)),
    block: set("block", "Block", attempt.block.join(", ")),
    grid: set("grid", "Grid", attempt.grid.join(", ")),
    shared: set(
      "shared",
      "Dynamic shared memory, bytes",
      isDynamic ? `${STATIC_SHARED}` : attempt.sharedBytes,
      isDynamic ? "assumed" : "the kernel has none",
    ),
    expected: set("expected", "Expected result", "", "such as y = 2 * x, or A @ B"),
    args: attempt.args.map((argument) => {
      const { field, count, value } = argument;
      const sides = sidesOf(field.name, [...attempt.sizes.keys()]);
      const isSize = count === null && attempt.sizes.has(field.name);
      const size = isSize ? field.name : sides;
      const label = field.pointer ? `Elements of ${field.name}` : field.name;
      const origin = size ? "the size above" : "assumed";
      return {
        argument,
        setting: set(`argument ${field.name}`, label, size || `${count ?? value}`, origin),
      };
    }),
  };
}

/** The sizes that the elements of a matrix of a product follow from; "" where they are not there. */
function sidesOf(array: string, sizes: string[]) {
  const letters = MATRICES[array.replace(/^d_?/, "").toUpperCase()] ?? "";
  const found = [...letters].map((one) => sizes.find((size) => size.toUpperCase() === one));
  return letters && found.every(Boolean) ? found.join(" * ") : "";
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
export function resolve(plan: LaunchPlan): ResolvedLaunch {
  const { opened } = plan;
  const names: Record<string, number> = {};
  const numberOf = ({ label, text }: Setting, part: string = text) => {
    const value = evaluated(part, opened, names);
    if (value === null) {
      throw new LabError(`${label}: the value of “${part.trim()}” is not known. Write a number.`);
    }
    return value;
  };
  const sizes = plan.sizes.map((size) => [size.label, numberOf(size)] as const);
  for (const [name, value] of sizes) names[name] = value;
  const dimensions = (setting: Setting) => {
    const parts = split(tokensOf(setting.text)).map((part) =>
      setting.text.slice(part[0].start, part[part.length - 1].end),
    );
    const sides = parts.map((part) => numberOf(setting, part));
    const isWrong = sides.length < 1 || sides.length > 3 || sides.some((one) => !(one >= 1));
    if (isWrong)
      throw new LabError(`${setting.label}: write one to three whole numbers from 1 on.`);
    return sides.map(Math.trunc);
  };
  const block = dimensions(plan.block);
  const threads = block.reduce((product, one) => product * one, 1);
  if (threads > MAX_THREADS) {
    throw new LabError(`Block: ${threads} threads. A block has at most ${MAX_THREADS}.`);
  }
  const numbers: [string, number][] = [];
  const args = plan.args.map(({ argument, setting }) => {
    const [given] = readArguments(argument.text);
    if (given.kind === "array" && given.modes) {
      throw new LabError(
        `${given.name} is a ${given.use}. The command takes those, the page does not.`,
      );
    }
    const value = numberOf(setting);
    if (given.kind !== "array") {
      numbers.push([argument.field.name, value]);
      return textOf({ kind: "number", text: `${value}`, name: given.name });
    }
    const count = Math.trunc(value);
    if (!(count >= 1)) throw new LabError(`${setting.label}: an array has at least one element.`);
    // Integers that are changed begin with zeros: they may be counters.
    const isCounter = given.use === "inout" && isWhole(argument.field.element);
    const use = isCounter ? "zero" : given.use;
    const { name } = argument.field; // of a field of a struct "p.x"
    const called = /^\w+$/.test(name) ? name : given.name;
    return textOf({ ...given, name: called, use, size: `${count}` });
  });
  return {
    grid: dimensions(plan.grid).map(String),
    block: block.map(String),
    sharedBytes: `${numberOf(plan.shared)}`,
    args: args.join(" "),
    sizes: Object.fromEntries([...sizes, ...numbers]),
    expected: plan.expected.text,
  };
}

/** The value of what a reader wrote; null if it is not known. */
function evaluated(text: string, { file, values }: Opened, names: Record<string, number>) {
  if (Object.hasOwn(names, text)) return names[text]; // of a field of a struct "p.n"
  const own = [...values].flatMap(([name, value]) =>
    Number(value) ? [[name, Number(value)]] : [],
  );
  return constantOf(tokensOf(text), file, { ...Object.fromEntries(own), ...names });
}
