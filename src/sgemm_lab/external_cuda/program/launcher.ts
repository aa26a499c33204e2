// Runs the launches of a host program in the simulator, on the memory that the program has then.

import { LabError } from "../../errors.ts";
import { DeadlockError, EndlessLoopError, TimeLimitError } from "../../simulator/divergence.ts";
import type { Hazard } from "../../simulator/hazard.ts";
import { RACE, UNWRITTEN } from "../../simulator/hazards.ts";
import type { ShapedArray, TypedArray } from "../../simulator/memory.ts";
import { WRITTEN } from "../../simulator/memory.ts";
import { parse } from "../../simulator/ptx.ts";
import type { Argument, Options, Result } from "../../simulator/simulation.ts";
import { simulate } from "../../simulator/simulation.ts";
import type { Struct } from "../../simulator/variables.ts";
import { SameValues } from "../../simulator/watches/same_values.ts";
import { ProgramFault, UnfollowedError } from "./faults.ts";
import type { Block } from "./memory.ts";
import { setter } from "./memory.ts";
import type { Launch, Shared } from "./reader.ts";
import type { Type } from "./types.ts";
import * as types from "./types.ts";

/** A compiled kernel, by its name with the values of its template. */
export type Kernels = Record<string, { ptx: string; entry: string }>;

/** What a launch showed. */
export interface LaunchRun {
  kernel: string;
  line: number;
  hazards: Hazard[];
  warnings: Hazard[];
  harmless: Hazard[];
}

/** Where and of which kernel a finding is, and whether no assumption stands behind it. */
export interface Place {
  isCertain?: boolean;
  line?: number;
  kernel?: string;
}

/** A kernel that has to be compiled first. */
export class NeededKernel extends Error {
  constructor(public kernel: string) {
    super(kernel);
  }
}

const STATIC_SHARED = 48 * 1024;
const MOST_SIDES = [2 ** 31 - 1, 65_535, 65_535];
const MOST_THREADS = 1024;
/** Threads that an H200 has at once; those of a launch that also runs thread after thread. */
const AT_ONCE = 132 * 2048;
const MOST_ORDERED = 2 ** 13;

const threadsOf = ({ grid, block }: Launch) =>
  [...grid, ...block].reduce((all, side) => all * side, 1);

