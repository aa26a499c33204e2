// Loads that the compiler made before the condition that they stand behind in the source.
//
// Of `if (t == 0) m = s[0];` it makes a load by all threads and a `selp`: what the others load is not
// used. In the source they do not read, so nobody races with them.

import { readersOf, registersOf, registersRead, registersWritten, writersOf } from "./operands.ts";
import type { Instruction, Operand, PtxKernel, Register } from "./ptx.ts";

/** A predicate that holds, or does not, where a value is used. */
export interface Literal {
  register: Register;
  holds: boolean;
}

/** By name of a predicate and whether it holds. */
type Literals = Map<string, Literal>;

/** What does more than compute a register of its own lane. */
const DECIDES = new Set(
  (
    "st ld atom red bra call bar barrier shfl vote match redux cp tex tld4 suld sust mma wmma " +
    "ldmatrix elect mbarrier activemask"
  ).split(" "),
);

/**
 * Of a load what all uses of its value stand behind. `first`: instructions behind the load that it takes to
 * know that. They may run before it too.
 */
export interface UsedIf {
  literals: Literal[];
  first: Instruction[];
}

const found: WeakMap<PtxKernel, ReadonlyMap<number, UsedIf>> = new WeakMap();

/** By index of a load when its value is used; loads of which it always is are left out. */
export function conditionsOfLoads(kernel: PtxKernel): ReadonlyMap<number, UsedIf> {
  const known = found.get(kernel) ?? new Conditions(kernel).ofLoads();
  found.set(kernel, known);
  return known;
}

class Conditions {
  readers = readersOf(this.kernel.instructions);
  writers = writersOf(this.kernel.instructions);
  /** for each instruction the first one of its basic block */
  #start: number[] = [];

  constructor(public kernel: PtxKernel) {
    const { instructions, labels } = kernel;
    const starts = new Set(labels.values());
    let start = 0;
    for (const { index, parts } of instructions) {
      if (starts.has(index)) start = index;
      this.#start.push(start);
      if (parts[0] === "bra") start = index + 1;
    }
  }

  ofLoads() {
    const loads = this.kernel.instructions.filter(
      ({ parts }) => parts[0] === "ld" && !parts.includes("volatile") && !parts.includes("param"),
    );
    return new Map(
      loads.flatMap((load) => {
        const uses = registersWritten(load).map(({ name }) => this.#ofUses(name, load));
        const known = [...(common(uses) ?? [])].flatMap(([, literal]) => {
          const first = this.#before(literal.register.name, load);
          return first ? { literal, first } : [];
        });
        const used = {
          literals: known.map(({ literal }) => literal),
          first: [...new Set(known.flatMap(({ first }) => first))],
        };
        return known.length ? [[load.index, used] as const] : [];
      }),
    );
  }

  /** What has to run before a load so that a register is known there; null where that cannot be. */
  #before(name: string, load: Instruction): Instruction[] | null {
    const writer = this.#writerOf(name);
    const between = (this.writers.get(name) ?? []).filter(
      ({ index }) => index >= load.index && this.#start[index] === this.#start[load.index],
    );
    if (!between.length) return !writer || writer.index < load.index ? [] : null;
    const isPure = writer && !writer.guard && !DECIDES.has(writer.parts[0]);
    if (!isPure || this.readers.get(name)?.some(({ index }) => index <= writer.index)) return null;
    const sources = registersRead(writer).map((register) => this.#before(register.name, load));
    return sources.includes(null) ? null : [...sources.flatMap((one) => one ?? []), writer];
  }

  #writerOf(name: string) {
    const writers = this.writers.get(name) ?? [];
    return writers.length === 1 ? writers[0] : null;
  }

  /** What holds at every use of a register, as far as its uses are in the block of its load. */
  #ofUses(name: string, from: Instruction): Literals {
    const readers = this.readers.get(name) ?? [];
    const inBlock = ({ index }: Instruction) =>
      index > from.index && this.#start[index] === this.#start[from.index];
    if (!this.#writerOf(name) || !readers.every(inBlock)) return new Map();
    return common(readers.map((reader) => this.#ofUse(name, reader))) ?? new Map();
  }

  #ofUse(name: string, reader: Instruction): Literals {
    const { guard, operands, parts } = reader;
    const literals: Literals = new Map();
    const add = (register: Register, holds: boolean) => this.#add(literals, register, holds);
    if (guard && guard.register.name !== name) add(guard.register, !guard.negated);
    const [one, other, choice] = operands.slice(1);
    if (parts[0] === "selp" && choice.kind === "register" && choice.name !== name) {
      const [isOne, isOther] = [one, other].map((operand) => mentions(operand, name));
      if (isOne !== isOther) add(choice, isOne);
    } else if (parts.at(-1) === "pred" && (parts[0] === "and" || parts[0] === "or")) {
      for (const operand of [one, other]) {
        if (operand.kind === "register" && operand.name !== name) add(operand, parts[0] === "and");
      }
    }
    if (DECIDES.has(parts[0])) return literals;
    const further = registersWritten(reader).map((register) => this.#ofUses(register.name, reader));
    return new Map([...literals, ...(common(further) ?? [])]);
  }

  /** Add a literal and what follows from it. */
  #add(literals: Literals, register: Register, holds: boolean) {
    literals.set(`${register.name} ${holds}`, { register, holds });
    const writer = this.#writerOf(register.name);
    const kind = writer?.parts.at(-1) === "pred" ? writer.parts[0] : "";
    if (kind !== "not" && kind !== (holds ? "and" : "or")) return;
    for (const operand of writer?.operands.slice(1) ?? []) {
      if (operand.kind === "register") this.#add(literals, operand, (kind === "not") !== holds);
    }
  }
}

const mentions = (operand: Operand, name: string) =>
  registersOf(operand).some((register) => register.name === name);

/** What all have in common; null of none. */
function common(all: Literals[]): Literals | null {
  const [first, ...others] = all;
  if (!first) return null;
  return new Map([...first].filter(([key]) => others.every((other) => other.has(key))));
}
