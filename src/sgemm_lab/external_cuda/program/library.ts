// The functions of C and C++ that host code calls, as far as it needs them.

import { cudaFunction, cudaName, filled } from "./cuda_library.ts";
import type { Expressions } from "./expressions.ts";
import { formatted } from "./format.ts";
import type { Expression } from "./reader.ts";
import { giving } from "./reader.ts";
import type { Type, Value } from "./types.ts";
import * as types from "./types.ts";
import { construct, copier, filler, vectors } from "./values.ts";

/** `exit`, `abort`, a failed `assert`: the program is over. */
export class ProgramEnd extends Error {
  constructor(public status: number) {
    super("");
  }
}

const CONSTANTS: Record<string, [Type, number]> = {
  ...{ RAND_MAX: [types.INT, 2 ** 31 - 1], INFINITY: [types.FLOAT, Number.POSITIVE_INFINITY] },
  ...{ NAN: [types.FLOAT, Number.NaN], FLT_MAX: [types.FLOAT, 3.4028234663852886e38] },
  ...{ FLT_EPSILON: [types.FLOAT, 2 ** -23], DBL_EPSILON: [types.DOUBLE, 2 ** -52] },
  ...{ DBL_MAX: [types.DOUBLE, Number.MAX_VALUE], FLT_MIN: [types.FLOAT, 2 ** -126] },
  ...{ INT_MAX: [types.INT, 2 ** 31 - 1], INT_MIN: [types.INT, -(2 ** 31)] },
  ...{ UINT_MAX: [types.UNSIGNED, 2 ** 32 - 1], EXIT_SUCCESS: [types.INT, 0] },
  ...{
    EXIT_FAILURE: [types.INT, 1],
    M_PI: [types.DOUBLE, Math.PI],
    CLOCKS_PER_SEC: [types.LONG, 1e6],
  },
  ...{ CUDART_INF_F: [types.FLOAT, Number.POSITIVE_INFINITY], CHAR_BIT: [types.INT, 8] },
};

const REAL: Record<string, (...given: number[]) => number> = {
  ...{ sqrt: Math.sqrt, exp: Math.exp, log: Math.log, sin: Math.sin, cos: Math.cos, tan: Math.tan },
  ...{ tanh: Math.tanh, sinh: Math.sinh, cosh: Math.cosh, atan: Math.atan, acos: Math.acos },
  ...{ asin: Math.asin, atan2: Math.atan2, pow: Math.pow, floor: Math.floor, ceil: Math.ceil },
  ...{ fabs: Math.abs, log2: Math.log2, log10: Math.log10, log1p: Math.log1p, hypot: Math.hypot },
  ...{ expm1: Math.expm1, cbrt: Math.cbrt, exp2: (x) => 2 ** x, trunc: Math.trunc },
  ...{ fmod: (a, b) => a % b, rsqrt: (x) => 1 / Math.sqrt(x), fma: (a, b, c) => a * b + c },
  ...{ round: (x) => Math.sign(x) * Math.round(Math.abs(x)), rint: even, nearbyint: even },
  ...{ fmax: Math.max, fmin: Math.min, copysign: (a, b) => Math.abs(a) * (b < 0 ? -1 : 1) },
};
const TESTS: Record<string, (value: number) => boolean> = {
  isnan: Number.isNaN,
  isinf: (value) => Math.abs(value) === Number.POSITIVE_INFINITY,
  isfinite: Number.isFinite,
};

function even(value: number) {
  const floor = Math.floor(value);
  const rest = value - floor;
  return floor + Number(rest > 0.5 || (rest === 0.5 && floor % 2 !== 0));
}

const isChar = (given: Expression | undefined) => given?.type.name === "char";
const absolute = (value: Value) => (value < 0 ? -value : value);

/** Random numbers: any will do, as long as each run has the same. */
let seed = 1;
export function reseed() {
  seed = 1;
}
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** What a name gives that no declaration of the file has: "sqrt(" where it is called. */
export function callLibrary(
  c: Expressions,
  name: string,
  given: Expression[],
  template: (Type | Value)[],
): Expression {
  if (!name.endsWith("(")) {
    if (name === "new") return allocation(c, given[0].type, given[0]);
    if (name.startsWith("operator")) return ofValues(c, name.slice(8), given);
    if (Object.hasOwn(CONSTANTS, name)) return c.constant(...CONSTANTS[name]);
    if (/^(cout|cerr|clog|endl)$/.test(name)) return streamed(c, name);
    if (/^(stdout|stderr|fixed|scientific|left|right|setprecision|boolalpha)$/.test(name)) {
      return c.constant(types.INT, 0);
    }
    return cudaName(name, c) ?? c.fail(name);
  }
  const called = name.slice(0, -1);
  const made =
    ofNumbers(c, called, given, template) ??
    ofMemory(c, called, given) ??
    ofProgram(c, called, given) ??
    ofRanges(c, called, given) ??
    cudaFunction(c, called, given);
  return made ?? c.fail(`${called}()`);
}

