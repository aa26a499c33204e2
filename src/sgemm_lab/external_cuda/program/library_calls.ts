// What cuBLAS and cuRAND do for a host program: products of matrices, and random numbers.

import { Drawing } from "../../checking/drawing.ts";
import { STORED } from "../../simulator/watches/written.ts";
import { comma } from "../../text.ts";
import { bytesOf, namedElement } from "../elements.ts";
import { pack, unpack, viewed } from "../packing.ts";
import { TooLargeError } from "./faults.ts";
import { REALS, type Runtime } from "./runtime.ts";
import { reading, type Use } from "./streams.ts";

const [SUCCESS, INVALID_VALUE] = [0, 7];
const MOST_PRODUCTS = 2 ** 29;

/** A matrix in memory of the device, column after column. */
interface Matrix {
  at: number;
  /** by its place in REALS */
  type: number;
  rows: number;
  columns: number;
  /** elements from a column to the next */
  step: number;
}

export const libraryFunctions = (runtime: Runtime, random = new Drawing(0)) => ({
  lab_gemm: (...given: number[]) => gemm(runtime, given),
  lab_pointer: (at: number) => {
    runtime.world.streams.finishAll();
    return new DataView(runtime.plainSpan(at).bytes(4).slice().buffer).getUint32(0, true);
  },
  lab_random: (
    to: number,
    count: bigint,
    type: number,
    isNormal: number,
    mean: number,
    deviation: number,
    line: number,
  ) => {
    const column = { at: to, type, rows: Number(count), columns: 1, step: Number(count) };
    const target = spanOf(runtime, column, line, "curandGenerate");
    const run = () => {
      const [one, other] = [0, 0].map(() => random.uniform(0, 1, column.rows));
      // By Box and Muller.
      const drawn = (first: number, at: number) =>
        isNormal
          ? Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * other[at])
          : 1 - first;
      write(
        target,
        type,
        Float64Array.from(one, (first, at) => mean + deviation * drawn(first, at)),
      );
    };
    runtime.add(0, line, target.name, target.uses.map(stored), run);
    return SUCCESS;
  },
});

/** C = alpha op(A) op(B) + beta C, as "cuBLAS Library", section "cublas<t>gemm()", has it. */
function gemm(runtime: Runtime, given: number[]) {
  const [aTurned, bTurned, m, n, k, scaleType, alpha, ...others] = given;
  const [a, aType, lda, b, bType, ldb, beta, c, cType, ldc, stream, line] = others;
  const A: Matrix = { at: a, type: aType, ...sides(aTurned, m, k), step: lda };
  const B: Matrix = { at: b, type: bType, ...sides(bTurned, k, n), step: ldb };
  const C: Matrix = { at: c, type: cType, rows: m, columns: n, step: ldc };
  if (Math.min(m, n, k) < 0) return INVALID_VALUE;
  if ([A, B, C].some(({ rows, step }) => step < Math.max(1, rows))) return INVALID_VALUE;
  if (!m || !n) return SUCCESS;
  if (m * n * k > MOST_PRODUCTS) {
    throw new TooLargeError(`the product of line ${line} takes ${comma(m * n * k)} multiply-adds`);
  }
  const [left, right, result] = [A, B, C].map((one) => spanOf(runtime, one, line, "cublasSgemm"));
  const scale = (at: number) => {
    const span = runtime.plainSpan(at);
    const read = () => numbers(span.bytes(bytesOf(elementOf(scaleType))), scaleType)[0];
    const held = span.block ? null : read();
    return () => held ?? read();
  };
  const [times, plus] = [scale(alpha), scale(beta)];
  const run = () => {
    const [x, y] = [dense(left, A, aTurned), dense(right, B, bTurned)];
    const held = numbers(result.bytes(), cType);
    const [by, more] = [times(), plus()];
    for (let column = 0; column < n; column++) {
      const sums = new Float64Array(m);
      for (let depth = 0; depth < k; depth++) {
        const factor = y[depth + column * k];
        for (let row = 0, at = depth * m; row < m; row++) sums[row] += x[at++] * factor;
      }
      for (let row = 0, at = column * ldc; row < m; row++, at++) {
        held[at] = by * sums[row] + (more ? more * held[at] : 0);
      }
    }
    write(result, cType, held);
  };
  const uses = [...left.uses, ...right.uses, ...result.uses.map(stored)];
  runtime.add(stream, line, result.name, uses, run);
  return SUCCESS;
}

const sides = (isTurned: number, rows: number, columns: number) =>
  isTurned ? { rows: columns, columns: rows } : { rows, columns };

const elementOf = (type: number) => namedElement(REALS[type]);

const numbers = (bytes: Uint8Array, type: number) =>
  unpack(elementOf(type), viewed(elementOf(type), bytes.slice()));

/** The bytes of a matrix, from its first element to its last. */
function spanOf(
  runtime: Runtime,
  { at, type, rows, columns, step }: Matrix,
  line: number,
  other: string,
) {
  const name = runtime.world.calls.name(runtime.at(line), /^cu(blas|rand)/, other);
  const span = runtime.plainSpan(at);
  const count = columns ? ((columns - 1) * step + rows) * bytesOf(elementOf(type)) : 0;
  runtime.check(name, span, count, true);
  return { name, span, bytes: () => span.bytes(count), uses: reading(span.block, span.at, count) };
}

const stored = (one: Use): Use => ({ ...one, marks: STORED });

function write({ span, bytes }: ReturnType<typeof spanOf>, type: number, values: Float64Array) {
  const { buffer } = pack(elementOf(type), values);
  bytes().set(new Uint8Array(buffer as ArrayBuffer));
  span.block?.mark(span.at, buffer.byteLength);
}

/** A matrix without what lies between its columns, turned if asked. */
function dense(
  { bytes }: ReturnType<typeof spanOf>,
  { type, rows, columns, step }: Matrix,
  isTurned: number,
) {
  const held = numbers(bytes(), type);
  const found = new Float64Array(rows * columns);
  for (let column = 0; column < columns; column++) {
    for (let row = 0; row < rows; row++) {
      found[isTurned ? column + row * columns : row + column * rows] = held[row + column * step];
    }
  }
  return found;
}
