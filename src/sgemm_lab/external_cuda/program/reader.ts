// Reads the words of host code: where the reader is, and the types that stand there.

import type { CudaFile } from "../cuda_file.ts";
import type { Declaration } from "../declarations.ts";
import { UnfollowedError } from "./faults.ts";
import type { Block, HostMemory } from "./memory.ts";
import type { Type, Value } from "./types.ts";
import * as types from "./types.ts";
import type { Word } from "./words.ts";

/** What an expression gives. Of a struct, a vector or an array the value is its address. */
export interface Expression {
  type: Type;
  get: () => Value;
  set?: (value: Value) => void;
  /** of what lies in memory */
  address?: () => number;
  /** it is a variable of the function */
  isLocal?: boolean;
  /** where it is the same in every run */
  constant?: Value;
  closure?: Closure;
  /** of the name of a kernel */
  kernel?: { of: Declaration; template: string[] };
  /** of a text or a name, as written */
  name?: string;
}

/** A lambda: compiled for the types that it is called with. */
export interface Closure {
  call: (given: Expression[]) => Expression;
}

/** A variable: in the frame of its function, at an address, or a constant. */
export interface Variable {
  type: Type;
  at: number;
  address: number | null;
  isReference: boolean;
  constant?: Value;
  closure?: Closure;
}

/** What all functions of a program share. */
export interface Shared {
  file: CudaFile;
  memory: HostMemory;
  structs: Map<string, Type>;
  /** where a struct's fields have values from the start: their words */
  defaults: Map<string, [string, Word[]][]>;
  functions: Map<string, Declaration[]>;
  globals: Map<string, Variable>;
  /** what the file gives other names to, and which of its numbers are constants of an enum */
  aliases: Map<string, Word[]>;
  /** variables of the device, by name */
  symbols: Map<string, Block>;
  /** what objects outside of the memory were made with, by number */
  objects: Map<number, number[]>;
  output: string[];
  line: number;
  /** count a step; throws where there are too many */
  step: () => void;
  launch: (launch: Launch) => void;
}

/** A launch, as the program comes to it. */
export interface Launch {
  kernel: Declaration;
  /** values of its template, as words */
  template: string[];
  grid: number[];
  block: number[];
  sharedBytes: number;
  cooperative: boolean;
  args: { name: string; type: Type; value: Value; constant: boolean }[];
  line: number;
}

const QUALIFIERS = new Set([
  ...["const", "static", "constexpr", "volatile", "inline", "struct", "extern", "typename", "enum"],
  ...["register", "__restrict__", "__restrict", "class", "thread_local"],
]);
const NUMBER_WORDS = new Set([...["unsigned", "signed", "long", "short", "int", "char", "double"]]);
/** Types whose values are of no use to what is followed. */
const HANDLES = /^(cuda(Stream|Event|Graph\w*|MemPool)_t|FILE|cudaFuncAttribute)$/;
const ENGINES = /^(mt19937(_64)?|default_random_engine|minstd_rand0?|random_device|ranlux\w+)$/;
const CLOCKS = /^(steady_clock|high_resolution_clock|system_clock|chrono|duration|time_point)$/;
const DEVICE_PROPERTIES: [string, Type][] = [
  ["name", types.arrayOf(types.CHAR, 256)],
  ...[
    ...["multiProcessorCount", "major", "minor", "maxThreadsPerBlock", "warpSize", "regsPerBlock"],
    ...["maxThreadsPerMultiProcessor", "cooperativeLaunch", "l2CacheSize", "clockRate"],
    ...["memoryClockRate", "memoryBusWidth", "managedMemory", "concurrentKernels"],
  ].map((name): [string, Type] => [name, types.INT]),
  ...[
    "totalGlobalMem",
    "sharedMemPerBlock",
    "sharedMemPerMultiprocessor",
    "sharedMemPerBlockOptin",
  ].map((name): [string, Type] => [name, types.SIZE]),
];

export class Reader {
  place = 0;
  /** what the parameters of a template stand for */
  typeNames = new Map<string, Type>();
  scopes: Map<string, Variable>[] = [new Map()];
  /** inside `<…>`, where ">" is no operator */
  angles = false;

  constructor(
    public shared: Shared,
    public words: Word[],
  ) {}

  text(ahead = 0) {
    return this.words[this.place + ahead]?.text ?? "";
  }

  is(...texts: string[]) {
    return texts.every((text, at) => this.text(at) === text);
  }

  /** Go on where these words stand. */
  take(...texts: string[]) {
    if (!this.is(...texts)) return false;
    this.place += texts.length;
    return true;
  }

  expect(text: string) {
    if (!this.take(text)) this.fail(`'${this.text()}' where '${text}' is expected`);
  }