function ofNumbers(
  c: Expressions,
  name: string,
  given: Expression[],
  template: (Type | Value)[],
): Expression | null {
  const plain = Object.hasOwn(REAL, name) ? name : name.replace(/^__|[fl]$/g, "");
  const make = Object.hasOwn(REAL, plain) ? REAL[plain] : null;
  const [first, second] = given;
  if (make && first) {
    const isFloat =
      plain !== name || given.every(({ type }) => type.kind !== "float" || type.bytes < 8);
    const areFloats = isFloat && given.some(({ type }) => type.kind === "float");
    const type = areFloats || (plain !== name && name.endsWith("f")) ? types.FLOAT : types.DOUBLE;
    const values = given.map((one) => c.as(one, type).get as () => number);
    const [a, b] = values;
    const fit = types.fitting(type);
    if (values.length === 1) return { type, get: () => fit(make(a())) };
    if (values.length === 2) return { type, get: () => fit(make(a(), b())) };
    return { type, get: () => fit(make(...values.map((get) => get()))) };
  }
  if (Object.hasOwn(TESTS, name)) {
    const test = TESTS[name];
    return { type: types.BOOL, get: () => Number(test(Number(first.get()))) };
  }
  if (/^(abs|labs|llabs)$/.test(name)) {
    const type = types.promoted(first.type);
    return { type, get: () => absolute(first.get()) };
  }
  if (/^(lround|lroundf|lrint|lrintf|llround)$/.test(name)) {
    return { type: types.LONG, get: () => REAL.round(Number(first.get())) };
  }
  if ((name === "min" || name === "max") && second) {
    const own = template[0] as Type | undefined;
    const type = own ?? types.common(first.type, second.type);
    const [a, b] = [c.as(first, type).get, c.as(second, type).get];
    const least = name === "min";
    return {
      type,
      get: () => {
        const [x, y] = [a(), b()];
        return y < x === least ? y : x;
      },
    };
  }
  if (name === "swap") return swapped(c, first, second);
  if (name === "numeric_limits") return c.fail(name);
  return null;
}

function swapped(c: Expressions, one: Expression, other: Expression): Expression {
  const { type, address: a } = one;
  const b = other.address;
  if (!a || !b) c.fail("swap");
  const get = () => {
    const [x, y] = [a(), b()];
    const kept = c.memory.read(x, type.bytes).slice();
    c.memory.copy(x, y, type.bytes);
    c.memory.read(y, type.bytes).set(kept);
    return 0;
  };
  return { type: types.VOID, get };
}

function allocation(c: Expressions, type: Type, count: Expression): Expression {
  const get = () =>
    c.memory.allocate(Number(count.get()) * (type.bytes || 1), "host", "an array").address;
  return { type: types.pointerTo(type), get };
}

function ofMemory(c: Expressions, name: string, given: Expression[]): Expression | null {
  const { memory } = c;
  const [first, second, third] = given;
  const nothing = types.pointerTo(types.VOID);
  if (name === "malloc") return { ...allocation(c, types.VOID, first), type: nothing };
  if (name === "calloc") {
    const size = c.joined("*", c.as(first, types.SIZE), c.as(second, types.SIZE));
    return { ...allocation(c, types.VOID, size), type: nothing };
  }
  if (name === "free" || name === "delete") return { type: types.VOID, get: giving(first.get) };
  if (name === "memset") {
    const [to, value] = [first.get as () => number, second.get as () => number];
    return {
      type: nothing,
      get: () => {
        const count = Number(third.get());
        const [block, at] = memory.host(to(), count);
        block.bytes.fill(value(), at, at + count);
        block.mark(at, count);
        return 0;
      },
    };
  }
  if (name === "memcpy" || name === "memmove") {
    const [to, from] = [c.decayed(first).get, c.decayed(second).get] as (() => number)[];
    return { type: nothing, get: giving(() => memory.copy(to(), from(), Number(third.get()))) };
  }
  if (name === "memcmp") {
    const [one, other] = [c.decayed(first).get, c.decayed(second).get] as (() => number)[];
    const get = () => {
      const count = Number(third.get());
      const [a, b] = [memory.read(one(), count), memory.read(other(), count)];
      const at = a.findIndex((byte, place) => byte !== b[place]);
      return at < 0 ? 0 : a[at] - b[at];
    };
    return { type: types.INT, get };
  }
  return null;
}

