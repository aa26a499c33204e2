// @ts-check
// Matrix multiply-accumulate of one warp, `mma.sync`: tensor_operations.py in JavaScript; there it
// says where each element sits.

import { WARP } from "../hardware.py";
import { PtxError } from "./ptx.js";
import { fromHalf } from "./registers.js";
import { sentence } from "./sentences.js";

/** @typedef {import("./group.js").ThreadGroup} ThreadGroup */
/** @typedef {import("./operations.js").Binder} Binder */
/** @typedef {import("./operations.js").Operations} Operations */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./registers.js").RegisterRow} Row */

const [ROWS, COLUMNS] = [16, 8];

/**
 * The rows of an operand in braces.
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {number} position
 */
function itemsOf(group, { operands, location, opcode }, position) {
  const operand = operands[position];
  if (operand?.kind !== "vector") throw new PtxError(sentence("run.mma", { place: `${location}` }));
  return operand.items.map((item) => {
    const row = group.registers.source(item, 4);
    if (!row) throw new TypeError(opcode);
    return row;
  });
}

const [FLOAT, FLOAT_BITS] = (() => {
  const floats = new Float32Array(1);
  return [floats, new Uint32Array(floats.buffer)];
})();

/**
 * @param {number} bits
 */
function asFloat(bits) {
  FLOAT_BITS[0] = bits;
  return FLOAT[0];
}

/**
 * What an element of A or B is, by the type: the tensor core ignores the 13 lowest bits of a
 * float32; a register holds two elements of 16 bits, neighbours along k.
 * @type {Record<string, (bits: number, half: number) => number>}
 */
const ELEMENTS = {
  tf32: (bits) => asFloat(bits & 0xffffe000),
  f16: (bits, half) => fromHalf((bits >>> (16 * half)) & 0xffff),
  bf16: (bits, half) => asFloat(half ? bits & 0xffff0000 : bits << 16),
};

/**
 * D = A·B + C. Products and sum in double precision, rounded once. A tensor core sums with less
 * care: results can differ from the hardware's in the last bits.
 * @type {Binder}
 */
function multiplyAccumulate(group, instruction, { type }) {
  const [a, b, c] = [1, 2, 3].map((position) => itemsOf(group, instruction, position));
  const out = itemsOf(group, instruction, 0);
  const packed = type === "tf32" ? 1 : 2;
  const depth = 8 * packed;
  const element = ELEMENTS[type];
  const [matrixA, matrixB] = [new Float64Array(ROWS * depth), new Float64Array(depth * COLUMNS)];
  const sums = new Float32Array(4 * WARP);
  /** @param {number} first */
  const fill = (first) => {
    for (let lane = 0; lane < WARP; lane++) {
      const [row, inside] = [lane >> 2, lane & 3];
      for (let half = 0; half < packed; half++) {
        a.forEach((register, number) => {
          const k = packed * inside + half + 4 * packed * (number >> 1);
          matrixA[(row + 8 * (number & 1)) * depth + k] = element(register.u32[first + lane], half);
        });
        b.forEach((register, number) => {
          const k = packed * inside + half + 4 * packed * number;
          matrixB[k * COLUMNS + row] = element(register.u32[first + lane], half);
        });
      }
    }
  };
  return (mask) => {
    for (let first = 0; first < group.lanes; first += WARP) {
      fill(first);
      for (let at = 0; at < 4 * WARP; at++) {
        const [lane, number] = [at >> 2, at & 3];
        const row = (lane >> 2) + 8 * (number >> 1);
        const column = 2 * (lane & 3) + (number & 1);
        let product = 0;
        for (let k = 0; k < depth; k++) {
          product += matrixA[row * depth + k] * matrixB[k * COLUMNS + column];
        }
        sums[at] = product + c[number].f32[first + lane];
      }
      for (let at = 0; at < 4 * WARP; at++) {
        const lane = first + (at >> 2);
        if (mask === null || mask[lane]) out[at & 3].f32[lane] = sums[at];
      }
    }
  };
}

/** @type {[string, Binder][]} */
const PATTERNS = [
  [
    "mma\\.sync\\.aligned\\.m16n8k8\\.row\\.col\\.f32\\.(?<type>tf32)\\.tf32\\.f32",
    multiplyAccumulate,
  ],
  [
    "mma\\.sync\\.aligned\\.m16n8k16\\.row\\.col\\.f32\\.(?<type>f16|bf16)\\.\\k<type>\\.f32",
    multiplyAccumulate,
  ],
];

/** @type {Operations} */
export const TENSOR_OPERATIONS = PATTERNS.map(([text, bind]) => [
  new RegExp(`^(?:${text})$`),
  bind,
]);
