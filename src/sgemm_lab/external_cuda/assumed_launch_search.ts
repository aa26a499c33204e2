// Run a kernel of which the launch is not known: the first assumed launch without an access outside
// its arrays is taken. With assumed sizes an index out of bounds is no fault of the kernel.

import { LabError, orNull } from "../errors.ts";
import { WARP } from "../hardware.py";
import type { Size } from "../kernel.ts";
import { secondsNow } from "../simulator/clock.ts";
import { DeadlockError, EndlessLoopError, TimeLimitError } from "../simulator/divergence.ts";
import { OUT_OF_BOUNDS } from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { STORED } from "../simulator/watches/written.ts";
import { LARGEST_ARRAY, readArguments, textsOf } from "./arguments.ts";
import {
  type Attempt,
  attempts,
  blockIsFree,
  MOST,
  type Most,
  type Unknown,
} from "./assumed_launch.ts";
import { arraysAt, otherContents } from "./initial_values.ts";
import type { Prepared, Settings, UnknownLaunchError } from "./launch.ts";
import { NoLaunchError, product, shapeAt } from "./launch.ts";
import { launchByTrial } from "./launch_search.ts";
import { type Change, madeLaunches, type Sizes } from "./made_launch.ts";
import type { Done, Expectations, OtherSizes } from "./one_launch.ts";
import { countPrepared, isWrong, NeverEndsError, NOTHING, runAndWeigh } from "./one_launch.ts";
import { stepOf } from "./open_kernel.ts";
import { inShared, ofTheBlock } from "./severity.ts";
import { sizesAmong } from "./usual_numbers.ts";

const NOT_RIGHT = "No launch that was tried makes C right, so C was not judged. ";
/** Seconds of one assumed launch at least, and its part of the time limit; of all. */
const [TRY_SECONDS, TRY_SHARE, TRIES_SECONDS] = [2, 0.1, 20];
/** Seconds of a launch at larger sizes, and of what they are tried for. */
const [LARGER_SECONDS, QUICK, SLOW] = [3, 0.5, 1];
/** How much larger a size is that no block divides; a factor, and sizes that need not be larger. */
const [ODD, GROWTH, ENOUGH] = [3, 4, 1024];

export const isStuck = (error: unknown): error is EndlessLoopError | DeadlockError =>
  error instanceof EndlessLoopError || error instanceof DeadlockError;

/** A compiled kernel as assumed_launch.ts takes it. */
const unknownOf = ({ opened, slots, compiled, host, ...prepared }: Prepared): Unknown => {
  const { grid, block, sharedBytes } = prepared;
  return { opened, slots, compiled, host, known: { grid, block, sharedBytes } };
};

function preparedBy(unknown: Prepared, attempt: Attempt, said = ""): Prepared {
  const { grid, block, sharedBytes, assumed, argued } = attempt;
  return {
    ...{ ...unknown, grid, block, sharedBytes, assumed },
    ...{ certain: false, numbersTold: false, contentsAssumed: false, argued: said + argued },
    host: undefined,
    given: readArguments(attempt.args.map(({ text }) => text).join(" ")),
  };
}

/** A launch to try. */
interface Tried extends Pick<Attempt, "isNarrowed" | "isZero" | "shrunk"> {
  prepared: Prepared;
  /** it is one of the file's host code */
  isLaunched: boolean;
}

/** The launches of host code first, which may be too large; then those that are assumed. */
function* triesOf(
  unknown: Prepared,
  said = "",
  most?: Most,
  change?: Change,
  sizes: Sizes = [],
): Generator<Tried> {
  for (const one of madeLaunches(unknown, most, change)) {
    yield { ...one, isLaunched: true, isNarrowed: false };
  }
  if (unknown.host?.made && change) return;
  const edits = new Map(change?.(sizes) ?? []);
  for (const one of attempts(unknownOf(unknown), most, edits)) {
    const prepared = preparedBy(unknown, one, said);
    yield { prepared, isLaunched: false, ...one };
  }
}

