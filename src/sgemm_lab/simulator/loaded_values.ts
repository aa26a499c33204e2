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

/** Indices of the instructions that store so. */
export function updatingStores(instructions: Instruction[]): ReadonlySet<number> {
  const writers = writersOf(instructions);
  const isUpdate = ({ parts, operands: [place, value] }: Instruction) => {
    if (parts[0] !== "st" || place?.kind !== "address") return false;
    return registersOf(value).some(({ name }) => isChanged(place, name, writers));
  };
  return new Set(instructions.filter(isUpdate).map(({ index }) => index));
}

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
 * Indices of the stores to global memory of what stood there or something else, such as the smaller one:
 * `keeping`; and of those whose value the thread made itself: `computed`. A value for all threads, or that
 * of another element, is none.
 */
export function storedValues(instructions: Instruction[]) {
  const writers = writersOf(instructions);
  const uniform = uniformStores(instructions);
  const [keeping, computed] = [new Set<number>(), new Set<number>()];
  for (const { index, parts, operands } of instructions) {
    const [place, value] = operands;
    if (parts[0] !== "st" || parts.includes("shared") || place?.kind !== "address") continue;
    const seen = new Set<string>();
    const waiting = registersOf(value).map(({ name }) => ({ name, moved: true }));
    let [isKept, isCopy] = [false, false];
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      if (seen.has(`${one.name} ${one.moved}`)) continue;
      seen.add(`${one.name} ${one.moved}`);
      for (const { parts: by, operands: from } of writers.get(one.name) ?? []) {
        const isLoad = by[0] === "ld" && by[1] !== "param" && from[1].kind === "address";
        if (isLoad) isKept ||= isSame(from[1] as Address, place);
        isCopy ||= isLoad && one.moved;
        const moved = one.moved && MOVES.has(by[0]);
        if (!moved && !CHOOSES.has(by[0])) continue;
        waiting.push(
          ...from
            .slice(1, 3)
            .flatMap(registersOf)
            .map(({ name }) => ({ name, moved })),
        );
      }
    }
    if (isKept) keeping.add(index);
    else if (!isCopy && !uniform.has(index) && !parts.includes("local")) computed.add(index);
  }
  return { keeping, computed };
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

/** Whether a register holds what was loaded from a place, and then changed. */
function isChanged(place: Address, register: string, writers: Map<string, Instruction[]>) {
  const waiting = [{ name: register, changed: false }];
  const seen = new Set<string>();
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const { name, changed } = one;
    if (seen.has(`${name} ${changed}`)) continue;
    seen.add(`${name} ${changed}`);
    for (const { parts, operands } of writers.get(name) ?? []) {
      const from = operands[1];
      if (parts[0] === "ld" && changed && from.kind === "address" && isSame(from, place))
        return true;
      if (!PASSES_ON.has(parts[0])) continue;
      const next = changed || CHANGES.has(parts[0]);
      for (const { name } of operands.slice(1).flatMap(registersOf)) {
        waiting.push({ name, changed: next });
      }
    }
  }
  return false;
}

/** Whether two operands are the same place, as far as their text says. */
function isSame(one: Address, other: Address) {
  const [first, second] = [one.base, other.base];
  if (first.kind === "immediate" || second.kind === "immediate") return false;
  return first.name === second.name && one.offset === other.offset;
}
