// From a source to PTX. The book's own kernels come with theirs.

import type { Compiled as ClangCompiled } from "../../clang/compiler.ts";
import { loadingWords } from "../../clang/site.ts";
import { LabError } from "../../errors.ts";
import { type Kernel, linesOf, parseKernel, withConstants } from "../../kernel.ts";
import { SourceError } from "../source_error.ts";
import { Background, folder, script } from "./worker.ts";

const SMALL = "(pointer: coarse) and (max-width: 600px)";

/** PTX, and what compiled it. */
export interface Compiled {
  ptx: string;
  by: string;
}

const compiler = new Background(async () => window.labCompiler?.script ?? "");

/**
 * What an edit's compiler would be, in megabytes, while it has still to be loaded; else 0.
 */
export async function megabytesToLoad() {
  await script("panel-compiler.js");
  return compiler.started || missing() ? 0 : (window.labCompiler?.megabytes ?? 0);
}

/** End what compiles. */
export const stopCompiling = () => compiler.stop();

/**
 * The PTX that the book has of a source; null where it has none.
 * @param name of the book's kernel
 * @param book its source
 */
export async function shipped(
  name: string,
  book: string,
  source: string,
): Promise<Compiled | null> {
  const [base] = name.split(":");
  await script(`panel-ptx-${base}.js`);
  const kernel = parseKernel(name, book);
  for (const [called, ptx] of Object.entries(window.labPtx[base])) {
    // A name with constants stands for these alone: they are in the source that it comes with.
    if (name !== base && name !== called) continue;
    const settings = name === base ? called.split(":")[1] : undefined;
    if (sameCode(withSettings(kernel, settings).source, source)) {
      return { ptx, by: "Compiled by NVRTC when the book was made." };
    }
  }
  return null;
}

/**
 * What the compiler makes of a source. Throws a LabError where there is no compiler, and a
 * SourceError where the source does not compile.
 * @param tell hears how much of the compiler has come
 */
export async function compiled(source: string, tell: (words: string) => void): Promise<Compiled> {
  const request = { source, folder: await compilerFolder() };
  const answer = await compiler.ask<{ compiled: ClangCompiled; version: string }>(
    request,
    ({ done, total }) => tell(loadingWords(done, total)),
  );
  if ("errors" in answer.compiled) throw SourceError.of(answer.compiled.errors);
  return { ptx: answer.compiled.ptx, by: `Compiled by clang ${answer.version} in this page.` };
}

/** Where the compiler lies. Throws a LabError where nothing can be compiled here. */
export async function compilerFolder() {
  await script("panel-compiler.js");
  const lacks = missing();
  if (lacks) throw new LabError(lacks);
  return new URL(window.labCompiler?.folder ?? "", folder()).href;
}

/** Why nothing can be compiled here, in a sentence; "" where it can. */
export function missing() {
  const instead =
    "So this page runs the book's own lines, and the constants that the book measured. " +
    "Yours can be run in the chapter's notebook.";
  if (location.protocol === "file:") {
    return `A page that is opened as a file cannot load the compiler. ${instead}`;
  }
  if (!window.labCompiler) return `This copy of the book has no compiler. ${instead}`;
  if (typeof WebAssembly !== "object" || matchMedia(SMALL).matches) {
    return `The compiler needs more memory than this device gives to a page. ${instead}`;
  }
  return "";
}

/** @param settings such as "BM=64,BN=64" */
function withSettings(kernel: Kernel, settings: string | undefined) {
  const pairs = (settings ?? "").split(",").filter(Boolean);
  const values = pairs.map((pair) => pair.split("=")).map(([name, value]) => [name, Number(value)]);
  return withConstants(kernel, Object.fromEntries(values));
}

/**
 * Whether two sources are the same line by line, but for comments and spaces: then PTX of one tells
 * the lines of the other too.
 */
export function sameCode(one: string, other: string) {
  const [here, there] = [one, other].map((text) => linesOf(text.trimEnd()).map(bare));
  return here.length === there.length && here.every((line, i) => line === there[i]);
}

const bare = (line: string) =>
  line
    .replace(/\/\/.*$/, "")
    .replace(/\s+/g, " ")
    .trim();
