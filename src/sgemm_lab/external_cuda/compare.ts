// Compare a kernel with a reference in its file: see references.ts. The reference runs in the simulator
// too: nothing of the file runs on this machine.

import { Drawing } from "../checking/drawing.ts";
import { LabError } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { TimeLimitError } from "../simulator/divergence.ts";
import { elementsOf, type Given, isArray, isFile, type Names, textOf, whole } from "./arguments.ts";
import { isWhole } from "./elements.ts";
import { arraysAt, changed, SPREAD } from "./initial_values.ts";
import type { Arrays, Kernel, Prepared, Settings } from "./launch.ts";
import { brief, elementIn, namesAt, prepare, product, run, shapeAt } from "./launch.ts";
import type { Sizes } from "./made_launch.ts";
import { type Compared, numbersIn, summed, wrongIn } from "./one_launch.ts";
import type { Reference } from "./references.ts";
import { medianSize, writtenElements } from "./schedules.ts";
import type { Severity } from "./severity.ts";

/** Time limit of a reference; both run once more, with infinity and NaN, where that takes no longer. */
const [SECONDS, SPECIAL_SECONDS] = [10, 2];
/** Of as many whole numbers one may differ. */
const FEW = 32;
/**
 * How far a kernel may be off its reference, relative to the larger of 1 and the reference's value: both
 * round, and in another order.
 */
const TOLERANCE: Record<string, number> = {
  ...{ half: 2 ** -6, bfloat16: 2 ** -4, float: 1e-3, double: 1e-9 },
};

/** A reference with its texts compiled, or why one could not be. */
export interface CompiledReference extends Reference {
  compiled: (Kernel | string)[];
}

/** How a kernel's arrays compare with those of a reference, by name. */
export interface ComparedWith {
  reference: Reference;
  /** how those compare that the reference writes, of `elements` that it writes */
  arrays: Record<string, Compared>;
  /** how those compare with other inputs, and what those hold */
  special: [severity: Severity, inputs: string, compared: Compared][];
  /** the reference's own launch is known */
  certain: boolean;
}

/** Run a kernel and the first reference that fits it; or say why none was used. */
export function compare(
  prepared: Prepared,
  size: Size,
  sizes: Sizes | null,
  references: CompiledReference[],
  settings: Settings,
): ComparedWith | string {
  let why = "";
  const seconds = Math.min(SECONDS, settings.timeLimit / 2);
  const quick = { ...brief(settings, seconds), checkHazards: false };
  for (const reference of references) {
    let reason = "it writes other elements than the kernel.";
    try {
      const found = comparedWith(prepared, reference, size, sizes, quick);
      if (found) return found;
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      reason = error.message;
    }
    why ||= `${reference.name} (line ${reference.line}) was not used as a reference: ${reason}`;
  }
  return why;
}

/** Run both on the same arrays; null if the kernel writes elements that the reference does not. */
function comparedWith(
  prepared: Prepared,
  reference: CompiledReference,
  size: Size,
  sizes: Sizes | null,
  settings: Settings,
): ComparedWith | null {
  const names = namesAt(prepared, size);
  const { grid } = shapeAt(prepared, size);
  // A size that the kernel is not given is mostly the number of its blocks.
  const open = (name: string) => sizes?.find(([known]) => known === name)?.[1] ?? product(grid);
  const args = reference.places
    .map((one) => (typeof one === "string" ? open(one) : ownText(prepared.given[one], names)))
    .join(" ");
  const last = reference.compiled.length - 1;
  for (const [at, kernel] of reference.compiled.entries()) {
    try {
      if (typeof kernel === "string") throw new LabError(kernel);
      const other = prepare({ ...kernel, args });
      return compared(prepared, other, reference, size, sizes !== null, settings);
    } catch (error) {
      // Its iterations may depend on each other: then one thread runs them in order, which takes longer.
      if (!(error instanceof LabError) || error instanceof TimeLimitError || at === last)
        throw error;
    }
  }
  return null;
}

/** An argument that needs no other one's name. */
function ownText(given: Given, names: Names) {
  if (given.kind === "number") return textOf(given);
  if (!isArray(given) || given.modes)
    throw new LabError("it takes a texture or a matrix of a product.");
  const size = isFile(given) ? given.size : `${elementsOf(given, names)}`;
  const start = given.start && `${whole(given.start, names, `start of ${given.name}`)}`;
  return textOf({ ...given, size, start });
}

