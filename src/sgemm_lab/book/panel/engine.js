// @ts-check
// The engine of a panel. It runs in a worker: the page answers meanwhile, and what a reader typed is
// only ever read there, never run as JavaScript.

import { passed, summary } from "../../checking/judge.js";
import { checkHere } from "../../checking/simulated.js";
import { walk } from "../../counting/step_trace.js";
import { LabError } from "../../errors.js";
import { checked } from "../../exercises/checked.js";
import { said } from "../../exercises/criteria.js";
import { countsOf } from "../../exercises/quantities.js";
import { parseKernel } from "../../kernel.js";
import { bound } from "../../models/bound.js";
import { simulatedDemand } from "../../models/demand.js";
import { startOf } from "../../widgets/steps_start.js";

/** @typedef {import("../../checking/simulated.js").CheckedHere} CheckedHere */
/** @typedef {import("../../kernel.js").Kernel} Kernel */
/** @typedef {import("../../kernel.js").Size} Size */
/** @typedef {import("../../models/bound.js").Cap} Cap */
/** @typedef {import("../../models/bound.js").Sheet} Sheet */

/**
 * What the page asks for: is a kernel right at one of the sizes, what follows from such results, what
 * does it ask of memory at a size, and by which steps? `ptx` is what the compiler made of `source`.
 * @typedef {{ id: number, task: "check", source: string, ptx: string, size: Size }} CheckRequest
 * @typedef {{ id: number, task: "verdict", results: CheckedHere[] }} VerdictRequest
 * @typedef {{ id: number, task: "count", source: string, ptx: string, size: Size, gpu: Sheet
 * }} CountRequest
 * @typedef {{ id: number, task: "walk", source: string, ptx: string, size: Size }} WalkRequest
 *
 * Or of an exercise: are its lines right at a size, and is there all that is asked for?
 * @typedef {import("../../exercises/lines.js").Sent} Sent
 * @typedef {{ id: number, task: "checkLines", reader: Sent, size: Size }} LinesRequest
 * @typedef {{ id: number, task: "ask", asks: import("../../exercises/criteria.js").Asks, reader: Sent,
 *   books: Record<string, Sent> }} AskRequest
 *
 * A verdict: `says` is a sentence, `lines` the lines that it is about. `kind` is that of a hazard, or
 * "result" where C is wrong, or "refused" where the size was not run.
 * @typedef {{ right: boolean, kind: string, size: Size | null, says: string, lines: number[] }} Verdict
 *
 * What launches of one size asked of memory: all counts by name, and under "lines" those of each
 * line, or in `refused` why it was not run.
 * `bound`: the cap that binds a large product, or in `whyNoBound` why it is not known.
 * @typedef {{ total: Record<string, number>, lines: Map<number, Record<string, number>>,
 *   bound: Cap | null, whyNoBound: string }} Counted
 *
 * What the page hears: the answer, or why there is none.
 * `last` where the sizes behind this one need no check.
 * @typedef {{ id: number, result: CheckedHere, last: boolean }} CheckAnswer
 * @typedef {{ id: number, verdict: Verdict }} VerdictAnswer
 * @typedef {{ id: number, counted: Counted }} CountAnswer
 * @typedef {{ id: number, state: ReturnType<typeof startOf> }} WalkAnswer
 * @typedef {{ id: number, result: ReturnType<typeof checked>, last: boolean }} LinesAnswer
 * @typedef {{ id: number, said: { right: boolean, says: string } }} AskAnswer
 * @typedef {{ id: number, fault: string }} Failure
 */

/** The bound is told for this size, at which the book compares kernels. @type {Size} */
const LARGE = [4096, 4096, 4096];
const TIME_LIMIT = 20;

/**
 * Answer what the page asks.
 * @param {{ onmessage: ((event: MessageEvent) => void) | null,
 *   postMessage: (message: object) => void }} scope
 */
export function serve(scope) {
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

/**
 * @param {CheckRequest | VerdictRequest | CountRequest | WalkRequest | LinesRequest | AskRequest
 * } request
 */
function answer(request) {
  if (request.task === "verdict") return { verdict: verdictOn(request.results) };
  if (request.task === "checkLines") {
    const { kernel, ptx } = subject(request.reader);
    const result = checked(kernel, ptx, request.size);
    return { result, last: "refused" in result || !passed(result) };
  }
  if (request.task === "ask") {
    const books = Object.entries(request.books).map(([name, sent]) => [name, subject(sent)]);
    return { said: said(request.asks, subject(request.reader), Object.fromEntries(books)) };
  }
  const kernel = parseKernel("your copy", request.source);
  if (request.task === "check") {
    const [result] = checkHere(kernel, request.ptx, [request.size], { timeLimit: TIME_LIMIT });
    return { result, last: !passed(result) };
  }
  if (request.task === "walk") {
    return { state: startOf(walk(kernel, request.ptx, request.size, TIME_LIMIT)) };
  }
  const asked = counted(kernel, request.ptx, request.size);
  return { counted: { ...asked, ...boundOf(kernel, request.ptx, request.gpu) } };
}

/** @param {Sent} sent */
const subject = ({ source, ...made }) => ({ kernel: parseKernel("mine", source), ...made });

/**
 * What follows from the results at sizes, up to the first that is wrong.
 * @param {CheckedHere[]} results
 * @returns {Verdict}
 */
function verdictOn(results) {
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

/**
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Size} size
 * @returns {Pick<Counted, "total" | "lines">}
 */
function counted(kernel, ptx, size) {
  const counts = countsOf(kernel, ptx, size, TIME_LIMIT);
  /** @type {Counted["lines"]} */
  const lines = new Map();
  for (const one of counts.lines) lines.set(one.line, one.counts);
  return { total: counts.total, lines };
}

/**
 * The last bounds that were worked out, the newest behind: they do not follow from the size that the
 * reader counts at, and to simulate them takes longer than to count. Two, for the reader's copy and
 * the book's kernel beside it.
 * @type {{ source: string, ptx: string, found: Pick<Counted, "bound" | "whyNoBound"> }[]}
 */
const bounds = [];
const BOUNDS_KEPT = 2;

/**
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Sheet} gpu
 */
function boundOf(kernel, ptx, gpu) {
  const known = bounds.find((one) => one.source === kernel.source && one.ptx === ptx);
  if (known) return known.found;
  const found = simulatedBound(kernel, ptx, gpu);
  if (bounds.push({ source: kernel.source, ptx, found }) > BOUNDS_KEPT) bounds.shift();
  return found;
}

/**
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Sheet} gpu
 * @returns {Pick<Counted, "bound" | "whyNoBound">}
 */
function simulatedBound(kernel, ptx, gpu) {
  try {
    const [lowest] = bound(kernel, simulatedDemand(kernel, ptx), LARGE, gpu);
    return { bound: lowest, whyNoBound: "" };
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return { bound: null, whyNoBound: error.message };
  }
}
