// Products and sums that ptxas makes into one multiply-add, as PTX allows it.
//
// The compiler leaves a `mul` and an `add` or `sub` apart where it sees no reason to join them.
// ptxas joins them all the same, unless they say how they round (`mul.rn`): where nothing else
// reads the product, and both stand in one basic block. Of two products it takes the first. Found
// by comparing results and counters with an H200's. Here the product does nothing then, and the sum
// becomes an instruction of its own, `fused`.

import { fma32, fma64 } from "./fma.ts";
import type { ThreadGroup } from "./group.ts";
import { fusedHalves } from "./half_operations.ts";
import { registersRead, registersWritten } from "./operands.ts";
import type { Match, Step } from "./operations.ts";
import { elementwise, nothing, operations, reader, rowsOf, slowly, target } from "./operations.ts";
import type { Instruction, PtxKernel, Register } from "./ptx.ts";

const TYPES = "f32|f64|f16x2|f16|bf16x2|bf16";
const PRODUCT = new RegExp(`^mul\\.(?:${TYPES})$`);
const SUM = new RegExp(`^(?<op>add|sub)\\.(?<type>${TYPES})$`);
const ENDS = ["bra", "ret", "exit", "bar", "barrier"];
/** By operation and place of the product among the operands. */
const HOW: Record<string, string> = {
  "add 1": "add",
  "add 2": "add",
  "sub 1": "less",
  "sub 2": "from",
};

/** A kernel in which products and sums are joined; the same one where there are none. */
export function fuseProducts(kernel: PtxKernel): PtxKernel {
  const reads = counted(kernel.instructions.flatMap(registersRead));
  const writes = counted(kernel.instructions.flatMap(registersWritten));
  const starts = new Set(kernel.labels.values());
  const waiting: Map<string, Instruction> = new Map();
  const instructions = kernel.instructions.slice();
  for (const instruction of kernel.instructions) {
    const { index, opcode, operands, guard } = instruction;
    if (starts.has(index) || ENDS.includes(instruction.parts[0])) waiting.clear();
    const joined = join(instruction, waiting);
    if (joined) {
      instructions[joined.product.index] = renamed(joined.product, "fused.product");
      instructions[index] = joined.fused;
    }
    for (const { name } of registersWritten(instruction)) {
      for (const [product, { operands: factors }] of waiting) {
        const used = factors.slice(1).some((one) => one.kind === "register" && one.name === name);
        if (product === name || used) waiting.delete(product);
      }
    }
    const [first] = operands;
    if (!PRODUCT.test(opcode) || guard || first?.kind !== "register") continue;
    if (reads.get(first.name) === 1 && writes.get(first.name) === 1) {
      waiting.set(first.name, instruction);
    }
  }
  const { labels, notUnrolled } = kernel;
  return kernel.rewritten({ instructions, labels, notUnrolled });
}

function counted(registers: Register[]) {
  const found: Map<string, number> = new Map();
  for (const { name } of registers) found.set(name, (found.get(name) ?? 0) + 1);
  return found;
}

const renamed = (instruction: Instruction, opcode: string): Instruction => ({
  ...instruction,
  opcode,
  parts: opcode.split("."),
});

/** The product that a sum takes in, and what the two become. */
function join(instruction: Instruction, waiting: ReadonlyMap<string, Instruction>) {
  const sum = SUM.exec(instruction.opcode)?.groups;
  if (!sum || instruction.guard) return null;
  const { operands } = instruction;
  for (const place of [1, 2]) {
    const operand = operands[place];
    const product = operand.kind === "register" ? waiting.get(operand.name) : undefined;
    if (product?.parts.at(-1) !== sum.type) continue;
    const [, a, b] = product.operands;
    const opcode = `fused.${HOW[`${sum.op} ${place}`]}.${sum.type}`;
    const joined = { ...instruction, operands: [operands[0], a, b, operands[3 - place]] };
    return { product, fused: renamed(joined, opcode) };
  }
  return null;
}

/** `add`: a·b + c; `less`: a·b - c; `from`: c - a·b; rounded once. */
function multiplyAdd(group: ThreadGroup, instruction: Instruction, { how, type }: Match): Step {
  if (type === "f32") return multiplyAddRows(group, instruction, how);
  if (type !== "f64") return fusedHalves(group, instruction, type, how);
  const [a, b, c] = [1, 2, 3].map((at) => reader(group, instruction, at, type));
  const [signA, signC] = [how === "from" ? -1 : 1, how === "less" ? -1 : 1];
  return slowly(group, instruction, type, (lane) =>
    fma64(signA * Number(a(lane)), Number(b(lane)), signC * Number(c(lane))),
  );
}

function multiplyAddRows(group: ThreadGroup, instruction: Instruction, how: string): Step {
  const rows = rowsOf(group, instruction, [1, 2, 3], 4);
  const out = group.registers.row(target(instruction), 4);
  if (!rows || !out) throw new TypeError(instruction.opcode);
  const [a, b, c] = rows.map((row) => row.f32);
  if (how === "add") {
    return elementwise(group, out, (row, from, to) => fma32(row.f32, a, b, c, from, to));
  }
  const [given, negative] = [how === "from" ? a : c, group.registers.scratch(4, "negative").f32];
  const [left, addend] = how === "from" ? [negative, c] : [a, negative];
  return elementwise(group, out, (row, from, to) => {
    for (let lane = from; lane < to; lane++) negative[lane] = -given[lane];
    fma32(row.f32, left, b, addend, from, to);
  });
}

export const FUSED_OPERATIONS = operations([
  ["fused\\.product", nothing],
  [`fused\\.(?<how>add|less|from)\\.(?<type>${TYPES})`, multiplyAdd],
]);
