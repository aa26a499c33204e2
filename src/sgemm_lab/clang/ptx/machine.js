// PTX instructions on virtual registers, before they are text.

/** @typedef {"pred" | "b32" | "b64" | "f32" | "f64"} RegisterType */

/** A virtual register. Two that stand for one another get one name in the end. */
export class Register {
  /** @param {RegisterType} type @param {number} number */
  constructor(type, number) {
    this.type = type;
    this.number = number;
    this.name = "";
  }
}

/** A register, a constant or the name of an array.
 * @typedef {Register | string} Operand */

/** One word that is read at `offset` bytes from `base`, in the memory of that name.
 * @typedef {{ space: string, base: Operand, offset: number }} WordLoad */

/**
 * `parts` joined are the text. `pure` instructions may go where no one reads what they write.
 * `opcode` and `operands` are known of those that only compute. `changes` names the memory that is
 * written: "" for none, "any" where it may be every one, or where others write it in the meantime.
 *
 * @typedef {{
 *   parts: Operand[],
 *   to: Register[],
 *   from: Register[],
 *   pure: boolean,
 *   line: number,
 *   opcode: string,
 *   operands: Operand[],
 *   load: WordLoad | null,
 *   changes: string,
 * }} MachineInstruction
 */

/** @typedef {{ to: Register, from: Map<string, Operand>, line: number }} Phi */

/**
 * A branch to `target` where `condition` holds, else to `otherwise`. Without `condition` always to
 * `target`; without `target` the kernel ends.
 *
 * @typedef {{
 *   condition: Register | null,
 *   target: string,
 *   otherwise: string,
 *   line: number,
 * }} Ending
 */

/**
 * @typedef {{
 *   label: string,
 *   phis: Phi[],
 *   instructions: MachineInstruction[],
 *   ending: Ending,
 *   staysLoop: boolean,
 * }} MachineBlock
 */

/** @type {(fields: Partial<MachineInstruction>) => MachineInstruction} */
export function machineInstruction(fields) {
  return {
    parts: [],
    to: [],
    from: [],
    pure: false,
    line: 0,
    opcode: "",
    operands: [],
    load: null,
    changes: "",
    ...fields,
  };
}

/** @type {(operands: Operand[]) => Register[]} */
export function registersAmong(operands) {
  return operands.filter((operand) => operand instanceof Register);
}

/** Where a block may go.
 * @type {(block: MachineBlock) => string[]} */
export function successors(block) {
  return [block.ending.target, block.ending.otherwise].filter(Boolean);
}

/** Labels of the blocks that lead to each block.
 * @type {(blocks: MachineBlock[]) => Map<string, MachineBlock[]>} */
export function predecessors(blocks) {
  /** @type {Map<string, MachineBlock[]>} */
  const found = new Map(blocks.map((block) => [block.label, []]));
  for (const block of blocks) {
    for (const label of new Set(successors(block))) found.get(label)?.push(block);
  }
  return found;
}

/** Take out what computes values that no one reads.
 * @type {(blocks: MachineBlock[]) => void} */
export function dropUnused(blocks) {
  /** @type {Map<Register, (MachineInstruction | Phi)[]>} */
  const writers = new Map();
  /** @type {Register[]} */
  const wanted = [];
  for (const block of blocks) {
    if (block.ending.condition) wanted.push(block.ending.condition);
    for (const phi of block.phis) writers.set(phi.to, [phi]);
    for (const instruction of block.instructions) {
      if (!instruction.pure) wanted.push(...instruction.from);
      for (const to of instruction.to) {
        writers.set(to, [...(writers.get(to) ?? []), instruction]);
      }
    }
  }
  const kept = new Set(wanted);
  for (let register = wanted.pop(); register; register = wanted.pop()) {
    for (const writer of writers.get(register) ?? []) {
      const reads =
        writer.from instanceof Map ? registersAmong([...writer.from.values()]) : writer.from;
      for (const read of reads) {
        if (kept.has(read)) continue;
        kept.add(read);
        wanted.push(read);
      }
    }
  }
  for (const block of blocks) {
    block.phis = block.phis.filter((phi) => kept.has(phi.to));
    block.instructions = block.instructions.filter(
      (instruction) => !instruction.pure || instruction.to.some((to) => kept.has(to)),
    );
  }
}
