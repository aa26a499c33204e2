// The arrays that kernels of a host program see. The host's addresses have 4 bytes: those of the
// device begin where the memory of the WebAssembly module cannot reach, so a host that follows one
// is stopped.

import { OUTSIDE, UNWRITTEN, WRITTEN } from "../../simulator/memory.ts";
import { ProgramFault, TooLargeError } from "./faults.ts";

/** The first address of the device; the host has those below. */
export const FIRST_OF_DEVICE = 2 ** 30;
const LAST = 2 ** 32 - 2 ** 16;
const ALIGNMENT = 512;
/** Most bytes of one array that are held, and of all; of a larger one its start is held. */
const MOST_BYTES = 2 ** 27;
const MOST_IN_ALL = 2 ** 30;
const HELD_BYTES = 2 ** 22;

export type Where = "device" | "managed" | "pinned";

/** What `cudaMalloc` and the like give, or a variable of the device. */
export class Block {
  /** the state of each byte, as the simulator has it */
  state = new Uint8Array();
  freed = false;
  /** the kernel that ran last with it */
  usedBy = "";
  /** a copy of elements of another type than its own, until a kernel has used them */
  mixed: { own: string; held: string; line: number } | null = null;
  /** a small number that a memset put into each byte, until a kernel has used it */
  filled: { value: number; line: number } | null = null;
  /** of a variable of the device, the bytes that the host has set */
  given: Uint8Array | null = null;

  constructor(
    public address: number,
    public size: number,
    public where: Where,
    public name: string,
    public view: () => Uint8Array,
  ) {}

  get bytes() {
    return this.view();
  }

  mark(start: number, count: number) {
    this.state.fill(WRITTEN, start, start + count);
    this.given?.fill(1, start, start + count);
    this.filled = null;
  }
}

export class DeviceMemory {
  blocks: Block[] = [];
  #end = FIRST_OF_DEVICE + ALIGNMENT;
  #held = 0;
  /** an array that has no room, until a launch needs it; "" if there is none */
  tooLarge = "";

  /** @param garbage what memory holds before anything is written */
  constructor(public garbage: number) {}

  allocate(size: number, name: string) {
    const held = size <= MOST_BYTES ? size : HELD_BYTES;
    this.#held += held;
    const address = this.#end;
    const end = (room: number) => address + Math.ceil((room + 1) / ALIGNMENT + 1) * ALIGNMENT;
    if (end(size) >= LAST) this.tooLarge ||= `${name} has ${size.toLocaleString("en")} bytes`;
    this.#end = end(end(size) < LAST ? size : held);
    if (!(size >= 0 && this.#held <= MOST_IN_ALL && this.#end < LAST)) {
      throw new TooLargeError(`${name} has ${size.toLocaleString("en")} bytes`);
    }
    const bytes = new Uint8Array(held).fill(this.garbage);
    const block = new Block(address, size, "device", name, () => bytes);
    block.state = new Uint8Array(held).fill(UNWRITTEN);
    this.blocks.push(block);
    return block;
  }

  /** Whether an array begins at an address: where one has no room, others may mean another. */
  isStart = (address: number) => this.blocks.some((one) => one.address === address);

  /** Forget what all arrays hold. */
  loseAll() {
    for (const { state } of this.blocks) state.fill(OUTSIDE);
  }

  /** Memory of the host that kernels may use. */
  share(address: number, size: number, where: Where, name: string, view: () => Uint8Array) {
    const block = new Block(address, size, where, name, view);
    block.state = new Uint8Array(size).fill(WRITTEN);
    this.blocks.push(block);
    return block;
  }

  /** The block that an address lies in, and where; null where it is the host's alone. */
  find(address: number): [Block, number] | null {
    const found = this.holding(address);
    if (found || address < FIRST_OF_DEVICE) return found;
    throw new ProgramFault("A pointer leads nowhere.", "host memory");
  }

  /** The same, and null for addresses of the device that lie in no block. */
  holding(address: number): [Block, number] | null {
    const holds = (one: Block, isAtEnd: boolean) =>
      address >= one.address && address < one.address + one.size + Number(isAtEnd);
    const inside =
      this.blocks.findLast((one) => !(one.freed && one.where !== "device") && holds(one, false)) ??
      this.blocks.findLast((one) => one.where === "device" && holds(one, true));
    return inside ? [inside, address - inside.address] : null;
  }
}
