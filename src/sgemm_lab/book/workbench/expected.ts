// What an array should hold: arithmetic on arrays in NumPy's notation, read by a small parser and
// never run as code. A subset of external_cuda/expected.py, held equal to it by a test.

import { LabError } from "../../errors.ts";

/** Numbers with their sides: none of a single number, rows and columns of a matrix. */
export interface Values {
  sides: number[];
  numbers: Float64Array;
}

const MOST_CHARACTERS = 400;
const DEEPEST = 40;
const MOST_ELEMENTS = 1 << 22;
/** Products of one matrix multiplication: about a second. */
const MOST_PRODUCTS = 1 << 28;
const TOKEN = /\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|([A-Za-z_]\w*)|(\/\/|\*\*|[-+*/%@(),.=]))/y;
const BINDS: Record<string, number> = { "+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2, "@": 2 };
const NEGATIVE_BINDS = 3;

const EACH: Record<string, (one: number) => number> = {
  abs: Math.abs,
  sqrt: Math.sqrt,
  exp: Math.exp,
  log: Math.log,
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  floor: Math.floor,
  ceil: Math.ceil,
};
const ALONG: Record<string, (values: number[]) => number> = {
  sum: total,
  max: (values) => values.reduce(larger, Number.NEGATIVE_INFINITY),
  min: (values) => -values.reduce((most, one) => larger(most, -one), Number.NEGATIVE_INFINITY),
  mean: (values) => total(values) / values.length,
};
const PAIRS: Record<string, (one: number, other: number) => number> = {
  maximum: larger,
  minimum: (one, other) => -larger(-one, -other),
};
const OPERATORS: Record<string, (one: number, other: number) => number> = {
  "+": (one, other) => one + other,
  "-": (one, other) => one - other,
  "*": (one, other) => one * other,
  "/": (one, other) => one / other,
  "//": (one, other) => Math.floor(one / other),
  "%": (one, other) => one - other * Math.floor(one / other),
  "**": (one, other) => one ** other,
};
/** Names that a reader may call. */
export const FUNCTIONS = [
  ...Object.keys(EACH),
  ...Object.keys(ALONG),
  ...Object.keys(PAIRS),
  "transpose",
  "reshape",
];

function total(values: number[]) {
  return values.reduce((sum, one) => sum + one, 0);
}

/** As NumPy's: NaN where one of the two is. */
function larger(one: number, other: number) {
  return Number.isNaN(one) || Number.isNaN(other) ? Number.NaN : Math.max(one, other);
}

/** Split "y = 2 * x" into the array's name and its values; the name is "" of a value alone. */
export function readExpectation(text: string): [string, string] {
  const named = /^\s*([A-Za-z_]\w*)\s*=(?!=)([\s\S]*)$/.exec(text);
  return named ? [named[1], named[2].trim()] : ["", text.trim()];
}

/** Evaluate a text. Throws a LabError that says what cannot be read. */
export function expectedValues(text: string, names: Map<string, Values>): Values {
  if (text.length > MOST_CHARACTERS) {
    throw new LabError(`What is expected has more than ${MOST_CHARACTERS} characters.`);
  }
  return new Reader(tokensOf(text), names).whole();
}

/** A single number. */
export function single(number: number): Values {
  return { sides: [], numbers: Float64Array.of(number) };
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
    const found = this.#expression(1);
    if (this.#next < this.tokens.length) {
      throw new LabError(`“${this.tokens[this.#next]}” stands where nothing can.`);
    }
    return found;
  }

  get #token() {
    return this.tokens[this.#next] ?? "";
  }

  #take(token: string) {
    if (this.#token !== token) {
      throw new LabError(`A “${token}” is missing in what is expected.`);
    }
    this.#next++;
  }

  #expression(least: number): Values {
    if (++this.#depth > DEEPEST) throw new LabError("What is expected is nested too deeply.");
    let left = this.#factor();
    while (Object.hasOwn(BINDS, this.#token) && BINDS[this.#token] >= least) {
      const operator = this.#token;
      this.#next++;
      const right = this.#expression(BINDS[operator] + 1);
      left = operator === "@" ? product(left, right) : each(OPERATORS[operator], left, right);
    }
    this.#depth--;
    return left;
  }

  #factor(): Values {
    if (this.#token === "-") {
      this.#next++;
      return each((one) => -one, this.#expression(NEGATIVE_BINDS));
    }
    const base = this.#part();
    if (this.#token !== "**") return base;
    this.#next++;
    return each(OPERATORS["**"], base, this.#expression(NEGATIVE_BINDS));
  }

  #part(): Values {
    const token = this.#token;
    this.#next++;
    let found: Values;
    if (/^[\d.]+/.test(token) && token !== ".") found = single(Number(token));
    else if (token === "(") {
      found = this.#expression(1);
      this.#take(")");
    } else if (!/^[A-Za-z_]/.test(token)) {
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
    while (this.#token === ".") {
      this.#next++;
      this.#take("T");
      found = transposed(found);
    }
    return found;
  }

  #call(name: string): Values {
    if (!FUNCTIONS.includes(name)) {
      throw new LabError(`“${name}” cannot be called there. Known are ${FUNCTIONS.join(", ")}.`);
    }
    this.#take("(");
    const items: Values[] = [];
    let axis: number | null = null;
    while (this.#token !== ")") {
      if (this.#token === "axis" && this.tokens[this.#next + 1] === "=") {
        axis = Number(this.tokens[this.#next + 2]);
        this.#next += 3;
      } else items.push(this.#expression(1));
      if (this.#token !== ")") this.#take(",");
    }
    this.#take(")");
    return called(name, items, axis);
  }
}

function called(name: string, items: Values[], axis: number | null): Values {
  const wants = Object.hasOwn(PAIRS, name) ? 2 : 1;
  const fits = name === "reshape" ? [2, 3].includes(items.length) : items.length === wants;
  if (!fits || (axis !== null && !Object.hasOwn(ALONG, name))) {
    throw new LabError(`${name}(…) has other arguments.`);
  }
  const [first] = items;
  if (Object.hasOwn(EACH, name)) return each(EACH[name], first);
  if (Object.hasOwn(PAIRS, name)) return each(PAIRS[name], first, items[1]);
  if (name === "transpose") return transposed(first);
  if (name === "reshape") {
    const sides = items.slice(1).map(({ numbers }) => numbers[0]);
    if (!sides.every(Number.isInteger) || elements(sides) !== first.numbers.length) {
      throw new LabError(`${first.numbers.length} elements have no shape of ${sides.join(" × ")}.`);
    }
    return { sides, numbers: first.numbers };
  }
  if (axis === null) return single(ALONG[name](Array.from(first.numbers)));
  return along(ALONG[name], first, axis);
}

function along(gather: (values: number[]) => number, { sides, numbers }: Values, axis: number) {
  if (!(axis in sides)) throw new LabError(`Arrays of ${sides.length} axes have no axis ${axis}.`);
  const [rows, columns] = [sides.length > 1 ? sides[0] : 1, sides[sides.length - 1]];
  const across = axis === sides.length - 1;
  const found = Float64Array.from({ length: across ? rows : columns }, (_, place) =>
    gather(
      Array.from({ length: across ? columns : rows }, (_, step) =>
        across ? numbers[place * columns + step] : numbers[step * columns + place],
      ),
    ),
  );
  return { sides: sides.filter((_, side) => side !== axis), numbers: found };
}

function transposed({ sides, numbers }: Values): Values {
  if (sides.length < 2) return { sides, numbers };
  const [rows, columns] = sides;
  const turned = numbers.map((_, at) => numbers[(at % rows) * columns + Math.floor(at / rows)]);
  return { sides: [columns, rows], numbers: turned };
}

function product(left: Values, right: Values): Values {
  if (left.sides.length !== 2 || right.sides.length !== 2 || left.sides[1] !== right.sides[0]) {
    const shapes = [left, right].map(({ sides }) => sides.join(" × ") || "a number");
    throw new LabError(
      `${shapes[0]} @ ${shapes[1]} is no product of matrices. Give shapes: reshape(A, 64, 32).`,
    );
  }
  const [rows, depth] = left.sides;
  const columns = right.sides[1];
  if (rows * columns * depth > MOST_PRODUCTS) throw new LabError("That product is too large here.");
  const numbers = new Float64Array(bounded(rows * columns));
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < depth; k++) {
      const one = left.numbers[row * depth + k];
      for (let column = 0; column < columns; column++) {
        numbers[row * columns + column] += one * right.numbers[k * columns + column];
      }
    }
  }
  return { sides: [rows, columns], numbers };
}

/** Apply a function to each element; sides of 1 and missing ones repeat. */
function each(change: (one: number, other: number) => number, left: Values, right?: Values) {
  if (!right) return { sides: left.sides, numbers: left.numbers.map((one) => change(one, 0)) };
  const axes = Math.max(left.sides.length, right.sides.length);
  const [one, other] = [left, right].map(({ sides }) => [
    ...Array<number>(axes - sides.length).fill(1),
    ...sides,
  ]);
  const sides = one.map((side, axis) => (side === 1 ? other[axis] : side));
  if (sides.some((side, axis) => other[axis] !== 1 && other[axis] !== side)) {
    const shapes = [left, right].map((values) => values.sides.join(" × "));
    throw new LabError(`Arrays of ${shapes[0]} and ${shapes[1]} elements do not go together.`);
  }
  const numbers = new Float64Array(bounded(elements(sides)));
  const columns = sides[axes - 1] ?? 1;
  for (let at = 0; at < numbers.length; at++) {
    const place = [Math.floor(at / columns), at % columns].slice(2 - axes);
    numbers[at] = change(left.numbers[index(place, one)], right.numbers[index(place, other)]);
  }
  return { sides, numbers };
}

function index(place: number[], sides: number[]) {
  return sides.reduce((at, side, axis) => at * side + (side === 1 ? 0 : place[axis]), 0);
}

const elements = (sides: number[]) => sides.reduce((count, side) => count * side, 1);

function bounded(count: number) {
  if (count > MOST_ELEMENTS) throw new LabError("What is expected has too many elements.");
  return count;
}
