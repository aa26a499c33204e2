// Check a matrix product of any CUDA file at the sizes that reach its branches.

import { Drawing } from "../checking/drawing.ts";
import { QUICK_SIZES } from "../checking/judge.py";
import { type CheckResult, Judge, passed, WrongResultError } from "../checking/judge.ts";
import { sentence } from "../checking/sentences.ts";
import { checkSize, type Matrix } from "../counting/kernel_counts.ts";
import { LabError, orNull } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { secondsNow } from "../simulator/clock.ts";
import { TimeLimitError } from "../simulator/divergence.ts";
import { mostRelevant } from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { comma } from "../text.ts";
import { type Given, readArguments, textsOf } from "./arguments.ts";
import { isStuck } from "./assumed_launch_search.ts";
import { isWhole, width } from "./elements.ts";
import type { Values } from "./expected.ts";
import { indexOverflow } from "./index_overflow.ts";
import { ownArrays, withMatrices } from "./initial_values.ts";
import type { Prepared, Settings } from "./launch.ts";
import { elementIn, hasBeta, nameOf, placeOf, product, rawShape, run, sizesIn } from "./launch.ts";
import { countPrepared, type Done, NOTHING } from "./one_launch.ts";
import { stepOf, wordsOfConditions } from "./open_kernel.ts";
import type { KernelReport, Options } from "./report.ts";
import { inOtherOrders, SETTINGS, toldArguments } from "./report.ts";
import { otherOrders } from "./schedules.ts";
import { type Finding, findingOf, ofTheBlock, verdictOf, WRONG_RESULT } from "./severity.ts";

/** What a file says of a matrix that is transposed, and the layout with which C comes out right. */
const TRANSPOSED = /transpos|\^T\b|(?:\b|_)(?:nt|tn|tt)\b|column|col_?major|\b[ab]_?t\b/i;
const BY_COLUMNS = /by columns: --args '(.*)'/;
/** Seconds after which no further size is begun; and once a fault was found. */
const [SECONDS, SECONDS_WRONG] = [30, 8];
/** Most sizes whose faults become findings, each of another line. */
const MOST_TOLD = 3;
/** Largest M·N·K of the size that runs in several orders. */
const ORDERED_PRODUCT = 64 ** 3;
/** Instructions of kernels for whole tiles; and any that may move several elements, with its bits. */
const WHOLE_TILES = /\b(?:ld|st)\.global\S*\.v\d|\bw?mma\.|\bcp\.async/;
const MOVES = /\b(?:ld|st)\.global\S*\.[bfsu](\d+)\b/g;
/** Products of tensor cores that keep 11 bits of each factor. */
const NARROW_PRODUCTS = /\bw?mma\.\S*\btf32\b/;
/** Alpha and beta of the run that tests whether a kernel uses them. */
const FACTORS = ["2", "-1"];
/** A size whose grid tells how much of C a block covers; the largest tile that is looked at. */
const [LARGE, MOST_TILE] = [4096, 256];
/** K of an even and of an odd number of K tiles of 32. */
const [EVEN_DEPTH, ODD_DEPTH] = [64, 96];
/** Tiles that `tileOf` considers. */
const TILES = [128, 64, 32, 16, 8, 4, 2];

/**
 * The verdict at one size, with the hazard that decided it. `complete`: C is wrong although the kernel
 * wrote all of it and stayed inside its arrays: no guard at an edge explains that.
 */
export interface SizeResult extends CheckResult {
  hazard: Hazard | null;
  complete: boolean;
}

class FaultError extends WrongResultError {
  constructor(
    message: string,
    public hazard: Hazard | null,
    public complete: boolean,
  ) {
    super(message);
  }
}

const isSquare = (prepared: Prepared) => sizesIn(prepared) === 1 && !prepared.argumentsGiven;

