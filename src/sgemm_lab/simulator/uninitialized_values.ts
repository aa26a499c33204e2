// Uninitialized values, tracked to where they do harm.
//
// A kernel may read memory that nothing wrote and do no harm: at the edge of a matrix threads work
// on elements that they do not store. A register without a value, or one of a lane that does not run, may
// be copied for nothing, too. So such a read is a hazard only once what it gave reaches
// global memory, or decides an address, a branch, or what other threads of the warp get. Until then
// its marks go from register to register, and through shared and local memory, as the values do: a
// result is marked where one of its operands is. That is more than need be, never less.

import type { Condition } from "./divergence.ts";
import type { Access, HazardSink, ThreadGroup } from "./group.ts";
import type { Suspect } from "./hazard_types.ts";
import { type Memory, UNWRITTEN } from "./memory.ts";
import { registersOf, registersRead, registersWritten } from "./operands.ts";
import type { Step } from "./operations.ts";
import type { Instruction, Operand, Register } from "./ptx.ts";
import type { Mask } from "./registers.ts";

/** for each lane the reads that its value comes of, a bit for each */
type Marks = Int32Array;

/** Bits of a mark. The last one stands for all reads that are left. */
const MOST = 32;

const MEMORY = new Set(["ld", "st", "atom", "red"]);
/** What takes values of other lanes, or hands them on in a way of its own: they do harm there. */
const BETWEEN_LANES = new Set(
  "vote match redux mma wmma ldmatrix elect blockvote bar mbarrier cp tex tld4 suld sust".split(
    " ",
  ),
);
/** Stands for the register that sums over several words hand their carry on in. */
const CARRY = "the carry";

/** What an instruction does with marks. */
class Rule {
  kind;
  reads;
  writes;
  addresses;
  guard;
  /** Whether the guard decides more than what a register holds. */
  guardDecides;

  constructor(public instruction: Instruction) {
    const { parts, operands, guard } = instruction;
    const [kind] = parts;
    this.kind = kind;
    this.reads = registersRead(instruction).map(({ name }) => name);
    this.writes = registersWritten(instruction).map(({ name }) => name);
    if (["addc", "subc", "madc"].includes(kind)) this.reads.push(CARRY);
    if (parts.includes("cc")) this.writes.push(CARRY);
    this.addresses = operands
      .filter((operand) => operand.kind === "address")
      .flatMap(registersOf)
      .map(({ name }) => name);
    this.guard = guard?.register.name ?? null;
    this.guardDecides = !this.writes.length || kind === "atom" || BETWEEN_LANES.has(kind);
  }
}

/** Tracks uninitialized values for all blocks of a launch. */
export class UninitializedValues {
  /** Whether there is a value to follow: else nothing here costs time. */
  active = false;
  /** for each bit the read that it stands for; those behind share the last */
  suspects: Suspect[] = [];
  /** by index of a reading instruction */
  bits: Map<number, number> = new Map();
  /** the same of an instruction that finds registers empty */
  bitsOfRegisters: Map<number, number> = new Map();
  /** Bits of the reads that have done no harm so far. */
  live = 0;
  /** of each group the registers with marks */
  registers: Map<ThreadGroup, Map<string, Marks>> = new Map();
  /** of each memory the marks byte by byte */
  memories: Map<Memory, Marks> = new Map();

  constructor(public hazards: HazardSink) {}

  /** Begin other blocks: their registers and memories hold nothing of what went before. */
  start() {
    this.active = false;
    this.registers.clear();
    this.memories.clear();
  }

  /** Some lanes read memory that nothing wrote. */
  onRead(access: Access, lanes: Int32Array) {
    const { index } = access.site.instruction;
    let bit = this.bits.get(index);
    if (bit === undefined) {
      bit = this.bitOf(this.hazards.unwritten(access, lanes));
      this.bits.set(index, bit);
    }
    if (bit & this.live) this.active = true;
  }

  /** What a register holds in some lanes comes of nothing: an instruction found that. */
  onEmpty(
    group: ThreadGroup,
    { index }: Instruction,
    name: string,
    lanes: Mask,
    suspect: () => Suspect,
  ) {
    const bit = this.bitsOfRegisters.get(index) ?? this.bitOf(suspect());
    this.bitsOfRegisters.set(index, bit);
    if (!(bit & this.live)) return;
    this.active = true;
    this.give(
      group,
      name,
      lanes,
      Int32Array.from(lanes, (one) => (one ? bit : 0)),
    );
  }

  /** The bit of a read; that of another one with the same message. */
  bitOf(suspect: Suspect) {
    const same = this.suspects.findIndex((other) => suspect.same(other));
    if (same >= 0) return 1 << Math.min(same, MOST - 1);
    this.suspects.push(suspect);
    const bit = 1 << (Math.min(this.suspects.length, MOST) - 1);
    this.live |= bit;
    return bit;
  }

  /** Threads cannot go on: nobody can say what the values would have done. */
  reportAll() {
    this.report(this.live);
  }