function streamed(c: Expressions, name: string): Expression {
  if (name === "endl") {
    const address = c.memory.literal("\n");
    return { type: types.pointerTo(types.CHAR), get: () => address };
  }
  return { type: types.STREAM, get: () => 0 };
}

/** The text of a value, for a format or a stream. */
function printed(c: Expressions, given: Expression): () => Value | string {
  const { type, get } = c.decayed(given);
  if (type.kind === "vector") return () => vectors(c.memory).text(get() as number);
  if (type.kind === "pointer" && type.to.name === "char") {
    return () => (get() ? c.memory.text(get() as number) : "(null)");
  }
  return get;
}

function ofProgram(c: Expressions, name: string, given: Expression[]): Expression | null {
  const { output } = c.shared;
  const [first] = given;
  if (/^(printf|fprintf|puts|fputs|perror|putchar)$/.test(name)) {
    const [format, ...rest] = given.slice(Number(name === "fprintf")).map((one) => printed(c, one));
    const get = () => {
      const text = String(format());
      output.push(
        name.endsWith("printf")
          ? formatted(
              text,
              rest.map((one) => one()),
            )
          : `${text}\n`,
      );
      return 0;
    };
    return { type: types.INT, get };
  }
  if (/^(fflush|fclose|setvbuf|srand|srand48|setprecision|setw|setfill|atexit)$/.test(name)) {
    const value = first?.get ?? (() => 0);
    return { type: types.INT, get: giving(value) };
  }
  if (name === "rand") return { type: types.INT, get: () => Math.floor(random() * 2 ** 31) };
  if (name === "drand48") return { type: types.DOUBLE, get: random };
  if (/^(exit|abort|_exit|terminate)$/.test(name)) {
    const get = () => {
      throw new ProgramEnd(first ? Number(first.get()) : 134);
    };
    return { type: types.VOID, get };
  }
  if (name === "assert") {
    const get = () => {
      if (!first.get()) throw new ProgramEnd(134);
      return 0;
    };
    return { type: types.VOID, get };
  }
  if (name === "to_string") {
    const show = printed(c, first);
    const real = first.type.kind === "float";
    return made(c, () => (real ? Number(show()).toFixed(6) : String(show())));
  }
  if (/^(time|clock|now|duration_cast)$/.test(name)) return { type: types.LONG, get: () => 1 };
  if (/^(atoi|atol|strtol|stoi)$/.test(name)) {
    const show = printed(c, first);
    return { type: types.INT, get: () => Number.parseInt(String(show()), 10) || 0 };
  }
  return null;
}

/** A new text. */
function made(c: Expressions, text: () => string): Expression {
  const address = c.framed(c.reserve(types.STRING));
  const get = () => {
    const made = text();
    const into = address();
    vectors(c.memory).write(into, made);
    return into;
  };
  return { type: types.STRING, get, address: get };
}

/** Operators between texts and vectors. */
function ofValues(c: Expressions, sign: string, [one, other]: Expression[]): Expression {
  const isText = (given: Expression) => given.type === types.STRING || given.type.name === "string";
  if (isText(one) || isText(other)) {
    const [a, b] = [printed(c, one), printed(c, other)];
    const text = (value: Value | string, given: Expression) =>
      isChar(given) ? String.fromCharCode(Number(value)) : String(value);
    if (sign === "+") return made(c, () => text(a(), one) + text(b(), other));
    if (!types.compares(sign)) c.fail(`'${sign}' of texts`);
    const test = types.comparison(sign);
    const order = (x: string, y: string) => (x < y ? -1 : Number(x > y));
    return { type: types.BOOL, get: () => test(order(text(a(), one), text(b(), other)), 0) };
  }
  if ((sign === "==" || sign === "!=") && types.sameType(one.type, other.type)) {
    const same = equality(c, one.type);
    const get = () => Number(same(one.get() as number, other.get() as number) === (sign === "=="));
    return { type: types.BOOL, get };
  }
  return c.fail(`'${sign}' of ${one.type.name}`);
}

