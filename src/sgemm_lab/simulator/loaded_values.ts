// What becomes of a loaded value. It may be changed and stored where it was: of two threads that do
// so without an order, one loses its change, also where the variable is volatile. Or it may only
// decide whether an atomic is worth while.

import { readersOf, registersOf, registersWritten, writersOf } from "./operands.ts";
import type { Address, Instruction, Operand } from "./ptx.ts";

/** Operations that change a number further when they are done twice. */
const CHANGES = new Set("add sub mul mad fma shl shr xor".split(" "));
/** Operations that bring a number elsewhere. */
const TAKES_AWAY = new Set(
  "st ld atom red cp shfl vote match redux sust suld tex wmma mma".split(" "),
);
/** Operations that pass a number on. */
const PASSES_ON = new Set([...CHANGES, "mov", "cvt"]);
/** Operations whose result is one of their operands. */
const [MOVES, CHOOSES] = [new Set(["mov", "cvt", "selp"]), new Set(["min", "max"])];

/** Indices of the stores to global memory of one value for all threads: a constant, or of parameters. */
export function uniformStores(instructions: Instruction[]): ReadonlySet<number> {
  const writers = writersOf(instructions);
  const isUniform = (name: string): boolean => {
    const [one, ...more] = writers.get(name) ?? [];
    if (!one || more.length) return false;
    if (one.parts[0] === "ld") return one.parts[1] === "param";
    return PASSES_ON.has(one.parts[0]) && one.operands.slice(1).every(of);
  };
  const of = (operand: Operand) =>
    operand.kind === "immediate" || (operand.kind === "register" && isUniform(operand.name));
  const stores = instructions.filter(({ parts, operands: [, value] }) => {
    const isGlobal = parts[0] === "st" && !parts.includes("shared") && !parts.includes("local");
    return isGlobal && of(value);
  });
  return new Set(stores.map(({ index }) => index));
}

/**
 * Indices of the stores of what their thread has read at the same place: `updating` ones change it, `keeping`
 * ones store that or something else, such as the smaller one. `computed`: those to global memory of a value
 * that the thread made itself, neither one for all threads nor that of another element.
 */
export function storedValues(instructions: Instruction[]) {
  const writers = writersOf(instructions);
  const uniform = uniformStores(instructions);
  const found = {
    updating: new Set<number>(),
    keeping: new Set<number>(),
    computed: new Set<number>(),
  };
  for (const { index, parts, operands } of instructions) {
    const [place, value] = operands;
    if (parts[0] !== "st" || place?.kind !== "address") continue;
    const ways = waysTo(place, value, writers);
    const isElsewhere = parts.includes("shared") || parts.includes("local") || uniform.has(index);
    if (ways.has("own changed")) found.updating.add(index);
    else if (ways.has("own moved") || ways.has("own chosen")) found.keeping.add(index);
    else if (!isElsewhere && !ways.has("other moved")) found.computed.add(index);
  }
  return found;
}

/**
 * Indices of the loads whose value decides whether an atomic is to be done, or what it is given, and
 * goes nowhere else: not into memory, nor to an address or another lane.
 */
export function guessingLoads(instructions: Instruction[]): ReadonlySet<number> {
  const isAtomic = ({ parts }: Instruction) => parts[0] === "atom" || parts[0] === "red";
  return instructions.some(isAtomic) ? endingIn(["atom", "red", "bra"], instructions) : new Set();
}

/** Indices of the loads whose value only decides where a thread goes on. */
export const flagLoads = (instructions: Instruction[]) => endingIn(["bra"], instructions);

/** Indices of the loads whose value goes nowhere but to some kinds of instruction. */
function endingIn(ends: string[], instructions: Instruction[]): ReadonlySet<number> {
  const readers = readersOf(instructions);
  const isOne = (load: Instruction) => {
    const waiting = registersWritten(load).map(({ name }) => name);
    const seen = new Set<string>();
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (seen.has(name)) continue;
      seen.add(name);
      for (const one of readers.get(name) ?? []) {
        const [kind] = one.parts;
        if (ends.includes(kind) || one.guard?.register.name === name) continue;
        if (TAKES_AWAY.has(kind)) return false;
        waiting.push(...registersWritten(one).map((register) => register.name));
      }
    }
    return true;
  };
  const loads = instructions.filter(({ parts }) => parts[0] === "ld");
  return new Set(loads.filter(isOne).map(({ index }) => index));
}

/** Whether a value comes from the "own" place or an "other", and is "moved", "chosen" or "changed" then. */
function waysTo(place: Address, value: Operand, writers: Map<string, Instruction[]>) {
  const waiting = registersOf(value).map(({ name }) => ({ name, how: "moved" }));
  const [seen, ways] = [new Set<string>(), new Set<string>()];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const { name, how } = one;
    if (seen.has(`${name} ${how}`)) continue;
    seen.add(`${name} ${how}`);
    for (const { parts, operands } of writers.get(name) ?? []) {
      const [kind] = parts;
      const from = operands[1];
      const isLoad = kind === "ld" && parts[1] !== "param" && from?.kind === "address";
      if (isLoad) ways.add(`${isSame(from, place) ? "own" : "other"} ${how}`);
      const isMoved = MOVES.has(kind) || (CHOOSES.has(kind) && how === "changed");
      if (!isMoved && !CHOOSES.has(kind) && !CHANGES.has(kind)) continue;
      const next = isMoved ? how : CHANGES.has(kind) ? "changed" : "chosen";
      const sources = operands.slice(1, kind === "selp" ? 3 : undefined).flatMap(registersOf);
      waiting.push(...sources.map((register) => ({ name: register.name, how: next })));
    }
  }
  return ways;
}

/** Whether two operands are the same place, as far as their text says. */
function isSame(one: Address, other: Address) {
  const [first, second] = [one.base, other.base];
  if (first.kind === "immediate" || second.kind === "immediate") return false;
  return first.name === second.name && one.offset === other.offset;
}
