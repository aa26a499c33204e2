// One run of a host program, with its launches in the simulator.

import { LabError } from "../../errors.ts";
import { MOST_KERNELS } from "../../external_cuda/program.py";
import { secondsNow } from "../../simulator/clock.ts";
import { parse } from "../../simulator/ptx.ts";
import { watchedBy } from "../../simulator/simulation.ts";
import type { CudaFile } from "../cuda_file.ts";
import { sourceName } from "../variables.ts";
import { Calls } from "./calls.ts";
import { type HostFinding, ProgramFault, TooLargeError, UnfollowedError } from "./faults.ts";
import { Heap } from "./heap.ts";
import { demangled, type HostProgram, lineOf } from "./host_compiler.ts";
import { type Signature, signatureOf, signatureText } from "./kernel_arguments.ts";
import {
  type Kernels,
  type Launch,
  Launcher,
  type LaunchRun,
  NeededKernel,
  type Place,
} from "./launcher.ts";
import { libraryFunctions } from "./library_calls.ts";
import { MADE_BYTES, type MadeValues, MOST_LAUNCHES } from "./made_values.ts";
import { DeviceMemory } from "./memory.ts";
import { type Asked, Runtime, type Unwritten } from "./runtime.ts";
import { type Order, Streams } from "./streams.ts";
import { unsetVariables } from "./unset_variables.ts";
import { ProgramEnd, Wasi } from "./wasi.ts";
import { firstTooWide } from "./wide_numbers.ts";

/** What a run showed. */
export interface Attempt {
  /** a kernel that has to be compiled first */
  needs: string | null;
  /** why it was not followed to its end; "" if it was */
  stopped: string;
  /** whether smaller constants of the file may help */
  isTooLarge: boolean;
  status: number;
  output: string;
  runs: LaunchRun[];
  findings: HostFinding[];
  /** what came to the host although nothing had written it */
  unwritten: Unwritten[];
  /** what the host may have needed earlier, if anything */
  late: { line: number; text: string } | null;
  /** whether nothing came to the host */
  isBlind: boolean;
  /** variables of the device that neither the host nor a kernel sets, by their names in the PTX */
  unset: string[];
  /** what showed behind a launch that was too large to follow, whose results are guessed */
  behind: Behind;
}

export interface Behind {
  runs: LaunchRun[];
  findings: HostFinding[];
}

/** How a run differs from others of the same program. */
interface Way {
  /** what memory of the device holds before anything is written */
  garbage: number;
  order: Order;
  /** what functions are given, of a file without a main */
  made: MadeValues;
  /** variables of the device that hold nothing, by their names in the PTX */
  unset: string[];
  /** what main is given besides the program's name */
  words: string[];
  /** what stands for results that nobody knows, from the first launch on; null where launches run */
  guess: number | null;
}

/** What a module gives. */
interface Exports {
  memory: WebAssembly.Memory;
  __indirect_function_table: WebAssembly.Table;
  __heap_base: WebAssembly.Global;
  _start: () => void;
  /** those of functions that are called without a main */
  [call: `lab_call_${number}`]: () => void;
}

/** How much larger sizes become where a function launches nothing. */
const SCALES = [1, 4, 16];
/** Threads, or a number of a launch, below which none passes its type. */
const NARROW = 2 ** 28;
/** Time for all that is behind a launch which is too large, and for one launch of that. */
const [BEHIND_SECONDS, LOOK_SECONDS] = [2, 1];
/** Time for what follows a launch that shows an error. */
const MORE_SECONDS = 1;
const OF_ANY_RESULT = /^(launch|out of bounds|host memory)$/;
const [ABORTED, DIVIDED] = [134, 136];

export function attempt(
  program: HostProgram,
  file: CudaFile,
  kernels: Kernels,
  seconds: number,
  way: Way,
): Attempt {
  return new Run(program, file, kernels, seconds, way).run();
}

