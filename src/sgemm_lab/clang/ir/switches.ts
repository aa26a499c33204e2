// A switch as a row of branches: one block for each value.

import type { IrInstruction } from "./instructions.ts";
import type { IrBlock } from "./module.ts";
import { irType } from "./types.ts";
import { makeValue } from "./values.ts";

export function withoutSwitches(blocks: IrBlock[]): IrBlock[] {
  const all: IrBlock[] = [];
  /** Blocks that now come from others: by old block and target, the new ones. */
  const origins: Map<string, Map<string, string[]>> = new Map();
  for (const block of blocks) {
    const last = block.instructions.at(-1);
    if (last?.op !== "switch") {
      all.push(block);
      continue;
    }
    const row = branches(block, last);
    all.push(...row);
    const from: Map<string, string[]> = new Map();
    for (const { label, instructions } of row) {
      for (const target of new Set(instructions.at(-1)?.labels ?? [])) {
        from.set(target, [...(from.get(target) ?? []), label]);
      }
    }
    origins.set(block.label, from);
  }
  if (origins.size) for (const block of all) renameOrigins(block, origins);
  return all;
}

function branches(block: IrBlock, last: IrInstruction): IrBlock[] {
  const [value, ...cases] = last.operands;
  const [otherwise, ...targets] = last.labels;
  const name = (number: number) => (number ? `${block.label}.case${number}` : block.label);
  const jump: IrInstruction = { ...last, op: "br", operands: [], labels: [otherwise] };
  if (!cases.length) {
    return [{ label: block.label, instructions: [...block.instructions.slice(0, -1), jump] }];
  }
  return cases.map((wanted, number) => {
    const result = `${block.label}.is${number}`;
    const next = number + 1 < cases.length ? name(number + 1) : otherwise;
    const compare: IrInstruction = {
      ...last,
      op: "icmp",
      word: "eq",
      result,
      type: value.type,
      labels: [],
    };
    compare.operands = [value, wanted];
    const condition = makeValue("local", irType("int", { bits: 1 }), { name: result });
    const branch: IrInstruction = {
      ...jump,
      operands: [condition],
      labels: [targets[number], next],
    };
    const before = number ? [] : block.instructions.slice(0, -1);
    return { label: name(number), instructions: [...before, compare, branch] };
  });
}

function renameOrigins(block: IrBlock, origins: Map<string, Map<string, string[]>>) {
  for (const phi of block.instructions) {
    if (phi.op !== "phi") continue;
    const operands = [];
    const labels = [];
    const seen = new Set();
    for (const [number, label] of phi.labels.entries()) {
      const names = origins.has(label) ? (origins.get(label)?.get(block.label) ?? []) : [label];
      for (const one of names) {
        if (seen.has(one)) continue;
        seen.add(one);
        operands.push(phi.operands[number]);
        labels.push(one);
      }
    }
    phi.operands = operands;
    phi.labels = labels;
  }
}
