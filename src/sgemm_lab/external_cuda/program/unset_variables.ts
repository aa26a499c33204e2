// Variables of the device that nothing sets: every read of one gives 0.

import { UNWRITTEN } from "../../simulator/hazard_log.ts";
import type { Hazard } from "../../simulator/hazard_types.ts";
import { parse } from "../../simulator/ptx.ts";
import type { CudaFile } from "../cuda_file.ts";
import { declarationOfVariable } from "../elements.ts";
import { sourceName } from "../variables.ts";
import type { Kernels, LaunchRun } from "./launcher.ts";
import { writtenBy } from "./written_variables.ts";

/**
 * The variables that the kernels of some launches use, and that have no value in the source.
 * @param isEvery whether `kernels` are all that the program may launch
 */
export function unsetVariables(
  runs: LaunchRun[],
  kernels: Kernels,
  file: CudaFile,
  isEvery: boolean,
): string[] {
  const known = Object.values(kernels).filter(({ refused }) => !refused);
  const all = known.flatMap(({ ptx, entry }) => parse(ptx).get(entry) ?? []);
  const ran = new Set(runs.map(({ kernel }) => kernels[kernel].entry));
  const used = all.filter(({ name }) => ran.has(name)).flatMap(({ variables }) => variables);
  const isComplete = isEvery && known.length === Object.keys(kernels).length;
  return [...new Map(used.map((one) => [one.name, one])).values()]
    .filter(({ constant, isSet }) => !isSet && (constant || isComplete))
    .filter(({ name }) => declarationOfVariable(sourceName(name), file)?.isSet === false)
    .filter(({ name }) => !all.some((kernel) => writtenBy(kernel).has(name)))
    .map(({ name }) => name);
}

/** The reads of such variables, in a run where they hold nothing. */
export function readsOfUnset(runs: LaunchRun[], unset: string[], file: CudaFile): LaunchRun[] {
  return runs.map((run) => {
    const found = run.hazards.filter(
      ({ kind, array }) => kind === UNWRITTEN && unset.includes(array ?? ""),
    );
    return { ...run, hazards: found.map((one) => named(one, file)), warnings: [], harmless: [] };
  });
}

function named(hazard: Hazard, file: CudaFile): Hazard {
  const name = sourceName(hazard.array ?? "");
  const { line } = declarationOfVariable(name, file) ?? {};
  return {
    ...hazard,
    array: name,
    message: `${name} (line ${line}) is never set: every read of it gives 0.`,
  };
}
