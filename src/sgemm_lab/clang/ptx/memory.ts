// Loads, stores, atomics and addresses.

import type { IrInstruction } from "../ir/instructions.ts";
import { type IrType, leaves, sizeOf } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";
import { registerType } from "./literals.ts";
import { type Lowering, listed, type Place } from "./lowering.ts";
import type { Operand } from "./machine.ts";

/** Scalars that one instruction moves; `at` is where the first lies from the whole's start. */
interface Piece {
  at: number;
  first: number;
  count: number;
  type: IrType;
}

const WIDEST = 16;

const CHANGES_ANY = { changes: "any" };

export function lowerLoad(lowering: Lowering, instruction: IrInstruction) {
  const { type, operands, result, align } = instruction;
  const registers = leaves(type).map((leaf) => lowering.register(registerType(leaf)));
  const { space, place } = memoryOf(lowering, operands[0]);
  for (const { at, first, count, type: leaf } of pieces(type, align)) {
    const to = registers.slice(first, first + count);
    const address = ["[", place.base, plus(place.offset + at), "]"];
    const opcode = `ld${strength(instruction)}${space}${vector(count)}.${memoryType(leaf)} `;
    const pure = isPure(instruction);
    const word = pure && count === 1 && leaf.bits === 32;
    const load = word ? { space, base: place.base, offset: place.offset + at } : null;
    const changes = pure ? "" : "any";
    const parts = [opcode, ...braced(to), ", ", ...address];
    lowering.write(parts, to, [place.base], { pure, load, changes });
  }
  lowering.set(result, registers);
}

export function lowerStore(lowering: Lowering, instruction: IrInstruction) {
  const { type, operands, align } = instruction;
  const scalars =
    type.kind === "ptr"
      ? [lowering.pointer(operands[0], "generic")]
      : lowering.scalars(operands[0]);
  const { space, place } = memoryOf(lowering, operands[1]);
  for (const { at, first, count, type: leaf } of pieces(type, align)) {
    const stored = scalars
      .slice(first, first + count)
      .map((scalar) => lowering.inRegister(scalar, leaf));
    const address = ["[", place.base, plus(place.offset + at), "], "];
    const opcode = `st${strength(instruction)}${space}${vector(count)}.${memoryType(leaf)} `;
    const parts = [opcode, ...address, ...braced(stored)];
    lowering.write(parts, [], [place.base, ...stored], { changes: space || "any" });
  }
}

function isPure({ flags }: IrInstruction): boolean {
  return !flags.includes("volatile") && !flags.includes("atomic");
}

function strength({ flags }: IrInstruction): string {
  if (flags.includes("atomic")) return ".relaxed.gpu";
  return flags.includes("volatile") ? ".volatile" : "";
}

function memoryOf(lowering: Lowering, pointer: IrValue): { space: string; place: Place } {
  const space = lowering.spaces.of(pointer);
  if (pointer.kind === "number" || pointer.kind === "undefined") {
    lowering.refuse("This line follows a pointer that points nowhere.");
  }
  return { space: space === "generic" ? "" : `.${space}`, place: lowering.place(pointer) };
}

/**
 * A value cut into what one instruction moves: a vector of the source whole, all else in scalars.
 */
function pieces(type: IrType, align: number): Piece[] {
  const found: Piece[] = [];
  const all = leaves(type);
  const size = all.length ? sizeOf(all[0]) : 0;
  // The type says how a float4 is aligned, and who reads floats as one vouches for it.
  const isVector = type.kind === "vector" && [2, 4].includes(type.count) && size >= 4;
  const step = isVector ? Math.min(type.count, Math.max(1, WIDEST / size)) : 1;
  if (type.kind === "struct") return fields(type, align);
  for (let first = 0; first < all.length; first += step) {
    found.push({ at: first * size, first, count: step, type: all[first] });
  }
  return found;
}

function fields(type: IrType, align: number): Piece[] {
  const found: Piece[] = [];
  let [at, first] = [0, 0];
  for (const field of type.of) {
    const size = sizeOf(field);
    if (!type.packed) at = Math.ceil(at / size) * size;
    for (const piece of pieces(field, align)) {
      found.push({ ...piece, at: at + piece.at, first: first + piece.first });
    }
    at += size;
    first += leaves(field).length;
  }
  return found;
}

function vector(count: number): string {
  return count > 1 ? `.v${count}` : "";
}

function braced(operands: Operand[]): Operand[] {
  return operands.length > 1 ? ["{", ...listed(operands), "}"] : operands;
}

export function plus(offset: number): string {
  return offset ? `+${offset}` : "";
}