  report(marked: number) {
    const bits = marked & this.live;
    if (!bits) return;
    this.suspects.forEach((suspect, number) => {
      if ((bits >> Math.min(number, MOST - 1)) & 1) this.hazards.confirm(suspect);
    });
    this.live &= ~bits;
    if (!this.live) this.start();
  }

  harm(marks: Marks | null) {
    if (marks !== null) this.report(marks.reduce((all, one) => all | one, 0));
  }

  /** Wrap what chooses the lanes that go another way: some registers decide that. */
  wrapBranch(group: ThreadGroup, names: string[], choose: Condition): Condition {
    return (mask) => {
      if (this.active) this.harm(this.marks(group, names, mask));
      return choose(mask);
    };
  }

  /**
   * Wrap a step, so that marks go where values go.
   * @param step that heeds the guard of the instruction
   * @param bare that does not
   * @param guard the lanes that run it
   */
  wrapStep(
    group: ThreadGroup,
    instruction: Instruction,
    step: Step,
    bare: Step,
    guard: Condition | null,
  ): Step {
    let rule: Rule | null = null;
    return (mask) => {
      const marked = this.active ? this.registers.get(group) : undefined;
      if (!marked) {
        step(mask);
        return;
      }
      rule ??= new Rule(instruction);
      if (!rule.reads.some((name) => marked.has(name)) && !rule.writes.some((n) => marked.has(n))) {
        step(mask);
        return;
      }
      // What chooses the lanes may be written by the step itself.
      const where = guard === null ? mask : guard(mask);
      const chosen = rule.guard === null ? null : this.marks(group, [rule.guard], mask);
      if (rule.guardDecides) this.harm(chosen);
      this.before(group, rule, where, bare);
      step(mask);
      if (chosen === null) return;
      for (const name of rule.writes) {
        this.give(group, name, null, both(chosen, this.marks(group, [name], null)));
      }
    };
  }

  /** Move marks as an instruction is about to move values; loads and stores do it later. */
  before(group: ThreadGroup, rule: Rule, where: Mask | null, bare: Step) {
    const { kind } = rule;
    this.harm(this.marks(group, rule.addresses, where));
    let marks = this.marks(group, rule.reads, where);
    if (BETWEEN_LANES.has(kind)) this.harm(marks);
    if (BETWEEN_LANES.has(kind) || MEMORY.has(kind)) marks = null;
    else if (kind === "selp") marks = this.selected(group, rule);
    else if (["and", "or"].includes(kind) && rule.instruction.parts.at(-1) === "pred") {
      marks = this.joined(group, rule);
    } else if (kind === "shfl") marks = this.shuffled(group, rule, where, bare);
    if (!this.active) return;
    for (const name of rule.writes) this.give(group, name, where, marks);
  }

  /** `selp`: the marks of the value that is chosen, and of the choice. */
  selected(group: ThreadGroup, { instruction }: Rule) {
    const [one, other, choice] = instruction.operands
      .slice(1, 4)
      .map((operand) => this.marks(group, namesOf(operand), null));
    const register = instruction.operands[3];
    if (register.kind !== "register") return both(both(one, other), choice);
    const holds = group.registers.predicate(register);
    const taken = new Int32Array(group.lanes);
    for (let lane = 0; lane < taken.length; lane++) {
      taken[lane] = (holds[lane] ? one : other)?.[lane] ?? 0;
    }
    return both(taken, choice);
  }

  /** `and`, `or` of conditions: one without a mark may settle it alone. */
  joined(group: ThreadGroup, { instruction, kind, reads }: Rule) {
    const [one, other] = instruction.operands.slice(1, 3);
    if (one.kind !== "register" || other.kind !== "register") {
      return this.marks(group, reads, null);
    }
    const settling = kind === "or" ? 1 : 0;
    const pairs = [
      [one, other],
      [other, one],
    ];
    return pairs.reduce(
      (found, [mine, fellow]) => {
        const marks = this.marks(group, [mine.name], null);
        const holds = group.registers.predicate(fellow);
        const clean = this.marks(group, [fellow.name], null);
        const left = marks?.map((bits, lane) =>
          holds[lane] === settling && !clean?.[lane] ? 0 : bits,
        );
        return both(found, left ?? null);
      },
      null as Marks | null,
    );
  }

  /** `shfl`: marks have as many bits as values, so they are moved by the step itself. */
  shuffled(group: ThreadGroup, { instruction }: Rule, where: Mask | null, bare: Step) {
    const [value, ...others] = instruction.operands.slice(1);
    this.harm(this.marks(group, others.flatMap(namesOf), where));
    const marks = this.marks(group, namesOf(value), null);
    if (marks === null || !this.active) return null;
    const { registers } = group;
    const rowOf = (register: Register) =>
      registers.isPredicate(register)
        ? registers.predicate(register)
        : registers.whole(register.name).i32;
    const written = registersWritten(instruction).filter(({ name }) => name !== "_");
    const rows = [...registersOf(value), ...written].map(rowOf);
    const before = rows.map((row) => row.slice());
    rows[0].set(marks);
    bare(where);
    const moved = Int32Array.from(rows[1]);
    rows.forEach((row, at) => {
      row.set(before[at]);
    });
    return moved;
  }

