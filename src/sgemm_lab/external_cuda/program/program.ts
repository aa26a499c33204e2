// Follows a file's own `main`: what it allocates, fills, launches and compares. Each launch runs in
// the simulator on the memory that the program has then. Nothing is executed: the words of the host
// code are interpreted, without files, time or network.

import { LabError } from "../../errors.ts";
import { secondsNow } from "../../simulator/clock.ts";
import type { Hazard } from "../../simulator/hazard.ts";
import type { CudaFile } from "../cuda_file.ts";
import type { Declaration } from "../declarations.ts";
import type { Finding, Severity } from "../severity.ts";
import { Compiler } from "./compiler.ts";
import { complaint } from "./complaints.ts";
import { ProgramFault, UnfollowedError } from "./faults.ts";
import type { Kernels, LaunchRun, Place } from "./launcher.ts";
import { Launcher, NeededKernel } from "./launcher.ts";
import { ProgramEnd, reseed } from "./library.ts";
import type { Block } from "./memory.ts";
import { HostMemory } from "./memory.ts";
import type { Shared } from "./reader.ts";
import type { Type } from "./types.ts";
import * as types from "./types.ts";
import { Conditions, wordsOf } from "./words.ts";

/** What is wrong with the host code, or with what came out. */
export interface HostFinding {
  kind: string;
  message: string;
  line: number;
  /** the kernel that has to do with it; "" if none */
  kernel: string;
  isCertain: boolean;
}

export interface Followed {
  /** a kernel that has to be compiled before the program can be followed to its end */
  needs: string | null;
  /** why it was not followed to its end; "" if it was */
  stopped: string;
  /** whether smaller sizes would show nothing more */
  isSettled: boolean;
  /** how often it launches each kernel */
  launched: Record<string, number>;
  /** by the kernel that they are about; "" for the program */
  findings: Record<string, Finding[]>;
  /** which constants of the file are smaller than there, in a sentence; "" if none is */
  sizes: string;
}

/** Turns of loops between looks at the clock. */
const TURNS = 65_536;
/** Follow the program of a file for some seconds. */
export function follow(file: CudaFile, kernels: Kernels, seconds: number): Followed {
  return new Program(file, kernels, seconds).run();
}

class Program {
  memory = new HostMemory();
  launches: LaunchRun[];
  findings: HostFinding[] = [];
  shared: Shared;
  #end;
  #turns = 0;

  constructor(
    public file: CudaFile,
    kernels: Kernels,
    seconds: number,
  ) {
    this.#end = secondsNow() + seconds;
    const left = () => this.#left();
    const find = (kind: string, message: string, place: Place) => this.#find(kind, message, place);
    this.shared = {
      ...{ file, memory: this.memory, structs: new Map(), defaults: new Map() },
      ...{ functions: new Map(), globals: new Map(), aliases: new Map(), symbols: new Map() },
      ...{ objects: new Map(), output: [], line: 0 },
      step: () => {
        if (++this.#turns % TURNS === 0) this.#left();
      },
      launch: (launch) => launcher.run(launch),
    };
    const launcher = new Launcher(this.shared, kernels, left, find);
    this.launches = launcher.runs;
  }

  #left() {
    const left = this.#end - secondsNow();
    if (left <= 0) throw new UnfollowedError("it takes too long");
    return left;
  }

  run(): Followed {
    let [needs, stopped]: [string | null, string] = [null, ""];
    this.memory.onUnwritten = (block, at, bytes) => this.#unwritten(block, at, bytes);
    try {
      reseed();
      this.#judge(this.#main());
    } catch (error) {
      if (error instanceof NeededKernel) needs = error.kernel;
      else if (error instanceof UnfollowedError) stopped = error.message;
      else if (error instanceof LabError) stopped = error.message;
      else if (error instanceof ProgramFault) {
        stopped = error.message;
        this.#find(error.kind, error.message);
      } else throw error;
    }
    const findings = this.#findings();
    const isWrong = findings.some(([, { severity }]) => severity === "error");
    const launched = new Map<string, number>();
    for (const { kernel } of this.launches) {
      const name = kernel.split("<")[0];
      launched.set(name, (launched.get(name) ?? 0) + 1);
    }
    return {
      ...{ needs, stopped, isSettled: !stopped || isWrong, sizes: "" },
      launched: Object.fromEntries(launched),
      findings: byKernel(findings),
    };
  }

