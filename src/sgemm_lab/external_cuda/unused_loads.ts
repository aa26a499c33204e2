// Lanes or warps of a block that load what reaches no result: a step of a reduction leaves them out.

import { orNull } from "../errors.ts";
import { arraysAt } from "./initial_values.ts";
import { brief, multiplies, run, type Settings } from "./launch.ts";
import type { Done } from "./one_launch.ts";
import { at, type Finding, ofKernel, WRONG_RESULT } from "./severity.ts";

/** Time limit of a block, in seconds. */
const SECONDS = 2;
/** How threads hand on what they have loaded. */
const EXCHANGES = /\b(?:shfl|redux|st\.shared)\b/;

/** A warning about what the first block of a launch loads for nothing. */
export function unusedLoads({ prepared, size, result }: Done, settings: Settings): Finding[] {
  const waits = prepared.compiled.specials.has("%envreg1");
  const isAlone = waits || !EXCHANGES.test(prepared.ptx);
  if (result.hazards.length || multiplies(prepared) || isAlone) return [];
  const quick = { ...brief(settings, SECONDS), checkHazards: false, only: [0] };
  for (const [watch, who, of] of [
    ["unused_lanes", "lane", "each warp"],
    ["unused_warps", "warp", "the block"],
  ] as const) {
    const unused = orNull(() => {
      const ran = run(prepared, size, arraysAt(prepared, size), { ...quick, watch: [watch] });
      return ran.result.watched[watch];
    });
    if (!unused) continue;
    const { location, numbers } = unused;
    const names = `${who}${numbers.length > 1 ? "s" : ""} ${numbers.join(", ")}`;
    const message =
      `${location}: nothing of what ${names} of ${of} load reaches a result, what the others load ` +
      "does. Does a step of a reduction leave them out?";
    return [at(location, ofKernel(prepared, "warning", WRONG_RESULT, message))];
  }
  return [];
}