function equality(c: Expressions, type: Type): (a: number, b: number) => boolean {
  const all = vectors(c.memory);
  if (type.kind === "vector") {
    const { bytes } = type.to;
    const each = equality(c, type.to);
    return (a, b) => {
      const size = all.size(a);
      if (size !== all.size(b)) return false;
      const [one, other] = [all.data(a), all.data(b)];
      for (let at = 0; at < size * bytes; at += bytes) {
        if (!each(one + at, other + at)) return false;
      }
      return true;
    };
  }
  if (type.kind === "struct" || type.kind === "array") c.fail(`== of ${type.name}`);
  const load = c.memory.load(type);
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number may be equal
  return (a, b) => load(a) == load(b);
}

/** Functions of <algorithm> and <numeric> on two pointers. */
function ofRanges(c: Expressions, name: string, given: Expression[]): Expression | null {
  const [first, last, third] = given.map((one) => c.decayed(one));
  if (first?.type.kind !== "pointer" || !last) return null;
  const { to } = first.type;
  const [start, end] = [first.get as () => number, last.get as () => number];
  const item = (at: () => number) => c.lying(to, at);
  let place = 0;
  const current = item(() => place);
  const over = (each: () => void, until = end) => {
    const stop = until();
    for (place = start(); place < stop; place += to.bytes) each();
    return 0;
  };
  const type = types.VOID;
  if (name === "fill" || name === "fill_n") {
    const fill = filler(c, to, third);
    const count = name === "fill" ? () => (end() - start()) / to.bytes : () => Number(last.get());
    return { type, get: giving(() => fill(start(), count())) };
  }
  if (name === "iota") {
    const begin = c.as(third, to).get;
    const get = () => {
      let value = begin();
      return over(() => current.set?.(value++));
    };
    return { type, get };
  }
  if (name === "generate" && third?.closure) {
    const value = c.as(third.closure.call([]), to).get;
    return { type, get: () => over(() => current.set?.(value())) };
  }
  if (name === "accumulate") {
    let sum: Value = 0;
    const total = { type: third.type, get: () => sum };
    const sums = given[3]?.closure?.call([total, current]) ?? c.joined("+", total, current);
    const next = c.as(sums, third.type).get;
    const get = () => {
      sum = third.get();
      over(() => {
        sum = next();
      });
      return sum;
    };
    return { type: third.type, get };
  }
  if (name === "minmax_element") {
    const pair = types.structOf("pair", [
      ["first", first.type],
      ["second", first.type],
    ]);
    const parts = ["min_element", "max_element"].map(
      (one) => ofRanges(c, one, given) as Expression,
    );
    return filled(c, pair, parts);
  }
  if (name === "max_element" || name === "min_element") {
    const largest = name === "max_element";
    const get = () => {
      let best = start();
      const load = c.memory.load(to);
      let held = best < end() ? load(best) : 0;
      over(() => {
        const value = load(place);
        if (largest ? value > held : value < held) [best, held] = [place, value];
      });
      return best;
    };
    return { type: first.type, get };
  }
  return ofTwoRanges(c, name, given, to, [start, end]);
}

