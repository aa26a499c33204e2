// Follows a file's own `main`: what it allocates, fills, launches and compares. Its host code is
// compiled to WebAssembly and runs there, without a way to files, time or network; each launch runs
// in the simulator on the memory that the program has then.

import type { Package } from "../../clang/run.ts";
import { UNWRITTEN } from "../../simulator/hazard_log.ts";
import type { Hazard } from "../../simulator/hazard_types.ts";
import { asDeclared } from "../constants.ts";
import type { CudaFile } from "../cuda_file.ts";
import { kernelsOf, lastName, launchesOf, plainName } from "../kernels.ts";
import type { Finding, Severity } from "../severity.ts";
import { type Attempt, attempt, type Behind } from "./attempt.ts";
import { complaint, praise } from "./complaints.ts";
import { type HostFinding, UnfollowedError } from "./faults.ts";
import { compileHost, type HostProgram } from "./host_compiler.ts";
import type { Kernels, LaunchRun } from "./launcher.ts";
import type { MadeValues } from "./made_values.ts";
import { assumedWords } from "./program_arguments.ts";
import type { Order } from "./streams.ts";
import { readsOfUnset } from "./unset_variables.ts";

export interface Followed {
  /** a kernel that has to be compiled before the program can be followed */
  needs: string | null;
  /** why it was not followed to its end; "" if it was */
  stopped: string;
  /** whether smaller sizes would show nothing more */
  isSettled: boolean;
  /** the kernels that it came to launch, with the values of their templates */
  called: string[];
  /** how often it launches each kernel */
  launched: Record<string, number>;
  /** the lines of launches that it did not come to, by the kernel */
  missed: Record<string, number[]>;
  /** by the kernel that they are about; "" for the program */
  findings: Record<string, Finding[]>;
  /** which constants of the file are smaller than there, in a sentence; "" if none is */
  sizes: string;
  /** the arguments that main is given, which are assumed; "" for none */
  words: string;
  /** the last lines that it printed */
  printed: string[];
  /** what it ended with; null if it was not followed to its end */
  status: number | null;
}

/** What memory of the device holds before anything is written, in two runs. */
const [GARBAGE, OTHER_GARBAGE] = [0xa5, 0x3e];

/** Most lines of what a program printed that are shown, and characters of each. */
const [MOST_LINES, MOST_CHARACTERS] = [6, 200];

const programs = new WeakMap<CudaFile, HostProgram | UnfollowedError>();

/**
 * Follow the program of a file for some seconds.
 * @param clang the compiler's package, loaded
 * @param kernels those that are compiled; what it lacks is named by `needs`
 * @param made what functions are given, of a file without a main
 */
export function follow(
  file: CudaFile,
  clang: Package,
  kernels: Kernels,
  seconds: number,
  made: MadeValues,
): Followed {
  const program = compiled(file, clang);
  if (program instanceof UnfollowedError) return nothing(program.message);
  let words: string[] = [];
  const run = (
    order: Order,
    garbage = GARBAGE,
    unset: string[] = [],
    guess: number | null = null,
  ) => attempt(program, file, kernels, seconds, { garbage, order, made, unset, words, guess });
  let first = run("late");
  if (first.needs === null && !first.runs.length && !first.isTooLarge) {
    // It may ask for words, and stop or fail without them.
    words = assumedWords(file);
    if (words.length) first = run("late");
  }
  if (first.needs !== null) return { ...nothing(""), needs: first.needs };
  if (words.length && !first.runs.length) {
    return nothing(`main asks for arguments, and with ${words.join(" ")} it launches nothing`);
  }
  const findings = [...first.findings];
  // What made-up arguments lead to says nothing of the program.
  if (made.functions.length) return report(first, findings, file, []);
  const { behind } = first;
  const isTold = behind.findings.length > 0 || behind.runs.some(({ hazards }) => hazards.length);
  const sure = isTold ? inBoth(behind, run("late", GARBAGE, [], 1).behind) : behind;
  findings.push(...sure.findings);
  const verdict = verdictOf(alwaysEndsSo(file, first) ? { ...first, status: 0 } : first);
  if (!first.stopped && first.unwritten.length) {
    if (verdict || differ(first, run("late", OTHER_GARBAGE))) findings.push(unwritten(first));
  }
  const isTried = first.late && !first.isTooLarge;
  const found = unwaited(first) ?? (isTried ? atOnce(first, run("early")) : null);
  const shown = found ?? verdict;
  if (shown) findings.push(shown);
  else findings.push(...blind(first));
  if (first.stopped || !first.unset.length)
    return report(first, findings, file, words, isTold ? sure.runs : []);
  const { runs } = run("late", GARBAGE, first.unset);
  return report(first, findings, file, words, readsOfUnset(runs, first.unset, file));
}

