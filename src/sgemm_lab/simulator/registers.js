// @ts-check
// The registers of a group of threads, as rows with one entry per thread: registers.py in
// JavaScript. A mask is a Uint8Array of ones and zeros, or null for all lanes.

import { registersOf } from "./operands.js";
import { PtxError, plain, TYPE_BYTES } from "./ptx.js";
import { sentence } from "./sentences.js";

/** @typedef {import("./ptx.js").Operand} Operand */
/** @typedef {import("./ptx.js").PtxKernel} PtxKernel */
/** @typedef {import("./ptx.js").Register} Register */
/** @typedef {Uint8Array} Mask */
/** @typedef {number | bigint} Value a bigint of the integer types, a number of the others */

/**
 * The values of one register, or of one constant, in all lanes: of 4 bytes each, or of 8 or 2. The
 * arrays are views of the same bytes. Those of 8 bytes have a lane's low half at 2i.
 */
class Row {
  /**
   * @param {ArrayBuffer} buffer
   * @param {number} start
   * @param {number} lanes
   * @param {number} width bytes of one lane
   */
  constructor(buffer, start, lanes, width) {
    this.buffer = buffer;
    this.start = start;
    this.lanes = lanes;
    this.width = width;
    const words = (lanes * width) >> 2;
    this.i32 = new Int32Array(buffer, start, words);
    this.u32 = new Uint32Array(buffer, start, words);
    this.f32 = new Float32Array(buffer, start, words);
  }
}

/** @typedef {Row} RegisterRow */

/** @type {Record<string, "s" | "u" | "f">} */
const KINDS = { s: "s", u: "u", b: "u", f: "f" };

/**
 * What holds a PTX type: signed or unsigned whole numbers, or floats, of so many bytes. Types that
 * JavaScript lacks are held as raw bits; predicates have 0 bytes.
 * @param {string} type
 * @returns {{ kind: "s" | "u" | "f" | "pred", bytes: number }}
 */
export function typeOf(type) {
  if (type === "pred") return { kind: "pred", bytes: 0 };
  const bytes = TYPE_BYTES.get(type);
  if (bytes === undefined) throw new TypeError(type);
  const raw = ["bf16", "f16x2", "bf16x2", "tf32"].includes(type);
  return { kind: raw ? "u" : KINDS[type[0]], bytes };
}

/** All virtual registers of a kernel for a number of threads ("lanes"). */
export class RegisterFile {
  /**
   * @param {PtxKernel} kernel
   * @param {number} lanes
   * @param {ReadonlyMap<string, number>} symbols addresses of named arrays
   */
  constructor(kernel, lanes, symbols) {
    this.lanes = lanes;
    this.symbols = symbols;
    /** @type {Map<string, number>} bytes of each register, 0 of a predicate */
    this.widths = new Map();
    /** @type {Map<string, number>} where each register lies among those of its width */
    this.order = new Map();
    const counts = { 0: 0, 2: 0, 4: 0, 8: 0 };
    for (const { operands, guard } of kernel.instructions) {
      const registers = operands.flatMap(registersOf);
      for (const { name } of guard ? [...registers, guard.register] : registers) {
        if (this.widths.has(name) || name === "_") continue;
        const type = kernel.registerType(name);
        const width = /** @type {0 | 2 | 4 | 8} */ (type === "pred" ? 0 : TYPE_BYTES.get(type));
        this.widths.set(name, width);
        this.order.set(name, counts[width]++);
      }
    }
    this.predicates = new Uint8Array(counts[0] * lanes);
    /** @type {Record<number, ArrayBuffer>} */
    this.buffers = {
      2: new ArrayBuffer(2 * lanes * counts[2]),
      4: new ArrayBuffer(4 * lanes * counts[4]),
      8: new ArrayBuffer(8 * lanes * counts[8]),
    };
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    /** @type {Map<string, Row>} */
    this.constants = new Map();
    /** @type {Map<string, Row>} */
    this.scratchRows = new Map();
    /** Predicates to compute before a masked write. */
    this.scratchPredicate = new Uint8Array(lanes);
  }

  /**
   * Whether a register holds a predicate.
   * @param {Register} register
   */
  isPredicate(register) {
    return this.widths.get(register.name) === 0;
  }

