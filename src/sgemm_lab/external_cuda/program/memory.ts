// The memory of a host program that is interpreted: blocks of bytes, each at addresses of its own.
// An address is a number; which block it is in and where follow by division.

import { UNWRITTEN, WRITTEN } from "../../simulator/memory.ts";
import { ProgramFault, UnfollowedError } from "./faults.ts";
import { ofBfloat, ofHalf, toBfloat, toHalf } from "./halves.ts";
import type { Type, Value } from "./types.ts";

const SEGMENT = 2 ** 34;
const STACK_BYTES = 2 ** 23;
const HIGH = 2 ** 32;
/** Most bytes of one block, and of all; what of a larger array of the device is held. */
const MOST_BYTES = 2 ** 27;
const MOST_IN_ALL = 2 ** 30;
const HELD_BYTES = 2 ** 22;

export type Where = "host" | "device" | "managed";

/** What `malloc`, `cudaMalloc`, a variable or a string has. */
export class Block {
  bytes: Uint8Array;
  view: DataView;
  /** the state of each byte, as the simulator has it; null where all hold something */
  state: Uint8Array | null = null;
  freed = false;
  /** the kernel that ran last with it */
  usedBy = "";
  /** what of it came from, where some of that nothing has written */
  copyOf: Block | null = null;

  constructor(
    public address: number,
    public size: number,
    public where: Where,
    public name: string,
  ) {
    this.bytes = new Uint8Array(size <= MOST_BYTES ? size : HELD_BYTES);
    this.view = new DataView(this.bytes.buffer);
    if (where !== "host") this.state = new Uint8Array(this.bytes.length).fill(UNWRITTEN);
  }

  mark(start: number, count: number) {
    this.state?.fill(WRITTEN, start, start + count);
  }
}

export class HostMemory {
  blocks: (Block | null)[] = [null];
  stack: Block;
  /** the frame of the function that runs, and the end of the stack in use */
  frame = 0;
  top = 0;
  #total = 0;
  /** told of a byte that is read and that nothing has written */
  onUnwritten: (block: Block, at: number, bytes: number) => void = () => {};

  constructor() {
    this.stack = this.allocate(STACK_BYTES, "host", "the stack");
  }

