// A maximum or a minimum that starts from a number that its elements may not reach, such as FLT_MIN, the
// least number above 0: what a launch leaves is that number then, and none of its elements. Whether the
// kernel picks elements shows when it runs again on numbers of one sign.

import { writersOf } from "../../simulator/operands.ts";
import { parse } from "../../simulator/ptx.ts";
import type { Argument, Result } from "../../simulator/simulation.ts";

/** Distinct floats from 1 to 2, exact in any type. */
export const DISTINCT = 128;
export const pickAt = (at: number) => 1 + ((77 * at) % DISTINCT) / DISTINCT;
export const isPick = (one: number) =>
  Math.abs(one) >= 1 && Math.abs(one) < 2 && Number.isInteger(one * DISTINCT);
const START = /^(mov|selp)\.(?:f32|b32|f64|b64)/;
const LIMITS = /^(?:max|min|setp)\S*\.f(?:32|64)$/;
/** Larger ones are meant for infinity. */
const LARGEST = 1e30;
/** Elements that a launch reads for each one that it leaves. */
const LEAST = 4;

type Reals = Float32Array | Float64Array;

interface Ran {
  ptx: string;
  entry: string;
  args: Map<string, Argument>;
  arrays: Result["arrays"];
  /** run again with other arguments */
  again: (args: Map<string, Argument>) => Result | null;
}

const isReal = (data: unknown): data is Reals =>
  data instanceof Float32Array || data instanceof Float64Array;

/** Of a launch an array that holds such a start, and the start; null if none is found. */
export function wrongStart({ ptx, entry, args, arrays, again }: Ran) {
  const reals = [...args].flatMap(([name, one]): [string, Reals][] =>
    typeof one === "object" && "data" in one && isReal(one.data) ? [[name, one.data]] : [],
  );
  const isKept = ([name, data]: [string, Reals]) =>
    data.every((one, at) => Object.is(one, arrays[name]?.[at]));
  const inputs = reals.filter(isKept);
  const count = Math.max(0, ...inputs.map(([, { length }]) => length));
  const starts = startsOf(ptx, entry);
  for (const [name, before] of reals) {
    const left = arrays[name];
    if (inputs.some(([input]) => input === name) || count < LEAST * before.length) continue;
    const start = starts.find(
      (one) => left.includes(one as never) && !inputs.some(([, data]) => data.includes(one)),
    );
    if (start === undefined) continue;
    const places = [...left.keys()].filter((at) => left[at] === start);
    const [above, below] = [1, -1].map((sign) => {
      const changed = inputs.map(([input, data]): [string, Argument] => {
        const drawn = data.map((_, at) => sign * pickAt(at));
        return [input, { ...(args.get(input) as object), data: drawn } as Argument];
      });
      const found = again(new Map([...args, ...changed]))?.arrays[name];
      return places.map((at) => Number(found?.[at]));
    });
    const isStart = (one: number) => one === start;
    const isWrong = (some: number[], others: number[]) =>
      some.every(isPick) && others.every(isStart);
    if (isWrong(above, below) || isWrong(below, above)) return { name, start };
  }
  return null;
}

/** Numbers that registers start from and change, without those that a result is limited to, such as by ReLU. */
function startsOf(ptx: string, entry: string) {
  const [starts, limits] = [new Set<number>(), new Set<number>()];
  const instructions = parse(ptx).get(entry)?.instructions ?? [];
  const writers = writersOf(instructions);
  for (const { opcode, parts, operands } of instructions) {
    const [to] = operands;
    const isAlone = to?.kind === "register" && writers.get(to.name)?.length === 1;
    const isLimit = LIMITS.test(opcode) || (parts[0] === "mov" && isAlone);
    if (!isLimit && !START.test(opcode)) continue;
    for (const one of operands) {
      if (one.kind !== "immediate") continue;
      const view = new DataView(new ArrayBuffer(8));
      view.setBigUint64(0, BigInt.asUintN(64, one.bits));
      (isLimit ? limits : starts).add(
        opcode.endsWith("64") ? view.getFloat64(0) : view.getFloat32(4),
      );
    }
  }
  return [...starts].filter((one) => Math.abs(one) < LARGEST && !limits.has(one));
}
