// Every memory access and multiply-add of a small launch, for stepping through.

import { getOrInsert } from "./get_or_insert.ts";
import { type Access, COPY_READ, type Kind, LOAD, type ThreadGroup } from "./group.ts";
import type { NamedArray, TypedArray } from "./memory.ts";
import type { Instruction } from "./ptx.ts";

/** Most accesses that a trace keeps, and most multiply-adds. */
const LIMIT = 200_000;

/**
 * The first access of a block that a GPU would stop at: out of bounds, or misaligned. `threads` and
 * `elements` are of equal length, one entry per thread and element of `array` that it asks for;
 * what lies outside every array is left out.
 */
export interface Fault {
  step: number;
  block: number;
  line: number;
  epoch: number;
  array: number;
  store: boolean;
  threads: number[];
  elements: number[];
  message: string;
}

/** Name, space and shape of an array; the shape of a shared array is its element count. */
interface TracedArray {
  name: string;
  space: string;
  shape: number[];
}

/**
 * Accesses in the order they happened, one entry per thread and element; trace.py says what the
 * columns hold. `complete`: false where the rest was left out. `faults`: at most one for each
 * block. `products`: multiply-adds of single precision, if they were asked for.
 */
export interface Trace {
  arrays: TracedArray[];
  columns: Record<string, number[]>;
  complete: boolean;
  faults: Fault[];
  products: Record<string, number[]>;
}

const NAMES = "step block thread line array element value store epoch".split(" ");
const OF_PRODUCTS = "step block thread line epoch a b value".split(" ");

/** Records every global and shared access, and every multiply-add. An observer. */
export class TraceRecorder {
  columns = emptyColumns(NAMES);
  products = emptyColumns(OF_PRODUCTS);
  /** number of each array, by space and name */
  arrays: Map<string, number> = new Map();
  described: TracedArray[] = [];
  step = 0;
  complete = true;
  faults: Map<number, Fault> = new Map();

  /** Record the first fault of each block; `say` gives the sentence for a lane. */
  onFault(access: Access, lanes: Int32Array, say: (lane: number) => string) {
    const { group, site, memory } = access;
    if (memory.space === "local") return;
    const { blocks } = group.batch;
    const blockOf = (lane: number) => blocks[group.slot[lane]];
    for (const block of [...new Set(Array.from(lanes, blockOf))].sort((a, b) => a - b)) {
      if (this.faults.has(block)) continue;
      const mine = lanes.filter((lane) => blockOf(lane) === block);
      const nearest = memory.arrayAt(access.addresses[mine[0]] - memory.base);
      const fault: Fault = {
        ...{ step: this.step, block, line: site.instruction.location.line },
        ...{ epoch: group.epochOf(mine[0]), array: -1, store: stores(site.kind) },
        ...{ threads: [], elements: [], message: say(mine[0]) },
      };
      this.noteFaulty(fault, access, mine);
      if (nearest) fault.array = this.numberOf(memory.space, nearest, site.wordBytes);
      this.faults.set(block, fault);
    }
  }

  /** Note what lanes at fault ask for inside of arrays. */
  noteFaulty(fault: Fault, access: Access, lanes: Int32Array) {
    const { group, site, memory, addresses } = access;
    const places = new Float64Array(lanes.length * site.words).map(
      (_, i) =>
        addresses[lanes[Math.floor(i / site.words)]] -
        memory.base +
        (i % site.words) * site.wordBytes,
    );
    const [array, element] = this.locate(access, places);
    for (let i = 0; i < places.length; i++) {
      if (array[i] < 0) continue;
      fault.threads.push(group.thread[lanes[Math.floor(i / site.words)]]);
      fault.elements.push(element[i]);
    }
  }

