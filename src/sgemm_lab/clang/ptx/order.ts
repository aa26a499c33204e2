// In which order the blocks of a kernel stand: a loop behind what leads into it, exits behind loops.

import { type MachineBlock, predecessors, successors } from "./machine.ts";

/** Blocks that can be reached, so that each follows those that lead to it but for loops. */
export function inOrder(blocks: MachineBlock[]): MachineBlock[] {
  const byLabel = new Map(blocks.map((block) => [block.label, block]));
  const rough = postorder(blocks[0], byLabel, successors).reverse();
  const depth = loopDepths(rough);
  const outerFirst = (block: MachineBlock): string[] =>
    // What is visited first comes last: the way out of a loop, then the other side of a branch.
    successors(block)
      .reverse()
      .sort((a, b) => (depth.get(a) ?? 0) - (depth.get(b) ?? 0));
  return postorder(blocks[0], byLabel, outerFirst).reverse();
}

function postorder(
  start: MachineBlock,
  byLabel: Map<string, MachineBlock>,
  next: (block: MachineBlock) => string[],
) {
  const order: MachineBlock[] = [];
  const seen = new Set([start.label]);
  const stack = [{ block: start, left: next(start) }];
  while (stack.length) {
    const top = stack[stack.length - 1];
    const label = top.left.shift();
    if (label === undefined) {
      order.push(top.block);
      stack.pop();
    } else if (!seen.has(label)) {
      seen.add(label);
      const block = byLabel.get(label);
      if (block) stack.push({ block, left: next(block) });
    }
  }
  return order;
}

/** A question: does every way from the start to a block go by another? */
export function dominance(blocks: MachineBlock[]): (first: string, second: string) => boolean {
  const place = new Map(blocks.map((block, number) => [block.label, number]));
  const dominator = dominators(blocks, place, predecessors(blocks));
  return (first, second) => {
    const [head, block] = [place.get(first), place.get(second)];
    return head !== undefined && block !== undefined && dominates(dominator, head, block);
  };
}

/** How many loops each block is in. */
export function loopDepths(blocks: MachineBlock[]): Map<string, number> {
  const place = new Map(blocks.map((block, number) => [block.label, number]));
  const before = predecessors(blocks);
  const dominator = dominators(blocks, place, before);
  const depth = new Map(blocks.map((block) => [block.label, 0]));
  const loops: Map<string, Set<string>> = new Map();
  for (const [number, block] of blocks.entries()) {
    for (const label of successors(block)) {
      const head = place.get(label) ?? 0;
      if (!dominates(dominator, head, number)) continue;
      const body = loops.get(label) ?? new Set([label]);
      loops.set(label, body);
      const waiting = [block];
      for (let one = waiting.pop(); one; one = waiting.pop()) {
        if (body.has(one.label)) continue;
        body.add(one.label);
        waiting.push(...(before.get(one.label) ?? []));
      }
    }
  }
  for (const body of loops.values()) {
    for (const label of body) depth.set(label, (depth.get(label) ?? 0) + 1);
  }
  return depth;
}

function dominators(
  blocks: MachineBlock[],
  place: Map<string, number>,
  before: Map<string, MachineBlock[]>,
) {
  const found = new Int32Array(blocks.length).fill(-1);
  found[0] = 0;
  for (let changed = true; changed; ) {
    changed = false;
    for (let number = 1; number < blocks.length; number++) {
      let common = -1;
      for (const block of before.get(blocks[number].label) ?? []) {
        const other = place.get(block.label) ?? 0;
        if (found[other] < 0) continue;
        common = common < 0 ? other : nearest(found, common, other);
      }
      if (common === found[number]) continue;
      found[number] = common;
      changed = true;
    }
  }
  return found;
}

function nearest(dominator: Int32Array, a: number, b: number): number {
  let [first, second] = [a, b];
  while (first !== second) {
    if (first > second) first = dominator[first];
    else second = dominator[second];
  }
  return first;
}

function dominates(dominator: Int32Array, head: number, block: number): boolean {
  let at = block;
  while (at > head) at = dominator[at];
  return at === head;
}
