// Launches in two streams run in any order, unless the host or an event makes one wait for the other.

import { type FoundFunction, type FoundLaunch, kernelsOf, launchesOf } from "./kernels.ts";
import type { Opened } from "./open_kernel.ts";
import { joined, type Token, textsOf } from "./tokens.ts";

/** Calls that order no launches. */
const PLAIN =
  /^(dim3|sizeof|cudaStreamCreate\w*|cudaEvent(Create\w*|Record)|cuda(Get|PeekAt)LastError)$/;
/** What stands behind the name of an array that is set. */
const ASSIGNED = String.raw`\[(?:[^[\]=;]|\[[^[\]=;]*\])*\][-+*/|&^]?=[^=]`;
/** Place of the stream among what stands between `<<<` and `>>>`. */
const STREAM = 3;

/** The launches of a kernel that read what one in another stream may still write. */
export function streamFaults({ file, kernel, launches }: Opened) {
  const kernels = new Map(kernelsOf(file).map((one) => [one.name, one]));
  return launches.flatMap((after) =>
    launchesOf(file).flatMap((before) => {
      const writer = kernels.get(before.kernel);
      if (!writer || !areSideBySide(before, after)) return [];
      const written = arraysOf(before, writer, false);
      const arrays = arraysOf(after, kernel, true).filter((name) => written.includes(name));
      return [...new Set(arrays)].sort().map((array) => ({
        line: after.line,
        otherLine: before.line,
        array,
        text:
          `Line ${after.line} launches ${after.kernel} in stream ${streamOf(after)}, which reads ` +
          `${array}; ${before.kernel}, launched in stream ${streamOf(before)} at line ` +
          `${before.line}, may still write it. Let the second stream wait for the first: ` +
          "cudaEventRecord and cudaStreamWaitEvent.",
      }));
    }),
  );
}

/** A copy to the host, and the first read of what it fills with nothing between that may wait for it. */
const EARLY =
  /\bcudaMemcpyAsync\s*\(\s*(\w+)\s*,[^;]*DeviceToHost[^;]*;(?:(?![Ss]ync|[Ww]ait|Query|cudaFree|cudaMemcpy\b|\})[\s\S])*?(?:\*\s*|(?=\b\w+\s*\[))\b\1\b/g;

/** Reads of page-locked memory that an asynchronous copy may not have filled yet; of a file's first kernel. */
export function earlyReads({ file, kernel }: Opened) {
  const { text } = file.files[0];
  if (kernelsOf(file)[0]?.name !== kernel.name) return [];
  return [...text.matchAll(EARLY)].flatMap(({ 0: all, 1: array, index }) => {
    if (!new RegExp(`cuda(?:MallocHost|Host)\\w*\\W[^;]*\\b${array}\\b`).test(text)) return [];
    const ends = [index + all.length, index];
    const [line, otherLine] = ends.map((end) => text.slice(0, end).split("\n").length);
    const message =
      `Line ${line} reads ${array}, which the copy of line ${otherLine} fills later: it returns at ` +
      "once. Wait for its stream before: cudaStreamSynchronize.";
    return { line, otherLine, array, text: message };
  });
}

const streamOf = ({ shape }: FoundLaunch) => joined(textsOf(shape[STREAM] ?? []));

/** Whether a second launch, in another stream, need not wait for the first. */
function areSideBySide(before: FoundLaunch, after: FoundLaunch) {
  const { tokens } = after.function;
  const made = tokens.flatMap(({ text }, place) =>
    text.startsWith("cudaStreamCreate") && tokens[place + 2]?.text === "&"
      ? (tokens[place + 3]?.text ?? "")
      : [],
  );
  const [first, second] = [streamOf(before), streamOf(after)];
  const between = after.before.slice(before.before.length);
  // Any other function may order the two; in other brackets both may not run.
  const mayOrder = ({ kind, text }: Token, at: number) =>
    /^[{}]$/.test(text) || (kind === "name" && between[at + 1]?.text === "(" && !PLAIN.test(text));
  return (
    before.function === after.function &&
    between.length > 0 &&
    first !== second &&
    made.includes(first) &&
    made.includes(second) &&
    !between.some(mayOrder)
  );
}

/** The arrays that a launch passes as pointers to what may, or may not, be written. */
function arraysOf(launch: FoundLaunch, kernel: FoundFunction, constant: boolean) {
  // Without any const only assignments in the source say what is not just read.
  const isTold = kernel.parameters.some((one) => one.pointer && one.constant);
  const text = joined(textsOf(kernel.declaration.tokens));
  return launch.arguments.flatMap((tokens, at) => {
    const [name, one] = [joined(textsOf(tokens)), kernel.parameters[at]];
    if (!one?.pointer || one.constant !== constant || !/^[A-Za-z_]\w*$/.test(name)) return [];
    return isTold || new RegExp(`\\b${one.name}${ASSIGNED}`).test(text) ? name : [];
  });
}
