// Arithmetic, comparisons, choices and conversions.

import { leaves } from "../ir/types.js";
import { registerType } from "./literals.js";
import { Register } from "./machine.js";

/** @typedef {import("../ir/instructions.js").IrInstruction} IrInstruction */
/** @typedef {import("../ir/types.js").IrType} IrType */
/** @typedef {import("../ir/values.js").IrValue} IrValue */
/** @typedef {import("./contract.js").Fused} Fused */
/** @typedef {import("./lowering.js").Lowering} Lowering */
/** @typedef {import("./machine.js").Operand} Operand */

/** @typedef {(lowering: Lowering, instruction: IrInstruction) => void} Lower */

/** For each operation: PTX's name, and whether it reads its operands as signed. */
const INTEGERS = /** @type {Record<string, [string, "s" | "b" | "u"]>} */ ({
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
});
const SIGNED = new Set(["sdiv", "srem", "ashr"]);
const MAY_OVERFLOW = new Set(["add", "sub", "mul", "shl", ...SIGNED]);
const FLOATS = /** @type {Record<string, string>} */ ({
  fadd: "add",
  fsub: "sub",
  fmul: "mul",
  fdiv: "div.rn",
});

/** Bits of the register that a scalar stands in.
 * @type {(type: IrType) => number} */
export function width(type) {
  return type.kind === "ptr" || type.bits > 32 ? 64 : 32;
}

/** Bring an integer that was extended with zeros to its sign.
 * @type {(lowering: Lowering, operand: Operand, type: IrType) => Operand} */
export function withSign(lowering, operand, type) {
  const whole = width(type);
  if (type.bits === whole) return operand;
  const [shift, kind] = [String(whole - type.bits), registerType(type)];
  const up = lowering.compute(`shl.b${whole}`, lowering.register(kind), operand, shift);
  return lowering.compute(`shr.s${whole}`, lowering.register(kind), up, shift);
}

/** Clear the bits of a register that a narrow integer has not.
 * @type {(lowering: Lowering, operand: Register, type: IrType) => Register} */
export function narrowed(lowering, operand, type) {
  const whole = width(type);
  if (type.bits === whole) return operand;
  const mask = ((1n << BigInt(type.bits)) - 1n).toString();
  return lowering.compute(`and.b${whole}`, lowering.register(operand.type), operand, mask);
}

/** @type {Lower} */
export function lowerBinary(lowering, instruction) {
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

/** @type {(lowering: Lowering, of: IrInstruction, to: Register, a: Operand, b: Operand) => Operand} */
function integer(lowering, { op, type }, to, a, b) {
  const [name, sign] = INTEGERS[op];
  let [first, second] = [a, b];
  if (SIGNED.has(op)) first = withSign(lowering, a, type);
  if (op === "sdiv" || op === "srem") second = withSign(lowering, b, type);
  if (["shl", "lshr", "ashr"].includes(op) && width(type) === 64 && b instanceof Register) {
    second = lowering.compute("cvt.u32.u64", lowering.register("b32"), b);
  }
  const whole = lowering.compute(`${name}.${sign}${width(type)}`, to, first, second);
  return MAY_OVERFLOW.has(op) ? narrowed(lowering, whole, type) : whole;
}

/** @type {(lowering: Lowering, of: IrInstruction, to: Register, a: Operand, b: Operand) => Operand} */
function predicate(lowering, { op }, to, a, b) {
  if (op === "xor" && (a === "1" || b === "1")) {
    return lowering.compute("not.pred", to, a === "1" ? b : a);
  }
  const names = /** @type {Record<string, string>} */ ({ add: "xor", sub: "xor", mul: "and" });
  return lowering.compute(`${names[op] ?? op}.pred`, to, a, b);
}

/** @type {(lowering: Lowering, instruction: IrInstruction, fused: Fused) => void} */
export function lowerFused(lowering, { type, result }, fused) {
  const kind = registerType(type);
  /** @type {(value: IrValue, minus: boolean) => Operand} */
  const read = (value, minus) => {
    const operand = lowering.scalar(value);
    return minus ? lowering.compute(`neg.${kind}`, lowering.register(kind), operand) : operand;
  };
  const a = read(fused.a, fused.minusProduct);
  const b = read(fused.b, false);
  const c = read(fused.c, fused.minusC);
  lowering.set(result, [lowering.compute(`fma.rn.${kind}`, lowering.register(kind), a, b, c)]);
}

/** @type {Lower} */
export function lowerNegation(lowering, { type, operands, result }) {
  const kind = registerType(type);
  const operand = lowering.scalar(operands[0]);
  lowering.set(result, [lowering.compute(`neg.${kind}`, lowering.register(kind), operand)]);
}

/** @type {Lower} */
export function lowerFreeze(lowering, { type, operands, result }) {
  const place = type.kind === "ptr" ? lowering.place(operands[0]) : null;
  if (place) lowering.places.set(result, place);
  else lowering.set(result, lowering.scalars(operands[0]));
}

const ORDERED = /** @type {Record<string, string>} */ ({
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
});

/** @type {Lower} */
export function lowerCompare(lowering, instruction) {
  const { op, word, type, result } = instruction;
  if (type.kind === "vector") lowering.refuse("This line compares whole vectors.");
  const to = lowering.register("pred");
  const [a, b] = compared(lowering, instruction);
  if (op === "fcmp") {
    lowering.set(result, [lowering.compute(`setp.${ORDERED[word]}.f${type.bits}`, to, a, b)]);
  } else if (type.kind === "int" && type.bits === 1) {
    const different = lowering.compute("xor.pred", lowering.register("pred"), a, b);
    lowering.set(result, [word === "ne" ? different : lowering.compute("not.pred", to, different)]);
  } else {
    const sign = word[0] === "u" ? "u" : "s";
    const name = word.length === 3 ? word.slice(1) : word;
    lowering.set(result, [lowering.compute(`setp.${name}.${sign}${width(type)}`, to, a, b)]);
  }
}

/** @type {(lowering: Lowering, instruction: IrInstruction) => Operand[]} */
function compared(lowering, { word, type, operands }) {
  if (type.kind === "ptr") {
    const spaces = new Set(operands.map((operand) => lowering.spaces.of(operand)));
    const space = spaces.size === 1 ? [...spaces][0] : "generic";
    return operands.map((operand) => lowering.pointer(operand, space));
  }
  const scalars = operands.map((operand) => lowering.scalar(operand));
  if (type.kind !== "int" || type.bits === 1 || word[0] !== "s") return scalars;
  return scalars.map((scalar) => withSign(lowering, scalar, type));
}

/** @type {Lower} */
export function lowerSelect(lowering, { type, operands, result }) {
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

/**
 * @param {Lowering} lowering
 * @param {IrType} type
 * @param {Operand} condition
 * @param {Operand} yes
 * @param {Operand} no
 */
export function choose(lowering, type, condition, yes, no) {
  const kind = registerType(type);
  if (kind !== "pred") {
    return lowering.compute(`selp.${kind}`, lowering.register(kind), yes, no, condition);
  }
  const not = lowering.compute("not.pred", lowering.register(kind), condition);
  const first = lowering.compute("and.pred", lowering.register(kind), condition, yes);
  const second = lowering.compute("and.pred", lowering.register(kind), not, no);
  return lowering.compute("or.pred", lowering.register(kind), first, second);
}
