// Arithmetic, comparisons, choices and conversions.

import type { IrInstruction } from "../ir/instructions.ts";
import { type IrType, leaves } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";
import type { Fused } from "./contract.ts";
import { registerType } from "./literals.ts";
import type { Lowering } from "./lowering.ts";
import { type Operand, Register } from "./machine.ts";

export type Lower = (lowering: Lowering, instruction: IrInstruction) => void;

/** For each operation: PTX's name, and whether it reads its operands as signed. */
const INTEGERS = {
  add: ["add", "s"],
  sub: ["sub", "s"],
  mul: ["mul.lo", "s"],
  and: ["and", "b"],
  or: ["or", "b"],
  xor: ["xor", "b"],
  shl: ["shl", "b"],
  lshr: ["shr", "u"],
  ashr: ["shr", "s"],
  udiv: ["div", "u"],
  sdiv: ["div", "s"],
  urem: ["rem", "u"],
  srem: ["rem", "s"],
} as Record<string, [string, "s" | "b" | "u"]>;
const SIGNED = new Set(["sdiv", "srem", "ashr"]);
const MAY_OVERFLOW = new Set(["add", "sub", "mul", "shl", ...SIGNED]);
const FLOATS = {
  fadd: "add",
  fsub: "sub",
  fmul: "mul",
  fdiv: "div.rn",
} as Record<string, string>;

/** Bits of the register that a scalar stands in. */
export function width(type: IrType): number {
  return type.kind === "ptr" || type.bits > 32 ? 64 : 32;
}

/** Bring an integer that was extended with zeros to its sign. */
export function withSign(lowering: Lowering, operand: Operand, type: IrType): Operand {
  const whole = width(type);
  if (type.bits === whole) return operand;
  const [shift, kind] = [String(whole - type.bits), registerType(type)];
  const up = lowering.compute(`shl.b${whole}`, kind, operand, shift);
  return lowering.compute(`shr.s${whole}`, kind, up, shift);
}

/** Clear the bits of a register that a narrow integer has not. */
export function narrowed(lowering: Lowering, operand: Register, type: IrType): Register {
  const whole = width(type);
  if (type.bits === whole) return operand;
  const mask = ((1n << BigInt(type.bits)) - 1n).toString();
  return lowering.compute(`and.b${whole}`, operand.type, operand, mask);
}

export function lowerBinary(lowering: Lowering, instruction: IrInstruction) {
  const { op, type, operands, result } = instruction;
  if (type.kind === "vector") {
    lowering.refuse(
      "This line calculates with a whole vector such as float4. CUDA has no such arithmetic: write " +
        "it component by component, v.x, v.y and so on.",
    );
  }
  const [a, b] = operands.map((operand) => lowering.scalar(operand));
  const to = lowering.register(registerType(type));
  if (type.kind === "float") {
    if (!FLOATS[op]) lowering.refuse("This line takes a remainder of floats: use fmodf's formula.");
    lowering.set(result, [lowering.compute(`${FLOATS[op]}.f${type.bits}`, to, a, b)]);
  } else if (type.bits === 1) {
    lowering.set(result, [predicate(lowering, instruction, to, a, b)]);
  } else {
    lowering.set(result, [integer(lowering, instruction, to, a, b)]);
  }
}

function integer(
  lowering: Lowering,
  { op, type }: IrInstruction,
  to: Register,
  a: Operand,
  b: Operand,
): Operand {
  const [name, sign] = INTEGERS[op];
  let [first, second] = [a, b];
  if (SIGNED.has(op)) first = withSign(lowering, a, type);
  if (op === "sdiv" || op === "srem") second = withSign(lowering, b, type);
  if (["shl", "lshr", "ashr"].includes(op) && width(type) === 64 && b instanceof Register) {
    second = lowering.compute("cvt.u32.u64", "b32", b);
  }
  const whole = lowering.compute(`${name}.${sign}${width(type)}`, to, first, second);
  return MAY_OVERFLOW.has(op) ? narrowed(lowering, whole, type) : whole;
}

function predicate(
  lowering: Lowering,
  { op }: IrInstruction,
  to: Register,
  a: Operand,
  b: Operand,
): Operand {
  if (op === "xor" && (a === "1" || b === "1")) {
    return lowering.compute("not.pred", to, a === "1" ? b : a);
  }
  const names = { add: "xor", sub: "xor", mul: "and" } as Record<string, string>;
  return lowering.compute(`${names[op] ?? op}.pred`, to, a, b);
}

