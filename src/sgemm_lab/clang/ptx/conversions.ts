// Conversions between types.

import type { IrInstruction } from "../ir/instructions.ts";
import { type IrType, irType, leaves, sizeOf } from "../ir/types.ts";
import { narrowed, width, withSign } from "./arithmetic.ts";
import { registerType } from "./literals.ts";
import type { Lowering } from "./lowering.ts";
import type { Operand } from "./machine.ts";

export function lowerConversion(lowering: Lowering, instruction: IrInstruction) {
  const { op, type, operands, result } = instruction;
  const from = operands[0].type;
  if (op === "addrspacecast") {
    const wanted = lowering.spaces.known.get(result) ?? "generic";
    lowering.set(result, [lowering.pointer(operands[0], wanted)]);
  } else if (op === "ptrtoint" || op === "ptrtoaddr") {
    const address = lowering.pointer(
      operands[0],
      from.space ? lowering.spaces.of(operands[0]) : "generic",
    );
    lowering.set(result, [resized(lowering, address, 64, type)]);
  } else if (op === "bitcast") {
    lowering.set(result, reinterpreted(lowering, lowering.scalars(operands[0]), from, type));
  } else if (type.kind === "vector") {
    lowering.refuse("This line converts a whole vector such as float4: convert its components.");
  } else {
    lowering.set(result, [converted(lowering, op, lowering.scalar(operands[0]), from, type)]);
  }
}

function resized(lowering: Lowering, operand: Operand, bits: number, type: IrType): Operand {
  const kind = registerType(type);
  const whole = width(type);
  if (kind === "pred") {
    const bit = lowering.compute(`and.b${bits}`, bits === 64 ? "b64" : "b32", operand, "1");
    return lowering.compute(`setp.ne.s${bits}`, kind, bit, "0");
  }
  const same = whole === bits;
  if (same && type.bits === whole) return operand;
  const opcode = same ? `mov.u${whole}` : `cvt.u${whole}.u${bits}`;
  const to = lowering.compute(opcode, kind, operand);
  return narrowed(lowering, to, type);
}

function converted(lowering: Lowering, op: string, operand: Operand, from: IrType, type: IrType) {
  const to = lowering.register(registerType(type));
  const kind = type.kind === "float" ? `f${type.bits}` : `s${width(type)}`;
  if (op === "trunc" || op === "inttoptr") return resized(lowering, operand, width(from), type);
  if (op === "zext" || op === "sext") return extended(lowering, op, operand, from, type);
  if (op === "fpext") return lowering.compute("cvt.f64.f32", to, operand);
  if (op === "fptrunc") return lowering.compute("cvt.rn.f32.f64", to, operand);
  if (op === "fptosi") return lowering.compute(`cvt.rzi.${kind}.f${from.bits}`, to, operand);
  if (op === "fptoui") {
    return lowering.compute(`cvt.rzi.u${width(type)}.f${from.bits}`, to, operand);
  }
  const whole = from.bits === 1 ? extended(lowering, "zext", operand, from, WORD) : operand;
  const source = op === "sitofp" ? withSign(lowering, whole, from.bits === 1 ? WORD : from) : whole;
  const letter = op === "sitofp" ? "s" : "u";
  return lowering.compute(`cvt.rn.${kind}.${letter}${width(from)}`, to, source);
}

const WORD = irType("int", { bits: 32 });

function extended(lowering: Lowering, op: string, operand: Operand, from: IrType, type: IrType) {
  const kind = registerType(type);
  const to = lowering.register(kind);
  const [before, after] = [width(from), width(type)];
  if (from.bits === 1) {
    const ones = ((1n << BigInt(type.bits)) - 1n).toString();
    const whole = type.bits === after ? "-1" : ones;
    return lowering.compute(`selp.${kind}`, to, op === "zext" ? "1" : whole, "0", operand);
  }
  if (op === "zext") {
    if (before === after) return operand;
    return lowering.compute(`cvt.u${after}.u${before}`, to, operand);
  }
  const signed = withSign(lowering, operand, from);
  if (before !== after) {
    return narrowed(lowering, lowering.compute(`cvt.s${after}.s${before}`, to, signed), type);
  }
  return narrowed(lowering, lowering.compute(`mov.b${after}`, to, signed), type);
}

/** The same bits as other types: scalars are cut or joined, low bits first. */
function reinterpreted(lowering: Lowering, scalars: Operand[], from: IrType, type: IrType) {
  const [had, wanted] = [leaves(from), leaves(type)];
  if (had.length === wanted.length) {
    return scalars.map((scalar, number) => {
      const [old, kind] = [registerType(had[number]), registerType(wanted[number])];
      if (old === kind) return scalar;
      return lowering.compute(`mov.b${kind.slice(1)}`, kind, scalar);
    });
  }
  const whole = had.length === 1 ? from : type;
  const parts = had.length === 1 ? wanted : had;
  const words = parts.every((part) => sizeOf(part) === 4);
  const one = had.length === 1 || wanted.length === 1;
  if (!one || sizeOf(whole) !== 8 || parts.length !== 2 || !words) {
    return lowering.refuse("This line reads the bits of a value as another type, unknown here.");
  }
  if (had.length === 1) {
    const to = parts.map((part) => lowering.register(registerType(part)));
    const text = ["mov.b64 {", to[0], ", ", to[1], "}, ", scalars[0]];
    lowering.write(text, to, scalars, { pure: true });
    return to;
  }
  const to = lowering.register(registerType(whole));
  const text = ["mov.b64 ", to, ", {", scalars[0], ", ", scalars[1], "}"];
  lowering.write(text, [to], scalars, { pure: true });
  return [to];
}
