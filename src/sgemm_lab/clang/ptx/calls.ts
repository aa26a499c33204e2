// Calls of functions that LLVM knows: special registers, mathematics, marks without effect.

import type { IrInstruction } from "../ir/instructions.ts";
import { width } from "./arithmetic.ts";
import { lowerAssembly } from "./assembly.ts";
import { registerType } from "./literals.ts";
import type { Lowering } from "./lowering.ts";
import { lowerBlockMove } from "./memory.ts";

const NO_EFFECT =
  /^llvm\.(?:lifetime|assume|dbg|experimental\.noalias|donothing|invariant|sideeffect|var\.annotation)/;
const SPECIAL = /^llvm\.nvvm\.read\.ptx\.sreg\.([\w.]+)$/;
const BARRIER = /^llvm\.nvvm\.barrier(?:0|\.cta\.sync\.aligned\.all)$/;

/** Functions of one opcode, by the beginning of their names; % is the bits of the result. */
const OPCODES = [
  [/^llvm\.smin\./, "min.s%"],
  [/^llvm\.smax\./, "max.s%"],
  [/^llvm\.umin\./, "min.u%"],
  [/^llvm\.umax\./, "max.u%"],
  [/^llvm\.abs\./, "abs.s%"],
  [/^llvm\.fabs\./, "abs.f%"],
  [/^llvm\.fma\.f/, "fma.rn.f%"],
  [/^llvm\.fmuladd\.f/, "fma.rn.f%"],
  [/^llvm\.nvvm\.fma\.rn\.f/, "fma.rn.f%"],
  [/^llvm\.nvvm\.mul\.rn\.f/, "mul.rn.f%"],
  [/^llvm\.nvvm\.add\.rn\.f/, "add.rn.f%"],
  [/^llvm\.(?:nvvm\.)?sqrt\.(?:rn\.)?f/, "sqrt.rn.f%"],
  [/^llvm\.minnum\.|^llvm\.minimumnum\./, "min.f%"],
  [/^llvm\.maxnum\.|^llvm\.maximumnum\./, "max.f%"],
  [/^llvm\.floor\./, "cvt.rmi.f%.f%"],
  [/^llvm\.ceil\./, "cvt.rpi.f%.f%"],
  [/^llvm\.trunc\./, "cvt.rzi.f%.f%"],
  [/^llvm\.(?:rint|roundeven|nearbyint)\./, "cvt.rni.f%.f%"],
] as [RegExp, string][];
/** How many of the operands those functions with a switch behind them take. */
const ONE = /^llvm\.abs\./;

export function lowerCall(lowering: Lowering, instruction: IrInstruction) {
  const { word, asm, type, result, operands } = instruction;
  if (asm) {
    lowerAssembly(lowering, instruction);
    return;
  }
  if (NO_EFFECT.test(word)) return;
  if (/^llvm\.mem(?:cpy|move|set)\./.test(word)) {
    lowerBlockMove(lowering, instruction);
    return;
  }
  if (BARRIER.test(word)) {
    lowering.write(["bar.sync 0"], [], [], { changes: "any" });
    return;
  }
  const special = SPECIAL.exec(word);
  const found = OPCODES.find(([pattern]) => pattern.test(word));
  if (type.kind !== "int" && type.kind !== "float") refuseCall(lowering, instruction);
  const to = lowering.register(registerType(type));
  if (special) {
    lowering.set(result, [lowering.compute("mov.u32", to, `%${special[1]}`)]);
  } else if (found && (type.bits === 32 || type.bits === 64)) {
    const taken = ONE.test(word) ? operands.slice(0, 1) : operands;
    const opcode = found[1].replaceAll("%", String(type.bits));
    lowering.set(result, [
      lowering.compute(opcode, to, ...taken.map((operand) => lowering.scalar(operand))),
    ]);
  } else if (!lowerBits(lowering, instruction)) {
    refuseCall(lowering, instruction);
  }
}

/** Functions on the bits of an integer; tells whether it is one. */
function lowerBits(lowering: Lowering, { word, type, operands, result }: IrInstruction): boolean {
  const bits = width(type);
  if (type.kind !== "int" || type.bits !== bits) return false;
  const scalars = operands.map((operand) => lowering.scalar(operand));
  const kind = registerType(type);
  const to = lowering.register(kind);
  const count = /^llvm\.(ctpop|ctlz)\./.exec(word);
  if (count) {
    const name = count[1] === "ctpop" ? "popc" : "clz";
    const number = lowering.compute(`${name}.b${bits}`, "b32", scalars[0]);
    lowering.set(result, [bits === 64 ? lowering.compute("cvt.u64.u32", to, number) : number]);
    return true;
  }
  if (/^llvm\.usub\.sat\./.test(word)) {
    const larger = lowering.compute(`max.u${bits}`, kind, ...scalars);
    lowering.set(result, [lowering.compute(`sub.s${bits}`, to, larger, scalars[1])]);
    return true;
  }
  const funnel = /^llvm\.fsh([lr])\./.exec(word);
  if (funnel && bits === 32) {
    const [high, low, amount] = scalars;
    lowering.set(result, [lowering.compute(`shf.${funnel[1]}.wrap.b32`, to, low, high, amount)]);
    return true;
  }
  return false;
}

function refuseCall(lowering: Lowering, { word }: IrInstruction): never {
  if (word.startsWith("llvm.")) {
    return lowering.refuse(
      `The compiler makes '${word}' of this line, which is not known here. Write it in another way.`,
    );
  }
  return lowering.refuse(
    `This line calls ${word.startsWith("%") ? "a function by its address" : `'${word}'`}, which is ` +
      "not part of the kernel. Functions must be defined in the source, without recursion and " +
      "without __noinline__.",
  );
}