function equal(one: TypedArray, other: TypedArray) {
  const [a, b] = [one, other].map(
    (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  );
  return a.every((byte, at) => byte === b[at]);
}

export class Launcher {
  runs: LaunchRun[] = [];
  /** what variables of the device hold, by their names in the PTX */
  #variables: Record<string, ShapedArray> = {};

  constructor(
    public shared: Shared,
    public kernels: Kernels,
    /** seconds that are left */
    public left: () => number,
    public find: (kind: string, message: string, place: Place) => void,
  ) {}

  run(launch: Launch) {
    const { kernel, template, line } = launch;
    const name = kernel.names[0];
    const key = template.length ? `${name}<${template.join(", ")}>` : name;
    const compiled = this.kernels[key];
    if (!compiled) throw new NeededKernel(key);
    if (!this.#isPossible(launch)) throw new UnfollowedError(`${name} is not launched`);
    const given = this.#arguments(launch);
    for (const block of given.blocks.values()) block.usedBy = name;
    const isSketch = !this.runs.length && !this.#isFilled();
    const variables = this.#ofVariables(compiled);
    const same = new SameValues();
    const again = (options: Options) =>
      simulate(compiled.ptx, compiled.entry, launch.grid, launch.block, given.args, {
        ...{ sharedBytes: launch.sharedBytes, starts: given.starts, variables },
        ...{ joinProducts: true, countRequests: false, timeLimit: this.left(), ...options },
      });
    let result: Result;
    try {
      result = again({
        cooperative: threadsOf(launch) <= AT_ONCE,
        watchRacesIn: given.watched,
        watching: [same],
      });
    } catch (error) {
      const stuck = error instanceof DeadlockError || error instanceof EndlessLoopError;
      if (stuck) {
        this.find("endless", error.message, { line: error.location?.line ?? line, kernel: name });
      }
      if (error instanceof TimeLimitError && error.hazards.length) {
        this.runs.push({ kernel: key, line, hazards: error.hazards, warnings: [], harmless: [] });
      }
      if (stuck || error instanceof TimeLimitError) throw new UnfollowedError(error.message);
      throw error;
    }
    const { warnings, hazards } = result;
    if (isSketch && hazards.some(({ kind }) => kind === UNWRITTEN)) {
      throw new UnfollowedError("it launches kernels on arrays that it has not filled");
    }
    const known = hazards.filter((one) => same.isHarmless(one));
    const others = hazards.filter((one) => !known.includes(one));
    const isSettled = this.#isSettled(launch, others, given.blocks, result, again);
    const harmless = isSettled ? hazards : known;
    this.#keep(given.blocks, result);
    this.#keepVariables(compiled, result.arrays);
    this.runs.push({ kernel: key, line, warnings, harmless, hazards: isSettled ? [] : others });
  }

  /** Whether the program has put anything into memory of the device. */
  #isFilled() {
    const own = new Set(this.shared.symbols.values());
    return this.shared.memory.blocks.some(
      (one) => one?.where !== "host" && one?.state?.includes(WRITTEN) && !own.has(one),
    );
  }

  /** Take over what a launch left in memory. */
  #keep(blocks: Map<string, Block>, { arrays, states }: Result) {
    for (const [own, block] of new Map([...blocks].map(([name, one]) => [one, name] as const))) {
      const { buffer, byteOffset, byteLength } = arrays[block];
      own.bytes.set(new Uint8Array(buffer, byteOffset, byteLength));
      if (states[block]) own.state?.set(states[block]);
    }
  }

  /**
   * Whether threads only race for words of global memory that one reads before or after another
   * writes, and what they leave is the same whoever comes first.
   */
  #isSettled(
    launch: Launch,
    hazards: Hazard[],
    blocks: Map<string, Block>,
    first: Result,
    again: (options: Options) => Result,
  ) {
    const isOpen = ({ kind, array, message }: Hazard) =>
      kind === RACE && array !== null && blocks.has(array) && / writes /.test(message);
    const arrays = new Set(hazards.filter(isOpen).map(({ array }) => array));
    const ofArrays = (one: Hazard) => one.kind === RACE && arrays.has(one.array);
    if (!hazards.length || !hazards.every(ofArrays)) return false;
    if (threadsOf(launch) > MOST_ORDERED) return false;
    const count = launch.grid.reduce((all, side) => all * side, 1);
    const backwards = Array.from({ length: count }, (_, at) => count - 1 - at);
    try {
      return [null, backwards].every((onlyBlocks) => {
        const other = again({ schedule: "threads", onlyBlocks, checkHazards: false });
        return Object.entries(first.arrays).every(([name, array]) =>
          equal(array, other.arrays[name]),
        );
      });
    } catch (error) {
      if (error instanceof LabError) return false;
      throw error;
    }
  }

  /** Whether a GPU takes a launch. */
  #isPossible({ grid, block, kernel, sharedBytes }: Launch) {
    const name = kernel.names[0];
    const fault = (why: string) => {
      this.find("launch", `${name} is not launched: ${why}.`, { kernel: name });
      return false;
    };
    const threads = block.reduce((all, side) => all * side, 1);
    if (threads > MOST_THREADS) return fault(`a block of ${threads} threads is too large`);
    if (!threads || grid.includes(0)) return fault("its grid or block has no threads");
    const axis = grid.findIndex((side, at) => side > MOST_SIDES[at]);
    if (axis >= 0) return fault(`${grid[axis]} blocks along ${"xyz"[axis]} are too many`);
    const isRaised = this.shared.file.declarations.some(({ words }) =>
      words.has("cudaFuncSetAttribute"),
    );
    if (sharedBytes > STATIC_SHARED && !isRaised) {
      return fault(
        `${sharedBytes} bytes of dynamic shared memory need cudaFuncSetAttribute, as they are more than ${STATIC_SHARED}`,
      );
    }
    return true;
  }

  #arguments(launch: Launch) {
    const args = new Map<string, Argument>();
    const starts: Record<string, number> = {};
    const blocks = new Map<string, Block>();
    const arrayAt = (name: string, address: number, type: Type): ShapedArray | null => {
      if (!address) return null;
      const [block, at] = this.shared.memory.find(address);
      if (block.where === "host") {
        throw new ProgramFault(
          `${launch.kernel.names[0]} is given ${name}, which lies in the memory of the host.`,
          "host memory",
        );
      }
      if (block.freed) {
        throw new ProgramFault(
          `${launch.kernel.names[0]} is given ${block.name}, which has been freed.`,
          "host memory",
        );
      }
      if (at) starts[name] = at;
      blocks.set(name, block);
      return shaped(block, type);
    };
    for (const { name, type, value } of launch.args) {
      if (type.kind === "pointer") {
        args.set(name, arrayAt(name, Number(value), type.to) ?? 0);
      } else if (type.kind === "struct") {
        args.set(name, this.#struct(name, Number(value), type, arrayAt));
      } else if (types.isNumber(type)) {
        const isHalf = type.kind === "float" && type.bytes === 2;
        args.set(name, isHalf ? half(name, type, Number(value)) : value);
      } else throw new UnfollowedError(`an argument of the type ${type.name}`);
    }
    const watched = [...new Map([...blocks].map(([own, one]) => [one, own])).values()];
    return { args, starts, blocks, watched };
  }

  #struct(
    own: string,
    address: number,
    type: Type,
    arrayAt: (name: string, address: number, type: Type) => ShapedArray | null,
  ): Struct {
    const fields: Struct["fields"] = [];
    const add = (name: string, at: number, part: Type) => {
      if (part.kind === "struct") {
        for (const [inner, { at: offset, type: one }] of part.fields) {
          add(`${name}.${inner}`, at + offset, one);
        }
        return;
      }
      const bytes = this.shared.memory.read(address + at, part.bytes).slice();
      const array =
        part.kind === "pointer" ? Number(this.shared.memory.load(types.SIZE)(address + at)) : 0;
      const found = array ? arrayAt(name, array, part.to) : null;
      fields.push([at, name, found ?? { data: bytes, shape: [] }]);
    };
    add(own, 0, type);
    return { bytes: type.bytes, fields };
  }

  #ofVariables({ ptx, entry }: Kernels[string]) {
    const found: Record<string, ShapedArray> = {};
    for (const { name, bytes, addresses } of parse(ptx).get(entry)?.variables ?? []) {
      if (addresses.length) continue;
      const known = this.#variables[name];
      if (known) found[name] = known;
      const symbol = this.#symbol(name);
      if (symbol?.usedBy && symbol.size === bytes) {
        const data = symbol.bytes.slice();
        const isWords = bytes % 4 === 0;
        found[name] = {
          data: isWords ? new Uint32Array(data.buffer) : data,
          shape: [isWords ? bytes / 4 : bytes],
        };
      }
    }
    return found;
  }

  #symbol(variable: string) {
    const { symbols } = this.shared;
    for (const [name, block] of symbols) {
      if (
        variable === name ||
        variable.endsWith(`${name.length}${name}E`) ||
        variable.endsWith(`${name.length}${name}`)
      )
        return block;
    }
    return null;
  }

  #keepVariables({ ptx, entry }: Kernels[string], arrays: Record<string, TypedArray>) {
    for (const { name, addresses } of parse(ptx).get(entry)?.variables ?? []) {
      if (addresses.length) continue;
      const { buffer, byteOffset, byteLength } = arrays[name];
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      const symbol = this.#symbol(name);
      if (symbol?.size === byteLength) {
        symbol.bytes.set(bytes);
        symbol.usedBy ||= "a kernel";
      } else this.#variables[name] = { data: arrays[name], shape: [arrays[name].length] };
    }
  }
}

