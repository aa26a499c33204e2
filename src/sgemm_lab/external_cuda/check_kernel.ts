// Check one kernel of a CUDA file, without being told anything about it. A matrix product is checked at
// many sizes. Any other kernel runs with the file's own launch, or an assumed one. A finding that rests
// on an assumption is a warning, not an error.

import { LabError } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { secondsNow } from "../simulator/clock.ts";
import { BARRIER, EXCHANGE, MISALIGNED, RACE, SPLIT_BARRIER } from "../simulator/hazard_log.ts";
import type { Hazard } from "../simulator/hazard_types.ts";
import { parse } from "../simulator/ptx.ts";
import { comma, plural } from "../text.ts";
import { textsOf } from "./arguments.ts";
import type { Most } from "./assumed_launch.ts";
import { countAssumed, isStuck, lasting, launchOf, sizesOf } from "./assumed_launch_search.ts";
import { checkProduct, takesSizes } from "./check_product.ts";
import { type CompiledReference, compare } from "./compare.ts";
import { atEdges } from "./footprint.ts";
import type { HostLaunch } from "./host_launch.ts";
import { earlyReads } from "./host_order.ts";
import { lastName } from "./kernels.ts";
import type { FoundLaunch, Kernel, Prepared, Settings } from "./launch.ts";
import {
  bare,
  isProduct,
  multiplies,
  NoLaunchError,
  nameOf,
  placeOf,
  plainLaunch,
  prepare,
  resumed,
  UnknownLaunchError,
} from "./launch.ts";
import type { Sizes } from "./made_launch.ts";
import {
  type Compared,
  countPrepared,
  type Done,
  NeverEndsError,
  NOTHING,
  type OtherSizes,
} from "./one_launch.ts";
import { inOtherBranches, inOtherContents } from "./other_branches.ts";
import { countRecorded } from "./recorded_launch.ts";
import type { KernelReport, Options } from "./report.ts";
import {
  assumedOf,
  inOtherOrders,
  NOT_JUDGED,
  SAME_VALUE,
  SETTINGS,
  sentencesOf,
} from "./report.ts";
import { otherOrders, skippedPlace } from "./schedules.ts";
import type { Finding } from "./severity.ts";
import {
  at,
  ENDLESS,
  findingOf,
  inShared,
  OF_THREADS,
  ofKernel,
  verdictOf,
  WRONG_RESULT,
} from "./severity.ts";
import { atOtherNumbers } from "./smaller_numbers.ts";
import { withMoreBlocks } from "./undersized_grid.ts";

/** M, N and K of a kernel whose arguments name them but which is no product. */
const SIZE: Size = [64, 64, 64];
/** What shows at sizes that no block divides: threads that miss, and misaligned rows. */
const OF_SIZE = [BARRIER, EXCHANGE, MISALIGNED, SPLIT_BARRIER];
const OF_WARPS = [BARRIER];
/** A loop until what `atomicCAS` found, as a float, is what was expected. */
const SWAPS =
  /\.cas\.b\d+\s+(%\w+),[^;]*;.*?mov\.b\d+\s+(%\w+), \1;.*?setp\.(?:eq|neu?|equ)\.f\d+\s[^;]*\2\b/s;
const OF_NAN =
  "What atomicCAS found is compared as a float. NaN is not equal to itself, so the loop never ends " +
  "where the array holds it. Compare the bits.";
/** Seconds of a launch that may run at three sizes more. */
const QUICK = 1;
export const NO_PRODUCT =
  "It looks like a matrix product, but no launch that was tried makes C the product.";
const NOT_COMPARED = "Results not compared: nothing says what they should be.";
const NOT_ENDED = "Its launch did not come to its end, so no other order was tried.";
const COOPERATIVE = /LaunchCooperativeKernel|AttributeCooperative|\bis_valid\b/;

/**
 * Check a kernel that the file's own program launches: its first launch, on the arrays that it gets there,
 * in other orders and with more blocks; a matrix product at many sizes. What the program itself shows of
 * its launches is added by `withProgram`.
 */