/** What is found behind a launch whose results are guessed, with either guess. */
function inBoth(one: Behind, other: Behind): Behind {
  const keyOf = ({ kind, line }: HostFinding) => `${kind} ${line}`;
  const hazardOf = (run: LaunchRun, { kind, array, location }: Hazard) =>
    `${run.line} ${kind} ${array} ${location}`;
  const known = [
    ...other.findings.map(keyOf),
    ...other.runs.flatMap((run) => run.hazards.map((hazard) => hazardOf(run, hazard))),
  ];
  const runs = one.runs.map((run) => ({
    ...{ ...run, warnings: [], harmless: [] },
    hazards: run.hazards.filter(
      (hazard) => hazard.kind !== UNWRITTEN && known.includes(hazardOf(run, hazard)),
    ),
  }));
  return { runs, findings: one.findings.filter((found) => known.includes(keyOf(found))) };
}

function compiled(file: CudaFile, clang: Package) {
  const known = programs.get(file);
  if (known) return known;
  let made: HostProgram | UnfollowedError;
  try {
    const isMain = file.declarations.some(({ names }) => names.includes("main"));
    if (!isMain) throw new UnfollowedError("it has no main");
    made = compileHost(file, clang);
  } catch (error) {
    if (!(error instanceof UnfollowedError)) throw error;
    made = error;
  }
  programs.set(file, made);
  return made;
}

const nothing = (stopped: string): Followed => ({
  ...{ needs: null, stopped, isSettled: true, called: [], launched: {}, findings: {}, sizes: "" },
  ...{ printed: [], status: null, missed: {}, words: "" },
});

/** Whether a program ends with its status whatever comes out: main has no other end. */
function alwaysEndsSo({ declarations }: CudaFile, { status }: Attempt) {
  const words = declarations.find(({ names }) => names.includes("main"))?.tokens ?? [];
  const texts = words.map(({ text }) => text);
  const ends = texts.filter((text) => /^(return|_?exit|abort|assert)$/.test(text));
  return ends.length === 1 && texts.slice(-4).join(" ") === `return ${status} ; }`;
}

/** What a program that ended says of itself, if it is not content. */
function verdictOf({ status, output, runs, stopped }: Attempt): HostFinding | null {
  const launch = runs.at(-1);
  const said = complaint(output);
  if (!launch || stopped || (!status && !said)) return null;
  const prints = said ? `prints "${said.text}"` : "";
  const ends = status ? `ends with status ${status}` : "";
  const message = `The file's own main, followed on its own data, ${[prints, ends].filter(Boolean).join(" and ")}.`;
  const isCertain = status !== 0 || said?.isCertain === true;
  return { kind: "wrong result", message, kernel: ofKernel(launch), line: launch.line, isCertain };
}

/** A program that calls its results right and never fetched any. */
function blind({ runs, output, stopped, isBlind }: Attempt): HostFinding[] {
  const [launch, said] = [runs.at(-1), praise(output)?.trim()];
  if (!launch || stopped || !isBlind || !said) return [];
  const message = `The file's own main prints "${said}", but never copies anything to the host.`;
  const { line } = launch;
  return [{ kind: "wrong result", message, kernel: ofKernel(launch), line, isCertain: false }];
}

const differ = (one: Attempt, other: Attempt) =>
  one.status !== other.status || one.output !== other.output || one.stopped !== other.stopped;

function unwritten({ unwritten: [first] }: Attempt): HostFinding {
  const { block, at, to, line } = first;
  const element = Math.floor(at / 4).toLocaleString("en");
  const isKernel = block.usedBy && block.usedBy !== "the host";
  const by = isKernel ? `, nor has ${block.usedBy}, which ran with it` : "";
  const message = `Line ${line}: The host uses element ${element} of ${to}, a copy of ${block.name}. Nothing has written it${by}.`;
  return {
    kind: "unwritten",
    message,
    line,
    kernel: isKernel ? block.usedBy : "",
    isCertain: true,
  };
}

/** A program that does not wait for its results and says that they are wrong, if it was stopped later. */
function unwaited({ stopped, late, output }: Attempt): HostFinding | null {
  const said = complaint(output);
  if (!stopped || !late || !said?.isCertain) return null;
  const message = `Line ${late.line}: ${late.text} Before that is done it prints "${said.text}".`;
  return { kind: "host memory", message, line: late.line, kernel: "", isCertain: true };
}

/** What depends on an order of a stream and the host that nothing ensures. */
function atOnce(first: Attempt, other: Attempt): HostFinding | null {
  const { late } = first;
  const shown = late && shownBy(first, other);
  if (!shown) return null;
  const kernel = other.runs.length ? ofKernel(other.runs[other.runs.length - 1]) : "";
  const message = `Line ${late.line}: ${late.text} ${shown}`;
  return { kind: "wrong result", message, line: late.line, kernel, isCertain: true };
}