/** A scalar's type in memory. */
export function memoryType(type: IrType): string {
  if (type.kind === "float") return `f${type.bits}`;
  return `u${type.kind === "ptr" ? 64 : Math.max(8, type.bits)}`;
}

export function lowerAddress(
  lowering: Lowering,
  { operands, source, result, type }: IrInstruction,
) {
  if (type.kind !== "ptr" || !source) {
    return lowering.refuse("This line has a vector of addresses.");
  }
  const [from, ...indices] = operands;
  lowering.places.set(result, lowering.step(lowering.place(from), source, indices));
}

export function lowerAlloca(lowering: Lowering, { type, result, align, operands }: IrInstruction) {
  if (operands.length) lowering.refuse("This line asks for an array whose size is not constant.");
  const name = `local_${result.replace(/\W/g, "_")}`;
  lowering.locals.push({ name, bytes: sizeOf(type), align });
  lowering.places.set(result, { base: name, offset: 0 });
}

const ATOMICS = {
  add: ["add", "u"],
  fadd: ["add", "f"],
  xchg: ["exch", "b"],
  max: ["max", "s"],
  min: ["min", "s"],
  umax: ["max", "u"],
  umin: ["min", "u"],
  and: ["and", "b"],
  or: ["or", "b"],
  xor: ["xor", "b"],
} as Record<string, [string, string]>;

export function lowerAtomic(
  lowering: Lowering,
  { op, word, type, operands, result }: IrInstruction,
  isRead: boolean,
) {
  const { space, place } = memoryOf(lowering, operands[0]);
  const value = lowering.scalar(operands[1]);
  const address = ["[", place.base, plus(place.offset), "], "];
  const to = lowering.register(registerType(type));
  lowering.set(result, [to]);
  if (op === "cmpxchg") {
    const swapped = lowering.scalar(operands[2]);
    const opcode = `atom${space}.cas.b${type.bits} `;
    const parts = [opcode, to, ", ", ...address, value, ", ", swapped];
    lowering.write(parts, [to], [place.base, value, swapped], CHANGES_ANY);
    const same = lowering.register("pred");
    lowering.set(result, [to, lowering.compute(`setp.eq.s${type.bits}`, same, to, value)]);
    return;
  }
  let [name, letter] = ATOMICS[word] ?? ["", ""];
  let operand = value;
  if (word === "sub") {
    [name, letter] = ["add", "u"];
    operand = lowering.compute(`neg.s${type.bits}`, to.type, value);
  }
  if (!name) lowering.refuse(`This line has an atomic operation (${word}) that is not known here.`);
  const full = `${space}.${name}.${letter}${type.bits} `;
  // An exchange has no form without a result.
  if (isRead || name === "exch") {
    const parts = [`atom${full}`, to, ", ", ...address, operand];
    lowering.write(parts, [to], [place.base, operand], CHANGES_ANY);
  } else {
    lowering.write([`red${full}`, ...address, operand], [], [place.base, operand], CHANGES_ANY);
  }
}

const LONGEST = 4096;

/** Copy or fill bytes whose number is known. */
export function lowerBlockMove(lowering: Lowering, { word, operands, flags }: IrInstruction) {
  const bytes = Number(operands[2].bits);
  if (operands[2].kind !== "number" || bytes > LONGEST || flags.includes("volatile")) {
    lowering.refuse(`This line moves more than ${LONGEST} bytes at once: write a loop.`);
  }
  const to = memoryOf(lowering, operands[0]);
  const fill = word.startsWith("llvm.memset");
  const from = fill ? null : memoryOf(lowering, operands[1]);
  if (fill && operands[1].kind !== "number")
    lowering.refuse("This line fills bytes with a variable.");
  const moved: { at: number; bytes: number; value: Operand }[] = [];
  for (let at = 0; at < bytes; ) {
    const size = bytes - at >= 4 && at % 4 === 0 ? 4 : 1;
    const value = lowering.register("b32");
    if (from) {
      const address = ["[", from.place.base, plus(from.place.offset + at), "]"];
      const opcode = `ld${from.space}.u${8 * size} `;
      lowering.write([opcode, value, ", ", ...address], [value], [from.place.base], CHANGES_ANY);
      moved.push({ at, bytes: size, value });
    } else {
      const pattern = (operands[1].bits * (size === 4 ? 0x01010101n : 1n)).toString();
      moved.push({ at, bytes: size, value: pattern });
    }
    at += size;
  }
  for (const { at, bytes: size, value } of moved) {
    const address = ["[", to.place.base, plus(to.place.offset + at), "], "];
    const parts = [`st${to.space}.u${8 * size} `, ...address, value];
    lowering.write(parts, [], [to.place.base, value], CHANGES_ANY);
  }
}
