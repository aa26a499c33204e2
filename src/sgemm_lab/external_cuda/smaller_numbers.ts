// The launch of a program once more, with a number smaller that its kernel compares threads with: a guard is
// for blocks that are not full, and main may launch full ones alone. Arrays and grid stay as they are.

import { Drawing } from "../checking/drawing.ts";
import { secondsNow } from "../simulator/clock.ts";
import { TimeLimitError } from "../simulator/divergence.ts";
import { MISALIGNED, OUT_OF_BOUNDS, UNWRITTEN } from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { registersRead, writersOf } from "../simulator/operands.ts";
import { type Operand, type PtxKernel, parse } from "../simulator/ptx.ts";
import { type Call, simulate } from "../simulator/simulation.ts";
import { SameValues, weighed } from "../simulator/watches/same_values.ts";
import { WidestIndices } from "../simulator/watches/widest_indices.ts";
import { comma } from "../text.ts";
import { isSameHazard } from "./assumed_launch_search.ts";
import { cornersOf } from "./index_overflow.ts";
import { type Prepared, product } from "./launch.ts";
import { changedCall, withArrays } from "./program_launches.ts";
import { at as atPlace, type Finding, findingOf, ofKernel } from "./severity.ts";

/** Processor time of all such launches of a kernel, and of one. */
const [SECONDS, EACH] = [0.5, 0.2];
const [THREAD, LOADED] = ["thread", "loaded"];
const OF_THREAD = /^%(tid|ctaid|laneid|warpid)/;
const LOADS = /^(ld|atom|shfl|tex|tld4|suld|vote|match|redux)$/;
/** How many times larger than all arrays a number is that a remainder makes an index of. */
const [LARGE, MOST] = [4, 2 ** 31 - 1];
/** What half a size leaves of a number that grows as its square. */
const [LEAST_PART, MOST_PART] = [0.2, 0.3];

/** The parameters that places of threads are compared with: the places of those of a comparison. */
function comparedWith({ instructions, parameters }: PtxKernel): number[][] {
  const writers = writersOf(instructions);
  /** Parameters, and whether a value is of a thread, or loaded. */
  const sourcesOf = (operand: Operand) => {
    const [found, seen] = [new Set<string>(), new Set<string>()];
    const waiting = [operand];
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      if (one.kind === "special" && OF_THREAD.test(one.name)) found.add(THREAD);
      if (one.kind !== "register" || seen.has(one.name)) continue;
      seen.add(one.name);
      for (const writer of writers.get(one.name) ?? []) {
        const [, from] = writer.operands;
        const isParameter = writer.parts[1] === "param" && from.kind === "address";
        if (isParameter && from.base.kind === "symbol") found.add(from.base.name);
        else if (LOADS.test(writer.parts[0])) found.add(LOADED);
        else waiting.push(...writer.operands.slice(1), ...registersRead(writer));
      }
    }
    return found;
  };
  return instructions.flatMap(({ parts, operands }) => {
    if (parts[0] !== "setp" || !/^[usb]/.test(parts[parts.length - 1])) return [];
    const sides = operands.slice(-2).map(sourcesOf);
    const [limit, ...more] = sides.filter((one) => !one.has(THREAD));
    if (!limit || more.length || sides.some((one) => one.has(LOADED))) return [];
    return [[...parameters.keys()].filter((at) => limit.has(parameters[at].name))];
  });
}

/** Whether a file checks what divides a number, or compares it with another. */
const isChecked = (text: string, name: string, other = "") =>
  new RegExp(
    other
      ? `\\b(?:${name}\\s*[<>]=?\\s*${other}|${other}\\s*[<>]=?\\s*${name})\\b`
      : `\\b(?:if|\\w*(?:assert|CHECK)\\w*)\\s*\\(.*\\b${name}\\s*%`,
    "i",
  ).test(text);

/** Numbers of a launch with smaller ones: a block is not full, or another number is the larger one. */
function smallerIn({ args, grid, block }: Call, kernel: PtxKernel, text: string) {
  const names = [...args.keys()];
  const sides = [...grid, product(grid), ...block, product(block)];
  const own = (name: string) => Number(args.get(name));
  const found = new Map<string, [name: string, value: number, beside: string]>();
  for (const group of comparedWith(kernel)) {
    for (const name of group.map((place) => names[place])) {
      // A number of blocks or threads has to be that of the launch.
      if (sides.includes(own(name)) || isChecked(text, name)) continue;
      const others = group.flatMap((place): [number, string][] => {
        const other = names[place];
        if (isChecked(text, name, other)) return [];
        return [[own(other), other === name ? "" : ` and ${other} ${own(other)}`]];
      });
      for (const [end, beside] of [...others, [block[0], ""] as const]) {
        const key = `${name} ${end}`;
        if (1 < end && end <= own(name) && !found.has(key)) found.set(key, [name, end - 1, beside]);
      }
    }
  }
  return [...found.values()];
}

