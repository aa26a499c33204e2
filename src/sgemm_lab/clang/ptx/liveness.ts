// Which registers hold a value that is still needed, where, and which therefore need room apart.

import { type MachineBlock, Register, registersAmong, successors } from "./machine.ts";

/** A set of small numbers. */
export class Bits {
  words = new Int32Array((this.size + 31) >> 5);

  constructor(public size: number) {}

  add(number: number) {
    this.words[number >> 5] |= 1 << (number & 31);
  }

  remove(number: number) {
    this.words[number >> 5] &= ~(1 << (number & 31));
  }

  has(number: number): boolean {
    return (this.words[number >> 5] & (1 << (number & 31))) !== 0;
  }

  /** Add all of another set; tells whether any was new. */
  addAll(other: Bits): boolean {
    let changed = 0;
    for (let word = 0; word < this.words.length; word++) {
      const joined = this.words[word] | other.words[word];
      changed |= joined ^ this.words[word];
      this.words[word] = joined;
    }
    return changed !== 0;
  }

  meets(other: Bits): boolean {
    for (let word = 0; word < this.words.length; word++) {
      if (this.words[word] & other.words[word]) return true;
    }
    return false;
  }

  copy() {
    const same = new Bits(this.size);
    same.words.set(this.words);
    return same;
  }
}

/** Liveness of the registers that phis join; others need no look. */
export class Liveness {
  number: Map<Register, number> = new Map();
  size;
  byLabel;
  /** What is needed behind the phis of each block. */
  entry: Map<string, Bits>;

  constructor(blocks: MachineBlock[]) {
    for (const { phis } of blocks) {
      for (const { to, from } of phis) {
        for (const register of [to, ...registersAmong([...from.values()])]) {
          if (!this.number.has(register)) this.number.set(register, this.number.size);
        }
      }
    }
    this.size = this.number.size;
    this.byLabel = new Map(blocks.map((block) => [block.label, block]));
    this.entry = new Map(blocks.map(({ label }) => [label, new Bits(this.size)]));
    this.solve(blocks);
  }

  solve(blocks: MachineBlock[]) {
    for (let changed = true; changed; ) {
      changed = false;
      for (let at = blocks.length - 1; at >= 0; at--) {
        const live = this.atEnd(blocks[at]);
        this.walk(blocks[at], live, () => {});
        changed = (this.entry.get(blocks[at].label) as Bits).addAll(live) || changed;
      }
    }
  }

  /** What is needed on the way from a block to one behind it. */
  onEdge(block: MachineBlock, label: string): Bits {
    const live = this.entry.get(label)?.copy() ?? new Bits(this.size);
    const phis = this.byLabel.get(label)?.phis ?? [];
    for (const phi of phis) live.remove(this.number.get(phi.to) ?? 0);
    for (const phi of phis) {
      const from = phi.from.get(block.label);
      if (from instanceof Register) live.add(this.number.get(from) ?? 0);
    }
    return live;
  }

  atEnd(block: MachineBlock): Bits {
    const live = new Bits(this.size);
    for (const label of successors(block)) live.addAll(this.onEdge(block, label));
    return live;
  }

  /** Go through a block from its end, changing `live`; `written` hears of every write. */
  walk(block: MachineBlock, live: Bits, written: (number: number, live: Bits) => void) {
    const condition = block.ending.condition && this.number.get(block.ending.condition);
    if (typeof condition === "number") live.add(condition);
    for (let at = block.instructions.length - 1; at >= 0; at--) {
      const { to, from } = block.instructions[at];
      const numbers = to.map((register) => this.number.get(register) ?? -1).filter((n) => n >= 0);
      for (const number of numbers) written(number, live);
      for (const number of numbers) live.remove(number);
      for (const register of from) {
        const number = this.number.get(register);
        if (number !== undefined) live.add(number);
      }
    }
  }

  /** For each register the others that are needed where it is written. */
  conflicts(): Bits[] {
    const found = Array.from({ length: this.size }, () => new Bits(this.size));
    for (const block of this.byLabel.values()) {
      const live = this.atEnd(block);
      this.walk(block, live, (number, needed) => found[number].addAll(needed));
      for (const { to } of block.phis) live.add(this.number.get(to) ?? 0);
      for (const { to } of block.phis) found[this.number.get(to) ?? 0].addAll(live);
    }
    for (let one = 0; one < this.size; one++) found[one].remove(one);
    for (let one = 0; one < this.size; one++) {
      for (let other = 0; other < this.size; other++) {
        if (found[one].has(other)) found[other].add(one);
      }
    }
    return found;
  }
}
