// Evaluates host expressions: the grid and block of a launch, a kernel's numbers, the bytes of its
// arrays. `dim3 grid((n + 31) / 32)` and `k<<<grid, 256>>>(x, n)` give the grid for the n that the
// kernel receives. Supported are numbers, constants, macros, functions with a single return,
// assignments before the launch, and `dim3`. Nothing is executed as code.
//
// A reader that guesses goes on where a value is not certain: the program has no command-line
// arguments, the simpler of two branches is taken, a loop is in its first iteration, parameters of
// the launching function are those of its callers. Values that make the launch too large to
// simulate are divided by a power of two.

import type { CudaFile } from "./cuda_file.ts";
import type { Declaration } from "./declarations.ts";
import type { FoundLaunch } from "./kernels.ts";
import { parameterOf, parameterTokens, templateOf } from "./kernels.ts";
import type { Token } from "./tokens.ts";
import {
  afterAngles,
  depthOf,
  inside,
  matching,
  outsideBrackets,
  split,
  textsOf,
  tokensOf,
} from "./tokens.ts";

export interface Single {
  number: number;
  whole: boolean;
}
/** A number, or the sides of a `dim3`. */
export type Value = Single | number[];

/** The expression cannot be evaluated. */
export class UnknownError extends Error {}

/** How a reader guesses. */
export interface Guesses {
  /** bytes of a type by its name */
  bytesOf: (type: string) => number | null;
  /** names of a struct's fields, in order */
  fieldsOf: (type: string) => string[];
  /** how often values that only numbers make are halved, larger ones first */
  halvings: number;
  /** names whose values the kernel knows too, so they are never divided */
  kept: Set<string>;
  /** values in the place of the file's, by the name of a variable */
  edits: Map<string, number>;
}

/** A value that the launch depends on, what the file says of it, and its line. */
export interface SizeOfFile {
  value: number;
  own: number;
  line: number;
}

/** Where an expression stands: what is before it in its function, and the function. */
interface Place {
  before: Token[];
  function: Declaration;
}

/** Values up to the first are divided only where nothing else helps; none is less than the second. */
export const LARGEST_KEPT = 1024;
const LEAST = 32;
/** How often larger values are halved before the others are, too. */
export const HALVINGS = 24;
/** Values of a variable that are tried, the last first. */
const MOST_ASSIGNMENTS = 6;
/** Nesting of names and brackets; tokens read for one value, for macros that double each other. */
const DEEPEST = 60;
const MOST_STEPS = 20_000;
export const POINTER_BYTES = 8;

const SIZES: Record<string, number> = {
  ...{ float: 4, int: 4, double: 8, half: 2, char: 1, short: 2, unsigned: 4, float4: 16 },
  ...{ float2: 8, size_t: 8, long: 8 },
};
const TYPES = new Set([
  ...Object.keys(SIZES),
  ...["const", "auto", "uint32_t", "int32_t", "uint", "dim3", "std", "int64_t"],
]);
const CASTS = /^(int|unsigned|size_t|uint|float|double|uint32_t|long)$/;
const REAL = /^(float|double)$/;
const FUNCTIONS: Record<string, (...numbers: number[]) => number> = {
  ...{ ceil: Math.ceil, ceilf: Math.ceil, floor: Math.floor, sqrt: Math.sqrt },
  ...{ min: Math.min, max: Math.max },
};
/** Functions that divide and round up; their definition may be missing. */
const ROUNDED_UP =
  /^(i?div_?(?:round_?)?up|div_?ceil|ceil_?div|divide_?up|i?cdiv|up_?div|round_?up_?div)$/i;
