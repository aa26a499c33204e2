// @ts-check
// Which ways to multiply stand where on a picture of speed over error: error_points.py in
// JavaScript, held equal to it by a test.

import { errorText } from "../text.js";
import { LOST, TIMED } from "./error_points.py";
import { sentence } from "./sentences.js";

/**
 * A number, LOST where C holds NaN or infinity, null where nothing was measured.
 * @typedef {number | null} Found
 *
 * A way to multiply; error_points.py says what it holds.
 * @typedef {object} Way
 * @property {string} title
 * @property {string} arithmetic
 * @property {boolean} library
 * @property {boolean[]} first by size
 * @property {(number | null)[]} tflops by size
 * @property {Found[]} timed by size
 * @property {Found[][]} errors by class of inputs and K
 */

/**
 * The error of a way; error_points.py says what the arguments are.
 * @param {Way} way
 * @param {number} size
 * @param {number} inputs
 * @param {number} k
 * @returns {Found}
 */
export function errorOf(way, size, inputs, k) {
  if (k === TIMED) return inputs === 0 ? way.timed[size] : null;
  return way.errors[inputs][k];
}

/**
 * The speed of a way that was timed.
 * @param {Way} way
 * @param {number} size
 */
export function speedOf(way, size) {
  return Number(way.tflops[size]);
}

/**
 * The indices of the ways that stand on the picture.
 * @param {Way[]} ways
 * @param {number} size
 * @param {number} inputs
 * @param {number} k
 * @param {boolean} every
 */
export function shownWays(ways, size, inputs, k, every) {
  return [...ways.keys()].filter(
    (i) =>
      (every || ways[i].first[size]) &&
      ways[i].tflops[size] !== null &&
      errorOf(ways[i], size, inputs, k) !== null,
  );
}

/**
 * Which way is the fastest of those that err no more than cuBLAS in FP32.
 * @param {Way[]} ways
 * @param {number[]} shown
 * @param {number} size
 * @param {number} inputs
 * @param {number} k
 */
export function errorWords(ways, shown, size, inputs, k) {
  const points = shown.map((i) => {
    const error = errorOf(ways[i], size, inputs, k);
    return { way: ways[i], speed: speedOf(ways[i], size), error };
  });
  const library = points.find(({ way }) => way.library)?.error ?? LOST;
  const lost = points.filter(({ error }) => error === LOST).length;
  const told = lost ? sentence("error.lost", { count: lost }) : "";
  if (library === LOST) return joined([sentence("error.alone", {}), told]);
  const known = points.flatMap(({ way, speed, error }) =>
    error === null || error === LOST ? [] : [{ way, speed, error }],
  );
  const good = known.filter(({ error }) => error <= library);
  const best = good.reduce((one, other) => (other.speed > one.speed ? other : one));
  const ends = best.way.library ? "error.library" : "error.best";
  const share = best.error / library;
  const words = [sentence(ends, { best: best.way.title, tflops: best.speed, share })];
  const faster = known.filter(({ speed }) => speed > best.speed).map(({ error }) => error);
  if (faster.length) words.push(sentence("error.faster", { times: Math.min(...faster) / library }));
  else if (!points.some(({ speed }) => speed > best.speed))
    words.push(sentence("error.fastest", {}));
  return joined([...words, told]);
}

/**
 * The speed and the error of one way.
 * @param {Way[]} ways
 * @param {number} index
 * @param {number} size
 * @param {number} inputs
 * @param {number} k
 * @param {string} at
 */
export function wayWords(ways, index, size, inputs, k, at) {
  const way = ways[index];
  const speed = sentence("error.speed", { tflops: speedOf(way, size), size: at });
  const error = errorOf(way, size, inputs, k) ?? LOST;
  if (error === LOST) return `${speed} ${sentence("error.loses", {})}`;
  const library = ways.find((one) => one.library);
  const beside = (library && errorOf(library, size, inputs, k)) ?? LOST;
  const text = errorText(error);
  if (beside === LOST) return `${speed} ${sentence("error.own", { error: text })}`;
  return `${speed} ${sentence("error.beside", { error: text, share: error / beside })}`;
}

/**
 * Of which products speed and error are, and how many ways are not on the picture.
 * @param {string} size
 * @param {string} inputs
 * @param {number} k
 * @param {number} side
 * @param {number} missing
 */
export function placeWords(size, inputs, k, side, missing) {
  const words = k
    ? sentence("error.apart", { size, side, k, inputs })
    : sentence("error.timed", { size, inputs });
  return joined([words, missing ? sentence("error.missing", { count: missing }) : ""]);
}

/** @param {string[]} sentences */
function joined(sentences) {
  return sentences.filter(Boolean).join(" ");
}