  fail(what: string): never {
    const word = this.words[Math.min(this.place, this.words.length - 1)];
    throw new UnfollowedError(`line ${word?.line ?? 0}: ${what}`);
  }

  name() {
    const word = this.words[this.place];
    if (word?.kind !== "name") this.fail(`'${word?.text ?? ""}'`);
    this.place++;
    return word.text;
  }

  find(name: string): Variable | null {
    for (let at = this.scopes.length - 1; at >= 0; at--) {
      const found = this.scopes[at].get(name);
      if (found) return found;
    }
    return this.shared.globals.get(name) ?? null;
  }

  /** A type with its stars; null, and nothing read, where none stands here. */
  type(): Type | null {
    const base = this.baseType();
    return base && this.stars(base);
  }

  stars(base: Type): Type {
    let type = base;
    for (;;) {
      if (this.take("*")) type = types.pointerTo(type);
      else if (!this.take("const") && !this.take("__restrict__") && !this.take("__restrict")) break;
    }
    return type;
  }

  baseType(): Type | null {
    const start = this.place;
    while (QUALIFIERS.has(this.text())) this.place++;
    const words: string[] = [];
    while (NUMBER_WORDS.has(this.text())) {
      words.push(this.name());
      while (QUALIFIERS.has(this.text())) this.place++;
    }
    const found = words.length ? types.wordsType(words) : this.#namedType();
    if (!found) this.place = start;
    while (found && QUALIFIERS.has(this.text())) this.place++;
    return found;
  }

  #namedType(): Type | null {
    if (this.words[this.place]?.kind !== "name") return null;
    const start = this.place;
    while (this.text(1) === "::" && /^(std|chrono|cuda|nvcuda)$/.test(this.text())) this.place += 2;
    const name = this.name();
    if (this.find(name)) {
      this.place = start;
      return null;
    }
    const { structs, aliases } = this.shared;
    const own = this.typeNames.get(name) ?? structs.get(name) ?? types.namedType(name);
    if (own) return own;
    const found = this.#libraryType(name);
    if (found) return found;
    const alias = aliases.get(name);
    if (!alias) {
      this.place = start;
      return null;
    }
    return this.elsewhere(alias, () => this.type());
  }

  /** Read other words in the place of these. */
  elsewhere<Found>(words: Word[], read: () => Found): Found {
    const [before, at] = [this.words, this.place];
    this.words = words;
    this.place = 0;
    try {
      return read();
    } finally {
      this.words = before;
      this.place = at;
    }
  }

  #libraryType(name: string): Type | null {
    if (name === "string") return types.STRING;
    if (HANDLES.test(name)) return types.SIZE;
    if (name === "cudaDeviceProp") return types.structOf(name, DEVICE_PROPERTIES);
    if (ENGINES.test(name) || CLOCKS.test(name)) {
      const type = types.object(name);
      if (this.is("<")) this.typeArguments();
      while (this.take("::")) this.place++;
      return type;
    }
    if (!this.is("<")) return null;
    if (/_distribution$/.test(name)) {
      const [to] = this.typeArguments();
      return types.object(name, (to as Type) ?? (/_int_/.test(name) ? types.INT : types.DOUBLE));
    }
    if (name === "vector") return types.vectorOf(this.#first());
    if (name === "queue" || name === "deque" || name === "stack") {
      const type = types.vectorOf(this.#first());
      return { ...type, name: `${name}<${type.to.name}>` };
    }
    if (name === "pair") {
      const [one, other] = this.typeArguments() as Type[];
      const members: [string, Type][] = [
        ["first", one],
        ["second", other],
      ];
      return types.structOf(`pair<${one.name},${other.name}>`, members);
    }
    if (name === "array") {
      const [to, count] = this.typeArguments();
      return types.arrayOf(to as Type, Number(count));
    }
    return null;
  }

  #first() {
    return this.typeArguments()[0] as Type;
  }

  /** `<float, 16>`: types, and numbers that are the same in every run. */
  typeArguments(): (Type | Value)[] {
    this.expect("<");
    const found: (Type | Value)[] = [];
    const before = this.angles;
    this.angles = true;
    while (!this.take(">")) {
      const type = this.type();
      found.push(type ?? this.constantHere());
      if (!this.is(">")) this.expect(",");
    }
    this.angles = before;
    if (found.some((one) => one === null)) this.fail("a type");
    return found;
  }

  /** A number that is the same in every run. */
  constantHere(): Value {
    return this.fail(this.text());
  }
}

/** A function that does something and then gives a value. */
export const giving =
  (run: () => unknown, value: Value = 0): (() => Value) =>
  () => {
    run();
    return value;
  };
