// Is a kernel right? judge.py in TypeScript; a test compares them: the same matrices, the same
// bounds, the same sentences. That file says what the three runs are for.

import type { Matrix } from "../counting/kernel_counts.ts";
import type { Size } from "../kernel.ts";
import { Drawing } from "./drawing.ts";
import { BOUNDS, EXACT, LEAST_ALLOWED, UNIT_ROUNDOFF } from "./judge.py";
import { sentence } from "./sentences.ts";

/**
 * The verdict on one kernel at one size. `fault` says what is wrong, `refusal` why the size was not
 * run; `error` is the largest error as a share of what is allowed.
 */
export interface CheckResult {
  kernel: string;
  m: number;
  n: number;
  k: number;
  fault: string | null;
  refusal: string | null;
  error: number;
}

/** A wrong result. The message is a sentence. */
export class WrongResultError extends Error {}

/** Whether the kernel ran at this size and was right. */
export const passed = (result: CheckResult) => result.fault === null && result.refusal === null;

/** How a kernel did, in a sentence: where it was right, wrong, or not run. */
export function summary(results: CheckResult[]) {
  const right = results.filter(passed);
  const wrong = results.filter(({ fault }) => fault !== null).length;
  const refused = results.flatMap(({ refusal }) => refusal || []);
  let text = wrong
    ? sentence("summary.wrong", { wrong, all: results.length })
    : sentence("summary.right", { right: right.length });
  if (refused.length)
    text += sentence("summary.refused", { count: refused.length, first: refused[0] });
  return text;
}

/** What is wrong at the first size that is not right; null where all are. */
export function firstFault(results: Iterable<CheckResult>) {
  for (const result of results) {
    const { m, n, k, fault, refusal } = result;
    if (!passed(result)) return sentence("fault.at", { m, n, k, fault: fault || refusal });
  }
  return null;
}

/** The three runs of one kernel at one size. */
export class Judge {
  random;

  /**
   * @param product gives the kernel's C for A and B, NaN where it
   *   wrote nothing; throws a WrongResultError where the kernel did something wrong on the way
   * @param arithmetic one of ARITHMETICS
   */
  constructor(
    public product: (a: Matrix, b: Matrix) => Matrix,
    public size: Size,
    seed: number,
    public arithmetic: string = "fp32",
  ) {
    const [m, n, k] = size;
    this.random = new Drawing(seed + m + 3 * n + 7 * k);
  }

  /**
   * The largest error as a share of the allowed one. Throws a WrongResultError.
   * @param onlyWholeNumbers whether the first of the three runs is the only one
   */
  run(onlyWholeNumbers = false) {
    this.wholeNumbers();
    if (onlyWholeNumbers) return 0;
    const error = this.randomNumbers();
    this.specialValues();
    return error;
  }

  /** Multiply matrices whose product float32 holds exactly. */
  wholeNumbers() {
    const most = 64 * this.size[2] <= EXACT ? 8 : 1;
    const [a, b] = this.#inputs((count) => this.random.integers(-most, most, count));
    const c = this.product(a, b);
    const expected = productOf(a, b);
    const wrong = marked(c, (value, i) => value !== expected.values[i]);
    this.#reject(wrong, c, expected, sentence("judge.exact"));
  }

  /** Multiply twice; the largest error as a share of the bound. */
  randomNumbers() {
    const [a, b] = this.#inputs((count) => this.random.uniform(-0.5, 0.5, count));
    const c = this.product(a, b);
    const again = this.product(a, b);
    if (marked(c, (value, i) => value !== again.values[i]).length) {
      throw new WrongResultError(sentence("judge.twice"));
    }
    const expected = productOf(a, b);
    const shares = roundingShares(a, b, c, expected, this.arithmetic);
    const wrong = marked(c, (_, i) => !(shares[i] <= 1));
    this.#reject(wrong, c, expected, sentence("judge.rounding"));
    return shares.reduce((one, other) => Math.max(one, other), 0);
  }