/**
 * Run the first launch of the host code, or else the first assumed one, that stays inside its arrays.
 * Throws a NeverEndsError where threads wait for each other in all; else a LabError that says why none
 * ran.
 */
export function countAssumed(
  unknown: UnknownLaunchError,
  size: Size,
  expectations: Expectations,
  settings: Settings,
  most?: Most,
): Done {
  const trySeconds = Math.max(TRY_SECONDS, TRY_SHARE * settings.timeLimit);
  const end = secondsNow() + Math.min(Math.max(TRIES_SECONDS, trySeconds), settings.timeLimit);
  const left = () => end - secondsNow();
  let [outside, fault, waiting]: (LabError | null)[] = [null, null, null];
  let [endless, alwaysWaiting]: (NeverEndsError | undefined)[] = [];
  let [racing, idle, always]: (Done | null)[] = [null, null, null];
  const said = unknown instanceof NoLaunchError ? NOT_RIGHT : "";
  let least = 0;
  for (const { prepared, ...one } of triesOf(unknown.prepared, said, most)) {
    if (left() < 0) break;
    if (one.shrunk < least) continue;
    // Whatever its arrays hold, the launch of the host code does not end.
    if (endless && !one.isLaunched && fault === endless.reason && !outside) throw endless;
    const limited = {
      ...settings,
      watch: [...settings.watch, "written" as const],
      timeLimit: Math.min(trySeconds, settings.timeLimit, left()),
    };
    try {
      const done = countPrepared(prepared, size, expectations, limited);
      const found = leaving(done, one.isLaunched, one.isZero);
      // At numbers for which nothing is written nothing shows.
      if (!found && !done.result.hazards.length && !writesAny(done)) {
        idle ??= done;
        continue;
      }
      if (found) always = inBoth(always, done);
      if (!found && !(one.isNarrowed && done.result.hazards.length)) {
        const others = atOthers(unknown.prepared, done, one.shrunk, size, limited);
        const inOneWarp = one.isLaunched ? undefined : inWarp(unknown.prepared, done, limited);
        return { ...done, ...others, inOneWarp, waits: alwaysWaiting };
      }
      if (found) outside ??= leavingError(done, found);
      const isOfBlock = done.result.hazards.some((hazard) => ofTheBlock(hazard, prepared));
      if (one.isNarrowed ? !found && !isOfBlock : racesAnyway(done))
        racing ??= { ...done, inOneWarp: [] };
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      if (isStuck(error)) {
        const never = new NeverEndsError(prepared, error);
        if (one.isLaunched) endless ??= never;
        // Threads that wait in vain for each other do so with other sizes, too.
        if (
          error instanceof DeadlockError &&
          !blockIsFree(unknown.prepared, unknown.prepared.block)
        ) {
          waiting ??= never;
          if (one.isZero) alwaysWaiting ??= never;
        }
      }
      if (error instanceof TimeLimitError) {
        least = one.shrunk + 1;
        if (prepared.doubts?.length) break;
      }
      fault ??= error;
    }
  }
  if (racing && !waiting) return racing;
  if (always?.result.hazards.length && !waiting && !fault) return { ...always, inOneWarp: [] };
  if (idle && !waiting) return idle;
  throw waiting ?? outside ?? fault ?? unknown;
}

const writesAny = ({ result }: Done) =>
  Object.values(result.watched.written ?? {}).some((all) => all.some((one) => one & STORED));

/** A launch with those accesses outside an array that another has too, and that no size explains. */
function inBoth(known: Done | null, other: Done): Done {
  const { prepared, result } = known ?? other;
  // What lies further below than an array can be long is a null pointer of a struct that is assumed.
  const isBelow = (at = 0) => -LARGEST_ARRAY < at && at < 0;
  const isKept = (one: Hazard) =>
    one.kind === OUT_OF_BOUNDS &&
    (isBelow(one.element?.[0]) || inShared(one, prepared)) &&
    other.result.hazards.some((same) => isSameHazard(one, same));
  return { ...(known ?? other), result: { ...result, hazards: result.hazards.filter(isKept) } };
}

