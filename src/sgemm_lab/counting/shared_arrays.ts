// The arrays that a kernel keeps in shared memory, read from its source.

import { LabError } from "../errors.ts";
import { UnreadableError, wholeNumber } from "../expression.ts";
import type { Kernel } from "../kernel.ts";
import { sentence } from "./sentences.ts";

/** An array inside dynamic shared memory: its name, its first byte there, and its bytes. */
type SharedPart = [string, number, number];

const DECLARED = /__shared__ (?:__align__\(\d+\) )?float (\w+)((?:\[[^\]]+\])+)/g;
const PLACED =
  /auto& (\w+) = \*reinterpret_cast<float\(\*\)((?:\[[^\]]+\])+)>\(shared(?: \+ (.+))?\);/g;
const NUMBERED = /^constexpr int (\w+) = ([^;]+);/gm;
const FLOAT = 4;

/**
 * The shape of each array in shared memory, such as [8, 132] for `As[BK][BM + PAD]`. An array whose
 * size the launch decides is left out. Throws a LabError where a side is no arithmetic over the
 * kernel's constants.
 */
export function sharedShapes(kernel: Kernel): Record<string, number[]> {
  const { source } = kernel;
  const found = [...source.matchAll(DECLARED), ...source.matchAll(PLACED)];
  const value = evaluator(kernel);
  return Object.fromEntries(found.map(([, name, sides]) => [name, shapeOf(name, sides, value)]));
}

/**
 * The arrays that stand in the source as `auto& As = *reinterpret_cast<float(*)[BK][BM]>(shared +
 * …);`. Throws a LabError where a side or a place is no arithmetic over the kernel's constants.
 */
export function sharedParts(kernel: Kernel): SharedPart[] {
  const value = evaluator(kernel);
  return [...kernel.source.matchAll(PLACED)].map(([, name, sides, offset]) => {
    const first = FLOAT * value(offset ?? "0", `shared + ${offset}`);
    const shape = shapeOf(name, sides, value);
    return [name, first, FLOAT * shape.reduce((one, other) => one * other, 1)];
  });
}

/** What an expression of a kernel comes to; `where` it stands is said where that is no number. */
function evaluator({ name, source }: Kernel) {
  const constants = allConstants(source);
  return (text: string, where: string) => {
    const found = valueOrNull(text, constants);
    if (found === null) throw new LabError(sentence("shared.shape", { where, kernel: name }));
    return found;
  };
}

/** @param sides such as "[BK][BM + PAD]" */
const shapeOf = (name: string, sides: string, value: (text: string, where: string) => number) =>
  [...sides.matchAll(/\[([^\]]+)\]/g)].map(([, side]) => value(side, name + sides));

/** All whole-number constants of a kernel, those computed from others too. */
function allConstants(source: string) {
  const names: Record<string, number> = {};
  for (const [, name, text] of source.matchAll(NUMBERED)) {
    const value = valueOrNull(text, names);
    if (value !== null) names[name] = value;
  }
  return names;
}

function valueOrNull(text: string, names: Record<string, number>) {
  try {
    return wholeNumber(text, names, true);
  } catch (error) {
    if (error instanceof UnreadableError) return null;
    throw error;
  }
}
