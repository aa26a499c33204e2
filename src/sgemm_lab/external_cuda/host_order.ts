// What host code reads before a copy that is not waited for has filled it.

import { kernelsOf } from "./kernels.ts";
import type { Opened } from "./open_kernel.ts";

/** A copy to the host, and the first use of what it fills with nothing between that may wait for it. */
const early = (target: string, use: string) =>
  new RegExp(
    String.raw`\bcudaMemcpyAsync\s*\(\s*${target}(\w+)\s*,[^;]*DeviceToHost[^;]*;` +
      String.raw`(?:(?![Ss]ync|[Ww]ait|Query|cudaFree|cudaMemcpy\b|\})[\s\S])*?${use}\b\1\b`,
    "g",
  );
const EARLY = [early("", String.raw`(?:\*\s*|(?=\b\w+\s*\[))`), early("&", "(?<!&)")];

/** Reads of what an asynchronous copy may not have filled yet; of a file's first kernel. */
export function earlyReads({ file, kernel }: Opened) {
  const { text } = file.files[0];
  if (kernelsOf(file)[0]?.name !== kernel.name) return [];
  const found = EARLY.flatMap((one) => [...text.matchAll(one)]);
  return found.map(({ 0: all, 1: array, index }) => {
    const ends = [index + all.length, index];
    const [line, otherLine] = ends.map((end) => text.slice(0, end).split("\n").length);
    const isPinned = new RegExp(`cuda(?:MallocHost|Host)\\w*\\W[^;]*\\b${array}\\b`).test(text);
    const message =
      `Line ${line} reads ${array}, which the copy of line ${otherLine} fills later: it ` +
      `${isPinned ? "returns" : "may return"} at once. Wait for its stream before: cudaStreamSynchronize.`;
    return { line, otherLine, array, text: message, isPinned };
  });
}
