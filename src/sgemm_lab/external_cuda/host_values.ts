// Evaluates host expressions: the grid and block of a launch for what the kernel receives.
// `dim3 grid((n + 31) / 32)` and `k<<<grid, 256>>>(x, n)` give the grid for its n. Supported are
// numbers, constants, macros, functions with a single return, assignments before the launch, and
// `dim3`. Nothing is executed as code. A file with a main is followed instead: see program/.

import type { CudaFile } from "./cuda_file.ts";
import type { Declaration } from "./declarations.ts";
import type { FoundLaunch } from "./kernels.ts";
import { parameterTokens } from "./kernels.ts";
import type { Token } from "./tokens.ts";
import { inside, matching, outsideBrackets, split, textsOf, tokensOf } from "./tokens.ts";

export interface Single {
  number: number;
  whole: boolean;
}
/** A number, or the sides of a `dim3`. */
export type Value = Single | number[];

/** The expression cannot be evaluated. */
export class UnknownError extends Error {}

/** Where an expression stands: what is before it in its function, and the function. */
interface Place {
  before: Token[];
  function: Declaration;
}

/** Nesting of names and brackets; tokens read for one value, for macros that double each other. */
const DEEPEST = 60;
const MOST_STEPS = 20_000;

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
export const wholeNumber = (number: number): Single => ({ number, whole: true });

/** Evaluates the expressions of a launch. Methods that give a value throw an UnknownError. */
export class HostReader {
  #place: Place;
  #steps = 0;

  /**
   * @param names values that are known
   * @param template arguments of templates; host code often uses the same names
   */
  constructor(
    public file: CudaFile,
    launch: Pick<FoundLaunch, "before" | "function">,
    public names: Map<string, Value>,
    public template: Map<string, string>,
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

  /** Evaluate an expression; of `a ? b : c` the branch that holds. */
  value(tokens: Token[], depth: number): Value {
    if (depth > DEEPEST || !tokens.length) throw new UnknownError("Nothing to read.");
    const question = outsideBrackets(tokens, "?");
    if (question >= 0) return this.#choice(tokens, question, depth);
    const [place, found] = this.#operation(tokens, 0, 0, depth);
    if (place !== tokens.length) throw new UnknownError(tokens[place].text);
    return found;
  }

  #choice(tokens: Token[], question: number, depth: number): Value {
    const colon = outsideBrackets(tokens, ":");
    if (colon < 0) throw new UnknownError("?");
    const condition = this.value(tokens.slice(0, question), depth + 1);
    if (Array.isArray(condition)) throw new UnknownError("?");
    const branches = [tokens.slice(question + 1, colon), tokens.slice(colon + 1)];
    return this.value(branches[condition.number ? 0 : 1], depth + 1);
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

  /** What begins with a name: a variable, a call, a field of `dim3`. */
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
    const field = after === "." ? tokens[place + 2]?.text : undefined;
    const member = this.names.get(`${name}.${field}`);
    if (field !== undefined && member) return [place + 3, member];
    const found = this.#known(name, depth);
    if (field === undefined) return [place + 1, found];
    const axis = "xyz".indexOf(field);
    if (axis < 0 || !Array.isArray(found)) throw new UnknownError(name);
    return [place + 3, wholeNumber(found[axis] ?? 1)];
  }

  /** A call, a macro with arguments, or a constructor. */
  #called(name: string, parts: Token[][], depth: number): Value {
    if (name === "sizeof" && parts.length === 1) {
      return wholeNumber(SIZES[textsOf(parts[0]).join(" ")] ?? 4);
    }
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
    const given = this.names.get(name);
    if (given) return given;
    const tokens = this.#meaning(name);
    if (!tokens) throw new UnknownError(name);
    return this.value(tokens, depth + 1);
  }

  /** What a name is set to by the caller, before the launch, by the file, or by a template. */
  #meaning(name: string): Token[] | null {
    const { defines, macros, declarations } = this.file;
    if (Object.hasOwn(defines, name)) return tokensOf(defines[name]);
    const found = assigned(name, this.#place.before);
    if (found) return found;
    const one = declarations.find(({ kind, names }) => kind === "other" && names.includes(name));
    const first = one && assigned(name, one.tokens);
    if (first) return first;
    const macro = macros.get(name);
    if (macro && !macro.takes) return macro.body;
    const value = this.template.get(name);
    return value === undefined ? null : tokensOf(value);
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
 * What a variable was set to last: `name = …;`, `dim3 name(…)` or `name{…}`. Null if nothing sets it,
 * or it changes in another way.
 */
function assigned(name: string, tokens: Token[]): Token[] | null {
  for (let place = tokens.length - 2; place >= 0; place--) {
    const at = tokens[place];
    if (at.text !== name || at.kind !== "name") continue;
    const before = tokens[place - 1]?.text ?? "";
    const after = tokens[place + 1].text;
    const following = tokens[place + 2]?.text ?? "";
    if (/^[-+*/%]$/.test(after) && (following === "=" || following === after)) return null;
    if (after === "=" && following !== "=" && before !== "." && before !== "->") {
      let end = place + 2;
      while (end < tokens.length && !/^[;,]$/.test(tokens[end].text)) {
        end = /^[([{]$/.test(tokens[end].text) ? matching(tokens, end) + 1 : end + 1;
      }
      return tokens.slice(place + 2, end);
    }
    const isLoose = /^(,|const|constexpr)$/.test(before); // "int a(1), b(2);", "dim3 const a(1);"
    const type = isLoose ? statementType(tokens, place) : before;
    if (/^[({]$/.test(after) && TYPES.has(type)) {
      const head: Token = { kind: "name", text: type, start: 0, end: 0 };
      return [head, ...bracketed(inside(tokens, place + 1))];
    }
    if (after === "." && tokens[place + 3]?.text === "=") return null;
  }
  return null;
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
