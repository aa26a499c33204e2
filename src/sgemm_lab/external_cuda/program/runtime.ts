// CUDA's functions for a host program: memory, copies, streams, events and launches.

import { OUTSIDE, UNWRITTEN } from "../../simulator/memory.ts";
import { STORED } from "../../simulator/watches/written.ts";
import type { Calls } from "./calls.ts";
import { ProgramFault, UnfollowedError } from "./faults.ts";
import type { Heap } from "./heap.ts";
import type { Block, DeviceMemory, Where } from "./memory.ts";
import { reading, type Streams, type Use, type Work, writing } from "./streams.ts";

const [SUCCESS, INVALID_VALUE] = [0, 1];
const [TO_DEVICE, TO_HOST, IN_DEVICE] = [1, 2, 3];
const MOST_SHARED = 227 * 1024;
const DYNAMIC_SHARED = 8;
/** Types of numbers with a fraction; their places are the codes that `host_cuda.h` has for them. */
export const REALS = ["", "float", "double", "__half", "__nv_bfloat16"];
const WHERE: Where[] = ["device", "managed", "pinned"];
const MILLISECONDS = 0.5;
/** Values of a memset that are meant for elements; larger ones are patterns, or large numbers. */
const MOST_FILLED = 16;
/** Bytes of pinned memory, of all copies, that are noted until the copies are done. */
const MOST_NOTED = 2 ** 26;

/** A launch, as the program asks for it. */
export interface Asked {
  /** the place of its stub in the table of functions */
  stub: number;
  grid: number[];
  block: number[];
  /** where the addresses of its arguments lie */
  args: number;
  sharedBytes: number;
  stream: number;
  line: number;
  isCooperative: boolean;
}

/** What of an array came to the host although nothing had written it. */
export interface Unwritten {
  block: Block;
  /** the first such byte of the array */
  at: number;
  to: string;
  line: number;
}

/** Some bytes, of the host or of the device. */
interface Span {
  name: string;
  block: Block | null;
  at: number;
  /** how many there are; null where that is not known */
  size: number | null;
  bytes: (count: number) => Uint8Array;
}

export interface World {
  heap: () => Heap;
  device: DeviceMemory;
  streams: Streams;
  calls: Calls;
  launch: (asked: Asked) => void;
  /** note that a kernel may have so much dynamic shared memory */
  raise: (stub: number, bytes: number) => void;
  staticShared: (stub: number) => number;
  /** threads that a block of a kernel may have */
  mostThreads: (stub: number) => number;
  call: (callback: number, data: number) => void;
  /** say why results are not known from here on; it may throw */
  giveUp: (reason: string) => void;
  /** what stands for them then */
  guess: () => number | null;
  /** call the functions that launch kernels, of a file without a main */
  callAll: () => void;
  /** whether a variable is the host's too */
  isManaged: (variable: string) => boolean;
  /** whether a function is called with arguments that are made up */
  isMade: () => boolean;
  number: (which: number, at: number) => number;
  array: (which: number, at: number) => number;
  at: (line: number) => void;
  tick: () => void;
  /** note what is wrong with memory of the host */
  find: (message: string, line: number) => void;
}

/** Words of 4 and of 8 bytes. */
type Whole = number | bigint;
type Function = (...given: never[]) => number | bigint | undefined;

export class Runtime {
  /** types of the elements of the next copy, of its target and its source */
  copied: string[] = [];
  /** variables of the device, by name */
  symbols = new Map<string, Block>();
  /** kernels by the place of their stubs, as the compiler calls them */
  kernels = new Map<number, string>();
  unwritten: Unwritten[] = [];
  /** whether anything came to the host */
  hasResults = false;
  /** whether work may have waited while the host went on with memory that both see */
  isShared = false;
  /** how much work is done that may have changed memory of the host */
  changes = 0;
  /** bytes of pinned memory that are noted for copies that wait */
  #noted = 0;
  events = new Map<number, Work | undefined>();
  symbolAt = new Map<number, Block>();
  next = 1;
  shape: { grid: number[]; block: number[]; shared: number; stream: number; line: number }[] = [];
  launchLine = 0;

  constructor(public world: World) {}

  view = () => new DataView(this.world.heap().memory.buffer);
  set(at: number, value: number) {
    this.view().setUint32(at, value, true);
    return SUCCESS;
  }
  sides = (at: number) => [0, 4, 8].map((more) => this.view().getUint32(at + more, true));
  text(at: number) {
    const bytes = new Uint8Array(this.world.heap().memory.buffer, at);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }

