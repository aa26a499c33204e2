// The first 32-bit number of a launch that passes what its type holds, told by the largest values of what it
// is made of. Launches for which that happens are too large to run.

import { writersOf } from "../../simulator/operands.ts";
import type { Instruction, Operand, PtxKernel } from "../../simulator/ptx.ts";
import { comma } from "../../text.ts";

const LIMITS: Record<string, bigint> = { s32: 2n ** 31n, u32: 2n ** 32n };
const [BELOW, UP_TO] = [/^(lt|ge|lo|hs)$/, /^(le|gt|ls|hi)$/];
const AXES = "xyz";

/** Of a launch its grid and block, and the whole numbers among its arguments, by place. */
interface Sides {
  grid: number[];
  block: number[];
  numbers: (number | null)[];
}

/**
 * Where an index of all threads, or one to which a loop adds the threads of the grid, passes its type, and
 * a sentence about it; null if none does.
 */
export function firstTooWide(kernel: PtxKernel, { grid, block, numbers }: Sides) {
  const writers = writersOf(kernel.instructions);
  const special = (name: string, isUniform: boolean) => {
    const [, what, axis] = /^%(n?tid|n?ctaid)\.([xyz])$/.exec(name) ?? [];
    if (!what || (isUniform && what[0] !== "n")) return null;
    const side = (what.endsWith("ctaid") ? grid : block)[AXES.indexOf(axis)] ?? 1;
    return BigInt(what[0] === "n" ? side : side - 1);
  };
  /** The largest value that all threads together have, null where it is not known or may be negative. */
  const most = (one: Operand | undefined, isUniform: boolean, depth = 0): bigint | null => {
    if (one?.kind === "special") return special(one.name, isUniform);
    if (one?.kind === "immediate") return one.bits < LIMITS.s32 ? one.bits : null;
    const [writer, ...others] = one?.kind === "register" ? (writers.get(one.name) ?? []) : [];
    if (!writer || others.length || depth > 20) return null;
    const { parts, operands } = writer;
    if (parts[0] === "ld") {
      const { base = null } = operands[1].kind === "address" ? operands[1] : {};
      const name = parts[1] === "param" && base?.kind === "symbol" ? base.name : "";
      const value = numbers[kernel.parameters.findIndex((own) => own.name === name)] ?? -1;
      return value < 0 ? null : BigInt(value);
    }
    const [a = null, b = null, c = null] = operands
      .slice(1)
      .map((from) => most(from, isUniform, depth + 1));
    if (/^(mov|cvt)$/.test(parts[0])) return a;
    if (a === null || b === null || parts[1] === "hi") return null;
    if (parts[0] === "add") return a + b;
    if (parts[0] === "shl") return a << b;
    if (parts[0] === "mul") return a * b;
    return parts[0] === "mad" && c !== null ? a * b + c : null;
  };
  /** The number that a loop adds to a register. */
  const stepOf = (one: Operand, depth = 0): bigint | null => {
    const all = one.kind === "register" ? (writers.get(one.name) ?? []) : [];
    for (const { parts, operands } of all) {
      const [x, s] = operands.slice(1);
      const step = parts[0] === "add" ? most(s, true) : null;
      if (step === null) continue;
      if (all.length > 1 || (depth < 8 && isCarried(x, depth))) return step;
    }
    return null;
  };
  const isCarried = (one: Operand, depth: number) =>
    one.kind === "register" &&
    ((writers.get(one.name) ?? []).length > 1 || stepOf(one, depth + 1) !== null);
  const tooWide = ({ parts, operands }: Instruction) => {
    const limit = LIMITS[parts.at(-1) ?? ""];
    const isIndex = /^(cvt\.s64\.s32|mul\.wide\.s32|setp\.\w+\.s32)$/.test(parts.join("."));
    const at = isIndex ? most(operands[1], false) : null;
    if (at !== null && at >= limit) return `an index reaches ${comma(Number(at))}`;
    if (parts[0] !== "setp" || !limit) return "";
    const [end, step] = [most(operands[2], true), stepOf(operands[1])];
    if (end === null || step === null || !(BELOW.test(parts[1]) || UP_TO.test(parts[1]))) return "";
    const last = BELOW.test(parts[1]) ? end - 1n : end;
    return last + step < limit
      ? ""
      : `the loop adds ${comma(Number(step))} to numbers up to ${comma(Number(last))}`;
  };
  for (const one of kernel.instructions) {
    const why = tooWide(one);
    if (why)
      return {
        location: one.location,
        message: `32 bits are too few here: ${why}. Count in 64 bits.`,
      };
  }
  return null;
}
