// Runs one launch of a pasted kernel in the simulator, and says what was found: in the engine's worker.

import { bankConflicts } from "../../external_cuda/bank_conflicts.ts";
import { ofLaunch } from "../../external_cuda/check_kernel.ts";
import type { CompiledReference } from "../../external_cuda/compare.ts";
import { compare } from "../../external_cuda/compare.ts";
import { arraysAt } from "../../external_cuda/contents.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import type { Arrays, Kernel, Settings } from "../../external_cuda/launch.ts";
import { prepare, writtenBy } from "../../external_cuda/launch.ts";
import type { Compared } from "../../external_cuda/one_launch.ts";
import { countPrepared, numbersIn } from "../../external_cuda/one_launch.ts";
import { openKernel } from "../../external_cuda/open_kernel.ts";
import type { Reference } from "../../external_cuda/references.ts";
import type { KernelReport } from "../../external_cuda/report.ts";
import { IN_OTHER_ORDERS, SETTINGS } from "../../external_cuda/report.ts";
import type { Finding } from "../../external_cuda/severity.ts";
import { WRONG_RESULT } from "../../external_cuda/severity.ts";
import type { Size } from "../../kernel.ts";
import type { Progress } from "../../simulator/machine.ts";
import { MATRICES } from "./launch.ts";

/** A compiled kernel of a file, with its launch: what `Kernel` has, as plain data. */
export interface SentKernel
  extends Pick<Kernel, "ptx" | "symbol" | "grid" | "block" | "sharedBytes" | "args"> {
  text: string;
  entry: string;
}

/** A launch to run. `assumed`: some of its values are; `references`: what it may be compared with. */
export interface LaunchRequest {
  kernel: SentKernel;
  assumed: boolean;
  templateAssumed: boolean;
  /** values of sizes, by name */
  sizes: Record<string, number>;
  expected: string;
  references: (Reference & { compiled: (SentKernel | string)[] })[];
}

/** What a launch did. `conflicts`: a sentence for each line with bank conflicts. */
export interface LaunchFindings {
  /** without the finding that `compared` tells */
  report: KernelReport;
  /** blocks and warps also ran in other orders */
  isOrdered: boolean;
  total: Record<string, number>;
  lines: Map<number, Record<string, number>>;
  conflicts: Map<number, string>;
  /** first elements of each array that the kernel may write */
  outputs: { name: string; first: number[]; length: number }[];
  /** the array of which a result was expected, or that a reference writes, and what says so */
  compared: (Compared & { by: string }) | null;
}

const SHOWN = 8;
/** Seconds after which other orders are left out. */
const SECONDS = 20;

/** Run a launch on drawn contents. Throws a LabError where it cannot be run. */
export function runLaunch(
  request: LaunchRequest,
  timeLimit: number,
  progress: Progress | null = null,
): LaunchFindings {
  const { kernel, assumed, sizes, expected, references } = request;
  const opened = opening(kernel, request.templateAssumed);
  // What its arguments are was read from the file, as the command reads it.
  const prepared = {
    ...prepare(opened),
    certain: !assumed,
    argumentsGiven: false,
    isPositive: true,
  };
  const [m = 1, n = 1, k = 1] = [..."MNK"].map((name) => sizes[name]);
  const size: Size = [m, n, k];
  const settings: Settings = { ...SETTINGS, timeLimit, requestsOf: [0, 0], progress };
  const expect = expected.trim() ? [expected] : [];
  const expectations = { expect, tolerance: null, names: sizes };
  const arrays = shaped(arraysAt(prepared, size), sizes);
  const done = countPrepared(prepared, size, expectations, settings, arrays);
  const quick = { ...settings, countRequests: false, requestsOf: null, progress: null };
  const all = ofLaunch(done, quick, performance.now() / 1000 + SECONDS);
  const [judged] = done.verdicts;
  const isJudged = ({ kind, array }: Finding) => kind === WRONG_RESULT && array === judged?.name;
  const report = { ...all, findings: all.findings.filter((one) => !isJudged(one)) };
  const { counts, requests } = done.result;
  return {
    report,
    isOrdered: report.said.some((text) => text.startsWith(IN_OTHER_ORDERS)),
    total: counts.total,
    lines: new Map(counts.lines.map(({ line, counts: ofLine }) => [line, ofLine])),
    conflicts: bankConflicts(requests ?? []),
    outputs: writtenBy(prepared).map(({ name }) => {
      const numbers = numbersIn(done.after, name);
      return { name, first: [...numbers.subarray(0, SHOWN)], length: numbers.length };
    }),
    compared: judged ? { ...judged, by: "what is expected" } : ofReferences(),
  };

  function ofReferences() {
    if (!report.comparable) return null;
    const compiled = references.map((one): CompiledReference => {
      const kernels = one.compiled.map((sent) => (typeof sent === "string" ? sent : opening(sent)));
      return { ...one, compiled: kernels };
    });
    const found = compare(prepared, size, compiled, quick);
    if (typeof found === "string") return null;
    const arrays = Object.values(found.arrays);
    const one = arrays.find(({ wrong }) => wrong) ?? arrays[0];
    return { ...one, by: `those of ${found.reference.name} (line ${found.reference.line})` };
  }
}

function opening({ text, entry, ...launch }: SentKernel, templateAssumed = false): Kernel {
  const opened = openKernel(new CudaFile([{ name: "The file", text }]), entry);
  return { ...launch, opened, notes: [], templateAssumed, loaded: new Map() };
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