  /** By name; those of C++ and of libraries are no part of it. */
  functions: Record<string, Function> = {
    lab_tick: () => {
      this.world.tick();
      return undefined;
    },
    lab_calls: () => {
      this.world.callAll();
      return undefined;
    },
    lab_number: (which: number, at: number) => this.world.number(which, at),
    lab_array: (which: number, at: number) => this.world.array(which, at),
    lab_allocate: (bytes: number, alignment: number) =>
      this.world.heap().allocate(bytes >>> 0, alignment),
    lab_free: (at: number) => {
      this.world.heap().free(at >>> 0);
      return undefined;
    },
    lab_bytes: (at: number) => this.world.heap().size(at >>> 0),
    __cudaRegisterFatBinary: () => SUCCESS,
    __cudaUnregisterFatBinary: () => undefined,
    __cudaRegisterFunction: (_: number, stub: number, name: number) => {
      this.kernels.set(stub, this.text(name));
      return SUCCESS;
    },
    __cudaRegisterVar: (
      _: number,
      at: number,
      name: number,
      _own: number,
      _e: number,
      size: number,
    ) => this.variable(at, this.text(name), size),
    __cudaRegisterFatBinaryEnd: () => undefined,
    __cudaPushCallConfiguration: (
      grid: number,
      block: number,
      shared: number,
      stream: number,
      line: number,
    ) => {
      const [g, b] = [this.sides(grid), this.sides(block)];
      this.shape.push({ grid: g, block: b, shared: shared >>> 0, stream, line });
      return SUCCESS;
    },
    __cudaPopCallConfiguration: (grid: number, block: number, shared: number, stream: number) => {
      const found = this.shape.pop();
      if (!found) throw new UnfollowedError("it calls the stub of a kernel");
      found.grid.forEach((side, at) => void this.set(grid + 4 * at, side));
      found.block.forEach((side, at) => void this.set(block + 4 * at, side));
      this.set(shared, found.shared);
      this.launchLine = found.line;
      return this.set(stream, found.stream);
    },
    lab_launch_at: (line: number) => {
      this.launchLine = line;
      return undefined;
    },
    cudaLaunchKernel: (
      stub: number,
      grid: number,
      block: number,
      args: number,
      shared: number,
      stream: number,
    ) => {
      const line = this.at(Math.abs(this.launchLine));
      const isCooperative = this.launchLine < 0;
      const asked = {
        stub,
        grid: this.sides(grid),
        block: this.sides(block),
        args,
        ...{ stream, line, isCooperative },
      };
      this.world.launch({ ...asked, sharedBytes: shared >>> 0 });
      return SUCCESS;
    },
    lab_raise_shared: (stub: number, attribute: number, bytes: number, line: number) => {
      this.at(line);
      if (attribute !== DYNAMIC_SHARED) return SUCCESS;
      if (bytes + this.world.staticShared(stub) > MOST_SHARED) return INVALID_VALUE;
      this.world.raise(stub, bytes);
      return SUCCESS;
    },
    lab_static_shared: (stub: number) => this.world.staticShared(stub),
    lab_most_threads: (stub: number) => this.world.mostThreads(stub),
    lab_copies: (to: number, from: number) => {
      this.copied = [REALS[to], REALS[from]];
      return undefined;
    },
    lab_symbol: (at: number) => this.symbol(at).address,
    lab_symbol_bytes: (at: number) => BigInt(this.symbol(at).size),
    lab_allocate_device: (to: number, bytes: bigint, kind: number, line: number) =>
      this.allocate(to, Number(bytes), WHERE[kind], line),
    cudaFree: (at: number, line: number) => this.free(at >>> 0, line),
    cudaFreeHost: (at: number, line: number) => this.free(at >>> 0, line),
    cudaFreeAsync: (at: number, stream: number, line: number) => {
      this.at(line);
      const found = at ? this.world.device.find(at >>> 0) : null;
      if (found) {
        const [block] = found;
        const free = () => {
          block.freed = true;
        };
        this.add(stream, line, "the release", writing(block, 0, block.size), free);
      }
      return SUCCESS;
    },
    cudaHostRegister: (at: number, bytes: bigint, _flags: number, line: number) => {
      const name = this.world.calls.argument(this.at(line), /^cudaHostRegister$/, 0, "an array");
      this.share(at >>> 0, Number(bytes), "pinned", name);
      return SUCCESS;
    },
    cudaHostUnregister: (at: number, line: number) => this.free(at >>> 0, line),
    cudaMemcpy: (to: number, from: number, bytes: bigint, kind: number, line: number) => {
      this.copy(to, from, Number(bytes), kind, 0, line, true);
      return SUCCESS;
    },
    cudaMemcpyAsync: (
      to: number,
      from: number,
      bytes: bigint,
      kind: number,
      stream: number,
      line: number,
    ) => {
      this.copy(to, from, Number(bytes), kind, stream, line, false);
      return SUCCESS;
    },
    cudaMemcpy2D: (...given: Whole[]) => this.copyRows(given.toSpliced(-1, 0, 0), true),
    cudaMemcpy2DAsync: (...given: Whole[]) => this.copyRows(given, false),
    cudaMemset: (to: number, value: number, bytes: bigint, line: number) =>
      this.fill([to, 0, value, bytes, 1, 0, line]),
    cudaMemsetAsync: (to: number, value: number, bytes: bigint, stream: number, line: number) =>
      this.fill([to, 0, value, bytes, 1, stream, line]),
    cudaMemset2D: (...given: Whole[]) => this.fill(given.toSpliced(-1, 0, 0)),
    cudaMemset2DAsync: (...given: Whole[]) => this.fill(given),
    cudaStreamCreate: (to: number) => this.set(to, this.world.streams.create(false)),
    cudaStreamCreateWithFlags: (to: number, flags: number) =>
      this.set(to, this.world.streams.create((flags & 1) > 0)),
    cudaStreamDestroy: () => SUCCESS,
    cudaStreamSynchronize: (stream: number, line: number) => this.finish(stream, line),
    cudaStreamQuery: (stream: number, line: number) => this.finish(stream, line),
    cudaStreamWaitEvent: (stream: number, event: number, _flags: number, line: number) => {
      this.world.streams.wait(stream, this.events.get(event), this.at(line));
      return SUCCESS;
    },
    cudaEventCreate: (to: number) => this.set(to, this.next++),
    cudaEventDestroy: () => SUCCESS,
    cudaEventRecord: (event: number, stream: number, line: number) => {
      this.events.set(event, this.world.streams.mark(stream, this.at(line)));
      return SUCCESS;
    },
    cudaEventSynchronize: (event: number, line: number) => this.finishEvent(event, line),
    cudaEventQuery: (event: number, line: number) => this.finishEvent(event, line),
    cudaEventElapsedTime: (to: number, first: number, last: number, line: number) => {
      this.finishEvent(first, line);
      this.finishEvent(last, line);
      this.view().setFloat32(to, MILLISECONDS, true);
      return SUCCESS;
    },
    cudaDeviceSynchronize: (line: number) => {
      this.at(line);
      this.world.streams.finishAll();
      return SUCCESS;
    },
    cudaGetLastError: (line: number) => this.at(line) * 0,
    cudaPeekAtLastError: (line: number) => this.at(line) * 0,
    cudaLaunchHostFunc: (stream: number, callback: number, data: number, line: number) => {
      const run = () => this.world.call(callback, data);
      this.add(stream, line, "the call", [], run);
      return SUCCESS;
    },
  };

