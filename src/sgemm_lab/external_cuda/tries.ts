// Run a kernel of which the launch is not known: the first assumed launch without an access outside
// its arrays is taken. With assumed sizes an index out of bounds is no fault of the kernel.

import { LabError } from "../errors.ts";
import { WARP } from "../hardware.py";
import type { Size } from "../kernel.ts";
import { secondsNow } from "../simulator/clock.ts";
import { DeadlockError, EndlessLoopError } from "../simulator/divergence.ts";
import type { Hazard } from "../simulator/hazard.ts";
import { OUT_OF_BOUNDS } from "../simulator/hazards.ts";
import { readArguments, textsOf } from "./arguments.ts";
import type { Attempt, Most, Unknown } from "./assumed_launch.ts";
import { attempts } from "./assumed_launch.ts";
import { arraysAt, otherContents, withEmptyRows } from "./contents.ts";
import type { Prepared, Settings, UnknownLaunchError } from "./launch.ts";
import { blockIsFree, NoLaunchError } from "./launch.ts";
import { launchByTrial } from "./launch_search.ts";
import type { Done, Expectations } from "./one_launch.ts";
import { countPrepared, isWrong, NOTHING, runAndWeigh } from "./one_launch.ts";

const NOT_RIGHT = "No launch that was tried makes C right, so C was not judged. ";
/** Seconds of one assumed launch, and of all. */
const [TRY_SECONDS, TRIES_SECONDS] = [4, 20];

/** A launch that never ends. */
export class NeverEndsError extends LabError {
  constructor(
    public prepared: Prepared,
    public reason: EndlessLoopError | DeadlockError,
  ) {
    super(reason.message);
  }
}

export const isStuck = (error: unknown): error is EndlessLoopError | DeadlockError =>
  error instanceof EndlessLoopError || error instanceof DeadlockError;

/** A compiled kernel as assumed_launch.ts takes it. */
const unknownOf = ({ opened, slots, compiled, grid, block, sharedBytes }: Prepared): Unknown => ({
  ...{ opened, slots, compiled, known: { grid, block, sharedBytes } },
});

function preparedBy(unknown: Prepared, attempt: Attempt, said = ""): Prepared {
  const { grid, block, sharedBytes, assumed, numbersTold, argued } = attempt;
  return {
    ...{ ...unknown, grid, block, sharedBytes, assumed, numbersTold },
    ...{ certain: false, contentsAssumed: false, argued: said + argued },
    given: readArguments(attempt.args.map(({ text }) => text).join(" ")),
  };
}

/**
 * Run the first assumed launch that stays inside its arrays. Throws a NeverEndsError where threads wait
 * for each other in all; else a LabError that says why none ran.
 */
export function countAssumed(
  unknown: UnknownLaunchError,
  size: Size,
  expectations: Expectations,
  settings: Settings,
  most?: Most,
): Done {
  const end = secondsNow() + Math.min(TRIES_SECONDS, settings.timeLimit);
  const left = () => end - secondsNow();
  let [outside, fault, waiting]: (LabError | null)[] = [null, null, null];
  const said = unknown instanceof NoLaunchError ? NOT_RIGHT : "";
  for (const one of attempts(unknownOf(unknown.prepared), most)) {
    if (left() < 0) break;
    const prepared = preparedBy(unknown.prepared, one, said);
    const limited = {
      ...settings,
      timeLimit: Math.min(TRY_SECONDS, settings.timeLimit, left()),
    };
    try {
      const done = countPrepared(prepared, size, expectations, limited);
      const found = leaving(done, one.launched);
      if (!found && !(one.narrowed && done.result.hazards.length)) {
        const odd = oddOf(unknown.prepared, one, size, limited);
        const inOneWarp = one.blockTold ? undefined : inWarp(unknown.prepared, done, limited);
        return { ...done, odd, inOneWarp };
      }
      if (found) outside ??= leavingError(done, found);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      if (isStuck(error)) {
        const never = new NeverEndsError(prepared, error);
        // Threads that wait in vain for each other do so with other sizes, too.
        if (error instanceof DeadlockError && !blockIsFree(unknown.prepared)) waiting ??= never;
      }
      fault ??= error;
    }
  }
  throw waiting ?? outside ?? fault ?? unknown;
}

/** The first launch that stays inside its arrays, with each size that an attempt assumed one more. */
function oddOf(unknown: Prepared, attempt: Attempt, size: Size, settings: Settings): Done["odd"] {
  // What the launch calculates, such as a size with a limit, is not larger by itself.
  const isCalculated = (at: number) => (attempt.launch?.arguments[at]?.length ?? 1) > 1;
  const edits = attempt.args.flatMap(({ field: { name }, value, told }, at): [string, number][] => {
    const isFree = !told && attempt.sizes.has(name) && !isCalculated(at);
    return isFree && value !== null && value % 2 === 0 ? [[name, value + 1]] : [];
  });
  if (!edits.length) return undefined;
  const end = secondsNow() + settings.timeLimit;
  for (const other of attempts(unknownOf(unknown), undefined, new Map(edits))) {
    if (secondsNow() > end) break;
    try {
      const done = countPrepared(preparedBy(unknown, other), size, NOTHING, settings);
      if (!leaving(done, other.launched)) return { done, launched: other.launched };
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
    }
  }
  return undefined;
}

/** The hazards of a launch that show with a block of one warp, too; all where no other block can be. */
function inWarp(unknown: Prepared, { prepared, size, result }: Done, settings: Settings) {
  if (!result.hazards.length || !blockIsFree(unknown)) return result.hazards;
  const warp = { ...prepared, block: [`${WARP}`] };
  const seen = hazardsWith(warp, size, arraysAt(prepared, size), settings) ?? [];
  return result.hazards.filter((one) => seen.some(({ array }) => array === one.array));
}

const isSameHazard = (one: Hazard, other: Hazard) =>
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

/** Accesses outside of arrays that only empty rows at the end of its offsets cause. */
export function atEmptyRows({ prepared, size }: Done, settings: Settings): Hazard[] {
  const runs = withEmptyRows(prepared, arraysAt(prepared, size)).map((arrays) =>
    hazardsWith(prepared, size, arrays, settings)?.filter(({ kind }) => kind === OUT_OF_BOUNDS),
  );
  const [atEnd, before] = runs;
  if (!atEnd || !before) return [];
  return atEnd.filter((one) => !before.some((other) => isSameHazard(one, other)));
}

function hazardsWith(...launch: Parameters<typeof runAndWeigh>) {
  try {
    return runAndWeigh(...launch).result.hazards;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return null;
  }
}

/**
 * An access outside an array whose size is assumed. Shared arrays have known sizes, but an assumed block
 * may be too large for them: they count unless the launch is known.
 */
function leaving(done: Done, launched: boolean) {
  const assumed = assumedArrays(done);
  const found = done.result.hazards.find(
    ({ kind, array }) => kind === OUT_OF_BOUNDS && (!launched || assumed.has(array)),
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
