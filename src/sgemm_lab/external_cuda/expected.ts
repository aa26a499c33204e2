// What an array should hold after a launch: arithmetic on arrays in NumPy's notation, read by a small
// parser and never run as code. "y = 2 * x + y" is an array's name, and what is worked out from the
// arrays before the launch. There are + - * / // % ** @, comparisons, slices such as x[1:], .T, and the
// functions of FUNCTIONS.

import { LabError } from "../errors.ts";
import { roundHalfEven } from "../simulator/registers.ts";
import { comma } from "../text.ts";
import { LARGEST_ARRAY } from "./arguments.ts";

/** Numbers with their sides: none of a single number, rows and columns of a matrix. */
export interface Values {
  sides: number[];
  numbers: Float64Array;
  /** they are the results of a comparison */
  isTruth?: boolean;
}

type Gather = (values: Float64Array) => number;
type Change = (values: Float64Array) => Float64Array;

const MOST_CHARACTERS = 400;
const DEEPEST = 40;
/** Products of one matrix multiplication: a few seconds. */
const MOST_PRODUCTS = 2 ** 30;
const TOKEN =
  /\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([\p{L}_][\p{L}\p{N}_]*)|(\/\/|\*\*|[<>=!]=|[-+*/%@(),.=<>[\]:]))/uy;
