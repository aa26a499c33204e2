// @ts-check
// The engine of a panel. It runs in a worker: the page answers meanwhile, and what a reader typed is
// only ever read there, never run as JavaScript.

import { passed, summary } from "../../checking/judge.js";
import { checkHere } from "../../checking/on_cpu.js";
import { QUICK_SIZES } from "../../checking/on_cpu.py";
import { walk } from "../../counting/walk.js";
import { LabError } from "../../errors.js";
import { said } from "../../exercises/asks.js";
import { checked } from "../../exercises/checked.js";
import { countsOf } from "../../exercises/counted.js";
import { parseKernel } from "../../kernel.js";
import { bound } from "../../models/bound.js";
import { simulatedDemand } from "../../models/demand.js";
import { startOf } from "../../widgets/steps_start.js";

/** @typedef {import("../../kernel.js").Kernel} Kernel */
/** @typedef {import("../../kernel.js").Size} Size */
/** @typedef {import("../../models/bound.js").Cap} Cap */
/** @typedef {import("../../models/bound.js").Sheet} Sheet */

/**
 * What the page asks for: is a kernel right, what does it ask of memory at a size, and by which
 * steps? `ptx` is what the compiler made of `source`.
 * @typedef {{ id: number, task: "check", source: string, ptx: string }} CheckRequest
 * @typedef {{ id: number, task: "count", source: string, ptx: string, size: Size, gpu: Sheet
 * }} CountRequest
 * @typedef {{ id: number, task: "walk", source: string, ptx: string, size: Size }} WalkRequest
 *
 * Or of an exercise: at which sizes are its lines right, and is there all that is asked for?
 * @typedef {import("../../exercises/lines.js").Sent} Sent
 * @typedef {{ id: number, task: "checkLines", reader: Sent, sizes: Size[] }} LinesRequest
 * @typedef {{ id: number, task: "ask", asks: import("../../exercises/asks.js").Asks, reader: Sent,
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
 * What the page hears: the size that is tried now, then the answer, or why there is none.
 * @typedef {{ id: number, progress: true, size: Size, number: number, of: number }} Progress
 * @typedef {{ id: number, verdict: Verdict }} CheckAnswer
 * @typedef {{ id: number, counted: Counted }} CountAnswer
 * @typedef {{ id: number, state: ReturnType<typeof startOf> }} WalkAnswer
 * @typedef {{ id: number, results: ReturnType<typeof checked> }} LinesAnswer
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
    /** @type {(of: number) => (size: Size, number: number) => void} */
    const tell = (of) => (size, number) =>
      scope.postMessage({ id, progress: true, size, number, of });
    try {
      scope.postMessage({ id, ...answer(data, tell) });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      scope.postMessage({ id, fault: error.message });
    }
  };
}

/**
 * @param {CheckRequest | CountRequest | WalkRequest | LinesRequest | AskRequest} request
 * @param {(of: number) => (size: Size, number: number) => void} tell
 */
function answer(request, tell) {
  if (request.task === "checkLines") {
    const { reader, sizes } = request;
    const { kernel, ptx } = subject(reader);
    return { results: checked(kernel, ptx, sizes, tell(sizes.length)) };
  }
  if (request.task === "ask") {
    const books = Object.entries(request.books).map(([name, sent]) => [name, subject(sent)]);
    return { said: said(request.asks, subject(request.reader), Object.fromEntries(books)) };
  }
  const kernel = parseKernel("your copy", request.source);
  if (request.task === "check") {
    return { verdict: verdictOn(kernel, request.ptx, tell(QUICK_SIZES.length)) };
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
 * Try sizes until one is wrong.
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {(size: Size, number: number) => void} tell hears of each size before it is tried
 * @returns {Verdict}
 */
function verdictOn(kernel, ptx, tell) {
  const results = [];
  for (const [number, size] of QUICK_SIZES.entries()) {
    tell(size, number + 1);
    const [result] = checkHere(kernel, ptx, [size], { timeLimit: TIME_LIMIT });
    results.push(result);
    if (passed(result)) continue;
    const lines = result.hazards
      .flatMap(({ location, otherLocation }) => [location.line, otherLocation?.line ?? 0])
      .filter((line) => line > 0);
    const says = result.fault ?? result.refusal ?? "";
    const kind = result.fault === null ? "refused" : (result.hazards[0]?.kind ?? "result");
    return { right: false, kind, size, says, lines: [...new Set(lines)].sort((a, b) => a - b) };
  }
  return { right: true, kind: "", size: null, says: summary(results), lines: [] };
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
 * @param {Kernel} kernel
 * @param {string} ptx
 * @param {Sheet} gpu
 * @returns {Pick<Counted, "bound" | "whyNoBound">}
 */
function boundOf(kernel, ptx, gpu) {
  try {
    const [lowest] = bound(kernel, simulatedDemand(kernel, ptx), LARGE, gpu);
    return { bound: lowest, whyNoBound: "" };
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return { bound: null, whyNoBound: error.message };
  }
}
