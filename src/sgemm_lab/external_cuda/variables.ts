// The `__constant__` and `__device__` variables of a file, as arrays that a reader can name. The host
// sets most of them before it launches, and here no host code runs. So `--args` may set them, after
// the kernel's own arguments: "mask:in:7" or "width=64".

import { LabError } from "../errors.ts";
import type { describe } from "../simulator/kernel_requirements.ts";
import { comma, plural } from "../text.ts";
import type { Given, GivenArray, Names } from "./arguments.ts";
import { isArray, isFile, numberOf, textOf } from "./arguments.ts";
import type { Element } from "./elements.ts";
import { bytesOf, declarationOfVariable, elementOfVariable, isWhole } from "./elements.ts";
import type { Opened } from "./open_kernel.ts";
import { unpack, viewed } from "./packing.ts";

/** A variable that the kernel uses. */
export interface Variable {
  /** its name in the PTX */
  symbol: string;
  element: Element;
  /** what it holds before the launch; null for numbers to be drawn, or of a file */
  start: Float64Array | null;
  /** it holds what the source says */
  isOwn: boolean;
  /** how `--args` would give it */
  array: GivenArray;
  /** what was assumed of it, in a sentence */
  note: string;
}

type Used = ReturnType<typeof describe>["variables"][number];

/**
 * The variables of numbers that a kernel uses. Throws a LabError where `given` names none of them, or
 * does not fit.
 * @param given what `--args` says after the kernel's own arguments
 * @param names values of names in it
 */
export function variablesOf(used: Used[], opened: Opened, given: Given[], names: Names) {
  const left = new Map(given.map((one) => [one.name, one]));
  const found = used.flatMap((one) => {
    const name = sourceName(one.name);
    const element = elementOfVariable(name, opened.file, opened.values);
    if (!element || one.start.length % bytesOf(element)) return [];
    const said = left.get(name);
    left.delete(name);
    // Zeros that the source says are none in the PTX.
    const isSet = one.isSet || declarationOfVariable(name, opened.file)?.isSet === true;
    return variableOf(name, { ...one, isSet }, element, said, names);
  });
  for (const one of left.values()) {
    const known = found.map(({ array }) => array.name).join(", ");
    const may = known
      ? `There it may set the variables of the file: ${known}.`
      : "The kernel uses no variable of the file that it could set.";
    throw new LabError(`--args gives ${textOf(one)} after all that the kernel takes. ${may}`);
  }
  return found;
}

function variableOf(
  name: string,
  one: Used,
  element: Element,
  given: Given | undefined,
  names: Names,
): Variable {
  const count = one.start.length / bytesOf(element);
  const array: GivenArray = {
    ...{ kind: "array", name, use: one.constant ? "in" : "inout", size: `${count}`, type: "" },
    ...{ start: "", modes: null },
  };
  const own = unpack(element, viewed(element, one.start));
  const made = { symbol: one.name, element, start: own, isOwn: true, array, note: "" };
  if (given?.kind === "number") {
    return { ...made, start: new Float64Array(count).fill(numberOf(given, names)), isOwn: false };
  }
  if (given) {
    if (!isArray(given)) {
      throw new LabError(`'${textOf(given)}' sets no variable. Write it like ${textOf(array)}.`);
    }
    if (isFile(given)) return { ...made, array: given, start: null, isOwn: false };
    if (given.size !== array.size) {
      throw new LabError(
        `${given.name} has ${comma(count)} elements, but --args gives ${textOf(given)}.`,
      );
    }
    return { ...made, array: given };
  }
  if (!one.constant || one.isSet) return made;
  if (isWhole(element)) {
    const note =
      `${name} holds zeros, as only host code sets it. Set it after the kernel's arguments: ` +
      `--args '… ${name}=64'.`;
    return { ...made, note };
  }
  const note =
    `${name} holds small whole numbers, as only host code sets it. To set it yourself, write --args ` +
    `'… ${name}:in:${name}.npy', a file of ${plural(count, "number")}.`;
  return { ...made, start: null, isOwn: false, note };
}

/** The name that a symbol has in the source: "mask" of `_ZN3box4maskE`. */
export const sourceName = (symbol: string) => pathOf(symbol).at(-1) ?? symbol;

/** The names that lead to a symbol, without those that compilers give to what belongs to one file. */
function pathOf(symbol: string) {
  const found: string[] = [];
  let rest = symbol.replace(/^_ZN?K?/, "");
  for (let match = /^L?(\d+)/.exec(rest); match; match = /^L?(\d+)/.exec(rest)) {
    const end = match[0].length + Number(match[1]);
    found.push(rest.slice(match[0].length, end));
    rest = rest.slice(end);
  }
  const own = found.filter((one) => !/^_(INTERNAL|GLOBAL_)_/.test(one));
  return own.length ? own : [symbol];
}

/** Whether two compilers mean the same variable. */
export const isSameSymbol = (one: string, other: string) =>
  pathOf(one).join("::") === pathOf(other).join("::");