export function lowerFused(lowering: Lowering, { type, result }: IrInstruction, fused: Fused) {
  const kind = registerType(type);
  const read = (value: IrValue, minus: boolean): Operand => {
    const operand = lowering.scalar(value);
    return minus ? lowering.compute(`neg.${kind}`, kind, operand) : operand;
  };
  const a = read(fused.a, fused.minusProduct);
  const b = read(fused.b, false);
  const c = read(fused.c, fused.minusC);
  lowering.set(result, [lowering.compute(`fma.rn.${kind}`, kind, a, b, c)]);
}

export function lowerNegation(lowering: Lowering, { type, operands, result }: IrInstruction) {
  const kind = registerType(type);
  const operand = lowering.scalar(operands[0]);
  lowering.set(result, [lowering.compute(`neg.${kind}`, kind, operand)]);
}

export function lowerFreeze(lowering: Lowering, { type, operands, result }: IrInstruction) {
  const place = type.kind === "ptr" ? lowering.place(operands[0]) : null;
  if (place) lowering.places.set(result, place);
  else lowering.set(result, lowering.scalars(operands[0]));
}

const ORDERED = {
  oeq: "eq",
  one: "ne",
  olt: "lt",
  ole: "le",
  ogt: "gt",
  oge: "ge",
  ueq: "equ",
  une: "neu",
  ult: "ltu",
  ule: "leu",
  ugt: "gtu",
  uge: "geu",
  ord: "num",
  uno: "nan",
} as Record<string, string>;

export function lowerCompare(lowering: Lowering, instruction: IrInstruction) {
  const { op, word, type, result } = instruction;
  if (type.kind === "vector") lowering.refuse("This line compares whole vectors.");
  const to = lowering.register("pred");
  const [a, b] = compared(lowering, instruction);
  if (op === "fcmp") {
    lowering.set(result, [lowering.compute(`setp.${ORDERED[word]}.f${type.bits}`, to, a, b)]);
  } else if (type.kind === "int" && type.bits === 1) {
    const different = lowering.compute("xor.pred", "pred", a, b);
    lowering.set(result, [word === "ne" ? different : lowering.compute("not.pred", to, different)]);
  } else {
    const sign = word[0] === "u" ? "u" : "s";
    const name = word.length === 3 ? word.slice(1) : word;
    lowering.set(result, [lowering.compute(`setp.${name}.${sign}${width(type)}`, to, a, b)]);
  }
}

function compared(lowering: Lowering, { word, type, operands }: IrInstruction): Operand[] {
  if (type.kind === "ptr") {
    const spaces = new Set(operands.map((operand) => lowering.spaces.of(operand)));
    const space = spaces.size === 1 ? [...spaces][0] : "generic";
    return operands.map((operand) => lowering.pointer(operand, space));
  }
  const scalars = operands.map((operand) => lowering.scalar(operand));
  if (type.kind !== "int" || type.bits === 1 || word[0] !== "s") return scalars;
  return scalars.map((scalar) => withSign(lowering, scalar, type));
}

export function lowerSelect(lowering: Lowering, { type, operands, result }: IrInstruction) {
  const condition = lowering.scalar(operands[0]);
  const parts = leaves(type);
  const space = type.kind === "ptr" ? (lowering.spaces.known.get(result) ?? "generic") : "";
  const [yes, no] = operands
    .slice(1)
    .map((operand) => (space ? [lowering.pointer(operand, space)] : lowering.scalars(operand)));
  if (operands[0].type.kind === "vector") lowering.refuse("This line chooses between vectors.");
  const chosen = parts.map((part, number) =>
    choose(lowering, part, condition, yes[number], no[number]),
  );
  lowering.set(result, chosen);
}

export function choose(
  lowering: Lowering,
  type: IrType,
  condition: Operand,
  yes: Operand,
  no: Operand,
) {
  const kind = registerType(type);
  if (kind !== "pred") {
    return lowering.compute(`selp.${kind}`, kind, yes, no, condition);
  }
  const not = lowering.compute("not.pred", kind, condition);
  const first = lowering.compute("and.pred", kind, condition, yes);
  const second = lowering.compute("and.pred", kind, not, no);
  return lowering.compute("or.pred", kind, first, second);
}
