// PTX instructions on virtual registers, before they are text.

export type RegisterType = "pred" | "b32" | "b64" | "f32" | "f64";

/** A virtual register. Two that stand for one another get one name in the end. */
export class Register {
  name = "";

  constructor(
    public type: RegisterType,
    public number: number,
  ) {}
}

/** A register, a constant or the name of an array. */
export type Operand = Register | string;

/** One word that is read at `offset` bytes from `base`, in the memory of that name. */
export interface WordLoad {
  space: string;
  base: Operand;
  offset: number;
}

/**
 * `parts` joined are the text. `pure` instructions may go where no one reads what they write.
 * `opcode` and `operands` are known of those that only compute. `changes` names the memory that is
 * written: "" for none, "any" where it may be every one, or where others write it in the meantime.
 */
export interface MachineInstruction {
  parts: Operand[];
  to: Register[];
  from: Register[];
  pure: boolean;
  line: number;
  opcode: string;
  operands: Operand[];
  load: WordLoad | null;
  changes: string;
}

export interface Phi {
  to: Register;
  from: Map<string, Operand>;
}

/**
 * A branch to `target` where `condition` holds, else to `otherwise`. Without `condition` always to
 * `target`; without `target` the kernel ends.
 */
interface Ending {
  condition: Register | null;
  target: string;
  otherwise: string;
  line: number;
}

export interface MachineBlock {
  label: string;
  phis: Phi[];
  instructions: MachineInstruction[];
  ending: Ending;
  staysLoop: boolean;
}

export function machineInstruction(fields: Partial<MachineInstruction>): MachineInstruction {
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

export function registersAmong(operands: Operand[]): Register[] {
  return operands.filter((operand) => operand instanceof Register);
}

/** Where a block may go. */
export function successors(block: MachineBlock): string[] {
  return [block.ending.target, block.ending.otherwise].filter(Boolean);
}

/** Labels of the blocks that lead to each block. */
export function predecessors(blocks: MachineBlock[]): Map<string, MachineBlock[]> {
  const found: Map<string, MachineBlock[]> = new Map(blocks.map((block) => [block.label, []]));
  for (const block of blocks) {
    for (const label of new Set(successors(block))) found.get(label)?.push(block);
  }
  return found;
}

/** Take out what computes values that no one reads. */
export function dropUnused(blocks: MachineBlock[]) {
  const writers: Map<Register, (MachineInstruction | Phi)[]> = new Map();
  const wanted: Register[] = [];
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
