// The registers of a group of threads, as rows with one entry per thread. A mask is a Uint8Array of
// ones and zeros, or null for all lanes.

import { getOrInsert } from "./get_or_insert.ts";
import { registersOf } from "./operands.ts";
import { type Operand, type PtxKernel, plain, type Register, TYPE_BYTES } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { sentence } from "./sentences.ts";

export type Mask = Uint8Array;

/** a bigint of the integer types, a number of the others */
export type Value = number | bigint;

/**
 * The values of one register, or of one constant, in all lanes: of 4 bytes each, or of 8 or 2. The
 * arrays are views of the same bytes. Those of 8 bytes have a lane's low half at 2i.
 */
class Row {
  i32 = new Int32Array(this.buffer, this.start, (this.lanes * this.width) >> 2);
  u32 = new Uint32Array(this.buffer, this.start, this.i32.length);
  f32 = new Float32Array(this.buffer, this.start, this.i32.length);

  /** @param width bytes of one lane */
  constructor(
    public buffer: ArrayBuffer,
    public start: number,
    public lanes: number,
    public width: number,
  ) {}
}

export type RegisterRow = Row;

const KINDS: Record<string, "s" | "u" | "f"> = { s: "s", u: "u", b: "u", f: "f" };

/**
 * What holds a PTX type: signed or unsigned whole numbers, or floats, of so many bytes. Types that
 * JavaScript lacks are held as raw bits; predicates have 0 bytes.
 */
export function typeOf(type: string): { kind: "s" | "u" | "f" | "pred"; bytes: number } {
  if (type === "pred") return { kind: "pred", bytes: 0 };
  const bytes = TYPE_BYTES.get(type);
  if (bytes === undefined) throw new TypeError(type);
  const raw = ["bf16", "f16x2", "bf16x2", "tf32"].includes(type);
  return { kind: raw ? "u" : KINDS[type[0]], bytes };
}

/** All virtual registers of a kernel for a number of threads ("lanes"). */
export class RegisterFile {
  /** bytes of each register, 0 of a predicate */
  widths: Map<string, number> = new Map();
  /** where each register lies among those of its width */
  order: Map<string, number> = new Map();
  predicates;
  buffers: Record<number, ArrayBuffer>;
  rows: Map<string, Row> = new Map();
  constants: Map<string, Row> = new Map();
  scratchRows: Map<string, Row> = new Map();
  /** Predicates to compute before a masked write. */
  scratchPredicate = new Uint8Array(this.lanes);

  /** @param symbols addresses of named arrays */
  constructor(
    kernel: PtxKernel,
    public lanes: number,
    public symbols: ReadonlyMap<string, number>,
  ) {
    const counts = { 0: 0, 2: 0, 4: 0, 8: 0 };
    for (const { operands, guard } of kernel.instructions) {
      const registers = operands.flatMap(registersOf);
      for (const { name } of guard ? [...registers, guard.register] : registers) {
        if (this.widths.has(name) || name === "_") continue;
        const type = kernel.registerType(name);
        const width = (type === "pred" ? 0 : TYPE_BYTES.get(type)) as 0 | 2 | 4 | 8;
        this.widths.set(name, width);
        this.order.set(name, counts[width]++);
      }
    }
    this.predicates = new Uint8Array(counts[0] * lanes);
    this.buffers = {
      2: new ArrayBuffer(2 * lanes * counts[2]),
      4: new ArrayBuffer(4 * lanes * counts[4]),
      8: new ArrayBuffer(8 * lanes * counts[8]),
    };
  }

  /** Whether a register holds a predicate. */
  isPredicate(register: Register) {
    return this.widths.get(register.name) === 0;
  }

  /** The row of a register that has exactly so many bytes; null where it has more. */
  row({ name }: Register, bytes: number): Row | null {
    if (name === "_") return this.scratch(bytes);
    const width = this.widths.get(name) as number;
    if (width === 0) throw new PtxError(sentence("run.mixed", { name: plain(name) }));
    if (bytes > width) {
      throw new PtxError(sentence("run.wide", { bits: 8 * bytes, name: plain(name) }));
    }
    return width === bytes ? this.whole(name) : null;
  }

  /** The row of a register in its own width. */
  whole(name: string) {
    return getOrInsert(this.rows, name, () => {
      const width = this.widths.get(name) as number;
      const start = (this.order.get(name) as number) * width * this.lanes;
      return new Row(this.buffers[width], start, this.lanes, width);
    });
  }

  /** The values of a predicate register, 0 or 1. */
  predicate({ name }: Register) {
    if (name === "_") return this.scratchPredicate;
    if (this.widths.get(name) !== 0) {
      throw new PtxError(sentence("run.mixed", { name: plain(name) }));
    }
    const start = (this.order.get(name) as number) * this.lanes;
    return this.predicates.subarray(start, start + this.lanes);
  }

