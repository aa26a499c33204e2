// What all that lowers a kernel shares: registers, the block that is written, the values known.

import { IrError } from "../ir/errors.js";
import { lineOf } from "../ir/module.js";
import { offsetOf, sizeOf } from "../ir/types.js";
import { peel } from "./indices.js";
import { literal, registerType } from "./literals.js";
import { machineInstruction, Register, registersAmong } from "./machine.js";

/** @typedef {import("../ir/instructions.js").IrInstruction} IrInstruction */
/** @typedef {import("../ir/module.js").IrModule} IrModule */
/** @typedef {import("../ir/types.js").IrType} IrType */
/** @typedef {import("../ir/values.js").IrValue} IrValue */
/** @typedef {import("./machine.js").MachineBlock} MachineBlock */
/** @typedef {import("./machine.js").MachineInstruction} MachineInstruction */
/** @typedef {import("./machine.js").Operand} Operand */
/** @typedef {import("./machine.js").RegisterType} RegisterType */
/** @typedef {import("./spaces.js").Spaces} Spaces */

/** An address: a register or the name of an array, and bytes from there.
 * @typedef {{ base: Operand, offset: number }} Place */

/** A kernel on its way from IR to PTX. */
export class Lowering {
  /**
   * @param {IrModule} module
   * @param {Spaces} spaces
   * @param {Map<string, IrInstruction>} definitions
   */
  constructor(module, spaces, definitions) {
    this.module = module;
    this.spaces = spaces;
    this.definitions = definitions;
    /** @type {Map<string, { to: Register, block: string }[]>} What was computed, and where. */
    this.computed = new Map();
    /** @type {(first: string, second: string) => boolean} Whether all ways go by the first block. */
    this.dominates = (first, second) => first === second;
    /** @type {Map<string, Operand[]>} Scalars of each value. */
    this.values = new Map();
    /** @type {Map<string, Place>} Pointers that are others plus some bytes. */
    this.places = new Map();
    /** @type {{ name: string, bytes: number, align: number }[]} */
    this.locals = [];
    /** @type {Map<string, number>} Bytes that the address of an array is a multiple of. */
    this.alignments = new Map();
    /** @type {Set<string>} */
    this.sharedUsed = new Set();
    /** @type {MachineBlock} */
    this.block = emptyBlock("");
    this.line = 0;
    this.count = 0;
    /** @type {Map<string, number>} */
    this.lines = new Map();
    /** @type {Set<string>} Labels of the blocks that end loops which no one may unroll. */
    this.loopsThatStay = new Set();
  }

  /** Let what comes next belong to the line of a `!dbg`.
   * @type {(place: string) => void} */
  standAt(place) {
    let line = this.lines.get(place);
    if (line === undefined) {
      line = lineOf(this.module, place);
      this.lines.set(place, line);
    }
    this.line = line;
  }

  /** @type {(message: string) => never} */
  refuse(message) {
    throw new IrError(message, this.line);
  }

  /** @type {(type: RegisterType) => Register} */
  register(type) {
    return new Register(type, this.count++);
  }

  /** Write `opcode to, operands…`. Where the same was computed before, that is taken instead.
   * @type {(opcode: string, to: Register, ...operands: Operand[]) => Register} */
  compute(opcode, to, ...operands) {
    const own = this.block.label;
    const key = [
      opcode,
      ...operands.map((o) => (o instanceof Register ? o.number : `=${o}`)),
    ].join();
    const before = this.computed.get(key) ?? [];
    const same = before.find(({ block }) => this.dominates(block, own));
    if (same) return same.to;
    this.computed.set(key, [...before, { to, block: own }]);
    const parts = [`${opcode} `, ...listed([to, ...operands])];
    const from = registersAmong(operands);
    const { line } = this;
    this.block.instructions.push(
      machineInstruction({ parts, to: [to], from, pure: true, line, opcode, operands }),
    );
    return to;
  }

  /** Write what does more than compute.
   * @type {(parts: Operand[], to: Register[], from: Operand[], more?: Partial<MachineInstruction>) => void} */
  write(parts, to, from, more) {
    const { line } = this;
    this.block.instructions.push(
      machineInstruction({ parts, to, from: registersAmong(from), line, ...more }),
    );
  }

