// Follows the program of a pasted file, and checks each kernel that it launches: in the worker. This module
// alone knows how a program is followed.

import { LabError } from "../../errors.ts";
import {
  checkLaunched,
  compareKernel,
  NO_PRODUCT,
  reportOf,
} from "../../external_cuda/check_kernel.ts";
import { countKernel } from "../../external_cuda/count_kernel.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import type { HostLaunch } from "../../external_cuda/host_launch.ts";
import { plainName } from "../../external_cuda/kernels.ts";
import type { Kernel, Settings } from "../../external_cuda/launch.ts";
import { NOTHING } from "../../external_cuda/one_launch.ts";
import { openKernel } from "../../external_cuda/open_kernel.ts";
import type { Kernels } from "../../external_cuda/program/launcher.ts";
import { MadeValues } from "../../external_cuda/program/made_values.ts";
import { follow } from "../../external_cuda/program/program.ts";
import { withProgram } from "../../external_cuda/program/report.ts";
import { smallerSizes } from "../../external_cuda/program/sizes.ts";
import { HALVINGS, SECONDS } from "../../external_cuda/program.py";
import type { LaunchChange, LaunchCounts, Watched } from "../../external_cuda/program_launches.ts";
import { launchCounts, watchProgram } from "../../external_cuda/program_launches.ts";
import { type KernelReport, type Options, SETTINGS } from "../../external_cuda/report.ts";
import { WRONG_RESULT } from "../../external_cuda/severity.ts";
import type { Size } from "../../kernel.ts";
import { plural } from "../../text.ts";
import { type Compiler, compiledReferences, deviceText, entryOf, kernelOf } from "./compiling.ts";

/** A file with a main, and what the reader changes. */
export interface ProgramRequest {
  text: string;
  /** by the number of the launch */
  changes: Record<number, LaunchChange>;
  /** the main is not the file's own: its arrays are not filled */
  isSketch: boolean;
  /** the kernels of the file, in order */
  names: string[];
}

/** What a program did; of its text some constants may have been made smaller. */
export interface ProgramFound extends Omit<Watched, "calls"> {
  text: string;
  /** on the kernels that it launches, by the name in the file */
  reports: Map<string, KernelReport>;
  /** what those are called with the values of their templates */
  instances: Map<string, string>;
  /** what compiled them */
  by: string;
}

/** Hears what is done, and what has been found so far. */
type Tell = (words: string, found?: ProgramFound) => void;

/** Seconds of the further checks of a kernel. */
const FURTHER_SECONDS = 1.5;

/** M, N and K of a launch that names them. */
const SIZE: Size = [64, 64, 64];

interface Run {
  file: CudaFile;
  kernels: Kernels;
  watched: Watched;
  by: string;
}

/** Follow a program, and check what it launches. */
export function checkProgram(
  request: ProgramRequest,
  compiler: Compiler,
  timeLimit: number,
  tell: Tell,
): ProgramFound {
  const run = followed(request, compiler, tell);
  const { calls, ...watched } = run.watched;
  const reports = new Map<string, KernelReport>();
  const instances = new Map<string, string>();
  const add = (name: string, report: KernelReport) => {
    const isLast = name === request.names.at(-1);
    reports.set(name, withProgram(report, watched.followed, isLast, NO_PRODUCT));
  };
  for (const name of request.names) {
    const instance = [...calls.keys()].find((one) => plainName(one) === plainName(name));
    if (instance === undefined) continue;
    instances.set(name, instance);
    if (!watched.followed.launched[plainName(name)]) continue;
    add(name, reportOf(launchedKernel(run.file, instance, run.kernels[instance])));
  }
  const found = { ...watched, text: run.file.files[0].text, reports, instances, by: run.by };
  for (const [name, instance] of instances) {
    tell(`Checking ${name} in other orders`, reports.size ? found : undefined);
    const report = checked(run, instance, compiler, timeLimit);
    const launch = calls.get(instance);
    if (launch?.made && report.verdict !== "not run") {
      const kernel = launchedKernel(run.file, instance, run.kernels[instance]);
      run.watched.counts.set(instance, countsOf(kernel, launch, timeLimit));
    }
    add(name, report);
  }
  return found;
}