  /** A row to compute into before a masked write; shared by all who ask for the same use. */
  scratch(bytes: number, use: string = "") {
    return getOrInsert(this.scratchRows, `${bytes} ${use}`, () => this.newRow(bytes));
  }

  /** A row that holds the same bits in all lanes. Never written. */
  constant(bits: bigint, bytes: number) {
    const value = BigInt.asUintN(8 * bytes, bits);
    return getOrInsert(this.constants, `${bytes} ${value}`, () => {
      const row = this.newRow(bytes);
      const all = arrayOf(row.buffer, 0, this.lanes, "u", bytes);
      all.fill((bytes === 8 ? value : Number(value)) as never);
      return row;
    });
  }

  newRow(bytes: number) {
    return new Row(new ArrayBuffer(this.lanes * bytes), 0, this.lanes, bytes);
  }

  /**
   * The row that an operand reads: a register of exactly so many bytes, or a constant, or a
   * symbol's address. Null where the register has more bytes.
   */
  source(operand: Operand, bytes: number) {
    if (operand.kind === "register") return this.row(operand, bytes);
    return this.constant(this.constantBits(operand), bytes);
  }

  /** The bits of an operand that is no register. */
  constantBits(operand: Operand) {
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
   */
  reader(operand: Operand, type: string): (lane: number) => Value {
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

  /** A function that gives a register a value in a lane, as a type: the low bits of a wider one. */
  writer(register: Register, type: string): (lane: number, value: Value) => void {
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

  /** As `writer`, but for whole numbers that fill the register's own full width. */
  wholeWriter(register: Register) {
    const row = register.name === "_" ? this.scratch(4) : this.whole(register.name);
    if (this.isPredicate(register)) this.row(register, 2);
    return writerTo(row, "u", row.width);
  }
}

function writerTo(
  row: Row,
  kind: "s" | "u" | "f",
  bytes: number,
): (lane: number, value: Value) => void {
  const step = row.width / bytes;
  const array = arrayOf(row.buffer, row.start, row.lanes * step, kind, bytes);
  const bits = 8 * bytes;
  return (lane, value) => {
    let kept = value;
    if (kind === "f" && bytes === 2) kept = toHalf(Number(value));
    else if (kind !== "f" && bytes < 8) kept = Number(BigInt.asUintN(bits, BigInt(value)));
    else if (kind !== "f") kept = BigInt(value);
    array[lane * step] = kept as never;
  };
}

/** What holds numbers of a kind and of so many bytes; halves as their bits. */
export const ARRAYS = {
  s: { 1: Int8Array, 2: Int16Array, 4: Int32Array, 8: BigInt64Array },
  u: { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array },
  f: { 1: Uint8Array, 2: Uint16Array, 4: Float32Array, 8: Float64Array },
} as const;

const arrayOf = (
  buffer: ArrayBuffer,
  start: number,
  length: number,
  kind: keyof typeof ARRAYS,
  bytes: number,
) => new ARRAYS[kind][bytes as 1 | 2 | 4 | 8](buffer, start, length);

/** A predicate operand: its row, and 1 where it is read inverted. */
export function predicateOf(
  registers: RegisterFile,
  operand: Operand,
): { row: Uint8Array; flip: 0 | 1 } {
  if (operand.kind === "negated") {
    return { row: registers.predicate(operand.register), flip: 1 };
  }
  if (operand.kind === "register") return { row: registers.predicate(operand), flip: 0 };
  const holds = registers.constantBits(operand) !== 0n;
  return { row: new Uint8Array(registers.lanes).fill(holds ? 1 : 0), flip: 0 };
}

/** The number that 16 bits stand for as a half-precision float. */
export function fromHalf(bits: number) {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The bits of a number rounded to half precision, to nearest even. */
export function toHalf(value: number) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7fff;
  if (size >= 65520) return sign | 0x7c00;
  // The step between neighbours; below 2⁻¹⁴ it stays that of the subnormal numbers.
  const exponent = Math.max(-14, size ? floorLog2(size) : -14);
  const steps = roundHalfEven(size / 2 ** (exponent - 10));
  return sign | (((exponent + 14) << 10) + steps);
}

/** @param value above 0 */
function floorLog2(value: number) {
  const guess = Math.floor(Math.log2(value));
  if (2 ** guess > value) return guess - 1;
  return 2 ** (guess + 1) <= value ? guess + 1 : guess;
}

/** To the nearest whole number, halves to the even one; with the sign of what is rounded. */
export function roundHalfEven(value: number): number {
  if (value < 0) return -roundHalfEven(-value);
  const down = Math.floor(value);
  const rest = value - down;
  if (rest === 0) return value;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}