  /**
   * The row of a register that has exactly so many bytes; null where it has more.
   * @param {Register} register
   * @param {number} bytes
   * @returns {Row | null}
   */
  row({ name }, bytes) {
    if (name === "_") return this.scratch(bytes);
    const width = /** @type {number} */ (this.widths.get(name));
    if (width === 0) throw new PtxError(sentence("run.mixed", { name: plain(name) }));
    if (bytes > width) {
      throw new PtxError(sentence("run.wide", { bits: 8 * bytes, name: plain(name) }));
    }
    return width === bytes ? this.whole(name) : null;
  }

  /**
   * The row of a register in its own width.
   * @param {string} name
   */
  whole(name) {
    let row = this.rows.get(name);
    if (!row) {
      const width = /** @type {number} */ (this.widths.get(name));
      const start = /** @type {number} */ (this.order.get(name)) * width * this.lanes;
      row = new Row(this.buffers[width], start, this.lanes, width);
      this.rows.set(name, row);
    }
    return row;
  }

  /**
   * The values of a predicate register, 0 or 1.
   * @param {Register} register
   */
  predicate({ name }) {
    if (name === "_") return this.scratchPredicate;
    if (this.widths.get(name) !== 0) {
      throw new PtxError(sentence("run.mixed", { name: plain(name) }));
    }
    const start = /** @type {number} */ (this.order.get(name)) * this.lanes;
    return this.predicates.subarray(start, start + this.lanes);
  }

  /**
   * A row to compute into before a masked write; shared by all who ask for the same use.
   * @param {number} bytes
   * @param {string} use
   */
  scratch(bytes, use = "") {
    const key = `${bytes} ${use}`;
    let row = this.scratchRows.get(key);
    if (!row) {
      row = new Row(new ArrayBuffer(this.lanes * bytes), 0, this.lanes, bytes);
      this.scratchRows.set(key, row);
    }
    return row;
  }

  /**
   * A row that holds the same bits in all lanes. Never written.
   * @param {bigint} bits
   * @param {number} bytes
   */
  constant(bits, bytes) {
    const value = BigInt.asUintN(8 * bytes, bits);
    const key = `${bytes} ${value}`;
    let row = this.constants.get(key);
    if (!row) {
      row = new Row(new ArrayBuffer(this.lanes * bytes), 0, this.lanes, bytes);
      arrayOf(row.buffer, 0, this.lanes, "u", bytes).fill(
        /** @type {never} */ (bytes === 8 ? value : Number(value)),
      );
      this.constants.set(key, row);
    }
    return row;
  }

  /**
   * The row that an operand reads: a register of exactly so many bytes, or a constant, or a
   * symbol's address. Null where the register has more bytes.
   * @param {Operand} operand
   * @param {number} bytes
   */
  source(operand, bytes) {
    if (operand.kind === "register") return this.row(operand, bytes);
    return this.constant(this.constantBits(operand), bytes);
  }

  /**
   * The bits of an operand that is no register.
   * @param {Operand} operand
   */
  constantBits(operand) {
    if (operand.kind === "immediate") return operand.bits;
    if (operand.kind !== "symbol") {
      const name = operand.kind === "special" ? operand.name : operand.kind;
      throw new PtxError(sentence("run.operand", { name }));
    }
    const address = this.symbols.get(operand.name);
    if (address === undefined) throw new PtxError(sentence("run.symbol", { name: operand.name }));
    return BigInt(address + operand.offset);
  }

  /**
   * A function that gives an operand's value in a lane, as a type: any width, any kind. Slower
   * than rows.
   * @param {Operand} operand
   * @param {string} type
   * @returns {(lane: number) => Value}
   */
  reader(operand, type) {
    const { kind, bytes } = typeOf(type);
    if (kind === "pred") {
      const { row, flip } = predicateOf(this, operand);
      return (lane) => row[lane] ^ flip;
    }
    const row =
      operand.kind === "register"
        ? (this.row(operand, bytes) ?? this.whole(operand.name))
        : this.constant(this.constantBits(operand), bytes);
    const step = row.width / bytes;
    const array = arrayOf(row.buffer, row.start, row.lanes * step, kind, bytes);
    if (kind === "f" && bytes === 2) return (lane) => fromHalf(Number(array[lane * step]));
    if (kind === "f" || bytes === 8) return (lane) => array[lane * step];
    return (lane) => BigInt(array[lane * step]);
  }

