// Runs the launches of a host program in the simulator, on the memory that the program has then.

import { LabError, orNull } from "../../errors.ts";
import { DeadlockError, EndlessLoopError, TimeLimitError } from "../../simulator/divergence.ts";
import { getOrInsert } from "../../simulator/get_or_insert.ts";
import { RACE, UNWRITTEN } from "../../simulator/hazard_log.ts";
import type { Hazard } from "../../simulator/hazard_types.ts";
import { storedValues } from "../../simulator/loaded_values.ts";
import type { ShapedArray, TypedArray } from "../../simulator/memory.ts";
import { UNWRITTEN as EMPTY, OUTSIDE as UNKNOWN, WRITTEN } from "../../simulator/memory.ts";
import { parse } from "../../simulator/ptx.ts";
import type { Argument, Options, Result } from "../../simulator/simulation.ts";
import { note, simulate } from "../../simulator/simulation.ts";
import type { ModuleVariable } from "../../simulator/variables.ts";
import { SameValues, weighed } from "../../simulator/watches/same_values.ts";
import { Wraps } from "../../simulator/watches/wraps.ts";
import { STORED, Written } from "../../simulator/watches/written.ts";
import { comma } from "../../text.ts";
import type { CudaFile } from "../cuda_file.ts";
import { isSameSymbol, sourceName } from "../variables.ts";
import { ProgramFault, TooLargeError, UnfollowedError } from "./faults.ts";
import { argumentOf, MOST_THREADS, type Signature } from "./kernel_arguments.ts";
import { byText } from "./kernel_text.ts";
import type { Block, DeviceMemory } from "./memory.ts";
import { layoutOf, Reached, typeOfVariable } from "./pointers.ts";
import { REALS } from "./runtime.ts";
import { reading, type Use, writing } from "./streams.ts";
import { writtenBy } from "./written_variables.ts";
import { wrongStart } from "./wrong_starts.ts";

/** A compiled kernel, by its name with the values of its template; or why there is none. */
export type Kernels = Record<string, { ptx: string; entry: string; refused?: string }>;

/** A launch, as the program comes to it. */
export interface Launch {
  /** its name with the values of its template, and without */
  key: string;
  name: string;
  signature: Signature;
  grid: number[];
  block: number[];
  sharedBytes: number;
  isCooperative?: boolean;
  /** the bytes of each argument as the host has them: values of 8 bytes each at most, or structs */
  given: Uint8Array[];
  line: number;
}

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
  /** whether it is so with any arguments */
  isKnown?: boolean;
  line?: number;
  kernel?: string;
}

/** A kernel that has to be compiled first. */
export class NeededKernel extends Error {
  constructor(public kernel: string) {
    super(kernel);
  }
}

/** Bytes of shared memory of a block that no kernel has to ask for. */
const PLAIN_SHARED = 48 * 1024;
const MOST_SIDES = [2 ** 31 - 1, 65_535, 65_535];
/** Threads of a launch that also runs thread after thread. */
const MOST_ORDERED = 2 ** 13;
/** What a thread that waits for others reads by. */
const READS_ANEW = /\b(ld\.(volatile|acquire|relaxed)|atom\.)/;
/** What makes a compiler read memory again. */
const MAY_WAIT = new RegExp(`${READS_ANEW.source}|\\b(membar|fence)\\.`);
/** Threads of a part of a launch that is tried for what waits for all of its blocks. */
const FEW_THREADS = 2 ** 14;
/** Bytes of arrays, and of their states, that are compared between launches. */
const MOST_COMPARED = 2 ** 25;
/** Time for some blocks of a launch that is too large. */
const SAMPLE_SECONDS = 0.5;
/** Time for blocks to come to where they wait for all others. */
const SPIN_SECONDS = 1.5;

const product = (sides: number[]) => sides.reduce((all, side) => all * side, 1);

/** Blocks of a launch that an H200 has at once, whatever registers they take. */
function atOnce({ block, sharedBytes, signature: { staticShared } }: Launch) {
  const warps = Math.ceil(product(block) / 32);
  return (
    132 *
    Math.min(32, Math.floor(64 / warps), Math.floor(233_472 / (1024 + sharedBytes + staticShared)))
  );
}