/** A half, which is a struct of CUDA. */
function half(name: string, type: Type, value: number): Struct {
  const data = new Uint8Array(2);
  setter(type)(new DataView(data.buffer), 0, value);
  return { bytes: 2, fields: [[0, name, { data, shape: [] }]] };
}

const ARRAYS: Record<string, new (buffer: ArrayBuffer) => ShapedArray["data"]> = {
  ...{ float4: Float32Array, float8: Float64Array, int1: Int8Array, int2: Int16Array },
  ...{ int4: Int32Array, int8: BigInt64Array, uint1: Uint8Array, uint2: Uint16Array },
  ...{ uint4: Uint32Array, uint8: BigUint64Array, float2: Uint16Array },
};

/** A block as the elements that a pointer leads to. */
function shaped(block: Block, type: Type): ShapedArray {
  let one = type;
  while (one.kind === "struct" && one.fields.size)
    [one] = [...one.fields.values()].map((field) => field.type);
  if (one.kind === "pointer") throw new UnfollowedError("an array of pointers");
  const kind = one.kind === "int" && !one.signed ? "uint" : one.kind;
  const make = ARRAYS[`${kind}${one.bytes}`];
  const fits = make && block.bytes.length % one.bytes === 0;
  const data = fits ? new make(block.bytes.buffer as ArrayBuffer) : block.bytes;
  const isHalf = kind === "float" && one.bytes === 2;
  const state = block.state ?? undefined;
  const whole = block.size > block.bytes.length ? block.size : undefined;
  return { data, shape: [data.length], isHalf, state, whole };
}