  at(line: number) {
    this.world.at(line);
    return line;
  }

  add(stream: number, line: number, what: string, uses: Use[], run: () => void) {
    const again = () => {
      this.at(line);
      run();
      const written = uses.filter(({ marks }) => marks === STORED);
      if (!written.length || written.some(({ block }) => block.where !== "device")) this.changes++;
      return undefined;
    };
    return this.world.streams.add({
      stream,
      line,
      what: `${what} of line ${line}`,
      uses,
      run: again,
    });
  }

  finish(stream: number, line: number) {
    this.at(line);
    this.world.streams.finishStream(stream);
    return SUCCESS;
  }

  finishEvent(event: number, line: number) {
    this.at(line);
    this.world.streams.finish(this.events.get(event));
    return SUCCESS;
  }

  variable(at: number, name: string, size: number) {
    const block = this.world.isManaged(name)
      ? this.shareAlone(at, size, "managed", name)
      : this.world.device.allocate(size, name);
    if (block.where === "managed") block.usedBy = "the host";
    // It begins as the source says; here that is what the host's shadow has.
    if (block.where === "device") {
      block.bytes.set(new Uint8Array(this.world.heap().memory.buffer, at, size));
    }
    block.mark(0, size);
    block.given = new Uint8Array(size);
    this.symbols.set(name, block);
    this.symbolAt.set(at, block);
    return SUCCESS;
  }

  symbol(at: number) {
    const found = this.symbolAt.get(at);
    if (found) {
      found.usedBy ||= "the host";
      return found;
    }
    throw new ProgramFault("A symbol is none of a variable of the device.", "host memory");
  }