/** What one of two orders shows and the other does not, in a sentence; "" if nothing. */
function shownBy(first: Attempt, other: Attempt) {
  const [unset, known] = [other, first].map(({ runs }) =>
    runs.flatMap(({ hazards }) => hazards.filter(({ kind }) => kind === UNWRITTEN)),
  );
  if (unset.length && !known.length) return unset[0].message;
  if (first.stopped || other.stopped) return "";
  const [one, two] = [first, other].map(verdictOf);
  if (!one !== !two) return (one ?? two)?.message ?? "";
  const apart = differingLines(first.output, other.output);
  return apart ? `What it prints depends on that: "${apart.join('" or "')}".` : "";
}

/** The first lines of two outputs that differ by more than rounding. */
function differingLines(one: string, other: string) {
  const [lines, others] = [one, other].map((text) => text.split("\n"));
  const at = lines.findIndex((line, at) => isApart(line, others[at] ?? ""));
  return at < 0 ? null : [lines[at].trim(), (others[at] ?? "").trim()];
}

const NUMBER = /-?\d+(?:\.\d*)?(?:e[-+]?\d+)?/gi;
const TOLERANCE = 1e-3;

function isApart(one: string, other: string) {
  if (one.replace(NUMBER, "0") !== other.replace(NUMBER, "0")) return true;
  const [numbers, others] = [one, other].map((text) => (text.match(NUMBER) ?? []).map(Number));
  return numbers.some(
    (number, at) => Math.abs(number - others[at]) > TOLERANCE * Math.max(1, Math.abs(number)),
  );
}

const ofKernel = ({ kernel }: LaunchRun) => lastName(kernel.split("<")[0]);

function report(
  { runs, stopped, isTooLarge, output, status }: Attempt,
  host: HostFinding[],
  file: CudaFile,
  words: string[],
  more: LaunchRun[] = [],
): Followed {
  // With other words the host may be right.
  const own = words.length ? host.map((one) => ({ ...one, isCertain: false })) : host;
  const findings = everyFinding([...runs, ...more], own, file);
  const isWrong = findings.some(([, { severity }]) => severity === "error");
  const launched: Record<string, number> = {};
  for (const run of runs) launched[ofKernel(run)] = (launched[ofKernel(run)] ?? 0) + 1;
  const missed: Followed["missed"] = {};
  for (const { kernel, line } of stopped ? launchesOf(file) : []) {
    if (runs.some((run) => run.line === line)) continue;
    missed[plainName(kernel)] = [...(missed[plainName(kernel)] ?? []), line];
  }
  const byKernel: Followed["findings"] = {};
  for (const [kernel, one] of findings) byKernel[kernel] = [...(byKernel[kernel] ?? []), one];
  return {
    ...{ needs: null, stopped, isSettled: !isTooLarge || isWrong, sizes: "" },
    ...{ called: [], launched, missed, findings: byKernel, words: words.join(" ") },
    ...{ printed: lastLines(output), status: stopped ? null : status },
  };
}

/** The last lines of an output that hold something, without what commands a terminal. */
function lastLines(output: string) {
  const lines = output.split("\n").map((line) => line.replace(/\p{Cc}/gu, " ").trimEnd());
  const last = lines.filter(Boolean).slice(-MOST_LINES);
  return last.map((line) =>
    line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)} …` : line,
  );
}

/** All that was found, and of which kernel; the same thing once. */
function everyFinding(runs: LaunchRun[], own: HostFinding[], file: CudaFile): [string, Finding][] {
  const kernels = kernelsOf(file);
  const found = new Map<string, [string, Finding]>();
  const add = (kernel: string, one: Finding) => {
    const key = `${kernel} ${one.kind} ${one.line} ${one.array}`;
    if (!found.has(key)) found.set(key, [kernel, one]);
  };
  for (const run of runs) {
    const kernel = kernels.find(({ name }) => lastName(name) === ofKernel(run));
    const [, values = ""] = run.kernel.split(/[<>]/);
    const given = values.split(",").map(Number);
    const names = Object.fromEntries(
      kernel?.template.map(({ name }, at) => [name, given[at]]) ?? [],
    );
    const shown: [Severity, Hazard[]][] = [
      ["error", run.hazards],
      ["warning", run.warnings],
      ["information", run.harmless],
    ];
    for (const [severity, all] of shown) {
      for (const { kind, location, otherLocation, message, array } of all) {
        add(ofKernel(run), {
          ...{ severity, kind, file: location.file, line: location.line, array, order: "" },
          message: `${asDeclared(message, array, kernel, file, names)} It is so in the launch of line ${run.line}.`,
          otherLine: otherLocation?.line ?? null,
        });
      }
    }
  }
  for (const { kind, message, line, kernel, isCertain } of own) {
    const severity = isCertain ? "error" : "warning";
    const place = { file: file.files[0].name, line, otherLine: null };
    add(kernel, { severity, kind, message, ...place, array: null, order: "" });
  }
  return [...found.values()];
}
