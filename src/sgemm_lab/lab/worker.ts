// The process that simulates for Python, with all its tasks.

import { checkAt } from "../checking/simulated.ts";
import { sharedParts, sharedShapes } from "../counting/shared_arrays.ts";
import { traceSteps } from "../counting/step_trace.ts";
import { judgeNumber } from "../exercises/judging.ts";
import { judged, written } from "../exercises/lines.ts";
import { toolsOf } from "../exercises/tools.ts";
import { readingTasks } from "../external_cuda/python_requests.ts";
import { globalRequest, sharedWavefronts } from "../formulas/memory.ts";
import { schedule } from "../formulas/overlap.ts";
import { asked } from "../formulas/requests.ts";
import { tileDistribution } from "../formulas/wave_quantization.ts";
import { parseKernel } from "../kernel.ts";
import { refuseOtherGrids, simulatedDemand } from "../models/demand.ts";
import { serve, simulateFor } from "../simulator/worker.ts";

type Asked = Parameters<typeof asked>;

/** What simulator/formulas.py asks for. */
const FORMULAS = {
  globalSectors: (lanes: Lanes, bytes: number) => globalRequest(lanes, bytes).sectors.size,
  sharedWavefronts: (...given: Parameters<typeof sharedWavefronts>) =>
    sharedWavefronts(...given).map(({ phase, words }) => [phase, [...words]]),
  asked: (place: Asked[0], addresses: number[], bytes: number) =>
    addresses.map((address) => asked(place, address, bytes)),
  schedule,
  tileDistribution,
};

/** A kernel of the book, or of the reader. */
const kernelOf = ({ kernel, source }: { kernel: string; source: string }) =>
  parseKernel(kernel, source);

serve({
  simulate: simulateFor,
  trace_steps: ({ given }) => traceSteps(kernelOf(given), given.ptx, given.size, given.timeLimit),
  check: ({ given: { kernel, source, ptx, size, ...how } }) => {
    const [{ hazards: _, ...result }, late] = checkAt(parseKernel(kernel, source), ptx, size, how);
    return { result, late };
  },
  shared_shapes: ({ given }) => sharedShapes(kernelOf(given)),
  shared_parts: ({ given }) => sharedParts(kernelOf(given)),
  refuse_other_grids: ({ given }) => refuseOtherGrids(kernelOf(given)) ?? null,
  demand: ({ given }) => {
    const { perK, ...rest } = simulatedDemand(kernelOf(given), given.ptx);
    return { ...rest, per_k: perK };
  },
  judge: ({ given: { data, given } }) => judgeNumber(data, given),
  written: ({ given: { exercise, answer, fault = "" } }) => {
    const mine = written(exercise, answer);
    return { source: mine.source, fault: mine.inReaderLines(fault) };
  },
  judge_lines: ({ given: { exercise, answer, made } }) => judged(exercise, answer, toolsOf(made)),
  formula: ({ given: { name, given } }) =>
    (FORMULAS as Record<string, (...given: unknown[]) => unknown>)[name](...given),
  ...readingTasks,
});