export function checkLaunched(
  kernel: Kernel,
  launch: HostLaunch,
  isSketch: boolean,
  options: Options,
): KernelReport {
  const own = { ...kernel, host: launch };
  if (launch.made) return checkKernel(own, options);
  const end = secondsNow() + options.seconds;
  const settings = { ...SETTINGS, countRequests: false, timeLimit: options.timeLimit };
  try {
    const prepared = launchOf(() => prepare(own), settings);
    if (multiplies(prepared) && takesSizes(prepared, null)) return checkProduct(prepared, options);
  } catch (error) {
    if (!(error instanceof UnknownLaunchError)) throw error;
  }
  if (!isSketch && !launch.isDone) return { ...reportOf(kernel), said: [NOT_ENDED] };
  let why = launch.call.options.reached
    ? "arrays of pointers run in the program's own order alone."
    : "its arrays are too large, or not known.";
  try {
    const done = countRecorded(kernel, launch, isSketch, SIZE, NOTHING, settings);
    if (done) {
      const report = ofLaunch(done, settings, end);
      return isSketch ? report : withOtherNumbers(report, kernel, launch);
    }
  } catch (error) {
    if (isSketch && isStuck(error)) {
      return neverEnding({ ...bare(kernel), certain: false }, error);
    }
    // What the program itself shows is added in any case.
    if (isSketch || !(error instanceof LabError)) throw error;
    why = error.message;
  }
  if (isSketch) return checkKernel(kernel, options);
  const report = { ...reportOf(kernel), said: [`No other order was tried: ${why}`] };
  return withOtherNumbers(report, kernel, launch);
}

/** Add what would happen with other numbers than the program's own, where those show nothing. */
function withOtherNumbers(report: KernelReport, kernel: Kernel, launch: HostLaunch): KernelReport {
  const isClean = verdictOf(report.findings, "right") === "right" && !launch.isWrong;
  const found = isClean ? atOtherNumbers(bare(kernel), launch.call) : [];
  const findings = [...report.findings, ...found];
  return { ...report, findings, verdict: verdictOf(findings, report.verdict) };
}

/** A report of what the text of a file shows; the program says the rest. */
export function reportOf(kernel: Kernel) {
  const prepared = bare(kernel);
  return reported(prepared, ofHost(prepared), []);
}

/**
 * Check a compiled kernel, all but a comparison with references in its file. Throws a LabError where it
 * cannot be run.
 * @param most how large an assumed launch may be
 */
export function checkKernel(kernel: Kernel, options: Options, most?: Most): KernelReport {
  const end = secondsNow() + options.seconds;
  const { timeLimit, expect } = options;
  const settings = { ...SETTINGS, countRequests: false, timeLimit };
  const size = options.sizes?.[0] ?? SIZE;
  try {
    const prepared = launchOf(() => prepare(kernel), settings);
    if (multiplies(prepared) && !expect.length && takesSizes(prepared, options.sizes)) {
      return checkProduct(prepared, options);
    }
    try {
      return ofLaunch(countPrepared(prepared, size, options, settings), settings, end);
    } catch (error) {
      if (isStuck(error) && prepared.certain) return neverEnding(prepared, error);
      throw error;
    }
  } catch (error) {
    if (error instanceof UnknownLaunchError) {
      return ofUnknown(error, size, options, settings, end, most);
    }
    throw error;
  }
}

function ofUnknown(
  unknown: UnknownLaunchError,
  size: Size,
  options: Options,
  settings: Settings,
  end: number,
  most?: Most,
) {
  const isOne = unknown instanceof NoLaunchError && isProduct(unknown.prepared);
  try {
    const done = countAssumed(unknown, size, options, settings, most);
    return ofLaunch(done, settings, end, isOne ? [NO_PRODUCT] : []);
  } catch (error) {
    if (error instanceof NeverEndsError) return neverEnding(error.prepared, error.reason);
    const { prepared } = unknown;
    if (!(error instanceof LabError && prepared.doubts?.length)) throw error;
    return reported(prepared, ofHost(prepared), [error.message]);
  }
}

function reported(prepared: Prepared, findings: Finding[], said: string[], isCompared = false) {
  const [file, line] = placeOf(prepared);
  const verdict = verdictOf(findings, isCompared ? "right" : "no fault found");
  const kernel = nameOf(prepared);
  return { kernel, file, line, verdict, findings, said, sizes: [], limits: [] };
}

const neverEnding = (prepared: Prepared, reason: NeverEndsError["reason"]) =>
  reported(prepared, [waitingIn(prepared, reason)], assumedOf(prepared));

function waitingIn(prepared: Prepared, { message, location }: NeverEndsError["reason"]) {
  const found = ofKernel(prepared, prepared.certain ? "error" : "warning", ENDLESS, message);
  return location ? at(location, found) : found;
}

/**
 * Report on one launch of a kernel that is no product, or has a single size. After `end` nothing further
 * is begun. `suspicions` become warnings.
 */
