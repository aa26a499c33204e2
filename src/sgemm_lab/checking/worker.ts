// The process that simulates for Python, with all its tasks.

import { traceSteps } from "../counting/step_trace.ts";
import { parseKernel } from "../kernel.ts";
import { describe } from "../simulator/description.ts";
import { serve, simulateFor } from "../simulator/worker.ts";
import { checkAt } from "./simulated.ts";

serve({
  simulate: simulateFor,
  describe: ({ given: { ptx, entry } }) => describe(ptx, entry),
  trace_steps: ({ given: { kernel, source, ptx, size, timeLimit } }) =>
    traceSteps(parseKernel(kernel, source), ptx, size, timeLimit),
  check: ({ given: { kernel, source, ptx, size, ...how } }) => {
    const [{ hazards: _, ...result }, late] = checkAt(parseKernel(kernel, source), ptx, size, how);
    return { result, late };
  },
});
