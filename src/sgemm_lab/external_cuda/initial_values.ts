// What arrays hold before a launch: small whole numbers, whose products and sums are exact, drawn
// with a seed that follows from the size. Arrays of integers may hold indices, keys or counts; what is
// found with small numbers, with zeros and with ascending numbers is found with any.

import { Drawing } from "../checking/drawing.ts";
import { LabError } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { comma } from "../text.ts";
import type { Given, GivenArray, Names } from "./arguments.ts";
import { elementsOf, isArray, isFile, LARGEST_ARRAY, textOf } from "./arguments.ts";
import { bytesOf, type Element, isBool, isWhole, limitsOf } from "./elements.ts";
import type { Values } from "./expected.ts";
import { rolesOf } from "./index_arrays.ts";
import type { Arrays, Prepared } from "./launch.ts";
import { elementIn, everyArray, hasBeta, multiplies, namesAt, numbersOf } from "./launch.ts";
import { lettersOf } from "./open_kernel.ts";
import { exactOf, pack, unpack } from "./packing.ts";
import { fieldsOf } from "./structs.ts";

/** The numbers of an array lie between this and its negative. */
export const SPREAD = 8;
/** Sums of this many standard deviations still fit exactly into the elements of C. */
const SIGMAS = 6;
const EXACT_FLOAT = 2 ** 24;
/** The bytes of a float, and the one whose bits are those of 1. */
const [WORD, SMALLEST_FLOAT] = [4, 2 ** -149];
/** What C holds before the launch, where a kernel does not add to it: never a right result. */
const NEVER = { brief: 100, long: -(2 ** 30) };

type Roles = Record<string, "offsets" | "indices">;

const drawn = new WeakMap<Prepared, [size: string, arrays: Arrays]>();

/** The initial arrays of a launch, the same at each call; nobody changes them. */
export function arraysAt(prepared: Prepared, size: Size): Arrays {
  if (prepared.contents) return prepared.contents;
  const known = drawn.get(prepared);
  if (known?.[0] === `${size}`) return known[1];
  const arrays = drawnAt(prepared, size);
  drawn.set(prepared, [`${size}`, arrays]);
  return arrays;
}

function drawnAt(prepared: Prepared, size: Size): Arrays {
  const [m, n, k] = size;
  const random = new Drawing(m + 3 * n + 7 * k);
  const own = ownArrays(prepared, size, random);
  if (!multiplies(prepared)) return own;
  const [a, b, c] = [..."ABC"].map((name) => elementIn(prepared, matrixIn(prepared, name)));
  const most = largest(c, k);
  const isPositive = isWhole(a) && [a, b].some(({ stored }) => stored.startsWith("u"));
  const matrix = (rows: number, columns: number): Values => ({
    sides: [rows, columns],
    numbers: random.integers(isPositive ? 0 : -most, most, rows * columns),
  });
  return withMatrices(prepared, own, matrix(m, k), matrix(k, n), random);
}

function matrixIn({ given }: Prepared, role: string): Given & { kind: "matrix" } {
  const found = given.find(({ kind, name }) => kind === "matrix" && name === role);
  if (found?.kind !== "matrix") throw new LabError(`The matrix ${role} is missing.`);
  return found;
}

/**
 * Add A, B and the initial C. If the kernel takes beta, C holds odd multiples of 0.5, which no product
 * of integers equals: an element that was not written is noticed, and beta = 0 never multiplies NaN.
 */
export function withMatrices(
  prepared: Prepared,
  own: Arrays,
  a: Values,
  b: Values,
  random: Drawing,
): Arrays {
  const given = matrixIn(prepared, "C");
  const element = elementIn(prepared, given);
  const [rows, columns] = [a.sides[0], b.sides[1]];
  let numbers = new Float64Array(rows * columns);
  const isDrawn = !given.zero && hasBeta(prepared);
  if (isDrawn) {
    numbers = random.integers(-SPREAD, SPREAD - 1, rows * columns);
    if (!isWhole(element)) numbers = numbers.map((one) => one + 0.5);
  } else if (!given.zero) {
    const never = bytesOf(element) < 4 ? NEVER.brief : NEVER.long;
    numbers.fill(isWhole(element) ? never : Number.NaN);
  }
  const c = { sides: [rows, columns], numbers };
  const values = new Map([...own.values, ["A", a], ["B", b], ["C", c]]);
  const isUnwritten = !given.zero && !isDrawn;
  return { values, unwritten: isUnwritten ? [...own.unwritten, "C"] : own.unwritten };
}

/**
 * The largest integer in A and B for which sums over K products stay exact. Numbers from -m to m
 * have the variance m·(m+1)/3.
 */
export function largest(c: Element, k: number) {
  const exact = Math.min(exactOf(c), EXACT_FLOAT);
  if (exact === EXACT_FLOAT) return 64 * k <= exact ? SPREAD : 1;
  let most = SPREAD;
  while (most > 1 && ((SIGMAS * most * (most + 1)) / 3) * Math.sqrt(k) > exact) most--;
  return most;
}

/**
 * The arrays that are no matrices of a product. Throws a LabError where a size cannot be read, or is
 * too large.
 */