/** Whether the grid follows M, N and K, or the caller gives the sizes. */
export const takesSizes = ({ grid, follows }: Prepared, sizes: Size[] | null) =>
  Boolean(sizes?.length) || (follows && !grid.length) || /[MNK]/.test(grid.join());

/** Report on a matrix product, at many sizes. */
export function checkProduct(prepared: Prepared, options: Options): KernelReport {
  const sizes = sizesOf(prepared, options.sizes);
  const results: SizeResult[] = [];
  const start = secondsNow();
  for (const result of checkSizes(prepared, sizes, options)) {
    results.push(result);
    const layout = BY_COLUMNS.exec(result.fault ?? "")?.[1];
    if (layout && !prepared.argumentsGiven && !prepared.argued) {
      const argued = `Arguments: ${layout}, as the file names what is transposed, and C is right so.`;
      const other = { ...prepared, given: readArguments(layout), argued };
      if (TRANSPOSED.test(prepared.opened.file.files[0].text)) return checkProduct(other, options);
    }
    const limit = results.some(({ fault }) => fault) ? SECONDS_WRONG : SECONDS;
    const isOver = secondsNow() - start > Math.min(limit, options.seconds);
    if (isOver && !options.sizes?.length) break;
  }
  const [findings, notes] = ofSizes(prepared, results, Boolean(options.sizes?.length));
  const said = [prepared.argued, prepared.assumed].filter(Boolean);
  const isLate = () => secondsNow() - start > options.seconds;
  if (!findings.length && !isLate()) {
    const [inOrders, tried] = ordersOf(prepared, results, options);
    findings.push(...inOrders);
    said.push(...inOtherOrders(tried));
  }
  if (!prepared.argued) said.push(...toldArguments(prepared));
  const right = results.filter(passed).length;
  const refused = results.flatMap(({ refusal }) => refusal ?? []);
  said.push(`C was compared with the exact product at ${results.length} sizes; right at ${right}.`);
  if (results.length < sizes.length) {
    const left = sizes.length - results.length;
    said.push(`${left} further sizes were left out to save time.`);
  }
  if (refused.length && !right) {
    said.push(`Not run at ${refused.length} sizes, first: ${refused[0]}`);
  }
  const [file, line] = placeOf(prepared);
  return {
    ...{ kernel: nameOf(prepared), file, line, findings, said: [...said, ...notes] },
    verdict: verdictOf(findings, right ? "right" : "not run"),
    sizes: results.map(({ hazard: _, complete: __, ...one }) => one),
    limits: right && !isLate() ? indexOverflow(prepared, SETTINGS) : [],
  };
}

/** The given sizes; or the quick ones and those of tiles, square if the kernel takes one size. */
function sizesOf(prepared: Prepared, sizes: Size[] | null): Size[] {
  if (sizes?.length) return sizes;
  const quick = (QUICK_SIZES as Size[]).filter(
    (size) => !isSquare(prepared) || new Set(size).size === 1,
  );
  const step = stepOf(prepared.opened.file);
  const all = [...quick, ...sizesOfTiles(prepared)].map(
    (size) => size.map((side) => Math.ceil(side / step) * step) as Size,
  );
  return all.filter((size, at) => all.findIndex((one) => `${one}` === `${size}`) === at);
}

/** Run the largest quick size that is right in other orders of blocks and warps. */
function ordersOf(
  prepared: Prepared,
  results: SizeResult[],
  { timeLimit }: Options,
): [Finding[], string[]] {
  const sizes = results.filter(passed).map(({ m, n, k }): Size => [m, n, k]);
  const [size] = sizes
    .filter((one) => product(one) <= ORDERED_PRODUCT)
    .sort((one, other) => product(other) - product(one));
  if (!size) return [[], []];
  const settings = { ...SETTINGS, countRequests: false, timeLimit };
  return otherOrders(countPrepared(prepared, size, NOTHING, settings), settings);
}

