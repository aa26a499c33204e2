// In which order the blocks of a kernel stand: a loop behind what leads into it, exits behind loops.

import { predecessors, successors } from "./machine.js";

/** @typedef {import("./machine.js").MachineBlock} MachineBlock */

/** Blocks that can be reached, so that each follows those that lead to it but for loops.
 * @type {(blocks: MachineBlock[]) => MachineBlock[]} */
export function inOrder(blocks) {
  const byLabel = new Map(blocks.map((block) => [block.label, block]));
  const rough = postorder(blocks[0], byLabel, successors).reverse();
  const depth = loopDepths(rough);
  /** @type {(block: MachineBlock) => string[]} */
  const outerFirst = (block) =>
    // What is visited first comes last: the way out of a loop, then the other side of a branch.
    successors(block)
      .reverse()
      .sort((a, b) => (depth.get(a) ?? 0) - (depth.get(b) ?? 0));
  return postorder(blocks[0], byLabel, outerFirst).reverse();
}

/**
 * @param {MachineBlock} start
 * @param {Map<string, MachineBlock>} byLabel
 * @param {(block: MachineBlock) => string[]} next
 */
function postorder(start, byLabel, next) {
  /** @type {MachineBlock[]} */
  const order = [];
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

/** A question: does every way from the start to a block go by another?
 * @type {(blocks: MachineBlock[]) => (first: string, second: string) => boolean} */
export function dominance(blocks) {
  const place = new Map(blocks.map((block, number) => [block.label, number]));
  const dominator = dominators(blocks, place, predecessors(blocks));
  return (first, second) => {
    const [head, block] = [place.get(first), place.get(second)];
    return head !== undefined && block !== undefined && dominates(dominator, head, block);
  };
}

/** How many loops each block is in.
 * @type {(blocks: MachineBlock[]) => Map<string, number>} */
export function loopDepths(blocks) {
  const place = new Map(blocks.map((block, number) => [block.label, number]));
  const before = predecessors(blocks);
  const dominator = dominators(blocks, place, before);
  const depth = new Map(blocks.map((block) => [block.label, 0]));
  /** @type {Map<string, Set<string>>} */
  const loops = new Map();
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

/**
 * @param {MachineBlock[]} blocks
 * @param {Map<string, number>} place
 * @param {Map<string, MachineBlock[]>} before
 */
function dominators(blocks, place, before) {
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

/** @type {(dominator: Int32Array, a: number, b: number) => number} */
function nearest(dominator, a, b) {
  let [first, second] = [a, b];
  while (first !== second) {
    if (first > second) first = dominator[first];
    else second = dominator[second];
  }
  return first;
}

/** @type {(dominator: Int32Array, head: number, block: number) => boolean} */
function dominates(dominator, head, block) {
  let at = block;
  while (at > head) at = dominator[at];
  return at === head;
}