const waits = new Map<string, boolean>();

/** Whether a kernel has a loop that reads memory again: its blocks may wait for each other. */
const mayWait = (ptx: string) =>
  getOrInsert(waits, ptx, () => {
    const parts = ptx.split(/^\s*([$\w]+):/m);
    return parts.some((label, at) => {
      const end = at % 2 && parts.findLastIndex((text) => text.includes(`${label};`));
      return MAY_WAIT.test(parts.slice(at, end + 1).join(""));
    });
  });

const threadsOf = ({ grid, block }: Launch) => product([...grid, ...block]);

function equal(one: TypedArray, other: TypedArray) {
  const [a, b] = [one, other].map(
    (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
  );
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return a.length === b.length;
}

/** What a launcher needs of the program. */
export interface Program {
  file: CudaFile;
  device: DeviceMemory;
  symbols: Map<string, Block>;
  /** variables that hold nothing, by their names in the PTX */
  unset: string[];
}

type Given = ReturnType<Launcher["arguments"]>;

/** All that makes a launch what it is, but for memory. */
const textOf = ({ key, grid, block, sharedBytes, given }: Launch) =>
  [key, grid, block, sharedBytes, ...given].join(" ");

/** What a launch finds in memory; null if that is too much to compare. */
function imageOf({ blocks, variables }: Given) {
  const parts = [
    ...[...new Set(blocks.values())].flatMap(({ bytes, state }) => [bytes, state]),
    ...Object.values(variables).map(({ data }) => new Uint8Array(data.buffer)),
  ];
  const count = parts.reduce((all, { length }) => all + length, 0);
  if (count > MOST_COMPARED) return null;
  const image = new Uint8Array(count);
  let at = 0;
  for (const part of parts) {
    image.set(part, at);
    at += part.length;
  }
  return image;
}

export class Launcher {
  runs: LaunchRun[] = [];
  /** what variables of the device hold, by their names in the PTX */
  #variables: Record<string, ShapedArray> = {};

  #launched = new Set<string>();
  /** what was in memory before and after launches that changed nothing */
  #idle = new Map<string, Uint8Array>();
  /** launches that took too long: the same once more shows nothing new */
  #late = new Set<string>();

  constructor(
    public program: Program,
    public kernels: Kernels,
    /** seconds that are left */
    public left: () => number,
    public find: (kind: string, message: string, place: Place) => void,
  ) {}

  /** Let a tool hear of a launch that does not run. */
  note(launch: Launch) {
    this.#heard(launch, this.arguments(launch));
  }

  #heard({ key, grid, block, sharedBytes }: Launch, given: Given) {
    const { ptx, entry } = this.kernels[key];
    const { args, starts, reached, variables } = given;
    const options = { sharedBytes, starts, reached, variables };
    return note({ ptx, entry, grid, block, args, options });
  }

  /** @returns what it uses, if that is asked for */
  run(launch: Launch, isWatched: boolean): Use[] | undefined {
    const { key, name, line } = launch;
    const compiled = this.kernels[key];
    const given = this.arguments(launch);
    this.#checkTypes(launch, given.blocks);
    for (const block of given.blocks.values()) block.usedBy = name;
    const isSketch = !this.runs.length && !this.#isFilled();
    const { starts, reached, variables } = given;
    const text = textOf(launch);
    if (this.#late.has(text)) throw new TooLargeError("it takes too long");
    const before = this.#launched.has(text) ? imageOf(given) : null;
    this.#launched.add(text);
    if (!isWatched && this.#changesNothing(launch, given, before)) {
      this.runs.push({ kernel: key, line, warnings: [], harmless: [], hazards: [] });
      return undefined;
    }
    this.#checkText(launch, given);
    const same = new SameValues();
    const wraps = new Wraps(parse(compiled.ptx).get(compiled.entry)?.instructions ?? []);
    const used = new Written();
    const again = (options: Options, args = given.args) =>
      simulate(compiled.ptx, compiled.entry, launch.grid, launch.block, args, {
        ...{ sharedBytes: launch.sharedBytes, starts, reached, variables },
        ...{ joinProducts: true, countRequests: false, ...options },
        timeLimit: options.timeLimit ?? this.left(),
      });
    let result: Result;
    try {
      result = again({
        cooperative: product(launch.grid) <= atOnce(launch) && mayWait(compiled.ptx),
        isHasty: true,
        watchRacesIn: given.watched,
        watching: [same, ...(isWatched ? [used] : []), ...(wraps.counting.size ? [wraps] : [])],
      });
    } catch (error) {
      const alone =
        error instanceof DeadlockError ? orNull(() => again({ schedule: "threads" })) : null;
      if (!alone) throw this.#stopped(error, launch, again, given.watched, isSketch);
      result = alone;
    }
    const { hazards } = result;
    for (const { line } of wraps.found) {
      const message =
        "This counter passes the largest number of its type, and begins from 0 again. Count in int.";
      this.find("wrong result", message, { line, kernel: name, isCertain: false });
    }
    if (!hazards.length && !before && !result.isPartial)
      this.#checkStarts(launch, given, result.arrays, again);
    const isEmpty = ({ kind, array }: Hazard) =>
      kind === UNWRITTEN && given.blocks.has(array ?? "");
    if (isSketch && hazards.some(isEmpty)) {
      throw new UnfollowedError("it launches kernels on arrays that it has not filled");
    }
    const { ptx, entry } = compiled;
    const { harmless: known, mild, rest: grave } = weighed(hazards, same.found(), ptx, entry);
    // Of a variable that the host sets in part, the rest is 0.
    const isRest = ({ kind, array }: Hazard) =>
      kind === UNWRITTEN &&
      !this.program.unset.length &&
      !given.blocks.has(array ?? "") &&
      this.symbol(array ?? "")?.given?.includes(1) === true;
    const rest = grave.filter((one) => !isRest(one));
    const zeros = grave.filter(isRest).map((one) => ({
      ...one,
      message: `${one.location}: the host sets only a part of ${one.array}. What is read here is 0.`,
    }));
    const open = [...mild, ...rest];
    const isSettled = this.#isSettled(launch, open, given.watched, result, again);
    // Where other orders are too slow to try, a race with stores of one value is odd, no more.
    const isTried = isSettled || threadsOf(launch) <= MOST_ORDERED;
    const harmless = isSettled ? hazards : known;
    const warnings = [...result.warnings, ...zeros, ...(isTried ? [] : mild)];
    for (const block of new Set(given.blocks.values())) given.all.keep(block, result);
    this.#keepVariables(compiled, result.arrays, given.blocks);
    this.runs.push({
      kernel: key,
      line,
      warnings,
      harmless,
      hazards: isSettled ? [] : isTried ? open : rest,
    });
    this.#idle.delete(text);
    const after = before && imageOf(this.arguments(launch));
    if (after && equal(before, after)) this.#idle.set(text, after);
    if (result.isPartial)
      this.program.device.tooLarge ||= `${name} reads more of an array than is held`;
    if (!isWatched) return undefined;
    const found = used.found();
    return [...given.all.names].flatMap(([block, name]) => {
      const marks = found[name] ?? [];
      return [{ block, start: 0, end: marks.length, marks }];
    });
  }

  /** The addresses that a launch is given. */
  pointersOf({ signature, given }: Launch) {
    const found: number[] = [];
    const take = (_: string, address: number) => {
      if (address) found.push(address);
      return null;
    };
    for (const [at, one] of signature.parameters.entries()) argumentOf(one, given[at], take);
    return found;
  }

  /** Forget what a launch may have written that did not run to its end. */
  lose(launch: Launch) {
    const { all } = this.arguments(launch);
    const { ptx, entry } = this.kernels[launch.key];
    const kernel = parse(ptx).get(entry);
    const given = this.uses(launch, false).filter(({ marks }) => marks === STORED);
    const written = [...(kernel ? writtenBy(kernel) : [])].flatMap((one) => this.symbol(one) ?? []);
    const lost = [...given.map(({ block }) => block), ...written];
    for (const { state } of all.hasPointers ? all.names.keys() : lost) state.fill(UNKNOWN);
    for (const one of written) one.usedBy ||= "a kernel";
  }

  /** Find what the text of a kernel says of a launch. */
  #checkText(launch: Launch, { args, starts, blocks, variables }: Given) {
    const held = (name: string) => {
      const one = args.get(name);
      const isOwn = typeof one === "object" && "data" in one && !(name in starts);
      if (isOwn) return blocks.get(name)?.state[0] === WRITTEN ? Number(one.data[0]) : 0;
      const all = Object.entries(variables);
      return Number(all.find(([symbol]) => sourceName(symbol) === name)?.[1].data[0] ?? 0);
    };
    for (const { line, text } of byText(this.program.file, launch, held))
      this.find("wrong result", text, { line, kernel: launch.name });
  }

  /** Find a maximum or a minimum that starts from a wrong number. */
  #checkStarts(
    { key, name, line }: Launch,
    { args }: Given,
    arrays: Result["arrays"],
    simulated: (options: Options, args?: Given["args"]) => Result,
  ) {
    const again = (changed: Given["args"]) =>
      orNull(() => simulated({ checkHazards: false, timeLimit: SAMPLE_SECONDS }, changed));
    const { ptx, entry } = this.kernels[key];
    const found = wrongStart({ ptx, entry, args, arrays, again });
    if (!found) return;
    const message =
      `${found.name} holds ${found.start}, which is none of the numbers that ${name} reads. A maximum ` +
      "starts from -INFINITY or its first element, a minimum from INFINITY.";
    this.find("wrong result", message, { line, kernel: name });
  }

  /** Whether the same launch left the same memory as it was, and nobody changes it. */
  #changesNothing(launch: Launch, given: Given, before: Uint8Array | null) {
    const known = this.#idle.get(textOf(launch));
    if (!known || !before || !equal(known, before)) return false;
    const { grid, block } = launch;
    const { args } = given;
    const heard = this.#heard(launch, given);
    return heard.args === args && heard.grid === grid && heard.block === block;
  }

  /** Note why a launch does not end, and what was found until then. */
  #stopped(
    error: unknown,
    launch: Launch,
    again: (options: Options) => Result,
    watched: string[],
    isSketch: boolean,
  ): unknown {
    const { key: kernel, name, line } = launch;
    if (error instanceof DeadlockError || error instanceof EndlessLoopError) {
      this.find("endless", error.message, { line: error.location?.line ?? line, kernel: name });
      return new UnfollowedError(error.message);
    }
    if (!(error instanceof LabError)) return error;
    const stuck = this.#waitsForAll(launch, again);
    if (stuck) return new UnfollowedError(stuck);
    const isLate = error instanceof TimeLimitError;
    const found = isLate ? error.hazards : [];
    const hazards = found.filter(({ kind }) => !(isSketch && kind === UNWRITTEN));
    if (hazards.length) this.runs.push({ kernel, line, hazards, warnings: [], harmless: [] });
    else this.#sample(launch, again, watched);
    this.#late.add(textOf(launch));
    return new TooLargeError(isLate ? "it takes too long" : error.message);
  }

  /** Find blocks that wait for others of a grid which has more than a GPU has at once; what is said of it. */
  #waitsForAll(launch: Launch, again: (options: Options) => Result) {
    const { grid, block, name, line } = launch;
    const [blocks, threads, most] = [product(grid), product(block), atOnce(launch)];
    if (blocks <= most || !READS_ANEW.test(this.kernels[launch.key].ptx)) return "";
    let place: DeadlockError["location"] = null;
    for (const count of [Math.min(most, Math.ceil(FEW_THREADS / threads)), most]) {
      const onlyBlocks = Array.from({ length: count }, (_, at) => at);
      const chosen = { onlyBlocks, cooperative: true, checkHazards: false };
      try {
        again({ ...chosen, timeLimit: SPIN_SECONDS });
        return "";
      } catch (error) {
        if (!(error instanceof DeadlockError || error instanceof EndlessLoopError)) return "";
        place = error.location;
      }
    }
    const message =
      `The ${comma(most)} blocks of ${threads} threads that an H200 has at once wait for ever: ` +
      `the other ${comma(blocks - most)} of the launch of line ${line} begin only when they end.`;
    this.find("endless", message, { line: place?.line ?? line, kernel: name });
    this.runs.push({ kernel: launch.key, line, hazards: [], warnings: [], harmless: [] });
    return "its blocks wait for ever";
  }

  /** Of a launch that is too large look at some blocks, for what does not depend on the others. */
  #sample(launch: Launch, again: (options: Options) => Result, watchRacesIn: string[]) {
    const count = product(launch.grid);
    const onlyBlocks = [...new Set([0, Math.floor(count / 2), count - 1])];
    const found = orNull(() => again({ onlyBlocks, watchRacesIn, timeLimit: SAMPLE_SECONDS }));
    if (!found) return;
    const hazards = found.hazards.filter(({ kind }) => kind !== UNWRITTEN);
    const { key: kernel, line } = launch;
    this.runs.push({ kernel, line, hazards, warnings: [], harmless: [] });
  }

  /** Whether the program has put anything into memory of the device. */
  #isFilled() {
    const own = new Set(this.program.symbols.values());
    return this.program.device.blocks.some((one) => !own.has(one) && one.state.includes(WRITTEN));
  }

  /**
   * Whether threads only race for words of global memory that one reads before or after another
   * writes, and what they leave is the same whoever comes first.
   */
  #isSettled(
    launch: Launch,
    hazards: Hazard[],
    watched: string[],
    first: Result,
    again: (options: Options) => Result,
  ) {
    const isOpen = ({ kind, array, message }: Hazard) =>
      kind === RACE && array !== null && watched.includes(array) && / writes /.test(message);
    const arrays = new Set(hazards.filter(isOpen).map(({ array }) => array));
    const ofArrays = (one: Hazard) => one.kind === RACE && arrays.has(one.array);
    if (!hazards.length || !hazards.every(ofArrays)) return false;
    // Each thread alone loses no sum between what it finds out and what it stores.
    const { ptx, entry } = this.kernels[launch.key];
    const instructions = parse(ptx).get(entry)?.instructions ?? [];
    const sums = instructions.flatMap(({ parts, location }) =>
      /^(atom|red)$/.test(parts[0]) && parts.includes("add") ? `${location}` : [],
    );
    // What a thread makes of what it reads may be the same by the luck of these numbers.
    const { computed } = storedValues(instructions);
    const made = [...computed].map((index) => `${instructions[index].location}`);
    if (hazards.some((one) => made.includes(`${one.location}`))) return false;
    if (hazards.some((one) => made.includes(`${one.otherLocation}`))) return false;
    const isOfSum = ({ location, otherLocation }: Hazard) =>
      sums.includes(`${location}`) !== sums.includes(`${otherLocation}`);
    if (hazards.some(isOfSum)) return false;
    if (threadsOf(launch) > MOST_ORDERED) return false;
    const count = product(launch.grid);
    const backwards = Array.from({ length: count }, (_, at) => count - 1 - at);
    return [null, backwards].every((onlyBlocks) => {
      const other = orNull(() => again({ schedule: "threads", onlyBlocks, checkHazards: false }));
      const arrays = Object.entries(first.arrays);
      return other !== null && arrays.every(([name, array]) => equal(array, other.arrays[name]));
    });
  }

  /**
   * Whether a GPU takes a launch.
   * @param mostShared bytes of dynamic shared memory that the program allows its kernel, if it says so
   */
  isPossible(asked: Launch, mostShared: number | undefined) {
    const { grid, block, name, signature, sharedBytes, line } = asked;
    const fault = (why: string) => {
      this.find("launch", `${name} is not launched: ${why}.`, { kernel: name, line });
      return false;
    };
    const threads = product(block);
    if (threads > MOST_THREADS) return fault(`a block of ${threads} threads is too large`);
    const { mostThreads, staticShared } = signature;
    if (threads > mostThreads) {
      return fault(`its __launch_bounds__ allow ${mostThreads} threads a block, not ${threads}`);
    }
    if (!threads || grid.includes(0)) return fault("its grid or block has no threads");
    if (asked.isCooperative && product(grid) > atOnce(asked)) {
      return fault(
        `its blocks wait for each other, and an H200 has ${atOnce(asked)} of them at once, not ${product(grid)}`,
      );
    }
    const axis = grid.findIndex((side, at) => side > MOST_SIDES[at]);
    if (axis >= 0) return fault(`${grid[axis]} blocks along ${"xyz"[axis]} are too many`);
    if (mostShared !== undefined && sharedBytes > mostShared) {
      return fault(
        `${sharedBytes} bytes of dynamic shared memory are more than the ${mostShared} that cudaFuncSetAttribute allows`,
      );
    }
    if (mostShared === undefined && sharedBytes + staticShared > PLAIN_SHARED) {
      return fault(
        `${sharedBytes} bytes of dynamic shared memory${staticShared ? `, with ${staticShared} of its own arrays,` : ""} need cudaFuncSetAttribute, as they are more than ${PLAIN_SHARED}`,
      );
    }
    return true;
  }

  /** What a launch may use of its arrays; of made-up ones the start is known alone. */
  uses({ key, signature, given }: Launch, isMade: boolean): Use[] {
    const { ptx, entry } = this.kernels[key];
    const kernel = parse(ptx).get(entry);
    return signature.parameters.flatMap((one, place) => {
      const found: Use[] = [];
      const isWritten = kernel && writtenBy(kernel).has(kernel.parameters[place]?.name);
      argumentOf(one, given[place], (_, address) => {
        const [block = null, at = 0] = (address && this.program.device.find(address)) || [];
        const use = isWritten ? writing : reading;
        if (block) found.push(...use(block, at, isMade ? 1 : block.size - at));
        return null;
      });
      return found;
    });
  }

  /** Find copies of floats, say, into an array of __half that a kernel takes for such. */
  #checkTypes({ name, signature }: Launch, blocks: Map<string, Block>) {
    const typesOf = (block: Block) =>
      signature.parameters.flatMap((one) =>
        blocks.get(one.name) === block ? one.type.replace(/ const\b|[*&]|\s/g, "") : [],
      );
    for (const block of new Set(blocks.values())) {
      const types = typesOf(block);
      const real = types.find((one) => REALS.includes(one));
      if (block.filled && real) {
        const { value, line } = block.filled;
        const message =
          `cudaMemset puts ${value} into each byte of ${block.name}. ${name} takes its elements for ` +
          `${real}, which are not ${value} then.`;
        this.find("wrong result", message, { line, kernel: name, isCertain: false });
      }
      block.filled = null;
      if (!block.mixed) continue;
      const { own, held, line } = block.mixed;
      block.mixed = null;
      if (!types.includes(own) || types.includes(held)) continue;
      const message =
        `The copy puts elements of type ${held} into ${block.name}, bit by bit. ${name} takes them ` +
        `for elements of type ${own}. Convert them first.`;
      this.find("wrong result", message, { line, kernel: name });
    }
  }

  /** What a launch is given, with all arrays that it reaches. */
  arguments(launch: Launch) {
    const { file, device } = this.program;
    const roots: [name: string, block: Block, type: string][] = [];
    const begins = new Map<string, number>();
    const take = (name: string, address: number, type: string) => {
      if (!address) return null;
      const found = device.find(address);
      const fault = (what: string, why: string) =>
        new ProgramFault(`${launch.name} is given ${what}, which ${why}.`, "host memory");
      if (!found) throw fault(name, "lies in the memory of the host");
      const [block, at] = found;
      if (block.freed) throw fault(block.name, "has been freed");
      if (at) begins.set(name, at);
      roots.push([name, block, type]);
      return null;
    };
    const { parameters } = launch.signature;
    for (const [at, one] of parameters.entries()) argumentOf(one, launch.given[at], take);
    const { ptx, entry } = this.kernels[launch.key];
    const own = parse(ptx).get(entry)?.variables ?? [];
    for (const { name, addresses } of own) {
      const symbol = this.symbol(name);
      const type = typeOfVariable(name, file);
      if (symbol && !addresses.length && layoutOf(type, file)) roots.push([name, symbol, type]);
    }
    const all = new Reached(file, device, roots);
    const blocks = new Map([...all.names].map(([block, name]) => [name, block]));
    for (const [name, block] of roots) blocks.set(name, block);
    const arrays = new Map(roots.map(([name, block, type]) => [name, all.array(block, type)]));
    const args = new Map<string, Argument>(
      parameters.map((one, at) => [
        one.name,
        argumentOf(one, launch.given[at], (name) => arrays.get(name) ?? null),
      ]),
    );
    const starts = Object.fromEntries(
      roots.flatMap(([name, block]) => {
        const at = begins.get(name);
        return at === undefined ? [] : [[name, all.start(block, at)]];
      }),
    );
    const others = [...all.names].filter(([, name]) => !arrays.has(name));
    const reached = all.hasPointers
      ? Object.fromEntries(others.map(([block, name]) => [name, all.array(block)]))
      : undefined;
    const watched = [
      ...all.names.values(),
      ...own.flatMap(({ name, constant }) => (constant || arrays.has(name) ? [] : name)),
    ];
    const variables = this.#ofVariables(own, arrays);
    return { args, starts, reached, variables, blocks, watched, all };
  }

  #ofVariables(own: ModuleVariable[], arrays: Map<string, ShapedArray>) {
    const found: Record<string, ShapedArray> = {};
    for (const { name, bytes, addresses, constant, isSet: isSetAtOnce } of own) {
      if (addresses.length) continue;
      const known = arrays.get(name) ?? this.#variables[name];
      if (known) found[name] = known;
      const symbol = this.symbol(name);
      const isUnset = this.program.unset.includes(name);
      const isSet = symbol?.usedBy && !arrays.has(name);
      if (isSet && symbol.size !== bytes) {
        throw new UnfollowedError(`it sets ${symbol.name}, which holds pointers`);
      }
      const given = isSet && constant && !isSetAtOnce ? symbol.given : null;
      const part = given?.includes(1) && given.includes(0) ? given : null;
      if (isUnset || isSet) {
        const data = symbol?.size === bytes ? symbol.bytes.slice() : new Uint8Array(bytes);
        const isWords = bytes % 4 === 0;
        found[name] = {
          data: isWords ? new Uint32Array(data.buffer) : data,
          shape: [isWords ? bytes / 4 : bytes],
          ...(isUnset ? { state: new Uint8Array(bytes).fill(EMPTY) } : {}),
          ...(symbol?.state.includes(UNKNOWN) ? { state: symbol.state } : {}),
          ...(part ? { state: part.map((one) => (one ? WRITTEN : EMPTY)) } : {}),
        };
      }
    }
    return found;
  }

  /** A variable of the device, by its name in the PTX. */
  symbol(variable: string) {
    const all = [...this.program.symbols];
    return all.find(([name]) => isSameSymbol(name, variable))?.[1] ?? null;
  }

  #keepVariables(
    { ptx, entry }: Kernels[string],
    arrays: Record<string, TypedArray>,
    blocks: Map<string, Block>,
  ) {
    const kernel = parse(ptx).get(entry);
    for (const { name, addresses } of kernel?.variables ?? []) {
      if (addresses.length || blocks.has(name) || !kernel || !writtenBy(kernel).has(name)) continue;
      const { buffer, byteOffset, byteLength } = arrays[name];
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      const symbol = this.symbol(name);
      if (symbol?.size === byteLength) {
        symbol.bytes.set(bytes);
        symbol.usedBy ||= "a kernel";
      } else this.#variables[name] = { data: arrays[name], shape: [arrays[name].length] };
    }
  }
}