/**
 * Check a kernel size by size: on integers, then as `Judge` does. A kernel with alpha and beta runs with
 * 1 and 0, then with 2 and -1. Types other than float and double, and products in tf32, are checked on
 * integers only. After a launch that exceeds the time limit the remaining sizes are not tried.
 */
function* checkSizes(
  prepared: Prepared,
  sizes: Size[],
  { seed, timeLimit }: Options,
): Generator<SizeResult> {
  let settings: Settings = {
    ...{ ...SETTINGS, countRequests: false, timeLimit, explain: "without hazards" },
  };
  for (const size of sizes) {
    const [m, n, k] = size;
    const result: SizeResult = {
      ...{ kernel: nameOf(prepared), m, n, k, fault: null, refusal: null, error: 0 },
      ...{ hazard: null, complete: false },
    };
    let isLate = false;
    try {
      checkSize(size);
      result.error = checkOne(prepared, size, seed, settings);
    } catch (error) {
      if (error instanceof WrongResultError || isStuck(error)) {
        Object.assign(result, { fault: error.message, error: Number.POSITIVE_INFINITY });
        if (error instanceof WrongResultError) {
          // A result is looked for one usual cause once; it is the same at other sizes.
          settings = { ...settings, explain: "never" };
          const { hazard, complete } =
            error instanceof FaultError ? error : { hazard: null, complete: true };
          Object.assign(result, { hazard, complete });
        }
      } else if (error instanceof LabError) {
        result.refusal = error.message;
        isLate = error instanceof TimeLimitError;
      } else throw error;
    }
    yield result;
    if (isLate) return;
  }
}

function checkOne(prepared: Prepared, size: Size, seed: number, settings: Settings) {
  wholeNumbers(prepared, size, settings);
  if (hasBeta(prepared) && !prepared.argumentsGiven) {
    wholeNumbers(withFactors(prepared, FACTORS), size, settings);
  }
  const isExact = prepared.given.every(
    (one) => one.kind === "number" || /^(float|double)$/.test(elementIn(prepared, one).name),
  );
  if (!isExact || NARROW_PRODUCTS.test(prepared.ptx)) return 0;
  const quiet = { ...settings, checkHazards: false };
  return judgeOf(withFactors(prepared, ["1", "0"]), size, seed, quiet).run();
}

function wholeNumbers(prepared: Prepared, size: Size, settings: Settings) {
  const done = countPrepared(prepared, size, NOTHING, settings);
  const { hazards, warnings } = done.result;
  const [warning] = warnings.map(({ message }) => message);
  if (hazards.length) {
    const first = mostRelevant(hazards);
    throw new FaultError([first.message, warning].filter(Boolean).join(" "), first, false);
  }
  for (const name of done.changed) {
    throw new WrongResultError(
      `It changed ${name}, which it may only read. Look for a store to ${name}.`,
    );
  }
  for (const { wrong, elements } of done.verdicts) {
    if (!wrong) continue;
    const why = [done.cause, warning].filter(Boolean).join(" ");
    throw new FaultError(
      `With ${textsOf(prepared.given)}, ${comma(wrong)} of ${comma(elements)} elements of C are ` +
        `wrong ${sentence("judge.exact")}. ${why}`.trim(),
      null,
      !isUntouched(done),
    );
  }
}

/** Whether an element of C still holds what it held before the launch. */
const isUntouched = ({ untouched }: Done) => untouched("C").some(Boolean);

/** The same launch with other values of alpha and beta. */
function withFactors(prepared: Prepared, factors: string[]): Prepared {
  const left = [...factors];
  const given = prepared.given.map((one, at): Given => {
    const { name, pointer, element } = prepared.fields[at];
    if (one.kind !== "number" || (!pointer && isWhole(element)) || !left.length) return one;
    const text = name.toLowerCase().includes("beta") ? left.pop() : left.shift();
    return { kind: "number", text: text ?? "", name: "" };
  });
  return { ...prepared, given };
}