/** Whether threads of a block race, and only arrays of unknown size are too small. */
const racesAnyway = ({ prepared, result: { hazards } }: Done) =>
  hazards.some((one) => ofTheBlock(one, prepared)) &&
  hazards.every(
    ({ kind, array }) =>
      kind !== OUT_OF_BOUNDS || prepared.given.some(({ name }) => name && name === array),
  );

/** The sizes of a launch by their names, which are assumed. */
export function sizesOf({ prepared: { given, fields, host } }: Done): Sizes {
  if (host?.made)
    return [...host.made.sizes].map((name) => [name, host.made?.numbers.get(name) ?? 1]);
  const sizes = sizesAmong(fields);
  return given.flatMap((one, at): [string, number][] =>
    one.kind === "number" && sizes.includes(fields[at])
      ? [[fields[at].name, Number(one.text)]]
      : [],
  );
}

/** A launch at sizes that no block divides, at some less than a block, and at several blocks along each side. */
function atOthers(unknown: Prepared, done: Done, shrunk: number, size: Size, settings: Settings) {
  const made = unknown.host?.made;
  const sizes = sizesOf(done);
  const isQuick = done.seconds < QUICK && !done.result.hazards.length;
  const block = Math.max(...shapeAt(done.prepared, size).block);
  const least = shrunk + Number(done.seconds > SLOW);
  const run = (change: Change, limit = settings.timeLimit) =>
    withSizes(unknown, sizes, least, size, change, { ...settings, timeLimit: limit });
  const runQuick = (change: Change) =>
    isQuick ? run(change, Math.min(LARGER_SECONDS, settings.timeLimit)) : null;
  const step = stepOf(done.prepared.opened.file);
  const tall = (all: Sizes): Sizes =>
    grown(all.toReversed())
      .reverse()
      .map(([name, side]) => [name, side + more(side)]);
  const more = (side: number) => (step > 1 ? step : side % 2 ? 0 : ODD);
  const less = runQuick((all) => all.map(([name, side]) => [name, Math.min(side, block) - step]));
  const threadsIn = ({ prepared }: Done) => product(shapeAt(prepared, size).block);
  const isOpen = less?.launched && threadsIn(less.done) < threadsIn(done);
  // Sizes of one value hide that one is taken for another.
  const uneven = (by: number) =>
    run((all) => all.map(([name, side], at) => [name, side + more(side) + by * at * step]));
  return {
    odd: (sizes.length > 1 ? uneven(2) : null) ?? uneven(0),
    less,
    uneven: isOpen ? runQuick((all) => all.map(([name]) => [name, WARP + 1])) : null,
    larger: sizes.some(([, side]) => side < ENOUGH) ? runQuick(grown) : null,
    taller: made && sizes.length > 1 ? runQuick(tall) : null,
  };
}

/** All sizes but the first of several 4 times as large, as many as there are elements for. */
function grown(sizes: Sizes): Sizes {
  const left = MOST.elements / product(sizes.map(([, side]) => side));
  return sizes.map(([name, side], at) => {
    const isFirst = at === 0 && sizes.length > 1;
    return [name, !isFirst && GROWTH ** (sizes.length - at) <= left ? side * GROWTH : side];
  });
}

/** The first launch at other sizes that stays inside its arrays. */
function withSizes(
  unknown: Prepared,
  sizes: Sizes,
  shrunk: number,
  size: Size,
  change: Change,
  settings: Settings,
): OtherSizes | null {
  const isSame = change(sizes).every(([, side], at) => side === sizes[at][1]);
  if (isSame || change(sizes).some(([, side]) => side < 1)) return null;
  const end = secondsNow() + settings.timeLimit;
  for (const other of triesOf(unknown, "", undefined, change, sizes)) {
    if (secondsNow() > end) break;
    if (other.shrunk < shrunk) continue;
    const { prepared, isLaunched: launched, isNarrowed } = other;
    const done = orNull(() => countPrepared(prepared, size, NOTHING, settings));
    if (done && !leaving(done, launched, false))
      return isNarrowed && done.result.hazards.length ? null : { done, launched };
  }
  return null;
}

