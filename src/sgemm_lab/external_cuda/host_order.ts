// What host code reads before a copy that is not waited for has filled it.

import { kernelsOf } from "./kernels.ts";
import type { Opened } from "./open_kernel.ts";

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