  /** Move marks as an access is about to move values, and report where they do harm. */
  onMove(access: Access) {
    const { site, group } = access;
    const { operands, parts } = site.instruction;
    const [kind] = parts;
    const reads = site.kind !== "store" && site.kind !== "copy write";
    const found = reads ? this.loaded(access) : [];
    if (kind === "ld") {
      registersOf(operands[0]).forEach(({ name }, number) => {
        this.giveSome(access, name, found[number]);
      });
      return;
    }
    let stored: (Marks | null)[] = [];
    if (kind === "st") {
      const items = operands[1].kind === "vector" ? operands[1].items : [operands[1]];
      stored = items.map((item) => ofLanes(access, this.marks(group, namesOf(item), null)));
    } else if (kind === "atom" || kind === "red") {
      const names = registersRead(site.instruction).map(({ name }) => name);
      stored = [both(found[0], ofLanes(access, this.marks(group, names, null)))];
    }
    if (!["shared", "local"].includes(site.space) || !stored.length) {
      // Into memory for good, or to other lanes.
      for (const marks of [...found, ...stored]) this.harm(marks);
      return;
    }
    this.store(access, stored, kind !== "st");
    const [first] = operands;
    if (kind === "atom" && first.kind === "register" && this.active) {
      this.giveSome(access, first.name, this.loaded(access)[0]);
    }
  }

  /** The marks of each element that an access reads. */
  loaded({ site, memory, positions }: Access): (Marks | null)[] {
    const bit = (this.bits.get(site.instruction.index) ?? 0) & this.live;
    const kept = this.memories.get(memory);
    return Array.from({ length: site.words }, (_, word) => {
      if (!bit && !kept) return null;
      const marks = new Int32Array(positions.length);
      for (let i = 0; i < marks.length; i++) {
        const first = positions[i] + word * site.wordBytes;
        if (memory.state[first] === UNWRITTEN) marks[i] = bit;
        for (let byte = first; kept && byte < first + site.wordBytes; byte++) {
          marks[i] |= kept[byte];
        }
      }
      return marks;
    });
  }

  /** Keep the marks of what is stored; `together`: beside those that are there. */
  store({ site, memory, positions }: Access, stored: (Marks | null)[], together: boolean) {
    let kept = this.memories.get(memory);
    if (!kept) {
      if (stored.every((marks) => marks === null || marks.every((one) => one === 0))) return;
      kept = new Int32Array(memory.bytes.length);
      this.memories.set(memory, kept);
    }
    for (let word = 0; word < stored.length; word++) {
      const marks = stored[word];
      for (let i = 0; i < positions.length; i++) {
        const first = positions[i] + word * site.wordBytes;
        const given = marks === null ? 0 : marks[i];
        for (let byte = first; byte < first + site.wordBytes; byte++) {
          kept[byte] = together ? kept[byte] | given : given;
        }
      }
    }
  }

  /** Give a register its marks in the legal lanes of an access. */
  giveSome({ group, lanes }: Access, name: string, marks: Marks | null) {
    if (lanes === null) {
      this.give(group, name, null, marks);
      return;
    }
    if (marks === null && !this.registers.get(group)?.has(name)) return;
    const where = new Uint8Array(group.lanes);
    const every = new Int32Array(group.lanes);
    lanes.forEach((lane, i) => {
      where[lane] = 1;
      every[lane] = marks === null ? 0 : marks[i];
    });
    this.give(group, name, where, every);
  }

  /** The marks of some registers together, and none outside of a mask; null for no mark. */
  marks(group: ThreadGroup, names: string[], mask: Mask | null): Marks | null {
    const marked = this.registers.get(group);
    let found: Marks | null = null;
    for (const name of names) found = both(found, marked?.get(name) ?? null);
    if (found === null || mask === null) return found;
    return found.map((one, lane) => (mask[lane] === 0 ? 0 : one));
  }

  /** Give a register its marks, in some lanes. */
  give(group: ThreadGroup, name: string, where: Mask | null, marks: Marks | null) {
    const marked = this.registers.get(group) ?? new Map();
    this.registers.set(group, marked);
    const old = marked.get(name);
    if (name === "_" || (marks === null && !old)) return;
    const given = new Int32Array(group.lanes);
    let some = 0;
    for (let lane = 0; lane < given.length; lane++) {
      const from = where === null || where[lane] !== 0 ? marks : old;
      given[lane] = from?.[lane] ?? 0;
      some |= given[lane];
    }
    if (some) marked.set(name, given);
    else marked.delete(name);
  }
}

export function both(one: Marks | null, other: Marks | null) {
  if (one === null || other === null) return one ?? other;
  return one.map((bits, lane) => bits | other[lane]);
}

/** Of the marks of all lanes those of the legal lanes of an access. */
function ofLanes({ lanes }: Access, marks: Marks | null) {
  return marks === null || lanes === null ? marks : lanes.map((lane) => marks[lane]);
}

const namesOf = (operand: Operand) => registersOf(operand).map(({ name }) => name);