class Run {
  findings: HostFinding[] = [];
  line = 0;
  isTooLarge = false;
  device: DeviceMemory;
  streams: Streams;
  runtime: Runtime;
  launcher: Launcher;
  wasi: Wasi;
  heap: Heap | null = null;
  instance: WebAssembly.Instance | null = null;
  end: number;
  shared = new Map<number, number>();
  signatures = new Map<number, Signature>();
  calls: Calls;
  made: MadeValues;
  launches = 0;
  /** what it showed up to a launch that is too large */
  before: Attempt | null = null;
  /** why functions were not followed to their ends */
  stops: string[] = [];
  /** work that waited when the program printed something */
  waiting: { line: number; what: string } | null = null;
  /** the last launch */
  begun: { line: number; what: string } | null = null;

  constructor(
    public program: HostProgram,
    public file: CudaFile,
    public kernels: Kernels,
    seconds: number,
    public way: Way,
  ) {
    this.end = secondsNow() + seconds;
    this.made = way.made;
    this.device = new DeviceMemory(way.garbage);
    this.streams = new Streams(way.order);
    this.calls = new Calls(file);
    this.wasi = new Wasi(this.memory, () => this.onOutput(), way.words);
    this.runtime = new Runtime({
      ...{ heap: this.heapOf, device: this.device, streams: this.streams, calls: this.calls },
      launch: (asked) => this.launch(asked),
      raise: (stub, bytes) => this.shared.set(stub, bytes),
      staticShared: (stub) => this.signature(stub).staticShared,
      mostThreads: (stub) => this.signature(stub).mostThreads,
      callAll: () => this.callAll(),
      isManaged: (variable) => this.isManaged(variable),
      isMade: () => this.made.isMade,
      number: (which, at) => this.made.number(which, at),
      array: (which, at) => this.array(which, at),
      giveUp: (reason) => this.giveUp(new TooLargeError(reason)),
      guess: () => (this.before ? (way.guess ?? 0) : null),
      call: (callback, data) => this.table().get(callback)(data),
      at: (line) => {
        if (line) this.line = line;
      },
      tick: () => this.tick(),
      find: (message, line) => this.find("host memory", message, { line }),
    });
    const { symbols } = this.runtime;
    this.launcher = new Launcher(
      { file, device: this.device, symbols, unset: way.unset },
      kernels,
      () => (this.before ? Math.min(this.left(), LOOK_SECONDS) : this.left()),
      (kind, message, place) => this.find(kind, message, place),
    );
  }

  exports = () => this.instance?.exports as unknown as Exports;
  memory = () => this.exports().memory;
  table = () => this.exports().__indirect_function_table;
  heapOf = () => {
    this.heap ??= new Heap(this.memory(), this.exports().__heap_base.value);
    return this.heap;
  };

  run(): Attempt {
    const now = this.shown(...this.ended());
    if (!this.before) return now;
    const { runs, findings } = this.before;
    const behind = {
      runs: now.runs.slice(runs.length),
      findings: now.findings.slice(findings.length).filter(({ kind }) => OF_ANY_RESULT.test(kind)),
    };
    return { ...this.before, behind };
  }

  /** Go on behind a launch that is too large, for what is wrong whatever it does; or throw the reason. */
  giveUp(error: TooLargeError) {
    if (this.before) return;
    if (this.made.isMade || !this.instance || this.isWrong()) throw error;
    this.isTooLarge = true;
    this.before = this.shown(null, error.message, 0);
    this.end = secondsNow() + BEHIND_SECONDS;
  }

  shown(needs: string | null, stopped: string, status: number): Attempt {
    const { isTooLarge } = this;
    const runs = [...this.launcher.runs];
    const findings = [...this.findings];
    const unwritten = [...this.runtime.unwritten];
    const { output } = this.wasi;
    const late = this.late();
    const isBlind = !this.runtime.isShared && !this.runtime.hasResults;
    const isComplete = this.runtime.kernels.size <= MOST_KERNELS;
    const unset = unsetVariables(runs, this.kernels, this.file, isComplete).filter(
      (name) => !this.launcher.symbol(name)?.usedBy,
    );
    return {
      ...{ needs, stopped, isTooLarge, status, output, runs, findings },
      ...{ unwritten, late, isBlind, unset, behind: { runs: [], findings: [] } },
    };
  }