function ofTwoRanges(
  c: Expressions,
  name: string,
  given: Expression[],
  to: Type,
  [start, end]: (() => number)[],
): Expression | null {
  const third = given[2] && c.decayed(given[2]);
  const { bytes } = to;
  if (name === "copy" && third) {
    const copy = copier(c.memory, to);
    const into = third.get as () => number;
    const get = () => {
      const [from, stop, target] = [start(), end(), into()];
      for (let at = from; at < stop; at += bytes) copy(target + at - from, at);
      return target + stop - from;
    };
    return { type: third.type, get };
  }
  if (name === "sort" || name === "stable_sort" || name === "reverse" || name === "shuffle") {
    const load = c.memory.load(to);
    const store = c.memory.store(to);
    if (types.isLaid(to)) return null;
    const pair: Value[] = [0, 0];
    const [a, b] = [0, 1].map((at) => ({ type: to, get: () => pair[at] }));
    const less = third?.closure?.call([a, b]).get;
    const order = (x: Value, y: Value) => {
      if (!less) return x < y ? -1 : Number(x > y);
      [pair[0], pair[1]] = [x, y];
      if (less()) return -1;
      [pair[0], pair[1]] = [y, x];
      return Number(less());
    };
    const get = () => {
      const [from, stop] = [start(), end()];
      const all: Value[] = [];
      for (let at = from; at < stop; at += bytes) all.push(load(at));
      if (name === "reverse") all.reverse();
      else if (name === "shuffle") all.sort(() => random() - 0.5);
      else all.sort(order);
      for (const [at, value] of all.entries()) store(from + at * bytes, value);
      return 0;
    };
    return { type: types.VOID, get };
  }
  if (name === "equal" && third) {
    const same = equality(c, to);
    const other = third.get as () => number;
    const get = () => {
      const [from, stop, second] = [start(), end(), other()];
      for (let at = from; at < stop; at += bytes) if (!same(at, second + at - from)) return 0;
      return 1;
    };
    return { type: types.BOOL, get };
  }
  if (name === "count" && third) {
    const load = c.memory.load(to);
    const wanted = c.as(third, to).get;
    const get = () => {
      let found = 0;
      const value = wanted();
      for (let at = start(); at < end(); at += bytes) found += Number(load(at) === value);
      return found;
    };
    return { type: types.LONG, get };
  }
  return null;
}

/** A method of a vector, a text, a stream or a generator; "construct" and "list" make one. */
export function callMethod(
  c: Expressions,
  of: Expression,
  name: string,
  given: Expression[],
): Expression {
  const { type } = of;
  const where = of.get as () => number;
  if (name === "construct") {
    return { type: types.VOID, get: construct(c, type, given, where) as never };
  }
  if (type === types.STREAM) {
    const show = printed(c, given[0]);
    const isLetter = isChar(given[0]);
    const isShown = given[0].constant !== 0 || !types.isNumber(given[0].type);
    const get = () => {
      of.get();
      const value = show();
      if (isShown)
        c.shared.output.push(isLetter ? String.fromCharCode(Number(value)) : String(value));
      return 0;
    };
    return { type, get };
  }
  if (type.kind === "object") return ofObject(c, of, name);
  if (type.kind === "vector") return ofVector(c, of, name, given) ?? c.fail(`.${name}()`);
  if (
    type.kind === "array" &&
    (name === "size" || name === "data" || name === "begin" || name === "end")
  ) {
    if (name === "size") return c.constant(types.SIZE, type.count);
    const more = name === "end" ? type.bytes : 0;
    return { type: types.pointerTo(type.to), get: () => where() + more };
  }
  return c.fail(`.${name}()`);
}

/** A generator or a distribution that is called; of clocks nothing is asked. */
function ofObject(c: Expressions, of: Expression, name: string): Expression {
  const { type } = of;
  if (name !== "()") return { type: types.LONG, get: () => 1 };
  if (!type.name.endsWith("_distribution")) {
    return { type: types.UNSIGNED, get: () => Math.floor(random() * 2 ** 32) };
  }
  const fit = types.fitting(type.to);
  const isWhole = type.name.includes("_int_");
  const isNormal = type.name.startsWith("normal");
  const get = () => {
    const [low, high] = c.shared.objects.get(Number(of.get())) ?? [];
    const [a, b] = [low ?? 0, high ?? 1];
    if (isWhole) return fit(a + Math.floor(random() * (b - a + 1)));
    if (!isNormal) return fit(a + random() * (b - a));
    const size = Math.sqrt(-2 * Math.log(1 - random()));
    return fit(a + b * size * Math.cos(2 * Math.PI * random()));
  };
  return { type: type.to, get };
}