  allocate(size: number, where: Where, name: string) {
    const isLarge = size > MOST_BYTES && where === "device";
    this.#total += isLarge ? HELD_BYTES : size;
    if (!(size >= 0 && (isLarge || size <= MOST_BYTES) && this.#total <= MOST_IN_ALL)) {
      throw new UnfollowedError(`${name} has ${size.toLocaleString("en")} bytes`);
    }
    const block = new Block(this.blocks.length * SEGMENT, size, where, name);
    this.blocks.push(block);
    return block;
  }

  /** The block of an address, and where in it that is. */
  find(address: number): [Block, number] {
    const number = Math.floor(address / SEGMENT);
    const block = this.blocks[number];
    if (!block) throw new ProgramFault("A pointer leads nowhere.", "host memory");
    return [block, address - number * SEGMENT];
  }

  /** The same where the host may read or write some bytes. */
  host(address: number, count: number): [Block, number] {
    const [block, at] = this.find(address);
    if (block.where === "device") {
      throw new ProgramFault(
        `Host code uses ${block.name}, which lies in the memory of the device.`,
        "host memory",
      );
    }
    if (at + count > block.size || block.freed) {
      const why = block.freed ? "after it was freed" : `of ${block.size} bytes, beyond its end`;
      throw new ProgramFault(`Host code uses ${block.name} ${why}.`, "host memory");
    }
    return [block, at];
  }

  read(address: number, count: number) {
    const [block, at] = this.host(address, count);
    return block.bytes.subarray(at, at + count);
  }

  /** Copy bytes with their state; within the host only, unless `anywhere`. */
  copy(to: number, from: number, count: number, anywhere = false) {
    if (!count) return;
    const find = anywhere ? (at: number) => this.find(at) : (at: number) => this.host(at, count);
    const [source, start] = find(from);
    const [target, at] = find(to);
    if (start + count > source.bytes.length || at + count > target.bytes.length) {
      throw new UnfollowedError(`${source.name} or ${target.name} is too large`);
    }
    target.bytes.set(source.bytes.subarray(start, start + count), at);
    const state = source.state?.subarray(start, start + count);
    if (state?.includes(UNWRITTEN)) {
      target.state ??= new Uint8Array(target.size).fill(WRITTEN);
      target.state.set(state, at);
      target.copyOf = source.copyOf ?? source;
    } else target.mark(at, count);
  }

  text(address: number) {
    const [block, at] = this.host(address, 0);
    const end = block.bytes.indexOf(0, at);
    return new TextDecoder("latin1").decode(block.bytes.subarray(at, end < 0 ? undefined : end));
  }

  #texts = new Map<string, number>();
  /** A constant text, ended by a zero. */
  literal(text: string) {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const block = this.allocate(text.length + 1, "host", "a text");
    for (let at = 0; at < text.length; at++) block.bytes[at] = text.charCodeAt(at);
    this.#texts.set(text, block.address);
    return block.address;
  }

  load(type: Type): (address: number) => Value {
    const { bytes } = type;
    const get = getter(type);
    return (address) => {
      const [block, at] = this.host(address, bytes);
      if (block.state && block.state[at] === UNWRITTEN) this.onUnwritten(block, at, bytes);
      return get(block.view, at);
    };
  }

  store(type: Type): (address: number, value: Value) => void {
    const { bytes } = type;
    const set = setter(type);
    return (address, value) => {
      const [block, at] = this.host(address, bytes);
      block.mark(at, bytes);
      set(block.view, at, value);
    };
  }
}

type Get = (view: DataView, at: number) => Value;
type Set = (view: DataView, at: number, value: Value) => void;

export function getter(type: Type): Get {
  if (type.kind === "float") {
    if (type.bytes === 8) return (view, at) => view.getFloat64(at, true);
    if (type.bytes === 4) return (view, at) => view.getFloat32(at, true);
    const expand = type.name === "bfloat16" ? ofBfloat : ofHalf;
    return (view, at) => expand(view.getUint16(at, true));
  }
  const { bytes, signed } = type;
  if (bytes === 1) return signed ? (v, at) => v.getInt8(at) : (v, at) => v.getUint8(at);
  if (bytes === 2) {
    return signed ? (v, at) => v.getInt16(at, true) : (v, at) => v.getUint16(at, true);
  }
  if (bytes === 4) {
    return signed ? (v, at) => v.getInt32(at, true) : (v, at) => v.getUint32(at, true);
  }
  return (view, at) => {
    const high = signed ? view.getInt32(at + 4, true) : view.getUint32(at + 4, true);
    const found = high * HIGH + view.getUint32(at, true);
    if (Number.isSafeInteger(found)) return found;
    return signed ? view.getBigInt64(at, true) : view.getBigUint64(at, true);
  };
}

export function setter(type: Type): Set {
  if (type.kind === "float") {
    if (type.bytes === 8) return (view, at, value) => view.setFloat64(at, value as number, true);
    if (type.bytes === 4) return (view, at, value) => view.setFloat32(at, value as number, true);
    const reduce = type.name === "bfloat16" ? toBfloat : toHalf;
    return (view, at, value) => view.setUint16(at, reduce(value as number), true);
  }
  if (type.bytes === 1) return (view, at, value) => view.setInt8(at, value as number);
  if (type.bytes === 2) return (view, at, value) => view.setInt16(at, value as number, true);
  if (type.bytes === 4) return (view, at, value) => view.setInt32(at, value as number, true);
  return (view, at, value) => {
    if (typeof value === "bigint") view.setBigInt64(at, value, true);
    else {
      view.setUint32(at, value, true);
      view.setInt32(at + 4, Math.floor(value / HIGH), true);
    }
  };
}
