// Runs a kernel that no program launches, with the launch that the page shows, and says what was found:
// in the worker.

import { compareKernel, ofLaunch } from "../../external_cuda/check_kernel.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import { arraysAt } from "../../external_cuda/initial_values.ts";
import { ownKernels } from "../../external_cuda/kernels.ts";
import type { Arrays, Kernel, Settings } from "../../external_cuda/launch.ts";
import { prepare } from "../../external_cuda/launch.ts";
import { countPrepared, type Done } from "../../external_cuda/one_launch.ts";
import { type LaunchCounts, launchCounts } from "../../external_cuda/program_launches.ts";
import { type KernelReport, SETTINGS } from "../../external_cuda/report.ts";
import { verdictOf } from "../../external_cuda/severity.ts";
import type { Size } from "../../kernel.ts";
import { secondsNow } from "../../simulator/clock.ts";
import { plural } from "../../text.ts";
import { type Compiler, compiledReferences, deviceText, entryOf, kernelOf } from "./compiling.ts";
import { assumptions, type LaunchPlan, MATRICES, planLaunch, resolve } from "./launch.ts";

/** A kernel of a file, and what the reader set of its launch: see `planLaunch`. */
export interface KernelRequest {
  text: string;
  kernel: string;
  edits: Map<string, string>;
}

export interface KernelFound {
  report: KernelReport;
  counts: LaunchCounts;
  /** what compiled it */
  by: string;
}

/** Seconds after which other orders are left out. */
const SECONDS = 20;
/** An assumed size is tried a second time, this much smaller: no multiple of a tile. */
const RAGGED = 3;

/** Check a kernel. Throws a LabError where it cannot be run, a SourceError where it does not compile. */
export function checkAlone(
  { text, kernel: name, edits }: KernelRequest,
  { compiled }: Pick<Compiler, "compiled">,
  timeLimit: number,
  tell: (words: string) => void,
): KernelFound {
  const file = new CudaFile([{ name: "The file", text }]);
  const found = ownKernels(file).find((one) => one.name === name);
  if (!found) throw new Error(name);
  const plan = planLaunch(file, found, edits);
  const { ptx, by } = compiled(deviceText(plan.opened));
  const bare = kernelOf(plan.opened, ptx, entryOf(ptx, name));
  const progress = (done: number, all: number) =>
    tell(`Running ${name}: ${Math.round((100 * done) / all)} % of its blocks`);
  const settings: Settings = { ...SETTINGS, timeLimit, requestsOf: [0, 0], progress };
  const { done, kernel, report } = launched(bare, plan, settings, ({ hazards }) => {
    const found = hazards.length
      ? `${plural(hazards.length, "finding")} so far`
      : "no fault so far";
    tell(`${name}: ${found}. Trying other orders and sizes`);
  });
  const references = compiledReferences(kernel, report, compiled, (text, { file, kernel }) =>
    text.grid && text.block
      ? { grid: [`${text.grid}`], block: [`${text.block}`] }
      : resolve(planLaunch(file, kernel, new Map())),
  );
  const options = { sizes: null, seed: 0, timeLimit, seconds: 0, expect: [], tolerance: null };
  const compared = compareKernel(kernel, report, references, options);
  const ragged = raggedPlan(plan, (more) => planLaunch(file, found, new Map([...edits, ...more])));
  const quiet = { ...settings, progress: null };
  const edges = ragged && launched(bare, ragged, quiet, () => {}).report;
  return {
    report: ragged && edges ? withEdges(compared, edges, ragged) : compared,
    counts: launchCounts(done.result),
    by,
  };
}

/** Run the launch of a plan on drawn contents; `begun` hears of its first run. */
function launched(
  bare: Kernel,
  plan: LaunchPlan,
  settings: Settings,
  begun: (first: Done["result"]) => void,
) {
  const { sizes, expected, ...launch } = resolve(plan);
  const kernel = { ...bare, ...launch, templateAssumed: plan.template?.assumed ?? false };
  // What its arguments are was read from the file, as the command reads it.
  const certain = !assumptions(plan).length;
  const prepared = { ...prepare(kernel), certain, argumentsGiven: false, isPositive: true };
  const [m = 1, n = 1, k = 1] = [..."MNK"].map((name) => sizes[name]);
  const size: Size = [m, n, k];
  const expect = expected.trim() ? [expected] : [];
  const arrays = shaped(arraysAt(prepared, size), sizes);
  const expectations = { expect, tolerance: null, names: sizes };
  const done: Done = countPrepared(prepared, size, expectations, settings, arrays);
  begun(done.result);
  const quick = { ...settings, countRequests: false, requestsOf: null, progress: null };
  const report = ofLaunch(done, quick, secondsNow() + SECONDS);
  return { done, kernel, report };
}

/** The plan at assumed sizes that no tile divides; null if no size was assumed. */
function raggedPlan({ sizes }: LaunchPlan, planWith: (edits: [string, string][]) => LaunchPlan) {
  const assumed = sizes.filter((one) => one.assumed);
  const smaller = assumed.map(({ key, text }): [string, string] => [
    key,
    `${Math.max(1, Number(text) - RAGGED)}`,
  ]);
  // What is expected may name sizes by their numbers.
  return assumed.length ? planWith([...smaller, ["expected", ""]]) : null;
}

/** A report with what is found where tiles are not full, and is not found where they are. */
function withEdges(report: KernelReport, edges: KernelReport, { sizes }: LaunchPlan): KernelReport {
  const at = sizes.map(({ label, text }) => `${label} = ${text}`).join(", ");
  const findings = edges.findings
    .filter(({ severity }) => severity !== "information")
    .filter(({ kind, line }) => !report.findings.some((o) => o.kind === kind && o.line === line))
    .map((one) => ({ ...one, message: `${one.message} It happens at ${at}.` }));
  return {
    ...report,
    findings: [...report.findings, ...findings],
    verdict: verdictOf([...report.findings, ...findings], report.verdict),
    said: [...report.said, `Also tried at ${at}.`],
  };
}

/** Give A, B and C their sides, where the launch has the sizes M, N and K. */
function shaped({ values, unwritten }: Arrays, sizes: Record<string, number>): Arrays {
  const found = new Map(values);
  for (const [name, { numbers }] of values) {
    const letters = MATRICES[name.replace(/^d_?/, "").toUpperCase()];
    const sides = [...(letters ?? "")].map((side) => sizes[side] ?? sizes[side.toLowerCase()]);
    if (sides.length && sides[0] * sides[1] === numbers.length) found.set(name, { sides, numbers });
  }
  return { values: found, unwritten };
}