/** From the loosest on; each level joins from the left. */
const LEVELS: Record<string, (a: number, b: number) => number>[] = [
  { "||": (a, b) => Number(a || b) && 1 },
  { "&&": (a, b) => Number(a && b) && 1 },
  { "==": (a, b) => Number(a === b), "!=": (a, b) => Number(a !== b) },
  {
    ...{ "<": (a, b) => Number(a < b), ">": (a, b) => Number(a > b) },
    ...{ "<=": (a, b) => Number(a <= b), ">=": (a, b) => Number(a >= b) },
  },
  {
    "<<": (a, b) => truncated(a) * 2 ** shift(b),
    ">>": (a, b) => Math.floor(truncated(a) / 2 ** shift(b)),
  },
  { "+": (a, b) => a + b, "-": (a, b) => a - b },
  // A remainder as Python's, of the divisor's sign.
  { "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a - b * Math.floor(a / b) },
];
const OPERATORS = new Map(
  LEVELS.flatMap((level, at) =>
    Object.entries(level).map(([sign, apply]) => [sign, { level: at + 1, apply }] as const),
  ),
);
const shift = (bits: number) => Math.min(63, Math.max(0, Math.trunc(bits)));
/**
 * Functions whose first argument is an array, and which argument says its bytes; of cudaMallocPitch
 * those of a row.
 */
const ALLOCATES: Record<string, number> = {
  ...{ cudaMalloc: 1, cudaMallocManaged: 1, cudaMallocHost: 1, cudaHostAlloc: 1 },
  ...{ cudaMallocAsync: 1, cudaMallocPitch: 2, cudaMemcpy: 2, cudaMemcpyAsync: 2, cudaMemset: 2 },
};

/** What changes the length of a vector. */
const GROWS = /^(push_back|emplace_back|resize|insert|assign)$/;

export const wholeNumber = (number: number): Single => ({ number, whole: true });

/** Evaluates the expressions of a launch. Methods that give a value throw an UnknownError. */
export class HostReader {
  /** names that were followed to what they stand for */
  followed = new Set<string>();
  /** values that only numbers make and the reader divides, by the name */
  sizes = new Map<string, SizeOfFile>();
  #place: Place;
  #itemBytes = 4;
  #steps = 0;
  /** names whose values went into what is being read */
  #namesRead = 0;

  /**
   * @param names values that are known
   * @param template arguments of templates; host code often uses the same names
   * @param guesses null where only what is certain counts
   */
  constructor(
    public file: CudaFile,
    launch: Pick<FoundLaunch, "before" | "function">,
    public names: Map<string, Value>,
    public template: Map<string, string>,
    public guesses: Guesses | null = null,
  ) {
    this.#place = launch;
  }

  /** A number; null where it cannot be worked out. */
  number(tokens: Token[]): Single | null {
    const found = known(() => this.value(tokens, 0));
    return found && !Array.isArray(found) ? found : null;
  }

  /** A grid or a block. */
  sidesOf(tokens: Token[]) {
    const found = this.value(tokens, 0);
    return Array.isArray(found) ? found : [truncated(found.number)];
  }

  /**
   * The bytes of the array that an argument names, by where the file allocates it.
   * @param itemBytes of one element
   */
  arrayBytes(tokens: Token[], itemBytes: number): number | null {
    this.#itemBytes = itemBytes;
    return known(() => this.#arrayBytes(tokens, 0));
  }

  /**
   * How many elements into its array an argument such as `a + 4` or `&a[4]` leads; null where that
   * cannot be worked out.
   */
  start(tokens: Token[]): number | null {
    const plus = outsideBrackets(tokens, "+");
    if (plus < 0 && !tokens.some(({ text }) => text === "[")) return 0;
    const isNamed = plus > 0 && tokens.slice(0, plus).every(({ kind }) => kind === "name");
    const isPlace = tokens[0].text === "&" && tokens[2]?.text === "[";
    if (!isNamed && !isPlace) return null;
    const found = this.number(isNamed ? tokens.slice(plus + 1) : inside(tokens, 2));
    return found && found.number >= 0 && Number.isInteger(found.number) ? found.number : null;
  }

  /**
   * What `cudaMemset` fills an array with before the launch, and how many bytes: all where the
   * file does not say. Null if nothing does, or if something else may write to more than a single element of the array.
   */
  cleared(tokens: Token[]) {
    const names = new Set(tokens.flatMap(({ kind, text }) => (kind === "name" ? text : [])));
    const { before } = this.#place;
    const found: Token[][][] = [];
    for (const [place, { kind, text }] of before.entries()) {
      if (kind !== "name" || !names.has(text) || before[place - 1]?.text === "*") continue;
      const call = callAround(before, place);
      const isClearing = call && /^cudaMemset(Async)?$/.test(call.name);
      const isOne = call?.name === "cudaMemcpy" && textsOf(call.parts[0])[1] === "+";
      if (isClearing && textsOf(call.parts[0]).join("") === text) found.push(call.parts);
      else if (isOne && textsOf(call.parts[2]).join("").startsWith("sizeof(")) continue;
      else if (!call?.name.startsWith("cudaMalloc")) return null;
    }
    const [, value, bytes] = found.length === 1 ? found[0].map((part) => this.number(part)) : [];
    const all = bytes ? Math.trunc(bytes.number) : Number.POSITIVE_INFINITY;
    return value ? { value: Math.trunc(value.number) & 255, bytes: all } : null;
  }

  /** Evaluate an expression; of `a ? b : c` the branch that holds, or guess one that can be read. */
  value(tokens: Token[], depth: number): Value {
    if (depth > DEEPEST || !tokens.length) throw new UnknownError("Nothing to read.");
    const question = outsideBrackets(tokens, "?");
    if (question >= 0) return this.#choice(tokens, question, depth);
    const [place, found] = this.#operation(tokens, 0, 0, depth);
    if (place !== tokens.length) throw new UnknownError(tokens[place].text);
    return found;
  }

  #choice(tokens: Token[], question: number, depth: number) {
    const colon = outsideBrackets(tokens, ":");
    if (colon < 0) throw new UnknownError("?");
    const branches = [tokens.slice(question + 1, colon), tokens.slice(colon + 1)];
    const read = this.#namesRead;
    const condition = known(() => this.value(tokens.slice(0, question), depth + 1));
    this.#namesRead = read;
    if (!condition && !this.guesses) throw new UnknownError("?");
    // A condition that cannot be worked out does not hold.
    if (!condition || Array.isArray(condition) || !condition.number) branches.reverse();
    const found = known(() => this.value(branches[0], depth + 1));
    if (!found && !this.guesses) throw new UnknownError("?");
    return found ?? this.value(branches[1], depth + 1);
  }

  /** Operands joined by operators of higher precedence than `least`. */
  #operation(tokens: Token[], start: number, least: number, depth: number): [number, Value] {
    let [place, left] = this.#operand(tokens, start, depth + 1);
    while (place < tokens.length) {
      const { text } = tokens[place];
      const pair = text + (tokens[place + 1]?.text ?? "");
      const sign = OPERATORS.has(pair) ? pair : text;
      const operator = OPERATORS.get(sign);
      if (!operator || operator.level <= least) break;
      const from = place + (sign === pair ? 2 : 1);
      const [end, right] = this.#operation(tokens, from, operator.level, depth + 1);
      [place, left] = [end, workedOut(sign, left, right)];
    }
    return [place, left];
  }

  /** One operand: the index after it and its value. */
  #operand(tokens: Token[], place: number, depth: number): [number, Value] {
    this.#steps++;
    if (place >= tokens.length || depth > DEEPEST || this.#steps > MOST_STEPS) {
      throw new UnknownError("It ends too early.");
    }
    const { kind, text } = tokens[place];
    if (text === "-" || text === "+") {
      const [end, found] = this.#operand(tokens, place + 1, depth + 1);
      return [end, text === "-" ? workedOut("-", wholeNumber(0), found) : found];
    }
    if (kind === "number") return [place + 1, literal(text)];
    if (text === "true" || text === "false")
      return [place + 1, wholeNumber(Number(text === "true"))];
    if (text === "(") {
      const end = matching(tokens, place);
      const between = tokens.slice(place + 1, end);
      const isCast = between.length && between.every((one) => TYPES.has(one.text));
      if (!isCast) return [end + 1, this.value(between, depth + 1)];
      const [after, found] = this.#operand(tokens, end + 1, depth + 1);
      return [after, cast(between, found)];
    }
    if (kind === "name") return this.#named(tokens, place, depth);
    throw new UnknownError(text);
  }

  /** What begins with a name: a variable, a call, a field of `dim3`, the first of an array. */
  #named(tokens: Token[], place: number, depth: number): [number, Value] {
    const name = tokens[place].text;
    const after = tokens[place + 1]?.text ?? "";
    if (name === "std" && after === "::") return this.#named(tokens, place + 2, depth);
    if (name === "static_cast" && after === "<") {
      const found = tokens.findIndex(({ text }, at) => at > place && text === "(");
      const opening = Math.max(place, found);
      const end = matching(tokens, opening);
      const inner = this.value(tokens.slice(opening + 1, end), depth + 1);
      return [end + 1, cast(tokens.slice(place + 2, opening - 1), inner)];
    }
    if (after === "(" || after === "{") {
      const end = matching(tokens, place + 1);
      return [end + 1, this.#called(name, split(tokens.slice(place + 2, end)), depth)];
    }
    if (after === "[" && this.guesses) {
      const list = initialiser(name, this.#place.before);
      if (list?.bracket !== "{" || !list.parts.length) throw new UnknownError(name);
      return [matching(tokens, place + 1) + 1, this.value(list.parts[0], depth + 1)];
    }
    const field = after === "." ? tokens[place + 2]?.text : undefined;
    const first = field === undefined ? null : this.#member(name, field);
    if (first) {
      const isCall = tokens[place + 3]?.text === "(" && tokens[place + 4]?.text === ")";
      const line = () => this.file.lineOf(this.#place.function, tokens[place]);
      const value = this.#tried(`${name}.${field}`, first, line, depth);
      if (!value) throw new UnknownError(name);
      return [place + (isCall ? 5 : 3), value];
    }
    const member = this.names.get(`${name}.${field}`);
    if (field !== undefined && member) return [place + 3, member];
    const found = this.#known(name, depth);
    if (field === undefined) return [place + 1, found];
    const axis = "xyz".indexOf(field);
    if (axis < 0 || !Array.isArray(found)) throw new UnknownError(name);
    return [place + 3, wholeNumber(found[axis] ?? 1)];
  }

  /** What a struct's field starts with, or what says how long a vector is. */
  #member(name: string, member: string): Token[] | null {
    const { before } = this.#place;
    if (!this.guesses) return null;
    const set = before.findLastIndex((_, at) => {
      const [value, ...rest] = before.slice(at, at + 5).reverse();
      return (
        value?.text !== "=" && rest.map(({ text }) => text).join(" ") === `= ${member} . ${name}`
      );
    });
    if (set >= 0) {
      const value = before.slice(set + 4);
      return value.slice(
        0,
        value.findIndex(({ text }) => text === ";"),
      );
    }
    const declared = initialiser(name, before);
    if (!declared) return null;
    const { words, bracket, parts } = declared;
    if (words.includes("vector")) {
      const grows = before.some(
        ({ text }, at) => text === name && GROWS.test(before[at + 2]?.text ?? ""),
      );
      if (member !== "size" || grows) return null;
      return bracket === "(" ? (parts[0] ?? null) : tokensOf(`${parts.length}`);
    }
    const fields = bracket === "{" ? this.guesses.fieldsOf(words.at(-1) ?? "") : [];
    return parts[fields.indexOf(member)] ?? null;
  }

  /** A call, a macro with arguments, or a constructor. */
  #called(name: string, parts: Token[][], depth: number): Value {
    if (name === "sizeof" && parts.length === 1) return wholeNumber(this.#sizeOf(parts[0]));
    const macro = this.file.macros.get(name);
    if (macro?.takes) {
      const { takes, body } = macro;
      const filled = body.flatMap((one) => parts[takes.indexOf(one.text)] ?? [one]);
      return this.value(filled, depth + 1);
    }
    const values = parts.map((part) => this.value(part, depth + 1));
    const [first] = values;
    if (name === "dim3" && values.length === 1 && Array.isArray(first)) return first;
    const numbers = values.flatMap((one) => (Array.isArray(one) ? [] : one));
    if (numbers.length !== values.length) throw new UnknownError(name);
    if (name === "dim3") return numbers.length ? numbers.map((one) => truncated(one.number)) : [1];
    if (CASTS.test(name) && numbers.length === 1) {
      return {
        number: REAL.test(name) ? numbers[0].number : truncated(numbers[0].number),
        whole: !REAL.test(name),
      };
    }
    const made = ofLibrary(name, numbers);
    if (made) return made;
    const [a, b] = numbers.map(({ number }) => number);
    const isRounded = numbers.length === 2 && ROUNDED_UP.test(name) && b > 0;
    if (!isRounded) return this.#function(name, parts, depth);
    return known(() => this.#function(name, parts, depth)) ?? wholeNumber(Math.ceil(a / b));
  }

  /** Bytes of a type or a struct of the file, of a pointer, or of what `*x` is. */
  #sizeOf(tokens: Token[]): number {
    if (!this.guesses) return SIZES[textsOf(tokens).join(" ")] ?? 4;
    const words = textsOf(tokens).filter((text) => text !== "const" && text !== "struct");
    if (words[0] === "*" || `${words.slice(1)}` === "[,0,]") return this.#itemBytes;
    const found = words.at(-1) === "*" ? POINTER_BYTES : this.guesses.bytesOf(words.join(" "));
    if (!found) throw new UnknownError("sizeof");
    return found;
  }

  /** A function such as `int half(int a) { return a / 2; }`. */
  #function(name: string, parts: Token[][], depth: number): Value {
    for (const one of this.file.declarations) {
      if (one.kind !== "function" || !one.names.includes(name)) continue;
      const { tokens } = one;
      const returns = tokens.filter(({ text }) => text === "return");
      if (returns.length !== 1) continue;
      const takes = parameterTokens(one).map((part) => part[part.length - 1].text);
      const body = tokens.slice(tokens.indexOf(returns[0]) + 1, -2);
      const filled = body.flatMap((token) => {
        const part = parts[takes.indexOf(token.text)];
        return part ? bracketed(part) : [token];
      });
      return this.value(filled, depth + 1);
    }
    throw new UnknownError(name);
  }

  /** What a name stands for. */
  #known(name: string, depth: number): Value {
    const define = Object.hasOwn(this.file.defines, name) ? this.file.defines[name] : undefined;
    const given = this.names.get(name);
    if (given || define !== undefined) this.#namesRead++;
    if (given) return given;
    if (define !== undefined) return this.value(tokensOf(define), depth + 1);
    for (const { place, tokens, line } of this.#meanings(name)) {
      if (!this.guesses) return this.value(tokens, depth + 1);
      const found = this.#at(place, () => this.#tried(name, tokens, line, depth));
      if (found) return found;
    }
    if (this.guesses && name === "argc") return wholeNumber(1);
    this.#namesRead++;
    const value = this.template.get(name);
    if (value === undefined) throw new UnknownError(name);
    return this.value(tokensOf(value), depth + 1);
  }

  /** What a name may stand for, the nearest first, and where that has to be read. */
  *#meanings(
    name: string,
  ): Generator<{ place: Place | null; tokens: Token[]; line: () => number }> {
    const { function: own, before } = this.#place;
    let left = MOST_ASSIGNMENTS;
    for (const { value, at } of assignments(name, before)) {
      if (value) yield { place: null, tokens: value, line: () => this.file.lineOf(own, at) };
      left -= 1;
      if (!left || !this.guesses) break;
    }
    const pitch = this.guesses && pitchOf(name, before);
    if (pitch) yield { place: null, tokens: pitch, line: () => this.file.lineOf(own) };
    if (this.guesses) yield* this.#givenByCallers(name);
    for (const one of this.file.declarations) {
      if (one.kind !== "other" || !one.names.includes(name)) continue;
      const first = assignments(name, one.tokens).next().value;
      if (!first?.value) continue;
      yield { place: null, tokens: first.value, line: () => this.file.lineOf(one) };
      break;
    }
    const macro = this.file.macros.get(name);
    if (macro && !macro.takes)
      yield { place: null, tokens: macro.body, line: () => this.file.lineOf(macro.directive) };
  }

  /**
   * What a name stands for, divided where only numbers make it; what names make is divided with
   * those.
   */
  #tried(name: string, tokens: Token[], line: () => number, depth: number): Value | null {
    const read = this.#namesRead;
    this.#namesRead = 0;
    const value = known(() => this.value(tokens, depth + 1));
    if (!value) {
      this.#namesRead = read;
      return null;
    }
    const isPlain = !this.#namesRead;
    this.#namesRead = read + 1;
    this.followed.add(name);
    const { guesses } = this;
    if (!guesses || !isPlain || Array.isArray(value)) return value;
    if (guesses.kept.has(name) || value.number <= LEAST) return value;
    const used = guesses.edits.get(name);
    const found = used === undefined ? shrunk(value, guesses.halvings) : wholeNumber(used);
    this.sizes.set(name, { value: found.number, own: value.number, line: line() });
    return found;
  }

  /** Read names as they are at another place. */
  #at<Found>(place: Place | null, read: () => Found): Found {
    if (!place) return read();
    const [before, names] = [this.#place, this.names];
    this.#place = place;
    this.names = new Map();
    try {
      return read();
    } finally {
      this.#place = before;
      this.names = names;
    }
  }

  #arrayBytes(tokens: Token[], depth: number): number | null {
    const names = tokens.filter(({ kind }) => kind === "name").map(({ text }) => text);
    if (depth > MOST_ASSIGNMENTS) return null;
    for (const name of names.reverse()) {
      for (const { place, tokens: size } of this.#allocations(name)) {
        const found = this.#at(place, () => known(() => this.value(size, depth + 1)));
        if (found && !Array.isArray(found) && found.number >= 1) return truncated(found.number);
      }
      for (const { place, tokens: argument } of this.#givenByCallers(name)) {
        const bytes = this.#at(place, () => this.#arrayBytes(argument, depth + 1));
        if (bytes) return bytes;
      }
    }
    return null;
  }

  /** Where an array is allocated or filled, and what says its bytes: here before elsewhere. */
  *#allocations(name: string) {
    const own = this.#place.function;
    const others = this.file.declarations.filter((one) => one !== own && !one.isKernel);
    for (const one of [own, ...others]) {
      if (one.kind === "type" || !one.words.has(name)) continue;
      for (const [at, { text }] of one.tokens.entries()) {
        const size = Object.hasOwn(ALLOCATES, text) ? ALLOCATES[text] : 0;
        if (!size || one.tokens[at + 1]?.text !== "(") continue;
        const parts = split(inside(one.tokens, at + 1));
        if (parts.length > size && parts[0].slice(-2).some((token) => token.text === name)) {
          const place = { before: one.tokens.slice(0, at), function: one };
          const isPitched = text === "cudaMallocPitch" && parts.length > size + 1;
          yield { place, tokens: isPitched ? pitched(parts[size], parts[size + 1]) : parts[size] };
        }
      }
    }
  }

  /** What the callers of this function give for a parameter of it, or of its template. */
  *#givenByCallers(name: string) {
    const { function: own } = this.#place;
    if (own.kind !== "function" || !own.words.has(name)) return;
    const number = parameterTokens(own).findLastIndex((part) => parameterOf(part).name === name);
    const ofTemplate = templateOf(own.head).findIndex((one) => one.name === name);
    if (number < 0 && ofTemplate < 0) return;
    for (const { place, values, given } of this.#calls(own)) {
      const tokens = number >= 0 ? given[number] : undefined;
      const found = tokens ?? (ofTemplate >= 0 ? values[ofTemplate] : undefined);
      if (found)
        yield { place, tokens: found, line: () => this.file.lineOf(place.function, found[0]) };
    }
  }

  /** Where a function is called: the values of its template, and its arguments. */
  *#calls(own: Declaration) {
    const [called] = own.names;
    for (const one of this.file.declarations) {
      if (one === own || one.kind !== "function" || !one.words.has(called)) continue;
      const { tokens } = one;
      for (const [at, { text }] of tokens.entries()) {
        if (text !== called || !tokens[at + 1]) continue;
        const isTemplate = tokens[at + 1].text === "<";
        const opening = isTemplate ? afterAngles(tokens, at + 1) : at + 1;
        if (tokens[opening]?.text !== "(") continue;
        yield {
          place: { before: tokens.slice(0, at), function: one },
          values: isTemplate ? split(tokens.slice(at + 2, opening - 1)) : [],
          given: split(inside(tokens, opening)),
        };
      }
    }
  }
}