export function ownArrays(prepared: Prepared, size: Size, random: Drawing): Arrays {
  const names = namesAt(prepared, size);
  const values = new Map<string, Values>();
  const unwritten: string[] = [];
  const roles = indexRoles(prepared);
  const [length, bound] = fittingIndices(prepared, roles, names);
  for (const { array, start } of prepared.variables) {
    if (start) values.set(array.name, flat(start));
  }
  for (const one of everyArray(prepared)) {
    if (!isArray(one) || values.has(one.name)) continue;
    const element = elementIn(prepared, one);
    if (isFile(one)) {
      const loaded = prepared.loaded.get(one.size)?.numbers ?? new Float64Array(0);
      values.set(one.name, flat(unpack(element, pack(element, loaded))));
      continue;
    }
    const count = elementsOf(one, names) * (one.modes || !one.type ? element.lanes : 1);
    if (count < 1 || count > LARGEST_ARRAY) {
      throw new LabError(
        `'${textOf(one)}' has ${comma(count)} elements. 1 to ${comma(LARGEST_ARRAY)} can be.`,
      );
    }
    const role = roles[one.name];
    // Whatever is changed in place, such as by a sort, ascends by chance alone.
    const leads = role && (one.use === "in" || (one.use === "inout" && role === "indices"));
    const numbers = leads
      ? leading(role, count, length, bound, random)
      : random.integers(...spreadOf(prepared, element), count);
    if (!prepared.argumentsGiven) fillStructs(prepared, one, numbers, random);
    if (one.use === "out" || one.use === "zero") {
      numbers.fill(one.use === "out" && !isWhole(element) ? Number.NaN : 0);
    }
    if (one.use === "out") unwritten.push(one.name);
    values.set(one.name, flat(numbers));
  }
  return { values, unwritten };
}

const flat = (numbers: Float64Array): Values => ({ sides: [numbers.length], numbers });

/** In structs of an unnamed type put small numbers, which may be indices; 0 where the kernel writes. */
function fillStructs(
  { fields, given, opened }: Prepared,
  one: Given,
  words: Float64Array,
  random: Drawing,
) {
  const field = fields[given.indexOf(one)];
  const { file, values } = opened;
  const found = field && !field.element && fieldsOf({ ...field, pointer: false }, file, values, 8);
  for (const { element, pointer, offset } of found ? found.fields : []) {
    if (element && !pointer && !isWhole(element) && bytesOf(element) === WORD) continue;
    const isIndex = field.constant && element && !pointer && bytesOf(element) === WORD;
    for (let at = Math.floor(offset / WORD); found && at < words.length; at += found.size / WORD) {
      words[at] = isIndex ? random.integers(0, SPREAD, 1)[0] * SMALLEST_FLOAT : 0;
    }
  }
}

/**
 * The least and the largest number that an array is filled with. Text is filled with letters from one
 * that the kernel names on: "a" to "z" where it has 'a'.
 */
function spreadOf({ opened, isPositive }: Prepared, element: Element): [number, number] {
  if (element.name === "char") {
    const least = Math.min(...lettersOf(opened.kernel).map((letter) => letter.charCodeAt(0)));
    const end = [..."9Zz"].map((one) => one.charCodeAt(0)).find((one) => one >= least);
    if (end && Number.isFinite(least)) return [least, end];
  }
  if (isBool(element)) return [0, 1];
  if (isPositive && element.stored === "u1") return [0, limitsOf(element)[1]];
  const isUp = element.stored.startsWith("u") || (isPositive && isWhole(element));
  return [isUp ? 0 : -SPREAD, SPREAD];
}

/** Indices below `bound`, or offsets of rows, which ascend from 0 to `length`. */
function leading(
  role: Roles[string],
  count: number,
  length: number,
  bound: number,
  random: Drawing,
) {
  if (role === "indices") return random.integers(0, Math.max(1, bound) - 1, count);
  const offsets = random.integers(0, length, count).sort();
  offsets[0] = 0;
  offsets[count - 1] = length;
  return offsets;
}

/** The arrays of assumed arguments that hold indices or row offsets. */
function indexRoles({ given, fields, argumentsGiven, opened, isPositive }: Prepared): Roles {
  const whole = given.flatMap((one, at) => {
    const { element } = fields[at] ?? { element: null };
    const isText = element?.name === "char" || (isPositive && element?.stored === "u1");
    return isArray(one) && isWhole(element) && !isText ? one.name : [];
  });
  if (argumentsGiven || !whole.length) return {};
  const roles = rolesOf(opened.kernel);
  return Object.fromEntries(
    whole.filter((name) => name in roles).map((name) => [name, roles[name]]),
  );
}

/** The length that offsets of rows end at, and what indices stay below. */
function fittingIndices({ given }: Prepared, roles: Roles, names: Names): [number, number] {
  const arrays = Object.keys(roles).length ? given.filter(isArray) : [];
  const lengths = arrays.map((one) => elementsOf(one, names));
  const inputs = lengths.filter(
    (_, at) => arrays[at].use === "in" && roles[arrays[at].name] !== "offsets",
  );
  const sizes = [...lengths, ...Object.values(names)].filter((size) => size > 1);
  return [inputs.length ? Math.min(...inputs) : 0, Math.min(SPREAD + 1, ...sizes)];
}

/** The arrays of a launch with zeros, then with ascending numbers where integers are. */
export function otherContents(prepared: Prepared, start: Arrays): Arrays[] {
  return [0, 1].map((factor) =>
    changed(start, prepared, (element, numbers) => {
      if (!isWhole(element)) return numbers;
      const most = limitsOf(element)[1];
      return numbers.map((_, at) => factor * (at % (most + 1)));
    }),
  );
}

/** What an array of a launch holds instead. */
export type Change = (element: Element, numbers: Float64Array, one: GivenArray) => Float64Array;

/** Arrays with other numbers in what a launch reads. */
export function changed(start: Arrays, prepared: Prepared, change: Change): Arrays {
  const values = new Map(start.values);
  for (const one of prepared.given) {
    if (!isArray(one) || one.use === "out") continue;
    const numbers = change(elementIn(prepared, one), numbersOf(start, one.name), one);
    values.set(one.name, { sides: [numbers.length], numbers });
  }
  return { ...start, values };
}