const BINDS: Record<string, number> = {
  ...{ "<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1 },
  ...{ "+": 2, "-": 2, "*": 3, "/": 3, "//": 3, "%": 3, "@": 3 },
};
const [COMPARES, UNARY_BINDS] = [1, 4];

const EACH: Record<string, (one: number) => number> = {
  ...{ abs: Math.abs, sqrt: Math.sqrt, exp: Math.exp, log: Math.log, sin: Math.sin, cos: Math.cos },
  ...{ tanh: Math.tanh, floor: Math.floor, ceil: Math.ceil, round: roundHalfEven },
  ...{ sign: Math.sign, isnan: (one) => Number(Number.isNaN(one)) },
};
const ALONG: Record<string, Gather> = {
  sum: total,
  prod: (values) => values.reduce((product, one) => product * one, 1),
  max: (values) => values.reduce(larger, Number.NEGATIVE_INFINITY),
  min: (values) => values.reduce(smaller, Number.POSITIVE_INFINITY),
  mean: (values) => total(values) / values.length,
  var: (values) => {
    const mean = total(values) / values.length;
    return total(values.map((one) => (one - mean) ** 2)) / values.length;
  },
  argmax: (values) => values.indexOf(values.reduce(larger, Number.NEGATIVE_INFINITY)),
  argmin: (values) => values.indexOf(values.reduce(smaller, Number.POSITIVE_INFINITY)),
};
const CHANGES: Record<string, Change> = {
  cumsum: (values) => {
    let sum = 0;
    return values.map((one) => {
      sum += one;
      return sum;
    });
  },
  sort: (values) => values.slice().sort(),
  flip: (values) => values.slice().reverse(),
};
const TOGETHER: Record<string, (...numbers: number[]) => number> = {
  minimum: smaller,
  maximum: larger,
  where: (is, one, other) => (is ? one : other),
};
const OPERATORS: Record<string, (one: number, other: number) => number> = {
  "+": (one, other) => one + other,
  "-": (one, other) => one - other,
  "*": (one, other) => one * other,
  "/": (one, other) => one / other,
  "//": (one, other) => Math.floor(one / other),
  "%": (one, other) => one - other * Math.floor(one / other),
  "**": (one, other) => one ** other,
  "<": (one, other) => Number(one < other),
  "<=": (one, other) => Number(one <= other),
  ">": (one, other) => Number(one > other),
  ">=": (one, other) => Number(one >= other),
  "==": (one, other) => Number(one === other),
  "!=": (one, other) => Number(one !== other),
};
/** Functions of arrays, and how many arguments they take. */
const WHOLE: Record<string, [number, (items: Values[]) => Values]> = {
  transpose: [1, ([one]) => transposed(one)],
  ravel: [1, ([one]) => listed(one.numbers)],
  roll: [2, ([one, by]) => ({ ...one, numbers: rolled(one.numbers, wholeOf(by)) })],
  dot: [2, ([one, other]) => dot(one, other)],
  convolve: [2, ([one, other]) => listed(convolved(one.numbers, other.numbers))],
  histogram: [2, ([one, bins]) => listed(counted(one.numbers, wholeOf(bins)))],
};
/** Names that a reader may call; of most an axis may be said. */
export const FUNCTIONS = [EACH, ALONG, CHANGES, TOGETHER, WHOLE, { reshape: 0 }].flatMap(
  Object.keys,
);

function total(values: Float64Array) {
  return values.reduce((sum, one) => sum + one, 0);
}

/** As NumPy's: NaN where one of the two is. */
function larger(one: number, other: number) {
  return Math.max(one, other);
}

function smaller(one: number, other: number) {
  return Math.min(one, other);
}

const listed = (numbers: Float64Array): Values => ({ sides: [numbers.length], numbers });

/** A single number. */
export function single(number: number): Values {
  return { sides: [], numbers: Float64Array.of(number) };
}

/** Split "y = 2 * x" into the array's name and its values; the name is "" of a value alone. */
export function readExpectation(text: string): [string, string] {
  const [, name, rest] = /^\s*([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=)(.*)$/su.exec(text) ?? [];
  const value = (rest ?? text).trim();
  if (value && !value.startsWith("=")) return [name ?? "", value];
  throw new LabError(`'${text}' expects nothing. Write it like 'y = 2 * x' or 'y = right.npy'.`);
}

/**
 * Evaluate a text. Throws a LabError that says what cannot be read.
 * @param names arrays and numbers before the launch
 * @param loaded the arrays of files
 */
export function expectedValues(
  text: string,
  names: Map<string, Values>,
  loaded = new Map<string, Values>(),
): Values {
  if (text.endsWith(".npy") && loaded.has(text)) return loaded.get(text) ?? single(0);
  if (text.length > MOST_CHARACTERS) {
    throw new LabError(`What is expected has more than ${MOST_CHARACTERS} characters.`);
  }
  return new Reader(tokensOf(text), names).whole();
}

function tokensOf(text: string) {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  const end = text.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new LabError(`“${text.slice(at).trim().slice(0, 20)}” cannot be read.`);
    found.push(match[1] ?? match[2] ?? match[3]);
  }
  return found;
}

class Reader {
  #next = 0;
  #depth = 0;

  constructor(
    public tokens: string[],
    public names: Map<string, Values>,
  ) {}

  whole() {
    const found = this.#expression(COMPARES);
    if (this.#next < this.tokens.length) {
      throw new LabError(`“${this.#token}” stands where nothing can.`);
    }
    return found;
  }

  get #token() {
    return this.tokens[this.#next] ?? "";
  }

  #takes(token: string) {
    if (this.#token !== token) return false;
    this.#next++;
    return true;
  }

  #take(token: string) {
    if (!this.#takes(token)) throw new LabError(`A “${token}” is missing in what is expected.`);
  }

  #expression(least: number): Values {
    if (++this.#depth > DEEPEST) throw new LabError("What is expected is nested too deeply.");
    let left = this.#factor();
    while (Object.hasOwn(BINDS, this.#token) && BINDS[this.#token] >= least) {
      const operator = this.#token;
      const binds = BINDS[operator];
      this.#next++;
      const right = this.#expression(binds + 1);
      left = operator === "@" ? product(left, right) : each(OPERATORS[operator], left, right);
      if (binds === COMPARES) {
        left.isTruth = true;
        break; // comparisons do not chain
      }
    }
    this.#depth--;
    return left;
  }

  #factor(): Values {
    if (this.#takes("-")) return each((one) => -one, this.#expression(UNARY_BINDS));
    const base = this.#part();
    if (!this.#takes("**")) return base;
    return each(OPERATORS["**"], base, this.#expression(UNARY_BINDS));
  }

  #part(): Values {
    const token = this.#token;
    this.#next++;
    let found: Values;
    if (/^\.?\d/.test(token)) found = single(Number(token));
    else if (token === "(") {
      found = this.#expression(COMPARES);
      this.#take(")");
    } else if (!/^[\p{L}_]/u.test(token)) {
      throw new LabError("What is expected ends too early, or has a sign at a wrong place.");
    } else if (this.#token === "(") found = this.#call(token);
    else {
      const known = this.names.get(token);
      if (!known) {
        const names = [...this.names.keys()].join(", ");
        throw new LabError(`“${token}” is not known in what is expected. Known are ${names}.`);
      }
      found = known;
    }
    for (;;) {
      if (this.#takes("[")) found = this.#piece(found);
      else if (this.#takes(".")) {
        this.#take("T");
        found = transposed(found);
      } else return found;
    }
  }

  /** What the brackets after an array choose. */
  #piece(from: Values): Values {
    let [found, axis] = [from, 0];
    while (!this.#takes("]")) {
      if (this.#takes("None")) {
        found = { ...found, sides: found.sides.toSpliced(axis++, 0, 1) };
      } else {
        const ends = [this.#end()];
        while (this.#takes(":")) ends.push(this.#end());
        const [first] = ends;
        if (ends.length > 1)
          found = sliced(
            found,
            axis++,
            ends.map((one) => one && wholeOf(one)),
          );
        else if (first?.sides.length) {
          found = picked(found, axis, first);
          axis++;
        } else found = taken(found, axis, first);
      }
      if (this.#token !== "]") this.#take(",");
    }
    return found;
  }

  #end() {
    return /^[:,\]]$/.test(this.#token) ? null : this.#expression(COMPARES);
  }

  #call(name: string): Values {
    if (!FUNCTIONS.includes(name)) {
      throw new LabError(`“${name}” cannot be called there. Known are ${FUNCTIONS.join(", ")}.`);
    }
    this.#take("(");
    const items: Values[] = [];
    let axis: number | null = null;
    while (!this.#takes(")")) {
      if (this.#token === "axis" && this.tokens[this.#next + 1] === "=") {
        axis = Number(this.tokens[this.#next + 2]);
        this.#next += 3;
      } else items.push(this.#expression(COMPARES));
      if (this.#token !== ")") this.#take(",");
    }
    return called(name, items, axis);
  }
}

function called(name: string, items: Values[], axis: number | null): Values {
  const [first] = items;
  const has = (names: object) => Object.hasOwn(names, name);
  const takesAxis = has(ALONG) || has(CHANGES);
  const wants = has(WHOLE) ? WHOLE[name][0] : has(TOGETHER) ? (name === "where" ? 3 : 2) : 1;
  const fits = name === "reshape" ? items.length > 1 : items.length === wants;
  if (!fits || (axis !== null && !takesAxis)) throw new LabError(`${name}(…) has other arguments.`);
  if (has(EACH)) return each(EACH[name], first);
  if (has(TOGETHER)) return each(TOGETHER[name], ...items);
  if (has(WHOLE)) return WHOLE[name][1](items);
  if (name === "reshape") return reshaped(first, items.slice(1).map(wholeOf));
  if (has(ALONG)) {
    if (axis === null) return single(ALONG[name](first.numbers));
    const gathered = along(first, axis, (values) => Float64Array.of(ALONG[name](values)));
    return { ...gathered, sides: first.sides.toSpliced(axis, 1) };
  }
  if (axis !== null) return along(first, axis, CHANGES[name]);
  if (name === "sort") return along(first, first.sides.length - 1, CHANGES.sort);
  const numbers = CHANGES[name](first.numbers);
  return name === "cumsum" ? listed(numbers) : { sides: first.sides, numbers };
}

function wholeOf({ sides, numbers }: Values) {
  if (!sides.length && Number.isInteger(numbers[0])) return numbers[0];
  throw new LabError(
    "A whole number is wanted in what is expected, and something else stands there.",
  );
}

function reshaped({ numbers }: Values, wanted: number[]): Values {
  const known = -count(wanted);
  const sides = wanted.map((side) => (side === -1 ? numbers.length / known : side));
  if (count(sides) === numbers.length && sides.every((side) => side > 0)) return { sides, numbers };
  throw new LabError(`${numbers.length} elements have no shape of ${wanted.join(" × ")}.`);
}

/** Change the numbers of each line along an axis. */
function along({ sides, numbers }: Values, axis: number, change: Change): Values {
  if (!(axis in sides)) throw new LabError(`Arrays of ${sides.length} axes have no axis ${axis}.`);
  const [length, inner] = [sides[axis], count(sides.slice(axis + 1))];
  const outer = count(sides.slice(0, axis));
  let found = new Float64Array(0);
  let made = 0;
  for (let line = 0; line < outer * inner; line++) {
    const start = Math.floor(line / inner) * length * inner + (line % inner);
    const one = change(Float64Array.from({ length }, (_, at) => numbers[start + at * inner]));
    made = one.length;
    if (!line) found = new Float64Array(outer * inner * made);
    const into = Math.floor(line / inner) * made * inner + (line % inner);
    for (const [at, value] of one.entries()) found[into + at * inner] = value;
  }
  return { sides: sides.with(axis, made), numbers: found };
}

/** A slice along an axis: from, to and step, each of which may be missing. */
function sliced(from: Values, axis: number, [first, last, by]: (number | null)[]): Values {
  const length = from.sides[axis];
  const step = by ?? 1;
  const least = step < 0 ? -1 : 0;
  const place = (end: number | null, usual: number) => {
    if (end === null) return usual;
    return Math.max(least, Math.min(length + least, end < 0 ? Math.max(end + length, least) : end));
  };
  const start = place(first ?? null, step < 0 ? length - 1 : 0);
  const size = Math.ceil((place(last ?? null, step < 0 ? -1 : length) - start) / step);
  if (!step || !(size > 0)) throw new LabError("A slice in what is expected has no elements.");
  return along(from, axis, (values) =>
    Float64Array.from({ length: size }, (_, at) => values[start + at * step]),
  );
}

/** One place along an axis, which then is gone. */
function taken(from: Values, axis: number, at: Values | null): Values {
  const length = from.sides[axis] ?? 0;
  const place = at ? wholeOf(at) : Number.NaN;
  const index = place < 0 ? place + length : place;
  if (!(index >= 0 && index < length)) {
    throw new LabError(`An index in what is expected is none of the ${length} along its axis.`);
  }
  const { numbers } = along(from, axis, (values) => Float64Array.of(values[index]));
  return { sides: from.sides.toSpliced(axis, 1), numbers };
}

/** The places that an array names: those where a comparison holds, or those of the indices in it. */
function picked(from: Values, axis: number, { numbers, isTruth }: Values): Values {
  const length = from.sides[axis] ?? 0;
  const places = isTruth ? [...numbers.keys()].filter((at) => numbers[at]) : [...numbers];
  if (places.some((at) => !(Number.isInteger(at) && at >= 0 && at < length))) {
    throw new LabError(`An index in what is expected is none of the ${length} along its axis.`);
  }
  return along(from, axis, (values) => Float64Array.from(places, (at) => values[at]));
}

function transposed({ sides, numbers }: Values): Values {
  if (sides.length < 2) return { sides, numbers };
  const found = new Float64Array(numbers.length);
  const turned = [...sides].reverse();
  const steps = stepsOf(sides).reverse();
  forPlaces(turned, [steps], (at, [from]) => {
    found[at] = numbers[from];
  });
  return { sides: turned, numbers: found };
}

function rolled(numbers: Float64Array, by: number) {
  const { length } = numbers;
  return numbers.map((_, at) => numbers[(((at - by) % length) + length) % length]);
}

function dot(one: Values, other: Values): Values {
  if (!one.sides.length || !other.sides.length) return each(OPERATORS["*"], one, other);
  return product(one, other);
}

/** Of the length of the longer one, with zeros around it. */
function convolved(x: Float64Array, y: Float64Array): Float64Array {
  if (y.length > x.length) return convolved(y, x);
  const first = Math.floor((y.length - 1) / 2);
  return x.map((_, at) => {
    let sum = 0;
    for (let tap = 0; tap < y.length; tap++) sum += (x[at + first - tap] ?? 0) * y[tap];
    return sum;
  });
}

function counted(numbers: Float64Array, bins: number) {
  const found = new Float64Array(bounded([bins]));
  for (const one of numbers) found[((Math.trunc(one) % bins) + bins) % bins]++;
  return found;
}

function product(left: Values, right: Values): Values {
  const [one, other] = [left.sides, right.sides];
  const depth = one.at(-1);
  const isMatrix = [one, other].every(({ length }) => length === 1 || length === 2);
  const batched = one.length === 3 && other.length === 3 && one[0] === other[0];
  const inner = other.length > 1 ? other.at(-2) : other[0];
  if (!(isMatrix || batched) || depth === undefined || depth !== inner) {
    const shapes = [one, other].map((sides) => sides.join(" × ") || "a number");
    throw new LabError(
      `${shapes[0]} @ ${shapes[1]} is no product of matrices. Give shapes: reshape(A, 64, 32).`,
    );
  }
  const rows = one.length > 1 ? (one.at(-2) ?? 1) : 1;
  const columns = other.length > 1 ? (other.at(-1) ?? 1) : 1;
  const layers = batched ? one[0] : 1;
  const sides = [
    ...(batched ? [layers] : []),
    ...(one.length > 1 ? [rows] : []),
    ...(other.length > 1 ? [columns] : []),
  ];
  const numbers = new Float64Array(bounded(sides));
  if (layers * rows * columns * depth > MOST_PRODUCTS) {
    throw new LabError("That product is too large here.");
  }
  for (let row = 0; row < layers * rows; row++) {
    const from = Math.floor(row / rows) * depth;
    for (let k = 0; k < depth; k++) {
      const factor = left.numbers[row * depth + k];
      for (let column = 0; column < columns; column++) {
        numbers[row * columns + column] += factor * right.numbers[(from + k) * columns + column];
      }
    }
  }
  return { sides, numbers };
}

/** Apply a function to each element; sides of 1 and missing ones repeat. */
function each(change: (...numbers: number[]) => number, ...all: Values[]): Values {
  const axes = Math.max(...all.map(({ sides }) => sides.length));
  const padded = all.map(({ sides }) => [...Array<number>(axes - sides.length).fill(1), ...sides]);
  const sides = Array.from({ length: axes }, (_, axis) =>
    padded.map((one) => one[axis]).reduce((side, other) => (side === 1 ? other : side)),
  );
  if (padded.some((one) => one.some((side, axis) => side !== 1 && side !== sides[axis]))) {
    const shapes = all.map((values) => values.sides.join(" × "));
    throw new LabError(`Arrays of ${shapes.join(" and ")} elements do not go together.`);
  }
  const numbers = new Float64Array(bounded(sides));
  const steps = padded.map((one) => stepsOf(one).map((step, axis) => (one[axis] === 1 ? 0 : step)));
  const given = all.map(() => 0);
  forPlaces(sides, steps, (at, places) => {
    for (let i = 0; i < all.length; i++) given[i] = all[i].numbers[places[i]];
    numbers[at] = change(...given);
  });
  return { sides, numbers };
}

/** How far apart neighbours along each axis lie. */
const stepsOf = (sides: number[]) => sides.map((_, axis) => count(sides.slice(axis + 1)));

/** Visit all places in order; `places` are those in arrays with other steps. */
function forPlaces(
  sides: number[],
  steps: number[][],
  visit: (at: number, places: number[]) => void,
) {
  const [index, places] = [sides.map(() => 0), steps.map(() => 0)];
  const all = count(sides);
  for (let at = 0; at < all; at++) {
    visit(at, places);
    for (let axis = sides.length - 1; axis >= 0; axis--) {
      const turns = ++index[axis] === sides[axis];
      for (let i = 0; i < steps.length; i++) {
        places[i] += turns ? steps[i][axis] * (1 - sides[axis]) : steps[i][axis];
      }
      if (!turns) break;
      index[axis] = 0;
    }
  }
}

const count = (sides: number[]) => sides.reduce((all, side) => all * side, 1);

function bounded(sides: number[]) {
  const all = count(sides);
  if (all <= LARGEST_ARRAY) return all;
  throw new LabError(`What is expected would have more than ${comma(LARGEST_ARRAY)} elements.`);
}
