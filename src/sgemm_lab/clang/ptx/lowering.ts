// What all that lowers a kernel shares: registers, the block that is written, the values known.

import { IrError } from "../ir/errors.ts";
import type { IrInstruction } from "../ir/instructions.ts";
import { type IrModule, lineOf } from "../ir/module.ts";
import { type IrType, offsetOf, sizeOf } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";
import { peel } from "./indices.ts";
import { literal, registerType } from "./literals.ts";
import type { MachineBlock, MachineInstruction, Operand, RegisterType } from "./machine.ts";
import { machineInstruction, Register, registersAmong } from "./machine.ts";
import type { Spaces } from "./spaces.ts";

/** An address: a register or the name of an array, and bytes from there. */
export interface Place {
  base: Operand;
  offset: number;
}

/** A kernel on its way from IR to PTX. */
export class Lowering {
  /** What was computed, and where. */
  computed: Map<string, { to: Register; block: string }[]> = new Map();
  /** Whether all ways go by the first block. */
  dominates: (first: string, second: string) => boolean;
  /** Scalars of each value. */
  values: Map<string, Operand[]> = new Map();
  /** Pointers that are others plus some bytes. */
  places: Map<string, Place> = new Map();
  locals: { name: string; bytes: number; align: number }[] = [];
  /** Bytes that the address of an array is a multiple of. */
  alignments: Map<string, number> = new Map();
  sharedUsed: Set<string> = new Set();
  block: MachineBlock;
  line = 0;
  count = 0;
  lines: Map<string, number> = new Map();
  /** Labels of the blocks that end loops which no one may unroll. */
  loopsThatStay: Set<string> = new Set();

  constructor(
    public module: IrModule,
    public spaces: Spaces,
    public definitions: Map<string, IrInstruction>,
  ) {
    this.dominates = (first, second) => first === second;
    this.block = emptyBlock("");
  }

  /** Let what comes next belong to the line of a `!dbg`. */
  standAt(place: string) {
    let line = this.lines.get(place);
    if (line === undefined) {
      line = lineOf(this.module, place);
      this.lines.set(place, line);
    }
    this.line = line;
  }

  refuse(message: string): never {
    throw new IrError(message, this.line);
  }

  register(type: RegisterType): Register {
    return new Register(type, this.count++);
  }

  /**
   * Write `opcode to, operands…`. Where the same was computed before, that is taken instead.
   * @param into a register, or the type of a new one
   */
  compute(opcode: string, into: Register | RegisterType, ...operands: Operand[]): Register {
    const own = this.block.label;
    const key = [
      opcode,
      ...operands.map((o) => (o instanceof Register ? o.number : `=${o}`)),
    ].join();
    const before = this.computed.get(key) ?? [];
    const same = before.find(({ block }) => this.dominates(block, own));
    if (same) return same.to;
    const to = into instanceof Register ? into : this.register(into);
    this.computed.set(key, [...before, { to, block: own }]);
    const parts = [`${opcode} `, ...listed([to, ...operands])];
    const from = registersAmong(operands);
    const { line } = this;
    this.block.instructions.push(
      machineInstruction({ parts, to: [to], from, pure: true, line, opcode, operands }),
    );
    return to;
  }

  /** Write what does more than compute. */
  write(parts: Operand[], to: Register[], from: Operand[], more?: Partial<MachineInstruction>) {
    const { line } = this;
    this.block.instructions.push(
      machineInstruction({ parts, to, from: registersAmong(from), line, ...more }),
    );
  }

  /** Remember the scalars of a value. */
  set(name: string, scalars: Operand[]) {
    this.values.set(name, scalars);
  }

  /** The scalars of a value, in order. */
  scalars(value: IrValue): Operand[] {
    if (value.kind === "list") return value.items.flatMap((item) => this.scalars(item));
    if (value.type.kind === "ptr") return [this.pointer(value, this.spaces.of(value))];
    if (value.kind === "local") {
      const known = this.values.get(value.name);
      if (known) return known;
      return this.refuse(`The value %${value.name} is used before it is there.`);
    }
    if (value.kind === "number" || value.kind === "undefined") return literal(value);
    if (value.kind === "expression") return [this.expression(value)];
    return this.refuse("This line uses a constant that is not known here.");
  }

  /** A value that is one scalar. */
  scalar(value: IrValue): Operand {
    return this.scalars(value)[0];
  }

  /** A scalar that stands in a register. */
  inRegister(operand: Operand, type: IrType): Register {
    if (operand instanceof Register) return operand;
    const kind = registerType(type);
    return this.compute(`mov.${kind.replace("b", "u")}`, kind, operand);
  }