function compared(
  prepared: Prepared,
  other: Prepared,
  reference: Reference,
  size: Size,
  isLaunched: boolean,
  settings: Settings,
): ComparedWith | null {
  const begun = performance.now();
  const start = arraysAt(prepared, size);
  const watched = { ...settings, watch: ["written" as const] };
  const own = run(prepared, size, start, watched);
  const checkHazards = !reference.isKernel && `${other.grid}` !== "1";
  const right = run(other, size, arraysFor(start, other), { ...watched, checkHazards });
  const [hazard] = right.result.hazards;
  if (hazard) throw new LabError(hazard.message);
  const arrays: Record<string, Compared> = {};
  const judged = new Map<string, Uint8Array>();
  for (const [name, { numbers }] of right.after) {
    const [byOwn, byReference] = [own, right].map((ran) => writtenElements(ran, name));
    if (byOwn.some((is, at) => is && !byReference[at])) return null;
    // A grid that is assumed may leave out some.
    const written = isLaunched ? byReference : byReference.map((is, at) => is & byOwn[at]);
    if (!written.some(Boolean)) continue;
    const found = differing(prepared, name, numbersIn(own.after, name), numbers, written);
    arrays[name] = { ...found, elements: written.filter(Boolean).length };
    judged.set(name, written);
  }
  if (!judged.size) return null;
  const isRight = () => !Object.values(arrays).some(({ wrong }) => wrong);
  const special: ComparedWith["special"] = [];
  if (isRight() && performance.now() - begun < 1000 * SPECIAL_SECONDS) {
    const again = (change: (numbers: Float64Array) => Float64Array) =>
      withOtherValues(prepared, other, start, change, judged, size, settings);
    for (const one of again(distinct))
      arrays[one.name] = { ...one, elements: arrays[one.name].elements };
    for (const [severity, inputs, change] of isRight() ? OTHERS : []) {
      special.push(...again(change).map((one): (typeof special)[0] => [severity, inputs, one]));
    }
  }
  return { reference, arrays, special, certain: other.certain && !reference.isLoose };
}

function arraysFor({ values, unwritten }: Arrays, { given, variables }: Prepared): Arrays {
  const own = new Set([...given, ...variables.map(({ array }) => array)].map(({ name }) => name));
  return {
    values: new Map([...values].filter(([name]) => own.has(name))),
    unwritten: unwritten.filter((name) => own.has(name)),
  };
}

/** How the judged elements compare. */
function differing(
  prepared: Prepared,
  name: string,
  got: Float64Array,
  right: Float64Array,
  judged: Uint8Array,
) {
  const given = prepared.given.find((one) => isArray(one) && one.name === name);
  const allowed = (given && TOLERANCE[elementIn(prepared, given).name]) ?? 0;
  // What cancels keeps the rounding of its terms, which are as large as other elements.
  const usual = Math.max(1, medianSize(right));
  const wrong = wrongIn(got, right, allowed, usual).map((is, at) => is & judged[at]);
  return summed(name, got, right, wrong);
}

/** Compare once more, with other values in the arrays of floats that are read. */
function withOtherValues(
  prepared: Prepared,
  other: Prepared,
  start: Arrays,
  change: (numbers: Float64Array) => Float64Array,
  judged: Map<string, Uint8Array>,
  size: Size,
  settings: Settings,
): Compared[] {
  const arrays = changed(start, prepared, (element, numbers, { use }) =>
    isWhole(element) || use === "zero" ? numbers : change(numbers),
  );
  try {
    const [own, right] = [prepared, other].map((one) =>
      run(one, size, arraysFor(arrays, one), settings),
    );
    return [...judged].flatMap(([name, written]) => {
      const given = prepared.given.find((one) => isArray(one) && one.name === name);
      if (!given) return [];
      const numbers = [own, right].map(({ after }) => numbersIn(after, name));
      const found = differing(prepared, name, numbers[0], numbers[1], written);
      // Floats may be rounded to other whole numbers.
      const most = isWhole(elementIn(prepared, given)) ? written.filter(Boolean).length / FEW : 0;
      return found.wrong > most ? found : [];
    });
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return [];
  }
}

/** All different, unlike the small whole numbers: a maximum then is in one place alone. */
function distinct({ length }: Float64Array) {
  const half = Math.floor(length / 2);
  return new Drawing(1).permutation(length).map((one) => ((one - half) * 2 * SPREAD) / length);
}

/** What inputs hold besides, where all was right. Exponentials of what is so small or large leave floats. */
const OTHERS = [
  ["warning", "lie around -264", (all) => distinct(all).map((one) => 8 * one - 264)],
  ["warning", "lie around 264", (all) => distinct(all).map((one) => 8 * one + 264)],
  ["information", "hold infinity, NaN and -0", withSpecials],
] as [Severity, string, (numbers: Float64Array) => Float64Array][];

/** With infinity, NaN and -0. */
function withSpecials(numbers: Float64Array) {
  const [mixed, { length }] = [numbers.slice(), numbers];
  mixed[Math.floor(length / 3)] = Number.POSITIVE_INFINITY;
  mixed[Math.floor(length / 2)] = Number.NaN;
  mixed[length - 1] = -0;
  return mixed;
}