/** What a function gives; null where it throws an UnknownError. */
export function known<Found>(read: () => Found): Found | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnknownError) return null;
    throw error;
  }
}

/**
 * Halve a value, but not below what a tile may be; the first halvings spare small values. What such a
 * tile does not divide keeps its remainder.
 */
function shrunk(value: Single, halvings: number): Single {
  const own = truncated(value.number);
  const rest = own % LEAST;
  const halved = (size: number, times: number, least: number) => {
    if (times <= 0 || size <= least) return size;
    const found = Math.floor(Math.max(least, size / 2 ** times));
    return rest ? found - (found % LEAST) + rest : found;
  };
  const large = halved(own, Math.min(halvings, HALVINGS), LARGEST_KEPT);
  const found = halved(large, halvings - HALVINGS, LEAST);
  return found === own ? value : wholeNumber(found);
}

/** The values assigned to a variable, the last first: `name = …;`, `dim3 name(…)` or `name{…}`. */
function* assignments(
  name: string,
  tokens: Token[],
): Generator<{ value: Token[] | null; at: Token }, undefined> {
  for (let place = tokens.length - 2; place >= 0; place--) {
    const at = tokens[place];
    if (at.text !== name || at.kind !== "name") continue;
    const before = tokens[place - 1]?.text ?? "";
    const after = tokens[place + 1].text;
    const following = tokens[place + 2]?.text ?? "";
    const changes = /^[-+*/%]$/.test(after) && (following === "=" || following === after);
    if (changes) yield { value: null, at };
    if (after === "=" && following !== "=" && before !== "." && before !== "->") {
      let end = place + 2;
      while (end < tokens.length && !/^[;,]$/.test(tokens[end].text)) {
        end = /^[([{]$/.test(tokens[end].text) ? matching(tokens, end) + 1 : end + 1;
      }
      yield { value: tokens.slice(place + 2, end), at };
      continue;
    }
    const isLoose = /^(,|const|constexpr)$/.test(before); // "int a(1), b(2);", "dim3 const a(1);"
    const type = isLoose ? statementType(tokens, place) : before;
    if (/^[({]$/.test(after) && TYPES.has(type)) {
      const head: Token = { kind: "name", text: type, start: 0, end: 0 };
      yield { value: [head, ...bracketed(inside(tokens, place + 1))], at };
    } else if (after === "." && tokens[place + 3]?.text === "=") yield { value: null, at };
  }
}

/** The first word of the statement at an index: a type in a declaration. */
function statementType(tokens: Token[], end: number) {
  let place = startOfStatement(tokens, end);
  while (place < end && /^(const|constexpr|static)$/.test(tokens[place].text)) place++;
  return tokens[place].text;
}

function startOfStatement(tokens: Token[], end: number) {
  let place = end;
  while (place > 0 && !/^[;{}]$/.test(tokens[place - 1].text)) place--;
  return place;
}

function bracketed(tokens: Token[]): Token[] {
  const [opening, closing] = ["(", ")"].map(
    (text): Token => ({ kind: "sign", text, start: 0, end: 0 }),
  );
  return [opening, ...tokens, closing];
}

/**
 * What a declaration ends with: of `Pair p{1, 2};` "Pair", "{" and its two parts. Round brackets are
 * those of a `std::vector`.
 */
function initialiser(name: string, tokens: Token[]) {
  for (let place = tokens.length - 3; place > 0; place--) {
    const before = tokens[place - 1].text;
    if (tokens[place].text !== name || /^(\.|->|\[|\()$/.test(before)) continue;
    let opening = place + 1;
    if (tokens[opening].text === "[") opening = matching(tokens, opening) + 1;
    if (tokens[opening]?.text === "=") opening++;
    const bracket = tokens[opening]?.text ?? "";
    const words = textsOf(tokens.slice(startOfStatement(tokens, place), place));
    if (bracket === "{" || (bracket === "(" && words.includes("vector"))) {
      return { words, bracket, parts: split(inside(tokens, opening)) };
    }
  }
  return null;
}

/** What `cudaMallocPitch(&array, &name, …)` sets its pitch to. */
function pitchOf(name: string, tokens: Token[]): Token[] | null {
  for (const [place, { text }] of tokens.entries()) {
    const parts = text === "cudaMallocPitch" ? split(inside(tokens, place + 1)) : [];
    if (parts.length > 2 && textsOf(parts[1]).join("") === `&${name}`) return pitched(parts[2]);
  }
  return null;
}

/** Bytes from row to row that `cudaMallocPitch` chooses, or those of all rows. */
function pitched(width: Token[], rows?: Token[]) {
  const [bytes, times] = [width, rows ?? []].map((one) => textsOf(one).join(" "));
  return tokensOf(`((${bytes}) + 511) / 512 * 512${rows ? ` * (${times})` : ""}`);
}

/** The function whose argument a token is in, and its arguments. */
function callAround(tokens: Token[], place: number) {
  let depth = 0;
  for (let start = place - 1; start > 0 && !/^[;{}]$/.test(tokens[start].text); start--) {
    depth -= depthOf(tokens[start].text);
    if (depth < 0 && tokens[start].text === "(" && tokens[start - 1].kind === "name") {
      return { name: tokens[start - 1].text, parts: split(inside(tokens, start)) };
    }
  }
  return null;
}

function truncated(number: number) {
  if (!Number.isFinite(number)) throw new UnknownError("It is not finite.");
  return Math.trunc(number);
}

function literal(text: string): Single {
  const plain = text.replaceAll("'", "").replace(/[uUlL]+$/, "");
  if (/^(0[xX][\da-fA-F]+|0[bB][01]+|0+|[1-9]\d*)$/.test(plain)) return wholeNumber(Number(plain));
  const real = /^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[fF]*$/.exec(plain);
  if (!real) throw new UnknownError(text);
  return { number: Number.parseFloat(plain), whole: false };
}

function cast(to: Token[], value: Value): Value {
  if (Array.isArray(value)) throw new UnknownError("A cast of dim3.");
  const isReal = to.some(({ text }) => REAL.test(text));
  return { number: isReal ? value.number : truncated(value.number), whole: !isReal };
}

/** A function of the standard library; null where it is none. */
function ofLibrary(name: string, given: Single[]): Single | null {
  const numbers = given.map(({ number }) => number);
  const make = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : null;
  if (!make || !given.length) return null;
  const found = make(...numbers);
  const isOne = !/^m/.test(name);
  if (isOne !== (given.length === 1) || !Number.isFinite(found)) throw new UnknownError(name);
  const whole = isOne ? name !== "sqrt" : given[numbers.indexOf(found)].whole;
  return { number: found, whole };
}

function workedOut(sign: string, left: Value, right: Value): Single {
  if (Array.isArray(left) || Array.isArray(right)) throw new UnknownError("Arithmetic of dim3.");
  const whole = (left.whole && right.whole) || !/^[-+*/]$/.test(sign);
  const found = OPERATORS.get(sign)?.apply(left.number, right.number) ?? Number.NaN;
  if (!Number.isFinite(found)) throw new UnknownError("It cannot be worked out.");
  return { number: whole ? Math.trunc(found) : found, whole };
}
