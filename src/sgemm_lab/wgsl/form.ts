// The form in which a measured card is saved: records/webgpu_cards.py in TypeScript.

import FORM from "./form.json";

/** What was measured: seconds of every sample of a program, rates of the card. */
export interface Measured {
  /** form.json */
  form: string;
  card: string;
  /** as ISO 8601 has it */
  date: string;
  /** "timestamps" or "wall clock" */
  clock: string;
  /** M = N = K */
  size: number;
  copy_gbs: number;
  multiply_add_gflops: number;
  rungs: { name: string; fingerprint: string; seconds: number[] }[];
  /** programs that the card cannot run */
  left_out?: { name: string; why: string }[];
}

// biome-ignore lint/suspicious/noExplicitAny: a file of a reader may have any form
type Json = any;

/** Whether something is a measured card. */
export function isMeasured(found: Json): found is Measured {
  return (
    found?.form === FORM &&
    [found.card, found.date, found.clock].every((text) => typeof text === "string") &&
    [found.size, found.copy_gbs, found.multiply_add_gflops].every(isRate) &&
    Array.isArray(found.rungs) &&
    found.rungs.length > 0 &&
    found.rungs.every(isStep) &&
    (found.left_out ?? []).every?.(isLeftOut) === true
  );
}

const isStep = (step: Json) =>
  typeof step?.name === "string" &&
  typeof step.fingerprint === "string" &&
  Array.isArray(step.seconds) &&
  step.seconds.length > 0 &&
  step.seconds.every(isRate);

const isLeftOut = (one: Json) => typeof one?.name === "string" && typeof one.why === "string";

const isRate = (value: unknown) => typeof value === "number" && Number.isFinite(value) && value > 0;
