// Float arithmetic whose result only one side of a branch needs is done on that side, as LLVM's
// code generator does behind NVRTC's frontend.

import { predecessors, registersAmong, successors } from "./machine.js";
import { dominance, loopDepths } from "./order.js";

/** @typedef {import("./machine.js").MachineBlock} MachineBlock */
/** @typedef {import("./machine.js").Register} Register */

const FLOAT = /^(?:add|sub|mul|fma\.rn|neg|div\.rn)\.f(?:32|64)$/;

/** @type {(blocks: MachineBlock[]) => void} */
export function sinkFloats(blocks) {
  const before = predecessors(blocks);
  const dominates = dominance(blocks);
  const depth = loopDepths(blocks);
  const byLabel = new Map(blocks.map((block) => [block.label, block]));
  const needed = placesNeeded(blocks);
  for (const block of blocks) {
    const ways = successors(block)
      .filter((label) => before.get(label)?.length === 1)
      .filter((label) => (depth.get(label) ?? 0) <= (depth.get(block.label) ?? 0));
    if (successors(block).length < 2 || !ways.length) continue;
    for (const instruction of [...block.instructions].reverse()) {
      if (!FLOAT.test(instruction.opcode)) continue;
      const places = needed.get(instruction.to[0]) ?? new Set();
      const way = ways.find((label) => [...places].every((place) => dominates(label, place)));
      const next = way && byLabel.get(way);
      if (!next || !places.size) continue;
      block.instructions.splice(block.instructions.lastIndexOf(instruction), 1);
      next.instructions.unshift(instruction);
      for (const register of instruction.from) {
        const places = needed.get(register) ?? new Set();
        places.add(next.label);
        if (!isReadIn(block, register, byLabel)) places.delete(block.label);
        needed.set(register, places);
      }
    }
  }
}

/** Whether a block, or what a phi takes from it, reads a register.
 * @type {(block: MachineBlock, register: Register, byLabel: Map<string, MachineBlock>) => boolean} */
function isReadIn(block, register, byLabel) {
  const phis = successors(block).flatMap((label) => byLabel.get(label)?.phis ?? []);
  return (
    block.ending.condition === register ||
    phis.some(({ from }) => from.get(block.label) === register) ||
    block.instructions.some((one) => one.from.includes(register))
  );
}

/** For each register the blocks that read it; what a phi joins is needed where it comes from.
 * @type {(blocks: MachineBlock[]) => Map<Register, Set<string>>} */
function placesNeeded(blocks) {
  /** @type {Map<Register, Set<string>>} */
  const needed = new Map();
  /** @type {(register: Register, label: string) => void} */
  const note = (register, label) => {
    const places = needed.get(register) ?? new Set();
    places.add(label);
    needed.set(register, places);
  };
  for (const { label, phis, instructions, ending } of blocks) {
    for (const { from } of phis) {
      for (const [origin, operand] of from) {
        for (const register of registersAmong([operand])) note(register, origin);
      }
    }
    for (const { from } of instructions) for (const register of from) note(register, label);
    if (ending.condition) note(ending.condition, label);
  }
  return needed;
}