export function ofLaunch(done: Done, settings: Settings, end: number, suspicions: string[] = []) {
  const { prepared, size, result, verdicts, changed } = done;
  const certain = lasting(done, settings);
  const severity = (one: Hazard) => {
    if (certain.includes(one)) return "error";
    return (done.inOneWarp ?? result.hazards).includes(one) ? undefined : "warning";
  };
  const findings = result.hazards.map((one) => findingOf(one, prepared, severity(one)));
  findings.push(...result.warnings.map((one) => findingOf(one, prepared, "warning")));
  findings.push(
    ...done.harmless.map((one) => adding(findingOf(one, prepared, "information"), SAME_VALUE)),
  );
  findings.push(...ofHost(prepared));
  if (done.waits) {
    const { prepared: other, reason } = done.waits;
    const found = adding(waitingIn(other, reason), happensWith(other));
    findings.push({ ...found, severity: "warning" });
  }
  if (verdictOf(findings, "right") !== "wrong") {
    findings.push(...suspicions.map((text) => ofKernel(prepared, "warning", WRONG_RESULT, text)));
  }
  for (const compared of verdicts) {
    const { name, wrong, elements } = compared;
    if (!wrong) continue;
    const known = prepared.certain && (name !== "C" || !multiplies(prepared));
    const severity = known || prepared.argumentsGiven ? "error" : "warning";
    const message =
      `${name} is wrong: ${comma(wrong)} of ${comma(elements)} elements differ from what is ` +
      `expected. ${firstOf(compared)}`;
    findings.push(ofKernel(prepared, severity, WRONG_RESULT, message, name));
  }
  for (const name of changed) {
    const message = `It changed ${name}, which it may only read.`;
    findings.push(ofKernel(prepared, "error", WRONG_RESULT, message, name));
  }
  const said = sentencesOf(done).filter((text) => text !== NOT_JUDGED);
  if (secondsNow() < end) {
    const [found, tried] = otherOrders(done, settings);
    findings.push(...found, ...skippedPlace(done, settings));
    if (!found.length) findings.push(...withMoreBlocks(done, settings, prepared.certain));
    if (!findings.length) findings.push(...inOtherBranches(done, settings));
    if (!findings.length) findings.push(...inOtherContents(done, settings));
    if (!findings.length && done.odd) {
      findings.push(...atEdges(done, done.odd, done.larger ? [done.larger.done] : []));
    }
    const others = [
      { one: done.odd, kinds: OF_SIZE },
      { one: done.less, kinds: [] },
      { one: done.larger, kinds: OF_THREADS },
      { one: done.taller, kinds: OF_THREADS },
      { one: done.uneven, kinds: OF_WARPS },
    ];
    for (const { one, kinds } of others) {
      if (one) findings.push(...atOtherSizes(one, kinds, findings, settings));
    }
    said.push(...inOtherOrders(tried));
  }
  const isLate = secondsNow() >= end;
  if (isLate) said.push("To save time, other orders or a comparison were left out.");
  const report = reported(prepared, findings, said, verdicts.length > 0);
  const hasError = findings.some(({ severity }) => severity === "error");
  if (isLate || verdicts.length || multiplies(prepared) || hasError) return report;
  const runs = [done, done.odd?.done, done.less?.done].filter((one) => one !== undefined);
  const launches = runs.map((one): [FoundLaunch, Sizes | null] => {
    const { host, contents } = one.prepared;
    const known = host || contents ? [] : null;
    return [plainLaunch(one.prepared), host?.made ? sizesOf(one) : known];
  });
  return { ...report, comparable: { launches, size } };
}

/** Hazards of some kinds, and elements that a grid leaves out, only at other sizes. */
function atOtherSizes(
  { done, launched }: OtherSizes,
  kinds: string[],
  known: Finding[],
  settings: Settings,
) {
  const { hazards, warnings } = done.result;
  const shown = [...hazards, ...warnings].filter(
    (one) => kinds.includes(one.kind) || inShared(one, done.prepared),
  );
  const found = shown.map((one) => findingOf(one, done.prepared, "warning"));
  if (kinds === OF_SIZE) found.push(...withMoreBlocks(done, settings, launched));
  return found
    .filter(({ kind, line }) => !known.some((one) => one.kind === kind && one.line === line))
    .map((one) => adding(one, happensWith(done.prepared)));
}

const happensWith = ({ given }: Prepared) => `It happens with ${textsOf(given)}.`;

const adding = (finding: Finding, text: string): Finding => ({
  ...finding,
  message: `${finding.message} ${text}`,
});

/**
 * What is wrong with how a file launches a kernel, as far as its text alone says: a kernel that waits at
 * the barrier of the grid needs a cooperative launch; launches in two streams run in any order.
 */
