// Which ways to multiply stand where on a picture of speed over error, and what that shows.

import { errorText } from "../text.ts";
import { LOST, TIMED } from "./error_points.py";
import { sentence } from "./sentences.ts";

/** A number, LOST where C holds NaN or infinity, null where nothing was measured. */
type Found = number | null;

/** A way to multiply; speed_error.py says what it holds. */
export interface Way {
  title: string;
  arithmetic: string;
  library: boolean;
  /** by size */
  first: boolean[];
  /** by size */
  tflops: (number | null)[];
  /** by size */
  timed: Found[];
  /** by class of inputs and K */
  errors: Found[][];
}

/**
 * The error of a way.
 * @param size index of the size
 * @param inputs index of the class of inputs
 * @param k index of K, or TIMED
 */
export function errorOf(way: Way, size: number, inputs: number, k: number): Found {
  if (k === TIMED) return inputs === 0 ? way.timed[size] : null;
  return way.errors[inputs][k];
}

/** The speed of a way that was timed. */
export function speedOf(way: Way, size: number) {
  return Number(way.tflops[size]);
}

/** The indices of the ways that stand on the picture. */
export function shownWays(ways: Way[], size: number, inputs: number, k: number, every: boolean) {
  return [...ways.keys()].filter(
    (i) =>
      (every || ways[i].first[size]) &&
      ways[i].tflops[size] !== null &&
      errorOf(ways[i], size, inputs, k) !== null,
  );
}

/** Which way is the fastest with at most the error of cuBLAS in FP32. */
export function errorWords(ways: Way[], shown: number[], size: number, inputs: number, k: number) {
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

/** The speed and the error of one way. */
export function wayWords(
  ways: Way[],
  index: number,
  size: number,
  inputs: number,
  k: number,
  at: string,
) {
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

/** Of which products speed and error are, and how many ways are not on the picture. */
export function placeWords(size: string, inputs: string, k: number, side: number, missing: number) {
  const words = k
    ? sentence("error.apart", { size, side, k, inputs })
    : sentence("error.timed", { size, inputs });
  return joined([words, missing ? sentence("error.missing", { count: missing }) : ""]);
}

function joined(sentences: string[]) {
  return sentences.filter(Boolean).join(" ");
}