  ended(): [string | null, string, number] {
    try {
      const status = this.main();
      this.streams.finishAll();
      this.checkStreams();
      this.checkHeap();
      return [null, this.stops[0] ?? "", status];
    } catch (error) {
      if (error instanceof NeededKernel) return [error.kernel, "", 0];
      if (error instanceof UnfollowedError || error instanceof LabError) {
        this.isTooLarge = error instanceof TooLargeError || error instanceof LabError;
        return [null, error.message, 0];
      }
      if (!(error instanceof ProgramFault)) throw error;
      this.find(error.kind, error.message, {});
      return [null, error.message, 0];
    }
  }

  main() {
    const { module } = this.program;
    const known: Record<string, WebAssembly.ImportValue> = {
      ...this.runtime.functions,
      ...libraryFunctions(this.runtime),
    };
    const imports: WebAssembly.Imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      imports[from] ??= {};
      imports[from][name] =
        from === "env" ? (known[name] ?? this.unknown(name)) : this.wasi.get(name);
    }
    // The names of kernels come before main begins.
    imports.env.__cudaRegisterFatBinaryEnd = () => this.check();
    this.instance = new WebAssembly.Instance(module, imports);
    try {
      this.exports()._start();
      return 0;
    } catch (error) {
      return this.status(error);
    }
  }

  /** Call the functions that launch kernels, one after the other. */
  callAll() {
    this.made.functions.forEach((one, which) => {
      this.made.calling = one;
      this.launches = 0;
      // Tiles that are larger than the usual sizes make a grid without blocks.
      let stops: string[] = [];
      for (const scale of this.made.isMade && !this.made.numbers.size ? SCALES : [1]) {
        this.made.scale = scale;
        if (!this.launches) stops = this.stopOf(which);
      }
      this.stops.push(...stops);
    });
    this.made.scale = 1;
  }

  /** Call a function; the reason why it was not followed to its end, if any. */
  stopOf(which: number) {
    try {
      this.exports()[`lab_call_${which}`]();
      this.streams.finishAll();
      return [];
    } catch (error) {
      return [this.reasonOf(error)];
    }
  }

  /** Why a function of the host was not followed to its end. */
  reasonOf(error: unknown) {
    try {
      return `it ends with status ${this.status(error)}`;
    } catch (other) {
      const isKnown = other instanceof UnfollowedError || other instanceof LabError;
      if (isKnown) return other.message;
      if (!(other instanceof ProgramFault)) throw other;
      this.find(other.kind, other.message, {});
      return other.message;
    }
  }

  isManaged(variable: string) {
    return this.file.declarations.some(
      ({ kind, tokens }) =>
        kind === "other" &&
        tokens.some(({ text }) => text === "__managed__") &&
        tokens.some(({ text }) => text === sourceName(variable)),
    );
  }

  /** An array that a function is given: host and kernels may use it. */
  array(which: number, at: number) {
    const { name } = this.made.functions[which].fields[at];
    const address = this.heapOf().allocate(MADE_BYTES, 256);
    this.heapOf().bytes(address, MADE_BYTES).fill(0);
    this.made.array(this.runtime.shareAlone(address, MADE_BYTES, "managed", name));
    return address;
  }

  /** What a program ends with that something threw out of. */
  status(error: unknown) {
    if (error instanceof ProgramEnd) return error.status;
    if (error instanceof RangeError)
      throw new UnfollowedError("its functions call each other too often");
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    if (error.message.includes("unreachable")) return ABORTED;
    if (/divi|remainder/.test(error.message)) return DIVIDED;
    if (!error.message.includes("out of bounds") || error.message.includes("table")) {
      throw new UnfollowedError(`it is stopped: ${error.message}`);
    }
    this.line = lineOf(this.program, error.stack ?? "") || this.line;
    const text = this.file.files[0].text.split("\n")[this.line - 1] ?? "";
    const words: string[] = text.match(/\w+/g) ?? [];
    const array = this.device.blocks.find(
      ({ where, name }) => where === "device" && words.includes(name),
    );
    throw new ProgramFault(
      array
        ? `Host code uses ${array.name}, which lies in the memory of the device.`
        : "Host code uses an address that lies outside of its memory, as those of the device do.",
      "host memory",
    );
  }

  /** A function that is not here ends the run where it is called. */
  unknown(name: string) {
    return () => {
      if (/^__cxa_(allocate_exception|throw)$/.test(name)) {
        if (/\bcatch\b/.test(this.file.files[0].text)) {
          throw new UnfollowedError("it throws an exception, and catch is not followed");
        }
        throw new ProgramEnd(ABORTED);
      }
      throw new UnfollowedError(`it calls ${demangled(this.program, [name])[0]}`);
    };
  }

  /** Ask for the first kernel that is not compiled. Of many the last are asked for where they are launched. */
  check() {
    const { names } = this.program;
    const { kernels } = this.runtime;
    const fresh = [...kernels.values()].filter((name) => !names.has(name));
    if (fresh.length) {
      const texts = demangled(this.program, fresh);
      fresh.forEach((name, at) => void names.set(name, texts[at]));
    }
    for (const name of [...kernels.values()].slice(0, MOST_KERNELS)) {
      const { key } = signatureText(names.get(name) ?? "");
      if (!(key in this.kernels)) throw new NeededKernel(key);
    }
  }

  signature(stub: number) {
    const known = this.signatures.get(stub);
    if (known) return known;
    const name = this.runtime.kernels.get(stub);
    if (name === undefined) throw new UnfollowedError("it launches what is no kernel of the file");
    const text = this.program.names.get(name) ?? "";
    const { key } = signatureText(text);
    const compiled = this.kernels[key];
    if (!compiled) throw new NeededKernel(key);
    if (compiled.refused) throw new UnfollowedError(compiled.refused);
    const made = signatureOf(this.file, text, compiled);
    this.signatures.set(stub, made);
    return made;
  }

  launch({ stub, args, stream, ...asked }: Asked) {
    if (this.wasi.hasAsked)
      throw new UnfollowedError("it asks for stdin or a file, which are not here");
    const signature = this.signature(stub);
    const { key, name, parameters } = signature;
    const view = new DataView(this.memory().buffer);
    const given = parameters.map(({ ofHost }, at) => {
      const address = view.getUint32(args + 4 * at, true);
      return new Uint8Array(this.memory().buffer, address, ofHost).slice();
    });
    const launch = { ...asked, key, name, signature, given };
    if (this.way.guess !== null) this.giveUp(new TooLargeError(""));
    if (!this.launcher.isPossible(launch, this.shared.get(stub))) {
      if (this.before) return;
      throw new UnfollowedError(`${name} is not launched`);
    }
    if (!this.made.isMade) this.checkWidth(launch);
    const { tooLarge } = this.device;
    if (tooLarge) {
      this.giveUp(new TooLargeError(tooLarge));
      const pointers = this.launcher.pointersOf(launch);
      if (!pointers.every((one) => this.device.isStart(one))) {
        this.device.loseAll();
        return;
      }
    }
    const { line } = asked;
    const { isMade } = this.made;
    if (isMade && this.launches++ >= MOST_LAUNCHES) {
      throw new UnfollowedError("it launches kernels without an end");
    }
    const run = (isWatched: boolean) => {
      this.line = line;
      this.made.line = line;
      this.runtime.changes++;
      if (isMade) this.launcher.note(launch);
      else if (this.before) watchedBy(null, () => this.followed(launch, false));
      else return this.followed(launch, isWatched);
      return undefined;
    };
    const what = `the launch of ${name} in line ${line}`;
    this.begun = { line, what };
    const uses = this.launcher.uses(launch, isMade);
    const of = { kernel: name, given: [key, ...given].join(" "), uses };
    this.streams.add({ stream, line, what, ...of, run });
  }

  /** Whether a launch has shown an error. */
  isWrong = () => this.launcher.runs.some(({ hazards }) => hazards.length);

  followed(launch: Launch, isWatched: boolean) {
    try {
      const uses = this.launcher.run(launch, isWatched);
      if (this.isWrong()) this.end = Math.min(this.end, secondsNow() + MORE_SECONDS);
      return uses;
    } catch (error) {
      if (!(error instanceof TooLargeError)) throw error;
      this.giveUp(error);
      this.launcher.lose(launch);
      return undefined;
    }
  }

  /** Find an index of a launch that has too few bits. */
  checkWidth({ key, name, grid, block, given, signature, line }: Launch) {
    const numbers = given.map(({ length, buffer }, at) => {
      const { type } = signature.parameters[at];
      if (length !== 4 || !/^(unsigned )?(int|long)$/.test(type)) return null;
      const view = new DataView(buffer);
      return type[0] === "u" ? view.getUint32(0, true) : view.getInt32(0, true);
    });
    const threads = [...grid, ...block].reduce((all, side) => all * side, 1);
    if (Math.max(threads, ...numbers.map((one) => one ?? 0)) < NARROW) return;
    const { ptx, entry } = this.kernels[key];
    const kernel = parse(ptx).get(entry);
    const found = kernel && firstTooWide(kernel, { grid, block, numbers });
    if (!found) return;
    const message = `${found.message} It is so in the launch of line ${line}.`;
    this.find("out of bounds", message, { line: found.location.line, kernel: name });
  }

  left() {
    const left = this.end - secondsNow();
    if (left <= 0) throw new TooLargeError("it takes too long");
    return left;
  }

  tick() {
    if (secondsNow() > this.end) this.giveUp(new TooLargeError("it takes too long"));
    this.left();
    // A host that waits for what a kernel writes gets it in the end.
    if (this.streams.pending.length) this.streams.finishAll();
  }

  onOutput() {
    this.waiting ??= this.streams.pending.findLast(({ what }) => what) ?? null;
  }

  /** Find work in two streams that uses the same bytes, and that nothing orders. */
  checkStreams() {
    for (const [first, second] of this.streams.clashes()) {
      const message =
        `Nothing makes ${second.what} wait for ${first.what}, which uses the same array in ` +
        "another stream. Let its stream wait: cudaEventRecord and cudaStreamWaitEvent.";
      const { isMade } = this.made;
      if (isMade && second.kernel === first.kernel) continue;
      const kernel = second.kernel ?? first.kernel ?? "";
      this.find("stream", message, { line: second.line, kernel, isKnown: true });
    }
  }

  late() {
    const waiting = this.waiting ?? this.begun;
    if (!this.runtime.isShared || !waiting) return null;
    const { line, what } = waiting;
    const text = this.waiting
      ? "does not wait for"
      : "uses memory that it shares before the end of";
    return { line, text: `The host ${text} ${what}.` };
  }

  checkHeap() {
    const block = this.heap?.overrun();
    if (!block) return;
    const size = block.size.toLocaleString("en");
    throw new ProgramFault(
      `Host code writes behind the end of an array of ${size} bytes.`,
      "host memory",
    );
  }

  find(kind: string, message: string, place: Place) {
    const { isCertain = true, line = this.line, kernel = "" } = place;
    // With other arguments, or an answer, it may be otherwise.
    if ((this.made.isMade && !place.isKnown) || this.wasi.hasAsked) return;
    if (this.findings.some((one) => one.kind === kind && one.line === line)) return;
    this.findings.push({ kind, message: `Line ${line}: ${message}`, line, kernel, isCertain });
  }
}