  /** Remember the scalars of a value.
   * @type {(name: string, scalars: Operand[]) => void} */
  set(name, scalars) {
    this.values.set(name, scalars);
  }

  /** The scalars of a value, in order.
   * @type {(value: IrValue) => Operand[]} */
  scalars(value) {
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

  /** A value that is one scalar.
   * @type {(value: IrValue) => Operand} */
  scalar(value) {
    return this.scalars(value)[0];
  }

  /** A scalar that stands in a register.
   * @type {(operand: Operand, type: IrType) => Register} */
  inRegister(operand, type) {
    if (operand instanceof Register) return operand;
    const kind = registerType(type);
    return this.compute(
      `mov.${kind === "b32" || kind === "b64" ? `u${kind.slice(1)}` : kind}`,
      this.register(kind),
      operand,
    );
  }

  /** A pointer as an address of one memory, or as a generic one.
   * @type {(value: IrValue, space: string) => Operand} */
  pointer(value, space) {
    const own = this.spaces.of(value);
    const { base, offset } = this.place(value);
    let address = base;
    if (!(base instanceof Register) && !/^\d/.test(base)) {
      address = this.compute("mov.u64", this.register("b64"), base);
    }
    if (offset) address = this.compute("add.s64", this.register("b64"), address, String(offset));
    if (own === space || own === "global" || value.kind === "undefined") return address;
    if (space === "generic") return this.convert(`cvta.${own}.u64`, address);
    if (own === "generic") {
      return space === "global" ? address : this.convert(`cvta.to.${space}.u64`, address);
    }
    return this.refuse(`A pointer into ${own} memory is used as one into ${space} memory here.`);
  }

  /** @type {(opcode: string, address: Operand) => Operand} */
  convert(opcode, address) {
    return this.compute(opcode, this.register("b64"), address);
  }

  /** Where a pointer points, with as many bytes as possible told apart.
   * @type {(value: IrValue) => Place} */
  place(value) {
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

  /** @type {(name: string) => string} */
  symbol(name) {
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

  /** Step from a place over elements and fields.
   * @type {(from: Place, source: IrType, indices: IrValue[]) => Place} */
  step(from, source, indices) {
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
          base = this.compute("mov.u64", this.register("b64"), base);
        }
        base = this.compute("add.s64", this.register("b64"), base, rest);
      }
    }
    return { base, offset };
  }

  /** An index times the bytes of an element, as a variable part and a constant one.
   * @type {(index: IrValue, size: number) => { rest: Operand, constant: number }} */
  scaled(index, size) {
    const { value, extension, constant } = peel(index, this.definitions);
    let rest = this.scalar(value);
    if (value.type.bits === 32) {
      rest = this.compute(
        `cvt.${extension || "s"}64.${extension || "s"}32`,
        this.register("b64"),
        rest,
      );
    } else if (value.type.bits !== 64) {
      return this.refuse("This index has an unusual width.");
    }
    const shift = Math.log2(size);
    if (size !== 1) {
      rest = Number.isInteger(shift)
        ? this.compute("shl.b64", this.register("b64"), rest, String(shift))
        : this.compute("mul.lo.s64", this.register("b64"), rest, String(size));
    }
    return { rest, constant: Number(constant) * size };
  }

  /** @type {(value: IrValue) => Operand} */
  expression(value) {
    if (value.name === "ptrtoint") {
      const wanted = value.items[0].type.space ? this.spaces.of(value.items[0]) : "generic";
      const address = this.pointer(value.items[0], wanted);
      return value.type.bits === 64
        ? address
        : this.compute("cvt.u32.u64", this.register("b32"), address);
    }
    return this.refuse(`This line has a constant expression (${value.name}) not known here.`);
  }
}

const SHARED = 3;

/** A name that PTX allows.
 * @type {(name: string) => string} */
export function symbolName(name) {
  return name.replace(/[^\w$]/g, "_$_");
}

/** @type {(operands: Operand[]) => Operand[]} */
export function listed(operands) {
  return operands.flatMap((operand, number) => (number ? [", ", operand] : [operand]));
}

/** @type {(label: string) => MachineBlock} */
export function emptyBlock(label) {
  return {
    label,
    phis: [],
    instructions: [],
    ending: { condition: null, target: "", otherwise: "", line: 0 },
    staysLoop: false,
  };
}