/** Runs the kernel in the simulator without hazard checks, which an earlier run made. */
function judgeOf(prepared: Prepared, size: Size, seed: number, settings: Settings) {
  let last: [a: Matrix, c: Matrix] | null = null;
  const multiply = (a: Matrix, b: Matrix): Matrix => {
    if (last?.[0] === a) return last[1];
    const random = new Drawing(0);
    const own = ownArrays(prepared, size, random);
    const arrays = withMatrices(prepared, own, valuesOf(a), valuesOf(b), random);
    const { after } = run(prepared, size, arrays, settings);
    const matrix = (name: string, like: Matrix): Matrix => {
      return { ...like, values: after.get(name)?.numbers ?? new Float64Array(0) };
    };
    for (const [name, given] of [
      ["A", a],
      ["B", b],
    ] as const) {
      judge.refuseChanged(name, given, matrix(name, given));
    }
    const c = matrix("C", { ...a, columns: b.columns });
    last = [a, c];
    return c;
  };
  const judge = new Judge(multiply, size, seed);
  return judge;
}

const valuesOf = ({ rows, columns, values }: Matrix): Values => ({
  sides: [rows, columns],
  numbers: Float64Array.from(values),
});

/** The findings of a product, each line once, and what is to be said about them. */
function ofSizes(
  prepared: Prepared,
  results: SizeResult[],
  sizesGiven: boolean,
): [Finding[], string[]] {
  const wrong = results.filter(({ fault }) => fault);
  const isRight = results.some(passed);
  const isLayout = wrong.some(({ fault }) => BY_COLUMNS.test(fault ?? ""));
  const tile = tileOf(results);
  const fits = (size: SizeResult) => tile !== null && divides(tile, size);
  const guards = guardedSizes(prepared);
  const findings: Finding[] = [];
  for (const one of wrong) {
    const { m, n, k, fault, hazard } = one;
    // A kernel without guards is for whole tiles, and its file may use no other sizes.
    const isForEdges = one.complete ? guards.size > 0 : tile && isGuarded(one, tile, guards);
    const atEdge = tile && !fits(one) && (!isForEdges || roundsDown(prepared, tile));
    const certain =
      sizesGiven ||
      (((isRight && !isLayout) || prepared.argumentsGiven) && !atEdge) ||
      (hazard && ofTheBlock(hazard, prepared));
    const severity = certain ? "error" : "warning";
    const message = `At ${m} × ${n} × ${k}: ${fault}`;
    const [file, line] = placeOf(prepared);
    const place = { file, line, otherLine: null, array: "C", order: "" };
    const found = hazard
      ? { ...findingOf(hazard, prepared, severity), message }
      : { severity, kind: WRONG_RESULT, message, ...place };
    const isNew = findings.every(
      (other) => other.severity !== severity || other.line !== found.line,
    );
    if (isNew) findings.push(found as Finding);
  }
  findings.sort((one, other) => Number(isError(other)) - Number(isError(one))).splice(MOST_TOLD);
  if (tile && !wrong.some(fits)) {
    const text = tileText(tile);
    return [
      findings,
      [`Of these sizes it is right exactly where ${text}. Give the sizes that matter with --size.`],
    ];
  }
  const never = wrong.length && !isRight && !prepared.argumentsGiven;
  return [
    findings,
    never ? ["It is right at no size. Say --args if the arguments are others."] : [],
  ];
}

const isError = ({ severity }: Finding) => severity === "error";

/** Whether the file's own grid leaves out the rest of a side that the tile does not divide. */
function roundsDown(prepared: Prepared, tile: Size) {
  const { follows, host, grid } = prepared;
  // Of the grid of a main only its own sizes are known.
  if (host && !host.made && !follows) return true;
  if (!follows || grid.length) return false;
  const ragged = tile.map((side) => 2 * side - 1) as Size;
  const [own, other] = [tile, ragged].map((size) =>
    orNull(() => `${rawShape(prepared, size).grid}`),
  );
  return own !== null && own === other;
}

