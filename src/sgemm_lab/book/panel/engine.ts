// The engine of a panel. It runs in a worker: the page answers meanwhile, and what a reader typed is
// only ever read there, never run as JavaScript.

import { passed, summary } from "../../checking/judge.ts";
import { type CheckedHere, checkHere } from "../../checking/simulated.ts";
import { LabError } from "../../errors.ts";
import { checked } from "../../exercises/checked.ts";
import { type Criteria, type Sent, said } from "../../exercises/criteria.ts";
import { countsOf } from "../../exercises/quantities.ts";
import { type Kernel, parseKernel, type Size } from "../../kernel.ts";
import { bound, type Cap, type Sheet } from "../../models/bound.ts";
import { simulatedDemand } from "../../models/demand.ts";

/**
 * What the page asks for: is a kernel right at one of the sizes, what follows from such results,
 * what does it ask of memory at a size; are the lines of an exercise right at a size, and what is
 * said of them?
 */
type Request =
  | ({ task: "check"; size: Size } & Sent)
  | { task: "verdict"; results: CheckedHere[] }
  | ({ task: "count"; size: Size; gpu: Sheet } & Sent)
  | { task: "checkLines"; reader: Sent; size: Size; onlyWholeNumbers: boolean }
  | { task: "ask"; criteria: Criteria; reader: Sent; books: Record<string, Sent> };

/**
 * A verdict: `says` is a sentence, `lines` the lines that it is about. `kind` is that of a hazard,
 * or "result" where C is wrong, or "refused" where the size was not run.
 */
export interface Verdict {
  right: boolean;
  kind: string;
  size: Size | null;
  says: string;
  lines: number[];
}

/**
 * What launches of one size asked of memory: all counts by name, and under "lines" those of each
 * line, or in `refused` why it was not run.
 * `bound`: the cap that binds a large product, or in `whyNoBound` why it is not known.
 */
export interface Counted {
  total: Record<string, number>;
  lines: Map<number, Record<string, number>>;
  bound: Cap | null;
  whyNoBound: string;
}

/** The bound is given for this size, at which the book compares kernels. */
const LARGE: Size = [4096, 4096, 4096];
const TIME_LIMIT = 20;

/** Answer what the page asks. */
export function serve(scope: WorkerScope) {
  scope.onmessage = ({ data }) => {
    const { id } = data;
    try {
      scope.postMessage({ id, ...answer(data) });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      scope.postMessage({ id, fault: error.message });
    }
  };
}

function answer(request: Request) {
  if (request.task === "verdict") return { verdict: verdictOn(request.results) };
  if (request.task === "checkLines") {
    const result = checked(request.reader, request.size, request.onlyWholeNumbers);
    return { result, last: "refused" in result || !passed(result) };
  }
  if (request.task === "ask") {
    return { said: said(request.criteria, request.reader, request.books) };
  }
  const kernel = parseKernel("your copy", request.source);
  if (request.task === "check") {
    const [result] = checkHere(kernel, request.ptx, [request.size], { timeLimit: TIME_LIMIT });
    return { result, last: !passed(result) };
  }
  const asked = counted(kernel, request.ptx, request.size);
  return { counted: { ...asked, ...boundOf(kernel, request.ptx, request.gpu) } };
}

/** What follows from the results at sizes, up to the first that is wrong. */
function verdictOn(results: CheckedHere[]): Verdict {
  const wrong = results.find((result) => !passed(result));
  if (!wrong) return { right: true, kind: "", size: null, says: summary(results), lines: [] };
  const { m, n, k, fault, refusal, hazards } = wrong;
  const lines = hazards
    .flatMap(({ location, otherLocation }) => [location.line, otherLocation?.line ?? 0])
    .filter((line) => line > 0);
  const kind = fault === null ? "refused" : (hazards[0]?.kind ?? "result");
  const named = [...new Set(lines)].sort((a, b) => a - b);
  return { right: false, kind, size: [m, n, k], says: fault ?? refusal ?? "", lines: named };
}

function counted(kernel: Kernel, ptx: string, size: Size): Pick<Counted, "total" | "lines"> {
  const counts = countsOf(kernel, ptx, size, TIME_LIMIT);
  const lines: Counted["lines"] = new Map();
  for (const one of counts.lines) lines.set(one.line, one.counts);
  return { total: counts.total, lines };
}

/**
 * The last bounds that were worked out, the newest behind: they do not follow from the size that
 * the reader counts at, and to simulate them takes longer than to count. Two, for the reader's copy
 * and of the book's kernel.
 */
const bounds: { source: string; ptx: string; found: Pick<Counted, "bound" | "whyNoBound"> }[] = [];
const BOUNDS_KEPT = 2;

function boundOf(kernel: Kernel, ptx: string, gpu: Sheet) {
  const known = bounds.find((one) => one.source === kernel.source && one.ptx === ptx);
  if (known) return known.found;
  const found = simulatedBound(kernel, ptx, gpu);
  if (bounds.push({ source: kernel.source, ptx, found }) > BOUNDS_KEPT) bounds.shift();
  return found;
}

function simulatedBound(
  kernel: Kernel,
  ptx: string,
  gpu: Sheet,
): Pick<Counted, "bound" | "whyNoBound"> {
  try {
    const [lowest] = bound(kernel, simulatedDemand(kernel, ptx), LARGE, gpu);
    return { bound: lowest, whyNoBound: "" };
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return { bound: null, whyNoBound: error.message };
  }
}