  /** All that was found, and of which kernel; the same thing once. */
  #findings(): [string, Finding][] {
    const file = this.file.files[0].name;
    const found = new Map<string, [string, Finding]>();
    const add = (kernel: string, one: Finding) => {
      const key = `${kernel} ${one.kind} ${one.line} ${one.array}`;
      if (!found.has(key)) found.set(key, [kernel, one]);
    };
    for (const { kernel, line, hazards, warnings, harmless } of this.launches) {
      const shown: [Severity, Hazard[]][] = [
        ["error", hazards],
        ["warning", warnings],
        ["information", harmless],
      ];
      for (const [severity, all] of shown) {
        for (const { kind, location, otherLocation, message, array } of all) {
          add(kernel, {
            ...{ severity, kind, file: location.file, line: location.line, array, order: "" },
            message: `${message} It is so in the launch of line ${line}.`,
            otherLine: otherLocation?.line ?? null,
          });
        }
      }
    }
    for (const { kind, message, line, kernel, isCertain } of this.findings) {
      const severity = isCertain ? "error" : "warning";
      add(kernel, { severity, kind, message, file, line, otherLine: null, array: null, order: "" });
    }
    return [...found.values()];
  }

  #find(kind: string, message: string, place: Place = {}) {
    const { isCertain = true, line = this.shared.line, kernel = "" } = place;
    if (this.findings.some((one) => one.kind === kind && one.line === line)) return;
    this.findings.push({ kind, message: `Line ${line}: ${message}`, line, kernel, isCertain });
  }

  #main() {
    const conditions = new Conditions(this.file);
    const globals = new Compiler(this.shared, []);
    const runs: (() => number)[] = [];
    for (const one of this.file.declarations) {
      if (one.kind === "directive") conditions.read(one.tokens[0].text);
      else if (conditions.hold) {
        const run = this.#declare(one, globals);
        if (run) runs.push(run);
      }
    }
    const [main] = this.shared.functions.get("main") ?? [];
    if (!main) throw new UnfollowedError("it has no main");
    this.memory.top = Math.ceil((globals.frameSize + 4096) / 16) * 16;
    const entry = new Compiler(this.shared, []);
    entry.frameSize = 0;
    const call = entry.callOwn("main", [], this.#mainArguments(entry, main));
    for (const run of runs) run();
    this.memory.frame = this.memory.top;
    this.memory.top += Math.ceil((entry.frameSize + 64) / 16) * 16;
    try {
      return Number(call?.get() ?? 0);
    } catch (error) {
      if (error instanceof ProgramEnd) return error.status;
      if (error instanceof RangeError) throw new UnfollowedError(error.message);
      throw error;
    }
  }

  #mainArguments(c: Compiler, main: Declaration) {
    const count = wordsOf({ ...main, tokens: main.head } as Declaration, this.file).filter(
      ({ text }) => text === ",",
    ).length;
    if (!count) return [];
    const list = this.memory.allocate(16, "host", "argv");
    this.memory.store(types.SIZE)(list.address, this.memory.literal("program"));
    const argv = types.pointerTo(types.pointerTo(types.CHAR));
    return [c.constant(types.INT, 1), c.constant(argv, list.address)];
  }

  /** Note what a declaration declares; of a variable return what it starts with. */
  #declare(one: Declaration, globals: Compiler): (() => number) | null {
    const { kind, names, tokens } = one;
    const { shared } = this;
    const [name] = names;
    if (kind === "function") {
      shared.functions.set(name, [...(shared.functions.get(name) ?? []), one]);
    } else if (kind === "using" && name && tokens[0].text === "using") {
      shared.aliases.set(name, wordsOf(one, this.file).slice(3, -1));
    } else if (kind === "type") {
      try {
        this.#declareType(one);
      } catch (error) {
        if (!(error instanceof UnfollowedError)) throw error;
      }
    } else if (
      kind === "other" &&
      name &&
      !/^(extern|static_assert|template)$/.test(tokens[0].text)
    ) {
      try {
        return this.#declareVariable(one, globals);
      } catch (error) {
        if (!(error instanceof UnfollowedError)) throw error;
        for (const each of names) globals.scopes[0].delete(each);
      }
    }
    return null;
  }

  #declareVariable(one: Declaration, globals: Compiler) {
    const marks = new Set(["__constant__", "__device__", "__managed__"]);
    const words = wordsOf(one, this.file);
    const isDevice = words.some(({ text }) => marks.has(text));
    globals.words = words.filter(({ text }) => !marks.has(text));
    globals.place = 0;
    const own = new Map(globals.scopes[0]);
    const run = globals.declaration();
    if (!run) return null;
    for (const [name, variable] of globals.scopes[0]) {
      if (own.has(name)) continue;
      const address = this.memory.stack.address + variable.at;
      this.shared.globals.set(name, {
        ...variable,
        address: variable.isReference ? null : address,
      });
      if (isDevice) {
        const block = this.memory.allocate(variable.type.bytes, "device", name);
        block.mark(0, block.size);
        this.shared.symbols.set(name, block);
      }
    }
    return isDevice ? null : run;
  }

  #declareType(one: Declaration) {
    const words = wordsOf(one, this.file);
    const reader = new Compiler(this.shared, words);
    const { structs, aliases, defaults, globals } = this.shared;
    if (reader.take("typedef") && !words.some(({ text }) => text === "{")) {
      const name = words.at(-2)?.text ?? "";
      aliases.set(name, words.slice(1, -2));
      return;
    }
    const opening = words.findIndex(({ text }) => text === "{");
    if (opening < 0 || words[0].text === "template") return;
    if (words.some(({ text }, at) => text === ":" && at < opening)) return;
    const isUnion = words.some(({ text }, at) => text === "union" && at < opening);
    if (words.some(({ text }, at) => text === "enum" && at < opening)) {
      reader.place = opening + 1;
      let next = 0;
      while (!reader.take("}")) {
        const name = reader.name();
        if (reader.take("=")) next = Number(reader.constantHere());
        const variable = { type: types.INT, at: 0, address: null, isReference: false };
        globals.set(name, { ...variable, constant: next++ });
        if (!reader.is("}")) reader.expect(",");
      }
      for (const name of one.names)
        if (!globals.has(name)) aliases.set(name, [{ ...words[0], kind: "name", text: "int" }]);
      return;
    }
    reader.place = opening + 1;
    const members: [string, Type][] = [];
    const values: [string, typeof words][] = [];
    while (!reader.take("}")) {
      if (reader.take("public", ":") || this.#skipFunction(reader, one.names)) continue;
      const base = reader.baseType() ?? reader.fail("a member");
      do {
        let type = reader.stars(base);
        const name = reader.name();
        const sides: number[] = [];
        while (reader.take("[")) {
          sides.push(Number(reader.constantHere()));
          reader.expect("]");
        }
        for (const side of sides.reverse()) type = types.arrayOf(type, side);
        members.push([name, type]);
        if (reader.take("=")) {
          const start = reader.place;
          while (!reader.is(";") && !reader.is(",")) reader.place++;
          values.push([name, words.slice(start, reader.place)]);
        }
      } while (reader.take(","));
      reader.expect(";");
    }
    for (const name of one.names) {
      structs.set(name, types.structOf(name, members, 1, isUnion));
      defaults.set(name, values);
    }
  }

  /** Go on behind a function of a struct, if one stands here; constructors are not followed. */
  #skipFunction(reader: Compiler, names: string[]) {
    const start = reader.place;
    while (!/^[;{=(]$/.test(reader.text())) reader.place++;
    if (!reader.is("(")) {
      reader.place = start;
      return false;
    }
    if (names.includes(reader.text(-1))) reader.fail("a constructor");
    let depth = 0;
    for (; depth || !/^[;}]$/.test(reader.text(-1)); reader.place++) {
      const text = reader.text();
      if (!text) reader.fail("the end");
      depth += Number(/^[({[]$/.test(text)) - Number(/^[)}\]]$/.test(text));
    }
    reader.take(";");
    return true;
  }

  /** Whether what the program printed and returned says that it is content. */
  #judge(status: number) {
    const launch = this.launches.at(-1);
    if (!launch) return;
    const said = complaint(this.shared.output.join(""));
    if (!status && !said) return;
    const prints = said ? `prints "${said.text}"` : "";
    const ends = status ? `ends with status ${status}` : "";
    const message = `The file's own main, followed on its own data, ${[prints, ends].filter(Boolean).join(" and ")}.`;
    const { kernel, line } = launch;
    const isCertain = status !== 0 || said?.isCertain === true;
    this.findings.push({ kind: "wrong result", message, kernel, line, isCertain });
  }

  #unwritten(block: Block, at: number, bytes: number) {
    block.mark(at, bytes);
    if (this.findings.some(({ kind }) => kind === "unwritten")) return;
    const source = block.copyOf ?? block;
    const element = Math.floor(at / bytes).toLocaleString("en");
    const by = source.usedBy ? `, nor has ${source.usedBy}, which ran with it` : "";
    const of = source === block ? "" : `, a copy of ${source.name}`;
    const text = `The host uses element ${element} of ${block.name}${of}. Nothing has written it${by}.`;
    this.#find("unwritten", text, { kernel: source.usedBy });
  }
}

function byKernel(findings: [string, Finding][]) {
  const found: Record<string, Finding[]> = {};
  for (const [kernel, one] of findings) {
    const name = kernel.split("<")[0];
    found[name] = [...(found[name] ?? []), one];
  }
  return found;
}