/** Follow a program; where that takes too long, with smaller constants. */
function followed(request: ProgramRequest, compiler: Compiler, tell: Tell): Run {
  tell("Compiling the host code");
  const first = once(request, request.text, compiler, tell);
  let best = first;
  for (const [halvings, least] of HALVINGS) {
    if (best.watched.followed.isSettled) break;
    const made = smallerSizes(first.file, halvings, least);
    if (!made.changed) break;
    const { calls, followed } = best.watched;
    const faults = calls.size ? Object.values(followed.findings).flat().length : null;
    tell(`${soFar(faults)}Compiling with smaller sizes, ${made.changed}`);
    const other = once(request, made.text, compiler, tell);
    const { isSettled, launched, findings } = other.watched.followed;
    if (Object.values(findings).some((all) => all.some(({ kind }) => kind === "launch"))) break;
    const known = best.watched.followed.launched;
    if (!isSettled && Object.keys(launched).length <= Object.keys(known).length) continue;
    best = other;
    best.watched.followed.sizes = `So that it runs here, ${made.changed}.`;
  }
  return best;
}

/** What the launches showed that have begun; null before. */
function soFar(faults: number | null) {
  if (faults === null) return "";
  return faults ? `${plural(faults, "finding")} so far. ` : "No fault so far. ";
}

function once(
  { changes, isSketch }: ProgramRequest,
  text: string,
  compiler: Compiler,
  tell: Tell,
): Run {
  const file = new CudaFile([{ name: "The file", text }]);
  const kernels: Kernels = {};
  const progress = (kernel: string, number: number, done: number, faults: number | null) => {
    const part = done < 1 ? `, ${Math.round(100 * done)} % of its blocks` : "";
    tell(`${soFar(faults)}Following main: launch ${number + 1}, ${kernel}${part}`);
  };
  const made = new MadeValues(file);
  // What is set of a launch is what its function is given.
  const numbers = Object.values(changes).flatMap((one) => Object.entries(one.numbers ?? {}));
  made.numbers = new Map(made.functions.length ? numbers : []);
  const watching = { changes, isCounting: true, progress, isSketch, made };
  for (let by = ""; ; ) {
    const watched = watchProgram(
      (known) => follow(file, compiler.clang, known, SECONDS, made),
      kernels,
      watching,
    );
    const { needs } = watched.followed;
    if (needs === null) return { file, kernels, watched, by };
    try {
      const opened = openKernel(file, needs);
      tell(`Compiling ${needs}`);
      const made = compiler.compiled(deviceText(opened));
      by = made.by;
      kernels[needs] = { ptx: made.ptx, entry: entryOf(made.ptx, opened.kernel.name) };
      tell("Following main");
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      kernels[needs] = { ptx: "", entry: "", refused: error.message };
    }
  }
}

/** Check the first launch of a kernel in other ways than the program does. */
function checked(
  { file, kernels, watched }: Run,
  name: string,
  compiler: Compiler,
  timeLimit: number,
): KernelReport {
  const { followed, calls, isSketch } = watched;
  const kernel = launchedKernel(file, name, kernels[name]);
  const launch = calls.get(name);
  const isWrong = followed.findings[plainName(name)]?.some(
    ({ severity, kind }) => severity === "error" && kind !== WRONG_RESULT,
  );
  // What else happens then follows from that.
  if (!launch || isWrong) return reportOf(kernel);
  const options: Options = {
    ...{ sizes: null, seed: 0, timeLimit, seconds: FURTHER_SECONDS, expect: [], tolerance: null },
  };
  const report = checkLaunched(kernel, launch, isSketch, options);
  const references = compiledReferences(
    kernel,
    report,
    compiler.compiled,
    ({ entry, grid, block }) =>
      grid && block ? { grid: [`${grid}`], block: [`${block}`] } : { host: calls.get(entry) },
  );
  return compareKernel(kernel, report, references, options);
}

/** What a launch asks of memory that the program did not run. */
function countsOf(kernel: Kernel, launch: HostLaunch, timeLimit: number): LaunchCounts {
  const settings: Settings = { ...SETTINGS, timeLimit, requestsOf: [0, 0] };
  const recorded = { launch, isSketch: true };
  const { result } = countKernel(kernel, SIZE, NOTHING, settings, new Map(), recorded);
  return launchCounts(result);
}

const launchedKernel = (file: CudaFile, name: string, { ptx, entry }: Kernels[string]) =>
  kernelOf(openKernel(file, name), ptx, entry);