function ofVector(
  c: Expressions,
  of: Expression,
  name: string,
  given: Expression[],
): Expression | null {
  const all = vectors(c.memory);
  const where = of.get as () => number;
  const { to } = of.type;
  const pointer = types.pointerTo(to);
  const [first, second, third] = given;
  const count = (give: Expression) => Number(give.get());
  const put = (value: Expression, into: () => number) => construct(c, to, [value], into);
  const nothing = (run: () => void): Expression => ({ type: types.VOID, get: giving(run) });
  if (/^(data|c?begin|c_str)$/.test(name)) {
    return { type: pointer, get: () => all.data(where()), name: of.name };
  }
  if (/^c?end$/.test(name)) {
    return {
      type: pointer,
      get: () => {
        const at = where();
        return all.data(at) + all.size(at) * to.bytes;
      },
    };
  }
  if (name === "size" || name === "length")
    return { type: types.SIZE, get: () => all.size(where()) };
  if (name === "empty") return { type: types.BOOL, get: () => Number(!all.size(where())) };
  if (name === "at") return c.element(of, first);
  if (/^(front|back|top)$/.test(name)) {
    const isFront = name === "front";
    return c.lying(to, () => {
      const at = where();
      return all.data(at) + (isFront ? 0 : (all.size(at) - 1) * to.bytes);
    });
  }
  if (name === "reserve" || name === "shrink_to_fit") return nothing(() => {});
  if (name === "clear") return nothing(() => void all.resize(where(), 0, to.bytes));
  const isQueue = of.type.name.startsWith("queue");
  if (name === "pop_front" || (name === "pop" && isQueue)) {
    return nothing(() => {
      const at = where();
      const size = all.size(at) - 1;
      c.memory.read(all.data(at), (size + 1) * to.bytes).copyWithin(0, to.bytes);
      all.resize(at, size, to.bytes);
    });
  }
  if (name === "pop_back" || name === "pop") {
    return nothing(() => void all.resize(where(), all.size(where()) - 1, to.bytes));
  }
  if (/^(push|push_back|emplace_back|emplace)$/.test(name) && given.length === 1) {
    let into = 0;
    const value = types.isLaid(to) ? first : c.as(first, to);
    let held: Value = 0;
    const set = put({ type: value.type, get: () => held }, () => into);
    return nothing(() => {
      held = value.get();
      const at = where();
      const size = all.size(at);
      into = all.resize(at, size + 1, to.bytes) + size * to.bytes;
      set();
    });
  }
  if (name === "resize") {
    const fill = filler(c, to, second ?? null);
    return nothing(() => {
      const at = where();
      const [before, after] = [all.size(at), count(first)];
      const data = all.resize(at, after, to.bytes);
      if (after > before) fill(data + before * to.bytes, after - before);
    });
  }
  if (name === "assign" || name === "list") {
    if (name === "list") return listed(c, of, given);
    const make = construct(c, of.type, given, where);
    return nothing(make);
  }
  if (name === "insert" && third && c.decayed(second).type.kind === "pointer") {
    const [from, end] = [second.get, third.get] as (() => number)[];
    return nothing(() => {
      const [at, start, bytes] = [where(), from(), end() - from()];
      const size = all.size(at);
      const data = all.resize(at, size + bytes / to.bytes, to.bytes);
      c.memory.copy(data + size * to.bytes, start, bytes);
    });
  }
  return ofText(c, of, name, given);
}

/** A vector of the values of a list. */
function listed(c: Expressions, of: Expression, given: Expression[]): Expression {
  const all = vectors(c.memory);
  const { to } = of.type;
  let into = 0;
  const puts = given.map((one, at) => construct(c, to, [one], () => into + at * to.bytes));
  const get = () => {
    into = all.create((of.get as () => number)(), given.length, to.bytes);
    for (const put of puts) put();
    return 0;
  };
  return { type: types.VOID, get };
}

function ofText(
  c: Expressions,
  of: Expression,
  name: string,
  given: Expression[],
): Expression | null {
  if (of.type.name !== "string") return null;
  const all = vectors(c.memory);
  const where = of.get as () => number;
  const shown = given.map((one) => printed(c, one));
  const isLetter = isChar(given[0]);
  if (name === "append" || name === "+=") {
    const get = () => {
      const value = shown[0]();
      const text = isLetter ? String.fromCharCode(Number(value)) : String(value);
      const at = where();
      const size = all.size(at);
      const data = all.resize(at, size + text.length, 1);
      const bytes = c.memory.read(data, size + text.length);
      for (let place = 0; place < text.length; place++)
        bytes[size + place] = text.charCodeAt(place);
      return 0;
    };
    return { type: types.VOID, get };
  }
  if (name === "substr") {
    const [start, length] = shown.map((one) => () => Number(one()));
    return made(c, () => {
      const text = all.text(where());
      return text.slice(start(), length ? start() + length() : undefined);
    });
  }
  if (name === "find") {
    const get = () => {
      const found = all
        .text(where())
        .indexOf(isLetter ? String.fromCharCode(Number(shown[0]())) : String(shown[0]()));
      return found < 0 ? 2 ** 53 : found;
    };
    return { type: types.SIZE, get };
  }
  return null;
}
