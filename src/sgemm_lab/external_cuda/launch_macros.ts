// Macros that launch kernels, such as `#define LAUNCH(kernel, ...) kernel<<<grid, block>>>(__VA_ARGS__)`.

import type { CudaFile, Macro } from "./cuda_file.ts";
import { inside, matching, split, type Token } from "./tokens.ts";

/** How host code launches a kernel. */
const LAUNCHES = /^(<<<|cudaLaunch(Cooperative)?Kernel(Ex|ExC)?)$/;

const known = new WeakMap<CudaFile, Map<string, Macro>>();

/** The macros that launch a kernel, or stand for such. */
function launchMacros(file: CudaFile): Map<string, Macro> {
  const found = known.get(file) ?? new Map<string, Macro>();
  known.set(file, found);
  for (let count = -1; count < found.size; ) {
    count = found.size;
    for (const [name, macro] of file.macros) {
      if (macro.body.some((one) => LAUNCHES.test(one.text) || found.has(one.text))) {
        found.set(name, macro);
      }
    }
  }
  return found;
}

/** Whether a function launches a kernel. */
export function launches(tokens: Token[], file: CudaFile) {
  const macros = launchMacros(file);
  return tokens.some(({ text }) => LAUNCHES.test(text) || macros.has(text));
}

/** Tokens with what such macros stand for, at the places where their names stand. */
export function withLaunchMacros(
  tokens: Token[],
  file: CudaFile,
  macros = launchMacros(file),
): Token[] {
  const at = tokens.findIndex(({ kind, text }) => kind === "name" && macros.has(text));
  const macro = macros.get(tokens[at]?.text);
  if (!macro) return tokens;
  const { start, end } = tokens[at];
  const isCall = macro.takes !== null && tokens[at + 1]?.text === "(";
  const given = isCall ? split(inside(tokens, at + 1)) : [];
  const rest = given
    .slice(macro.takes?.length)
    .flatMap((part, place): Token[] =>
      place ? [{ kind: "sign", text: ",", start, end }, ...part] : part,
    );
  const body = macro.body.flatMap((one) => {
    const place = macro.takes?.indexOf(one.text) ?? -1;
    if (one.text === "__VA_ARGS__") return rest;
    return place < 0 ? one : (given[place] ?? []);
  });
  const others = new Map([...macros].filter(([, one]) => one !== macro));
  const made = withLaunchMacros(body, file, others).map((one) => ({ ...one, start, end }));
  const after = isCall ? matching(tokens, at + 1) + 1 : at + 1;
  return [...tokens.slice(0, at), ...made, ...withLaunchMacros(tokens.slice(after), file, macros)];
}