/**
 * The hazards of a launch that show with a block of one warp, too, and of no more threads than a size says;
 * all where no other block can be.
 */
function inWarp(unknown: Prepared, done: Done, settings: Settings) {
  const { prepared, size, result } = done;
  if (!result.hazards.length || !blockIsFree(unknown, unknown.block)) return result.hazards;
  const blocks = new Set([WARP, Math.min(WARP, ...sizesOf(done).map(([, value]) => value))]);
  const runs = [...blocks].map((threads) =>
    hazardsWith({ ...prepared, block: [`${threads}`] }, size, arraysAt(prepared, size), settings),
  );
  return result.hazards.filter((one) =>
    runs.every((seen) => seen?.some((other) => sharesPlace(one, other))),
  );
}

/** Whether two hazards are of one array, and an access of one is an access of the other. */
const sharesPlace = (one: Hazard, other: Hazard) =>
  one.array === other.array && placesOf(one).some((place) => placesOf(other).includes(place));

const placesOf = ({ location, otherLocation }: Hazard) => [
  `${location}`,
  `${otherLocation ?? location}`,
];

export const isSameHazard = (one: Hazard, other: Hazard) =>
  one.kind === other.kind && `${one.location}` === `${other.location}` && one.array === other.array;

/**
 * The hazards of a launch that do not depend on what arrays of integers hold; none where more than that
 * was assumed.
 */
export function lasting({ prepared, size, result }: Done, settings: Settings): Hazard[] {
  let left = result.hazards;
  if (!prepared.contentsAssumed || !left.length) return [];
  for (const arrays of otherContents(prepared, arraysAt(prepared, size))) {
    const seen = hazardsWith(prepared, size, arrays, settings);
    if (!seen) return [];
    left = left.filter((one) => seen.some((other) => isSameHazard(one, other)));
  }
  return left;
}

const hazardsWith = (...launch: Parameters<typeof runAndWeigh>) =>
  orNull(() => runAndWeigh(...launch).result.hazards);

/**
 * An access outside an array whose size is assumed. Shared arrays have known sizes, but an assumed block
 * may be too large for them: they count unless the launch is known. Arrays of known sizes count too,
 * until nothing else can be the reason.
 */
function leaving(done: Done, isLaunched: boolean, isZero: boolean) {
  const made = done.prepared.host?.made;
  const assumed = isLaunched && isZero && made ? made.arrays : assumedArrays(done);
  const found = done.result.hazards.find(
    ({ kind, array }) => kind === OUT_OF_BOUNDS && (!isLaunched || assumed.has(array as string)),
  );
  return found ?? null;
}

/** The arrays whose sizes are assumed, if any are. */
function assumedArrays({ prepared }: Done) {
  // Behind an array lies a variable of the file, which is named where it is the nearest.
  const { symbols } = prepared.compiled;
  return new Set<string | null>([null, ...prepared.given.map(({ name }) => name), ...symbols]);
}

function leavingError({ prepared }: Done, { message }: Hazard) {
  return new LabError(
    `No arguments that were tried keep '${prepared.opened.name}' inside its arrays. With --args ` +
      `'${textsOf(prepared.given)}', ${message} Say --args, and where it matters --grid and --block.`,
  );
}

/** The launch of a kernel: `known`, or by trial. Throws what `known` throws where none is found. */
export function launchOf(known: () => Prepared, settings: Settings): Prepared {
  try {
    return known();
  } catch (unknown) {
    if (!(unknown instanceof NoLaunchError)) throw unknown;
    const found = launchByTrial(unknown.prepared, (prepared, size, timeLimit) => {
      const done = countPrepared(prepared, size, NOTHING, { ...settings, timeLimit });
      const { hazards, warnings } = done.result;
      return !(isWrong(done) || hazards.length || warnings.length);
    });
    if (!found) throw unknown;
    return found;
  }
}