  /** A pointer as an address of one memory, or as a generic one. */
  pointer(value: IrValue, space: string): Operand {
    const own = this.spaces.of(value);
    const { base, offset } = this.place(value);
    let address = base;
    if (!(base instanceof Register) && !/^\d/.test(base)) {
      address = this.compute("mov.u64", "b64", base);
    }
    if (offset) address = this.compute("add.s64", "b64", address, String(offset));
    if (own === space || own === "global" || value.kind === "undefined") return address;
    if (space === "generic") return this.convert(`cvta.${own}.u64`, address);
    if (own === "generic") {
      return space === "global" ? address : this.convert(`cvta.to.${space}.u64`, address);
    }
    return this.refuse(`A pointer into ${own} memory is used as one into ${space} memory here.`);
  }

  convert(opcode: string, address: Operand): Operand {
    return this.compute(opcode, "b64", address);
  }

  /** Where a pointer points, with as many bytes as possible told apart. */
  place(value: IrValue): Place {
    if (value.kind === "local") {
      const place = this.places.get(value.name);
      if (place) return place;
      const base = this.values.get(value.name)?.[0];
      return base === undefined
        ? this.refuse(`The pointer %${value.name} is used before it is there.`)
        : { base, offset: 0 };
    }
    if (value.kind === "global") return { base: this.symbol(value.name), offset: 0 };
    if (value.kind === "number") return { base: value.bits.toString(), offset: 0 };
    if (value.kind === "undefined") return { base: "0", offset: 0 };
    if (value.kind === "expression" && value.name === "addrspacecast") {
      return this.place(value.items[0]);
    }
    if (value.kind === "expression" && value.name === "getelementptr" && value.source) {
      return this.step(this.place(value.items[0]), value.source, value.items.slice(1));
    }
    return this.refuse("This line uses an address that is not known here.");
  }

  symbol(name: string): string {
    const global = this.module.globals.get(name);
    if (global?.space !== SHARED) {
      return this.refuse(
        `This line uses '${name}', a constant or array outside the kernel that is not in shared ` +
          "memory. Pass constants and arrays as kernel arguments.",
      );
    }
    this.sharedUsed.add(name);
    this.alignments.set(symbolName(name), global.align);
    return symbolName(name);
  }

  /** Step from a place over elements and fields. */
  step(from: Place, source: IrType, indices: IrValue[]): Place {
    let { base, offset } = from;
    let type = source;
    for (const [position, index] of indices.entries()) {
      if (position > 0 && type.kind === "struct") {
        offset += offsetOf(type, Number(index.bits));
        type = type.of[Number(index.bits)];
        continue;
      }
      if (position > 0) type = type.of[0];
      const size = sizeOf(type);
      if (index.kind === "number") {
        offset += Number(BigInt.asIntN(index.type.bits, index.bits)) * size;
      } else {
        const { rest, constant } = this.scaled(index, size);
        offset += constant;
        if (!(base instanceof Register) && !/^\d/.test(base)) {
          base = this.compute("mov.u64", "b64", base);
        }
        base = this.compute("add.s64", "b64", base, rest);
      }
    }
    return { base, offset };
  }

  /** An index times the bytes of an element, as a variable part and a constant one. */
  scaled(index: IrValue, size: number): { rest: Operand; constant: number } {
    const { value, extension, constant } = peel(index, this.definitions);
    let rest = this.scalar(value);
    if (value.type.bits === 32) {
      const sign = extension || "s";
      rest = this.compute(`cvt.${sign}64.${sign}32`, "b64", rest);
    } else if (value.type.bits !== 64) {
      return this.refuse("This index has an unusual width.");
    }
    const shift = Math.log2(size);
    if (size !== 1) {
      rest = Number.isInteger(shift)
        ? this.compute("shl.b64", "b64", rest, String(shift))
        : this.compute("mul.lo.s64", "b64", rest, String(size));
    }
    return { rest, constant: Number(constant) * size };
  }

  expression(value: IrValue): Operand {
    if (value.name === "ptrtoint") {
      const wanted = value.items[0].type.space ? this.spaces.of(value.items[0]) : "generic";
      const address = this.pointer(value.items[0], wanted);
      return value.type.bits === 64 ? address : this.compute("cvt.u32.u64", "b32", address);
    }
    return this.refuse(`This line has a constant expression (${value.name}) not known here.`);
  }
}

const SHARED = 3;

/** A name that PTX allows. */
export function symbolName(name: string): string {
  return name.replace(/[^\w$]/g, "_$_");
}

export function listed(operands: Operand[]): Operand[] {
  return operands.flatMap((operand, number) => (number ? [", ", operand] : [operand]));
}

export function emptyBlock(label: string): MachineBlock {
  return {
    label,
    phis: [],
    instructions: [],
    ending: { condition: null, target: "", otherwise: "", line: 0 },
    staysLoop: false,
  };
}