  /** Record the elements that one instruction moved. */
  onValues(access: Access, values: TypedArray[]) {
    const { site, group, memory, lanes, positions } = access;
    if (memory.space === "local") return;
    if (!positions.length) {
      // All its threads are at fault: a step, though nothing moves.
      if ([...this.faults.values()].some(({ step }) => step === this.step)) this.step += 1;
      return;
    }
    const { columns } = this;
    if (columns.step.length >= LIMIT) {
      this.complete = false;
      return;
    }
    const numbers = values.map((column) => asNumbers(column, site.wordBytes));
    const stride = memory.space === "shared" ? memory.stride : 0;
    const store = stores(site.kind) ? 1 : 0;
    const { length } = numbers;
    const places = new Float64Array(positions.length * length).map((_, at) => {
      const i = Math.floor(at / length);
      const slot = group.slot[lanes ? lanes[i] : i];
      return positions[i] - slot * stride + (at % length) * site.wordBytes;
    });
    const [array, element] = this.locate(access, places);
    for (let at = 0; at < places.length; at++) {
      const i = Math.floor(at / length);
      const lane = lanes ? lanes[i] : i;
      const slot = group.slot[lane];
      columns.step.push(this.step);
      columns.block.push(group.batch.blocks[slot]);
      columns.thread.push(group.thread[lane]);
      columns.line.push(site.instruction.location.line);
      columns.array.push(array[at]);
      columns.element.push(element[at]);
      columns.value.push(numbers[at % length][i]);
      columns.store.push(store);
      columns.epoch.push(group.epochOf(lane));
    }
    // The two ends of an asynchronous copy are one step.
    if (site.kind !== COPY_READ) this.step += 1;
  }

  /** Record what one instruction multiplied and added. */
  onProduct(
    group: ThreadGroup,
    instruction: Instruction,
    lanes: Int32Array,
    factors: [Float32Array, Float32Array],
    result: Float32Array,
  ) {
    const { products } = this;
    if (products.step.length >= LIMIT) {
      this.complete = false;
      return;
    }
    for (let i = 0; i < lanes.length; i++) {
      const slot = group.slot[lanes[i]];
      products.step.push(this.step);
      products.block.push(group.batch.blocks[slot]);
      products.thread.push(group.thread[lanes[i]]);
      products.line.push(instruction.location.line);
      products.epoch.push(group.epochOf(lanes[i]));
      products.a.push(factors[0][i]);
      products.b.push(factors[1][i]);
      products.value.push(result[i]);
    }
    this.step += 1;
  }

  /** For each byte position the number of its array and the element there, or -1 for both. */
  locate({ memory, site }: Access, places: Float64Array): [array: Int32Array, element: Int32Array] {
    const found = new Int32Array(places.length).fill(-1);
    const element = new Int32Array(places.length).fill(-1);
    for (const array of memory.arrays) {
      const { start, bytes } = array;
      const item = array.dtype?.itemsize ?? site.wordBytes;
      let number = -1;
      for (let at = 0; at < places.length; at++) {
        if (places[at] < start || places[at] >= start + bytes) continue;
        if (number < 0) number = this.numberOf(memory.space, array, site.wordBytes);
        found[at] = number;
        element[at] = Math.floor((places[at] - start) / item);
      }
    }
    return [found, element];
  }

  numberOf(space: string, { name, shape, bytes }: NamedArray, wordBytes: number) {
    const key = `${space} ${name}`;
    return getOrInsert(this.arrays, key, () => {
      const sides = shape.length ? shape : [Math.floor(bytes / wordBytes)];
      return this.described.push({ name, space, shape: sides }) - 1;
    });
  }

  /** The trace of everything recorded. */
  finish(): Trace {
    const { described: arrays, columns, complete, products } = this;
    return { arrays, columns, complete, faults: [...this.faults.values()], products };
  }
}

function emptyColumns(names: string[]): Record<string, number[]> {
  return Object.fromEntries(names.map((name) => [name, []]));
}

function stores(kind: Kind) {
  return kind !== LOAD && kind !== COPY_READ;
}

/** Raw 32-bit words are taken as floats, which is what the book's kernels hold. */
function asNumbers(values: TypedArray, wordBytes: number) {
  const raw = values instanceof Uint32Array && wordBytes === 4;
  return raw ? new Float32Array(values.buffer, values.byteOffset, values.length) : values;
}