/**
 * What a launch shows as far as it comes; null if it cannot be run.
 * @param some the blocks that run where none waits for others; null for all
 */
function shownBy({ ptx, entry, grid, block, args, options }: Call, some: number[] | null) {
  const [same, widest] = [new SameValues(), new WidestIndices()];
  const onlyBlocks = options.cooperative ? null : some;
  const quick = { ...options, watching: [same, widest], onlyBlocks, timeLimit: EACH };
  let hazards: Hazard[];
  try {
    ({ hazards } = simulate(ptx, entry, grid, block, args, { ...quick, countRequests: false }));
  } catch (error) {
    if (!(error instanceof TimeLimitError)) return null;
    ({ hazards } = error);
  }
  return { hazards: weighed(hazards, same.found(), ptx, entry).rest, widest: widest.found() };
}

/** A launch with 0 and 1 in its arrays of integers, which may hold what follows from a number. */
const withBits = (call: Call) =>
  withArrays(call, (one) => {
    const { data, shape, isHalf } = one;
    if (isHalf || data instanceof Float32Array || data instanceof Float64Array) return one;
    const own = data.slice();
    const bytes = new Uint8Array(own.buffer).fill(0);
    const bits = new Drawing(own.length).integers(0, 1, own.length);
    for (const [at, bit] of bits.entries()) bytes[at * own.BYTES_PER_ELEMENT] = bit;
    return shape.length ? { ...one, data: own } : one;
  });

/**
 * A warning about what a launch of a program shows where a number is smaller, or so large that a product
 * leaves 32 bits before a remainder is taken of it.
 */
export function atOtherNumbers(prepared: Prepared, call: Call): Finding[] {
  const kernel = parse(call.ptx).get(call.entry);
  const { args, options } = call;
  if (!kernel || !args.size || options.reached) return [];
  const end = secondsNow() + SECONDS;
  const corners = cornersOf(call.grid);
  const inGlobal = new Set<string | null>(options.watchRacesIn);
  // A result of n - m + 1 elements is longer where m is smaller, but the array stays as it is.
  const isGrave = ({ kind, array }: Hazard, beside: string) =>
    kind !== MISALIGNED &&
    !(inGlobal.has(array) && (kind === UNWRITTEN || (kind === OUT_OF_BOUNDS && !beside)));
  const arrays = [...args.values()].filter((one) => typeof one === "object" && "data" in one);
  const bytes = arrays.reduce((all, { data }) => all + data.byteLength, 0);
  const { text } = prepared.opened.file.files[0];
  for (const [name, value, beside] of smallerIn(call, kernel, text)) {
    if (secondsNow() > end) break;
    const own = Number(args.get(name));
    const at = (number: number) => changedCall(call, { numbers: { [name]: number } });
    const shown = shownBy(at(value), corners);
    const main = `where main passes ${comma(own)}`;
    const hazards = shown?.hazards.filter((one) => isGrave(one, beside)) ?? [];
    const [before, bits = []] = hazards.length
      ? [call, withBits(at(value))].map((one) => shownBy(one, corners)?.hazards)
      : [];
    const hazard = hazards.find(
      (one) =>
        before?.every((other) => !isSameHazard(one, other)) &&
        bits.some((other) => isSameHazard(one, other)),
    );
    if (hazard) {
      const found = findingOf(hazard, prepared, "warning");
      const where = `It would happen if ${name} were ${comma(value)}${beside}, ${main}.`;
      const message = `${found.message} ${where} If that cannot be, let the host check it.`;
      return [{ ...found, message }];
    }
    const wide = shown?.widest.filter((one) => one.most === MOST && one.largest > LARGE * bytes);
    if (!wide?.length) continue;
    const [halves, quarters] = [2, 4].map(
      (part) => shownBy(at(Math.floor(own / part)), null)?.widest ?? [],
    );
    for (const { location, bits } of wide) {
      const largestIn = (all: typeof wide) =>
        all.find((one) => `${one.location}` === `${location}` && one.most === MOST)?.largest ?? 0;
      const half = largestIn(halves);
      const part = largestIn(quarters) / half;
      if (!(LEAST_PART < part && part < MOST_PART)) continue;
      const large = comma(Math.ceil((own / 2) * Math.sqrt(MOST / half)));
      const message =
        `${location}: an index has ${bits} bits here, which are too few if ${name} were ${large}, ` +
        `${main}. Count it in size_t.`;
      return [atPlace(location, ofKernel(prepared, "warning", OUT_OF_BOUNDS, message))];
    }
  }
  return [];
}