  allocate(to: number, bytes: number, where: Where, line: number) {
    const name = this.world.calls.argument(this.at(line), /^cuda(Malloc|HostAlloc)/, 0, "an array");
    if (where === "device") return this.set(to, this.world.device.allocate(bytes, name).address);
    const address = this.world.heap().allocate(bytes, 256);
    this.share(address, bytes, where, name);
    return this.set(to, address);
  }

  share(address: number, size: number, where: Where, name: string) {
    this.isShared = true;
    this.shareAlone(address, size, where, name);
  }

  shareAlone(address: number, size: number, where: Where, name: string) {
    const view = () => new Uint8Array(this.world.heap().memory.buffer, address, size);
    return this.world.device.share(address, size, where, name, view);
  }

  free(at: number, line: number) {
    this.at(line);
    const found = at ? this.world.device.find(at) : null;
    if (!found) return SUCCESS;
    this.world.streams.finishAll();
    const [block] = found;
    block.freed = true;
    if (block.where !== "device") this.world.heap().free(block.address);
    return SUCCESS;
  }

  /** The bytes at an address, as an argument of the call of a line names them. */
  span(address: number, line: number, called: RegExp, place: number): Span {
    const { calls, device, heap } = this.world;
    const found = device.find(address);
    if (found) {
      const [block, at] = found;
      const bytes = (count: number) => block.bytes.subarray(at, at + count);
      return { name: block.name, block, at, size: block.size - at, bytes };
    }
    const name = calls
      .argument(line, called, place, "an array of the host")
      .replace(/\.data\(\)$/, "");
    const held = heap().find(address);
    const size = held && !held.isFree ? held.address + held.size - address : null;
    const bytes = (count: number) => heap().bytes(address, count);
    return { name, block: null, at: 0, size, bytes };
  }

  /** The bytes at an address that no message names. */
  plainSpan = (address: number) => this.span(address >>> 0, 0, /^$/, 0);

  /** Check that a copy stays inside, and that it goes the way it says. */
  check(name: string, span: Span, count: number, isOfDevice: boolean | null) {
    const fault = (why: string): never => {
      throw new ProgramFault(`${name} ${why}.`, "host memory");
    };
    if (span.size !== null && count > span.size) {
      fault(`takes ${count} bytes of ${span.name}, which has ${span.size} from there on`);
    }
    if (span.block?.freed) fault(`uses ${span.name}, which has been freed`);
    if (isOfDevice === true && !span.block) {
      fault(`takes ${span.name}, which lies on the host, for memory of the device`);
    }
    if (isOfDevice === false && span.block?.where === "device") {
      fault(`takes ${span.name}, which lies on the device, for memory of the host`);
    }
  }

  copy(
    to: number,
    from: number,
    count: number,
    kind: number,
    stream: number,
    line: number,
    waits: boolean,
  ) {
    const called = /^cudaMemcpy/;
    const name = this.world.calls.name(this.at(line), called, "cudaMemcpy");
    const second = name.startsWith("cudaMemcpy2D") ? 2 : 1;
    const [own, other] = this.copied;
    this.copied = [];
    if (!count) return;
    const { device } = this.world;
    const starts = [to, from].map((one) => device.isStart(one >>> 0));
    const isKnown = starts[0] ? kind === TO_DEVICE : starts[1] && kind === TO_HOST;
    if (device.tooLarge && this.world.guess() !== null && !isKnown) {
      if (kind === TO_HOST) this.guess(this.world.heap().bytes(to >>> 0, count));
      else device.loseAll();
      return;
    }
    const target = this.span(to >>> 0, line, called, 0);
    const source = this.span(from >>> 0, line, called, second);
    if (this.world.isMade()) {
      // How long its arrays are is not known.
      const most = Math.min(count, ...[target, source].map((one) => roomOf(one)));
      target.bytes(most).set(source.bytes(most).slice());
      target.block?.mark(target.at, most);
      this.pass(stream, line, waits);
      return;
    }
    this.check(name, target, count, way(kind, TO_DEVICE));
    this.check(name, source, count, way(kind, TO_HOST));
    if (target.block) {
      const isMixed = own && other && own !== other && !source.block;
      target.block.mixed = isMixed ? { own, held: other, line } : null;
    }
    // Memory that is not pinned is read before the call ends.
    const held = source.block ? null : source.bytes(count).slice();
    const asked = waits || target.block?.where !== "device" ? null : this.pinned(source, count);
    const run = () => {
      if (asked?.isChanged()) {
        this.world.find(
          `The host changes ${source.name} while this copy may still read it. Wait for the copy first.`,
          line,
        );
      }
      for (const { block } of [target, source]) {
        if (block?.freed)
          throw new ProgramFault(
            `${name} uses ${block.name}, which has been freed.`,
            "host memory",
          );
      }
      this.move(target, source, held ?? source.bytes(count), count, line);
    };
    const uses = [
      ...reading(source.block, source.at, count),
      ...writing(target.block, target.at, count),
    ];
    const work = this.add(stream, line, "the copy", uses, run);
    if (waits || !target.block || target.block.where === "managed") this.world.streams.finish(work);
  }