  /**
   * A function that gives a register a value in a lane, as a type: the low bits of a wider one.
   * @param {Register} register
   * @param {string} type
   * @returns {(lane: number, value: Value) => void}
   */
  writer(register, type) {
    const { kind, bytes } = typeOf(type);
    if (kind === "pred") {
      const row = this.predicate(register);
      return (lane, value) => {
        row[lane] = Number(value);
      };
    }
    const row = this.row(register, bytes) ?? this.whole(register.name);
    return writerTo(row, kind, bytes);
  }

  /**
   * As `writer`, but for whole numbers that fill the register's own full width.
   * @param {Register} register
   */
  wholeWriter(register) {
    const row = register.name === "_" ? this.scratch(4) : this.whole(register.name);
    if (this.isPredicate(register)) this.row(register, 2);
    return writerTo(row, "u", row.width);
  }
}

/**
 * @param {Row} row
 * @param {"s" | "u" | "f"} kind
 * @param {number} bytes
 * @returns {(lane: number, value: Value) => void}
 */
function writerTo(row, kind, bytes) {
  const step = row.width / bytes;
  const array = arrayOf(row.buffer, row.start, row.lanes * step, kind, bytes);
  const bits = 8 * bytes;
  return (lane, value) => {
    let kept = value;
    if (kind === "f" && bytes === 2) kept = toHalf(Number(value));
    else if (kind !== "f" && bytes < 8) kept = Number(BigInt.asUintN(bits, BigInt(value)));
    else if (kind !== "f") kept = BigInt(value);
    array[lane * step] = /** @type {never} */ (kept);
  };
}

/**
 * @param {ArrayBuffer} buffer
 * @param {number} start
 * @param {number} length
 * @param {"s" | "u" | "f"} kind
 * @param {number} bytes
 */
function arrayOf(buffer, start, length, kind, bytes) {
  if (bytes === 8) {
    if (kind === "f") return new Float64Array(buffer, start, length);
    return kind === "s"
      ? new BigInt64Array(buffer, start, length)
      : new BigUint64Array(buffer, start, length);
  }
  if (bytes === 4) {
    if (kind === "f") return new Float32Array(buffer, start, length);
    return kind === "s"
      ? new Int32Array(buffer, start, length)
      : new Uint32Array(buffer, start, length);
  }
  if (bytes === 1) {
    return kind === "s"
      ? new Int8Array(buffer, start, length)
      : new Uint8Array(buffer, start, length);
  }
  return kind === "s"
    ? new Int16Array(buffer, start, length)
    : new Uint16Array(buffer, start, length);
}

/**
 * A predicate operand: its row, and 1 where it is read inverted.
 * @param {RegisterFile} registers
 * @param {Operand} operand
 * @returns {{ row: Uint8Array, flip: 0 | 1 }}
 */
export function predicateOf(registers, operand) {
  if (operand.kind === "negated") {
    return { row: registers.predicate(operand.register), flip: 1 };
  }
  if (operand.kind === "register") return { row: registers.predicate(operand), flip: 0 };
  const holds = registers.constantBits(operand) !== 0n;
  return { row: new Uint8Array(registers.lanes).fill(holds ? 1 : 0), flip: 0 };
}

/**
 * The number that 16 bits stand for as a half-precision float.
 * @param {number} bits
 */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/**
 * The bits of a number rounded to half precision, to nearest even.
 * @param {number} value
 */
export function toHalf(value) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7fff;
  if (size >= 65520) return sign | 0x7c00;
  // The step between neighbours; below 2⁻¹⁴ it stays that of the subnormal numbers.
  const exponent = Math.max(-14, size ? floorLog2(size) : -14);
  const steps = roundHalfEven(size / 2 ** (exponent - 10));
  return sign | (((exponent + 14) << 10) + steps);
}

/**
 * @param {number} value above 0
 */
function floorLog2(value) {
  const guess = Math.floor(Math.log2(value));
  if (2 ** guess > value) return guess - 1;
  return 2 ** (guess + 1) <= value ? guess + 1 : guess;
}

/**
 * To the nearest whole number, halves to the even one.
 * @param {number} value
 */
export function roundHalfEven(value) {
  const down = Math.floor(value);
  const rest = value - down;
  if (rest === 0) return value;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}
