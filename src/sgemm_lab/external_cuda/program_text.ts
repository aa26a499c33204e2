// What of a file can be followed as a program.

import type { CudaFile } from "./cuda_file.ts";
import type { Declaration } from "./declarations.ts";
import { launches } from "./launch_macros.ts";
import { usualArguments } from "./template_arguments.ts";

/** Whether a file has a main. */
export const hasMain = (file: CudaFile) =>
  file.files[0].declarations.some(
    ({ kind, names, hasBody }) => kind === "function" && hasBody && names.includes("main"),
  );

const CALL = "lab_call_";
const isCall = (name: string) => name.startsWith(CALL);

/** Whether a function is none of the file's own: a call of its functions, or the main that makes them. */
export const isAdded = (name: string, file: CudaFile) =>
  isCall(name) || (name === "main" && calledFunctions(file).length > 0);

/** The functions that the main of `programText` calls, in order; none of a file with a main of its own. */
export const calledFunctions = (file: CudaFile) =>
  file.files[0].declarations.some(({ names }) => names.some(isCall))
    ? launchingFunctions(file)
    : [];

/**
 * The functions of the host that launch kernels, or call such. Those that no other one calls come
 * first: they know best what they give.
 */
function launchingFunctions(file: CudaFile): Declaration[] {
  const [{ declarations }] = file.files;
  const functions = declarations.filter(
    ({ kind, isKernel, hasBody, marks, names }) =>
      kind === "function" && hasBody && !isKernel && !marks.has("__device__") && !isCall(names[0]),
  );
  let found = functions.filter(({ tokens }) => launches(tokens, file));
  const calls = ({ tokens }: Declaration, names: string[]) =>
    tokens.some(({ text }, at) => names.includes(text) && /^[(<]$/.test(tokens[at + 1]?.text));
  for (let count = 0; count < found.length; ) {
    count = found.length;
    const names = found.map((one) => one.names[0]);
    found = functions.filter((one) => found.includes(one) || calls(one, names));
  }
  const isCalled = (one: Declaration) =>
    found.some((other) => other !== one && calls(other, one.names));
  const first = found.filter((one) => !isCalled(one));
  // Of functions of one name, and of members of classes, there is no address without more words.
  const isAlone = ({ names: [name], head }: Declaration) =>
    functions.filter(({ names }) => names[0] === name).length === 1 &&
    head[head.findIndex(({ text }) => text === name) - 1]?.text !== "::";
  return [...first, ...found.filter((one) => !first.includes(one))].filter(isAlone);
}

/**
 * The text of a file with a main. One without gets a main, behind its last line, that calls the functions
 * that launch kernels; null if it has none.
 */
export function programText(file: CudaFile): string | null {
  const [{ text }] = file.files;
  if (hasMain(file)) return text;
  const calls = launchingFunctions(file).map((one, at) => {
    const name = [...one.namespace, one.names[0]].join("::");
    const values =
      one.head[0].text === "template" ? `<${usualArguments(one, file).join(", ")}>` : "";
    const call = `${CALL}${at}`;
    return (
      `extern "C" __attribute__((export_name("${call}"))) ` +
      `void ${call}() { lab_call(&${name}${values}, ${at}); }`
    );
  });
  return calls.length ? `${text}\n${calls.join(" ")} int main() { lab_calls(); }\n` : null;
}