function ofHost(prepared: Prepared): Finding[] {
  const { opened, compiled } = prepared;
  const [{ text: source }] = opened.file.files;
  const waits = compiled.specials.has("%envreg1") && !COOPERATIVE.test(source);
  const isExtended = new RegExp(`LaunchKernelEx.*\\b${lastName(opened.kernel.name)}\\b`);
  const extended = source.split("\n").findIndex((line) => isExtended.test(line)) + 1;
  const launched = [...opened.launches.map(({ line }) => line), ...(extended ? [extended] : [])];
  const found = launched.slice(0, waits ? 1 : 0).map((line) => {
    const message =
      `Line ${line} launches ${opened.kernel.name}, but its blocks wait for each other ` +
      "at the barrier of the grid. Launch it with cudaLaunchCooperativeKernel.";
    return { ...ofKernel(prepared, "error", BARRIER, message), line };
  });
  const inStreams = earlyReads(opened).map(({ line, otherLine, array, text, isPinned }) => ({
    ...ofKernel(prepared, isPinned ? "error" : "warning", RACE, text, array),
    ...{ line, otherLine },
  }));
  const spins = hoistedSpins(prepared).map((location) => {
    const message =
      `${location}: this loop never ends, as the compiler reads what it waits for once, ` +
      "before the loop. Read it with volatile or an atomic.";
    return at(location, ofKernel(prepared, "warning", ENDLESS, message));
  });
  const doubts = (prepared.doubts ?? []).map(([line, text]) => {
    const message = `${opened.file.files[0].name}, line ${line}: ${text}.`;
    return { ...ofKernel(prepared, "warning", WRONG_RESULT, message), line };
  });
  const swaps = SWAPS.test(prepared.ptx) ? [ofKernel(prepared, "warning", ENDLESS, OF_NAN)] : [];
  return [...found, ...inStreams, ...spins, ...doubts, ...swaps];
}

/** Loops of nothing but their branch, which read memory in the source. */
function hoistedSpins({ ptx, symbol, opened: { file } }: Prepared) {
  const { instructions = [], labels } = parse(ptx).get(symbol) ?? {};
  return instructions.flatMap(({ guard, operands: [to], index, location }) => {
    const isEmpty = to?.kind === "symbol" && labels?.get(to.name) === index && !guard;
    const source = file.files.find(({ name }) => name === location.file)?.text.split("\n");
    return isEmpty && /[[*]|->/.test(source?.[location.line - 1] ?? "") ? location : [];
  });
}

/** The first element that differs. */
const firstOf = ({ name, at, got, expected }: Compared) =>
  `The first is ${name}[${at}]: ${got}, not ${expected}.`;

/** Complete a report by a comparison with references in the file. */
export function compareKernel(
  kernel: Kernel,
  { comparable, ...report }: KernelReport,
  references: CompiledReference[],
  { timeLimit }: Options,
): KernelReport {
  if (!comparable) return report;
  const [findings, said] = [[...report.findings], [...report.said]];
  const settings = { ...SETTINGS, timeLimit };
  let [why, isCompared] = ["", false];
  for (const [launch, sizes] of comparable.launches) {
    const prepared = resumed(kernel, launch);
    const found = compare(prepared, comparable.size, sizes, references, settings);
    settings.timeLimit = Math.min(timeLimit, 4 * QUICK);
    if (typeof found === "string") {
      why ||= found;
      continue;
    }
    const name = `${found.reference.name} (line ${found.reference.line})`;
    const where = launch === comparable.launches[0][0] ? "" : ` ${happensWith(prepared)}`;
    for (const compared of Object.values(found.arrays)) {
      const { name: array, wrong, elements } = compared;
      const all = comma(elements);
      if (!wrong) {
        if (!isCompared) said.push(`${array} is right: all ${all} elements are those of ${name}.`);
        continue;
      }
      const severity = prepared.certain && found.certain ? "error" : "warning";
      const text =
        `${array} is wrong: ${comma(wrong)} of ${all} elements differ from those of ${name}. ` +
        firstOf(compared);
      findings.push(ofKernel(prepared, severity, WRONG_RESULT, text + where, array));
    }
    for (const [severity, inputs, { name: array, wrong }] of found.special) {
      const text = `Where inputs ${inputs}, ${array} differs from ${name} at ${plural(wrong, "element")}.`;
      const weight = prepared.certain ? "information" : severity;
      if (!isCompared) findings.push(ofKernel(prepared, weight, WRONG_RESULT, text, array));
    }
    isCompared = true;
    if (findings.some(({ severity }) => severity !== "information")) break;
  }
  if (!isCompared) return { ...report, said: [...said, why || NOT_COMPARED] };
  return reported(resumed(kernel, comparable.launches[0][0]), findings, said, true);
}
