// Follows a file's own `main`: what it allocates, fills, launches and compares. Its host code is
// compiled to WebAssembly and runs there, without a way to files, time or network; each launch runs
// in the simulator on the memory that the program has then.

import type { Package } from "../../clang/compiler.ts";
import type { Hazard } from "../../simulator/hazard.ts";
import type { CudaFile } from "../cuda_file.ts";
import { lastName } from "../kernels.ts";
import type { Finding, Severity } from "../severity.ts";
import type { Attempt } from "./attempt.ts";
import { attempt } from "./attempt.ts";
import { complaint } from "./complaints.ts";
import type { HostFinding } from "./faults.ts";
import { UnfollowedError } from "./faults.ts";
import type { HostProgram } from "./host_compiler.ts";
import { compileHost } from "./host_compiler.ts";
import type { Kernels, LaunchRun } from "./launcher.ts";

export interface Followed {
  /** a kernel that has to be compiled before the program can be followed */
  needs: string | null;
  /** why it was not followed to its end; "" if it was */
  stopped: string;
  /** whether smaller sizes would show nothing more */
  isSettled: boolean;
  /** how often it launches each kernel */
  launched: Record<string, number>;
  /** by the kernel that they are about; "" for the program */
  findings: Record<string, Finding[]>;
  /** which constants of the file are smaller than there, in a sentence; "" if none is */
  sizes: string;
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
 */
export function follow(
  file: CudaFile,
  clang: Package,
  kernels: Kernels,
  seconds: number,
): Followed {
  const program = compiled(file, clang);
  if (program instanceof UnfollowedError) return nothing(program.message);
  const first = attempt(program, file, kernels, seconds, { garbage: GARBAGE, isEager: false });
  if (first.needs !== null) return { ...nothing(""), needs: first.needs };
  const findings = [...first.findings];
  if (!first.stopped) {
    const verdict = verdictOf(first);
    if (first.unwritten.length) {
      const given = { garbage: OTHER_GARBAGE, isEager: false };
      const isOther = () => differ(first, attempt(program, file, kernels, seconds, given));
      if (verdict || isOther()) findings.push(unwritten(first));
    }
    if (verdict) {
      const given = { garbage: GARBAGE, isEager: true };
      const eager = first.late && attempt(program, file, kernels, seconds, given);
      const isLate = eager && !eager.stopped && !verdictOf(eager);
      findings.push(isLate ? tooEarly(verdict, first) : verdict);
    }
  }
  return report(first, findings, file);
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
  ...{ needs: null, stopped, isSettled: true, launched: {}, findings: {}, sizes: "" },
  ...{ printed: [], status: null },
});

/** What a program that ended says of itself, if it is not content. */
function verdictOf({ status, output, runs }: Attempt): HostFinding | null {
  const launch = runs.at(-1);
  const said = complaint(output);
  if (!launch || (!status && !said)) return null;
  const prints = said ? `prints "${said.text}"` : "";
  const ends = status ? `ends with status ${status}` : "";
  const message = `The file's own main, followed on its own data, ${[prints, ends].filter(Boolean).join(" and ")}.`;
  const isCertain = status !== 0 || said?.isCertain === true;
  return { kind: "wrong result", message, kernel: ofKernel(launch), line: launch.line, isCertain };
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

/** A verdict that holds only where work is done as late as the program allows. */
function tooEarly(verdict: HostFinding, { late, runs }: Attempt): HostFinding {
  const kernel = runs.length ? ofKernel(runs[runs.length - 1]) : "";
  const message = `Line ${late?.line}: ${late?.text} ${verdict.message}`;
  return { ...verdict, kind: "wrong result", message, line: late?.line ?? verdict.line, kernel };
}

const ofKernel = ({ kernel }: LaunchRun) => lastName(kernel.split("<")[0]);

function report(
  { runs, stopped, isTooLarge, output, status }: Attempt,
  own: HostFinding[],
  file: CudaFile,
): Followed {
  const findings = everyFinding(runs, own, file.files[0].name);
  const isWrong = findings.some(([, { severity }]) => severity === "error");
  const launched: Record<string, number> = {};
  for (const run of runs) launched[ofKernel(run)] = (launched[ofKernel(run)] ?? 0) + 1;
  const byKernel: Followed["findings"] = {};
  for (const [kernel, one] of findings) byKernel[kernel] = [...(byKernel[kernel] ?? []), one];
  return {
    ...{ needs: null, stopped, isSettled: !isTooLarge || isWrong, sizes: "" },
    ...{ launched, findings: byKernel },
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
function everyFinding(runs: LaunchRun[], own: HostFinding[], file: string): [string, Finding][] {
  const found = new Map<string, [string, Finding]>();
  const add = (kernel: string, one: Finding) => {
    const key = `${kernel} ${one.kind} ${one.line} ${one.array}`;
    if (!found.has(key)) found.set(key, [kernel, one]);
  };
  for (const run of runs) {
    const shown: [Severity, Hazard[]][] = [
      ["error", run.hazards],
      ["warning", run.warnings],
      ["information", run.harmless],
    ];
    for (const [severity, all] of shown) {
      for (const { kind, location, otherLocation, message, array } of all) {
        add(ofKernel(run), {
          ...{ severity, kind, file: location.file, line: location.line, array, order: "" },
          message: `${message} It is so in the launch of line ${run.line}.`,
          otherLine: otherLocation?.line ?? null,
        });
      }
    }
  }
  for (const { kind, message, line, kernel, isCertain } of own) {
    const severity = isCertain ? "error" : "warning";
    add(kernel, { severity, kind, message, file, line, otherLine: null, array: null, order: "" });
  }
  return [...found.values()];
}