  /** Let a copy with made-up arguments order what comes before and behind it. */
  pass(stream: number, line: number, waits: boolean) {
    const mark = this.world.streams.mark(stream, line);
    if (waits) this.world.streams.finish(mark);
  }

  /** What a copy is to read of pinned memory; it tells whether the host has changed that since. */
  pinned(source: Span, count: number) {
    this.#noted += count;
    if (source.block?.where !== "pinned" || this.#noted > MOST_NOTED) return null;
    const [before, changes] = [source.bytes(count).slice(), this.changes];
    const isChanged = () => {
      const now = source.bytes(count);
      return changes === this.changes && before.some((one, at) => one !== now[at]);
    };
    return { isChanged };
  }

  move(target: Span, source: Span, bytes: Uint8Array, count: number, line: number) {
    const { tooLarge } = this.world.device;
    if (tooLarge && !target.block) this.world.giveUp(tooLarge);
    const isLarge = ({ block, at }: Span) => block && at + count > block.bytes.length;
    const large = [target, source].find(isLarge);
    // Until a kernel reads it, what else is wrong may show.
    const isOpen = large && (large !== target || source.block);
    if (isOpen) this.world.giveUp(`${large.name} is too large`);
    const of = source.block?.state.subarray(source.at, source.at + count);
    if (isOpen || (!target.block && of?.includes(OUTSIDE))) {
      if (!target.block) this.guess(target.bytes(count));
      return;
    }
    if (large) {
      const held = roomOf(target);
      if (held) this.move(target, source, bytes.subarray(0, held), held, line);
      return;
    }
    const first = of?.indexOf(UNWRITTEN) ?? -1;
    target.bytes(count).set(bytes);
    if (!target.block) this.hasResults = true;
    if (target.block?.where === "device") {
      target.block.usedBy ||= "the host";
      target.block.mark(target.at, count);
      if (of) target.block.state.set(of, target.at);
    } else if (source.block && first >= 0) {
      const found = { block: source.block, at: source.at + first, to: target.name, line };
      this.unwritten.push(found);
    }
  }

  /** Put what stands for unknown results into each word. */
  guess(bytes: Uint8Array) {
    const number = this.world.guess() ?? 0;
    for (let at = 0; at < bytes.length; at++) bytes[at] = at % 4 ? 0 : number;
  }

  copyRows(given: Whole[], waits: boolean) {
    const [to, pitch, from, other, width, height, kind, stream, line] = given.map(Number);
    for (let row = 0; row < height; row++) {
      const [target, source] = [(to >>> 0) + row * pitch, (from >>> 0) + row * other];
      this.copy(target, source, width, kind, stream, line, waits);
    }
    return SUCCESS;
  }

  fill(given: Whole[]) {
    const [to, pitch, value, width, height, stream, line] = given.map(Number);
    const called = /^cudaMemset/;
    const name = this.world.calls.name(this.at(line), called, "cudaMemset");
    for (let row = 0; row < height; row++) {
      const span = this.span((to >>> 0) + row * pitch, line, called, 0);
      if (this.world.isMade()) {
        const most = Math.min(width, roomOf(span));
        span.bytes(most).fill(value);
        span.block?.mark(span.at, most);
        this.pass(stream, line, false);
        continue;
      }
      this.check(name, span, width, true);
      const run = () => {
        span.bytes(width).fill(value);
        span.block?.mark(span.at, width);
        if (span.block && value > 0 && value <= MOST_FILLED) span.block.filled = { value, line };
      };
      this.add(stream, line, "the memset", writing(span.block, span.at, width), run);
    }
    return SUCCESS;
  }
}

/** The bytes that are there from its start on. */
const roomOf = ({ block, at, size }: Span) =>
  block ? Math.max(0, block.bytes.length - at) : (size ?? 0);

/** Whether one side of a copy has to be memory of the device; null where that is left open. */
function way(kind: number, side: number) {
  if (kind > IN_DEVICE) return null;
  return side === TO_DEVICE
    ? kind === TO_DEVICE || kind === IN_DEVICE
    : kind === TO_HOST || kind === IN_DEVICE;
}
