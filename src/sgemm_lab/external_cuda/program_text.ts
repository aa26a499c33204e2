// What of a file can be followed as a program.

import type { CudaFile } from "./cuda_file.ts";
import { parameterTokens } from "./kernels.ts";

/** Whether a file has a main. */
export const hasMain = (file: CudaFile) =>
  file.files[0].declarations.some(
    ({ kind, names, hasBody }) => kind === "function" && hasBody && names.includes("main"),
  );

/**
 * The text of a file with a main. One without gets a main, behind its last line, that calls the functions
 * that launch kernels and take no arguments; null if it has none.
 */
export function programText(file: CudaFile): string | null {
  const [{ text, declarations }] = file.files;
  if (hasMain(file)) return text;
  const launching = declarations.filter(
    (one) =>
      one.kind === "function" &&
      !one.isKernel &&
      !one.namespace.length &&
      one.head[0].text !== "template" &&
      one.tokens.some((token) => token.text === "<<<") &&
      !parameterTokens(one).length,
  );
  const calls = launching.map(({ names }) => `${names[0]}();`).join(" ");
  return calls ? `${text.trimEnd()} int main() { ${calls} }\n` : null;
}