/**
 * The largest tile that divides M, N and K wherever a kernel is right; null if there is none, or if the
 * kernel is right everywhere or nowhere.
 */
function tileOf(results: CheckResult[]): Size | null {
  const right = results.filter(passed);
  if (!right.length || results.every(({ fault }) => !fault)) return null;
  // An axis along which whole tiles are not needed has a tile of 1.
  const tile = (["m", "n", "k"] as const).map(
    (axis) => TILES.find((side) => right.every((size) => size[axis] % side === 0)) ?? 1,
  ) as Size;
  return tile.every((side) => side === 1) ? null : tile;
}

const divides = (tile: Size, { m, n, k }: CheckResult) =>
  [m, n, k].every((size, axis) => size % tile[axis] === 0);

/** A tile as a condition: "32 divides M, N and K". */
export function tileText(tile: Size) {
  if (new Set(tile).size === 1) return `${tile[0]} divides M, N and K`;
  const parts = tile.flatMap((side, axis) => (side > 1 ? `${side} divides ${"MNK"[axis]}` : []));
  return parts.join(" and ");
}

/** Whether the kernel has guards along each axis that the tile does not divide. */
const isGuarded = ({ m, n, k }: SizeResult, tile: Size, guards: Set<string>) =>
  [m, n, k].every((size, axis) => size % tile[axis] === 0 || guards.has("MNK"[axis]));

/**
 * Which of M, N and K the conditions of a kernel name, by its parameters; none where it moves vectors or
 * multiplies on tensor cores: there conditions mostly skip whole tiles.
 */
function guardedSizes(prepared: Prepared) {
  const { opened, ptx, given, fields } = prepared;
  const matrices = given.filter((one) => one.kind === "matrix");
  const bits = 8 * Math.max(...matrices.map((one) => width(elementIn(prepared, one))));
  const movesSeveral = [...ptx.matchAll(MOVES)].some(([, own]) => Number(own) > bits);
  if (movesSeveral || WHOLE_TILES.test(ptx)) return new Set<string>();
  const conditions = wordsOfConditions(opened.kernel);
  const texts = given.flatMap((one, at) =>
    one.kind === "number" && conditions.includes(fields[at].name) ? one.text : [],
  );
  const found = [..."MNK"].filter((letter) => texts.some((text) => text.includes(letter)));
  return new Set(found.length && sizesIn(prepared) === 1 ? "MNK" : found);
}

/**
 * Sizes of an odd and an even number of tiles, and of one row or column more or less; none where the grid
 * does not say how much of C a block covers.
 */
function sizesOfTiles(prepared: Prepared): Size[] {
  const sides = [
    [1, 1],
    [2, 1],
    [1, 2],
  ];
  const grids = orNull(() =>
    sides.map(([m, n]) => rawShape(prepared, [m * LARGE, n * LARGE, LARGE]).grid),
  );
  if (!grids) return [];
  const [base, ...larger] = grids;
  const [m, n] = larger.map((grid) => {
    const axis = base.findLastIndex((count, at) => grid[at] > count);
    return Math.floor(LARGE / (base[axis] ?? 1));
  });
  if (!(Math.max(m, n) > 1 && Math.max(m, n) <= MOST_TILE)) return [];
  if (isSquare(prepared)) {
    const side = Math.max(m, n);
    return [side, 2 * side, 3 * side, side + 1, Math.max(1, 2 * side - 1)].map((one) => [
      one,
      one,
      one,
    ]);
  }
  return [
    [m, n, ODD_DEPTH],
    [2 * m, 3 * n, EVEN_DEPTH],
    // Whole tiles along two axes show what the third one needs.
    [m, 2 * n, EVEN_DEPTH + 1],
    [m + 1, n, EVEN_DEPTH],
    [2 * m, Math.max(1, n - 1), ODD_DEPTH],
  ];
}