  /** Multiply matrices that hold NaN and infinity. */
  specialValues() {
    const [m, n, k] = this.size;
    const most = 16 * k <= EXACT ? 4 : 1;
    const [a, b] = this.#inputs((count) => this.random.integers(1, most, count));
    const [row, column, third] = [half(m), Math.floor(n / 3), Math.floor(k / 3)];
    a.values[row * k + third] = Number.NaN;
    a.values[(m - 1) * k + k - 1] = Number.POSITIVE_INFINITY;
    b.values[half(k) * n + column] = Number.NaN;
    b.values[(k - 1) * n + n - 1] = Number.NEGATIVE_INFINITY;
    // Zeros beside them: zero times NaN or infinity is NaN, so no term may be skipped.
    for (const [place, other] of rest(m, row).entries()) {
      a.values[other * k + (place % 2 ? k - 1 : half(k))] = 0;
    }
    for (const [place, other] of rest(n, column).entries()) {
      b.values[(place % 2 ? k - 1 : third) * n + other] = 0;
    }
    const c = this.product(a, b);
    const expected = productOf(a, b);
    const wrong = marked(c, (value, i) => !same(value, expected.values[i]));
    this.#reject(wrong, c, expected, sentence("judge.special"));
  }

  /** Throw a WrongResultError if the kernel changed one of its inputs, NaN included. */
  refuseChanged(name: string, before: Matrix, after: Matrix) {
    const changed = marked(before, (value, i) => !same(value, after.values[i]));
    if (changed.length === 0) return;
    const size = before.values.length;
    const place = placeOf(changed[0], before.columns);
    const count = changed.length;
    throw new WrongResultError(sentence("judge.changed", { count, size, name, ...place }));
  }

  #inputs(draw: (count: number) => Iterable<number>): [Matrix, Matrix] {
    const [m, n, k] = this.size;
    const a = { rows: m, columns: k, values: Float32Array.from(draw(m * k)) };
    return [a, { rows: k, columns: n, values: Float32Array.from(draw(k * n)) }];
  }

  /** Throw a WrongResultError if any element is marked as wrong. */
  #reject(wrong: number[], c: Matrix, expected: Matrix, where: string) {
    if (wrong.length === 0) return;
    const [got, right] = [c.values[wrong[0]], expected.values[wrong[0]]];
    const spoiled = marked(
      c,
      (value, i) => Number.isNaN(value) && !Number.isNaN(expected.values[i]),
    );
    const hint = spoiled.length ? sentence("judge.unwritten", { count: spoiled.length }) : "";
    const counted = { count: wrong.length, size: c.values.length, where, hint };
    const place = placeOf(wrong[0], c.columns);
    throw new WrongResultError(sentence("judge.wrong", { ...counted, ...place, got, right }));
  }
}

/** A·B in float64. */
export function productOf(a: Matrix, b: Matrix): Matrix {
  const [m, n, k] = [a.rows, b.columns, a.columns];
  const values = new Float64Array(m * n);
  for (let row = 0; row < m; row += 1) {
    for (let step = 0; step < k; step += 1) {
      const factor = a.values[row * k + step];
      for (let column = 0; column < n; column += 1) {
        values[row * n + column] += factor * b.values[step * n + column];
      }
    }
  }
  return { rows: m, columns: n, values };
}

/** The error of each element of C as a share of its bound. */
function roundingShares(a: Matrix, b: Matrix, c: Matrix, expected: Matrix, arithmetic: string) {
  const { factors, once, per_k: perK, least } = BOUNDS[arithmetic];
  const [sizeA, sizeB] = [absolute(a), absolute(b)];
  const sizes = productOf(sizeA, sizeB).values;
  const rows = productOf(sizeA, ones(a.columns, 1)).values;
  const columns = productOf(ones(1, b.rows), sizeB).values;
  const share = (factors + once + perK * a.columns) * UNIT_ROUNDOFF;
  return Float64Array.from(expected.values, (value, i) => {
    const sums = rows[Math.floor(i / c.columns)] + columns[i % c.columns];
    return Math.abs(c.values[i] - value) / (share * sizes[i] + least * sums + LEAST_ALLOWED);
  });
}

const ones = (rows: number, columns: number): Matrix => ({
  rows,
  columns,
  values: new Float64Array(rows * columns).fill(1),
});

const absolute = (matrix: Matrix): Matrix => ({
  ...matrix,
  values: Float64Array.from(matrix.values, Math.abs),
});

/** The indices of the elements that something is wrong with. */
function marked({ values }: Matrix, isWrong: (value: number, index: number) => boolean) {
  const found: number[] = [];
  for (let i = 0; i < values.length; i += 1) if (isWrong(values[i], i)) found.push(i);
  return found;
}

const same = (one: number, other: number): boolean =>
  one === other || (Number.isNaN(one) && Number.isNaN(other));

const half = (count: number): number => Math.floor(count / 2);

/** All of `count` but one and the last. */
function rest(count: number, one: number) {
  return [...Array(count).keys()].filter((index) => index !== one && index !== count - 1);
}

const placeOf = (index: number, columns: number): { row: number; col: number } => ({
  row: Math.floor(index / columns),
  col: index % columns,
});
