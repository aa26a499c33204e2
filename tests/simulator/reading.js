// What the tests ask of the simulator's reader in JavaScript, as plain data.

import { mergeSharedAccesses } from "../../src/sgemm_lab/simulator/access_merging.ts";
import { basicBlocks } from "../../src/sgemm_lab/simulator/control_flow.ts";
import { layOut } from "../../src/sgemm_lab/simulator/memory.ts";
import { registersRead, registersWritten } from "../../src/sgemm_lab/simulator/operands.ts";
import { parse } from "../../src/sgemm_lab/simulator/ptx.ts";
import { unrollShortLoops } from "../../src/sgemm_lab/simulator/unroll.ts";

/** @typedef {import("../../src/sgemm_lab/simulator/ptx.ts").Operand} Operand */

/**
 * All kernels of a PTX text as written and with short loops unrolled, or the sentence that says why
 * there are none.
 * @param {string} ptx
 * @param {number} sharedBytes
 */
export function readAll(ptx, sharedBytes) {
  try {
    return [...parse(ptx).values()].map((kernel) => {
      const unrolled = unrollShortLoops(kernel);
      const shared = layOut(unrolled.shared, sharedBytes);
      const merged = mergeSharedAccesses(basicBlocks(unrolled), shared);
      return {
        written: plainKernel(kernel),
        unrolled: unrolled === kernel ? null : plainKernel(unrolled),
        merged: [...merged].map(([index, accesses]) => [
          index,
          accesses.map(({ offset, width }) => [offset, width]),
        ]),
      };
    });
  } catch (error) {
    return `${error.message}`;
  }
}

function plainKernel(kernel) {
  const { name, target, parameters, shared, local } = kernel;
  return {
    ...{ name, target, parameters, shared, local },
    types: Object.fromEntries(kernel.registerTypes),
    labels: Object.fromEntries(kernel.labels),
    notUnrolled: [...kernel.notUnrolled].sort((a, b) => a - b),
    instructions: kernel.instructions.map(plainInstruction),
    blocks: basicBlocks(kernel).map((block) => [
      block.number,
      block.instructions.map(({ index }) => index),
      block.terminator?.index ?? null,
      block.target,
      block.fallThrough,
      block.reconvergence,
    ]),
  };
}

function plainInstruction(instruction) {
  const { index, opcode, parts, operands, guard, location } = instruction;
  return [
    ...[index, opcode, parts, operands.map(plainOperand)],
    guard && [guard.register.name, guard.negated],
    `${location}`,
    registersRead(instruction).map(({ name }) => name),
    registersWritten(instruction).map(({ name }) => name),
  ];
}

function plainOperand(operand) {
  switch (operand.kind) {
    case "immediate":
      return ["immediate", `${operand.bits}`];
    case "symbol":
      return ["symbol", operand.name, operand.offset];
    case "address":
      return ["address", plainOperand(operand.base), operand.offset];
    case "negated":
      return ["negated", operand.register.name];
    case "vector":
      return ["vector", operand.items.map(plainOperand)];
    case "pair":
      return ["pair", operand.first.name, operand.second.name];
    default:
      return [operand.kind, operand.name];
  }
}
