// The heap of a host program: `malloc` and `new` end here, so the size of each block is known.

import { TooLargeError } from "./faults.ts";

const PAGE = 2 ** 16;
/** Bytes behind each block that nothing may write, and what they hold. */
const MARGIN = 16;
const MARK = 0xb7;

/** Bytes in the memory of the host. */
export interface HostBlock {
  address: number;
  size: number;
  isFree: boolean;
}

export class Heap {
  /** in the order of their addresses */
  blocks: HostBlock[] = [];
  #free = new Map<number, HostBlock[]>();
  #byAddress = new Map<number, HostBlock>();
  #end: number;

  constructor(
    public memory: WebAssembly.Memory,
    start: number,
  ) {
    this.#end = start;
  }

  allocate(size: number, alignment: number) {
    const room = roomFor(size);
    const used = alignment <= MARGIN ? this.#free.get(room)?.pop() : undefined;
    const block = used ?? this.#grown(room, Math.max(alignment, MARGIN));
    block.size = size;
    block.isFree = false;
    this.bytes(block.address + size, MARGIN).fill(MARK);
    return block.address;
  }

  #grown(room: number, alignment: number) {
    const address = Math.ceil(this.#end / alignment) * alignment;
    this.#end = address + room;
    const missing = Math.ceil(this.#end / PAGE) - this.memory.buffer.byteLength / PAGE;
    if (missing > 0) {
      try {
        this.memory.grow(missing);
      } catch {
        throw new TooLargeError("it needs more memory than it gets here");
      }
    }
    const block = { address, size: 0, isFree: false };
    this.blocks.push(block);
    this.#byAddress.set(address, block);
    return block;
  }

  free(address: number) {
    const block = this.#byAddress.get(address);
    if (!block || block.isFree) return;
    block.isFree = true;
    const room = roomFor(block.size);
    const others = this.#free.get(room);
    if (others) others.push(block);
    else this.#free.set(room, [block]);
  }

  size = (address: number) => this.#byAddress.get(address)?.size ?? 0;

  bytes = (address: number, count: number) => new Uint8Array(this.memory.buffer, address, count);

  /** The block that has an address; null on the stack and of variables. */
  find(address: number) {
    let [low, high] = [0, this.blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle].address <= address) low = middle + 1;
      else high = middle;
    }
    const block = this.blocks[low - 1];
    return block && address <= block.address + block.size ? block : null;
  }

  /** A block that something wrote behind. */
  overrun() {
    return this.blocks.find(
      ({ address, size, isFree }) =>
        !isFree && this.bytes(address + size, MARGIN).some((byte) => byte !== MARK),
    );
  }
}

/** Bytes that a block takes: of few different sizes, so that free ones fit again. */
function roomFor(size: number) {
  const unit = Math.max(MARGIN, 2 ** (Math.floor(Math.log2(size + 1)) - 2));
  return Math.ceil((size + MARGIN) / unit) * unit;
}
