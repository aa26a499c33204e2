// The compiler in the worker that checks files: what follows a program compiles what it launches.

import { type Compile, loadCompiler } from "../../clang/compiler.ts";
import type { Package } from "../../clang/run.ts";
import { importPackage, loadingWords } from "../../clang/site.ts";
import { LabError } from "../../errors.ts";
import { SourceError } from "../source_error.ts";

interface Loaded {
  clang: Package;
  compile: Compile;
}

let loading: Promise<Loaded> | null = null;

/**
 * The compiler, loaded once. Throws a LabError where that is not possible.
 * @param folder the address of its files
 * @param tell hears how much of it has come
 */
export function compilerFrom(folder: string, tell: (words: string) => void): Promise<Loaded> {
  loading ??= load(folder, tell);
  return loading;
}

async function load(folder: string, tell: (words: string) => void): Promise<Loaded> {
  try {
    const hear = (done: number, total: number) =>
      tell(`${loadingWords(done, total)}, once a visit`);
    const clang = await importPackage(folder, hear, true);
    return { clang, compile: await loadCompiler(clang) };
  } catch (error) {
    loading = null;
    throw new LabError(`The compiler could not be loaded: ${error}`);
  }
}

/** PTX of a text, and what compiled it. Throws a SourceError where it does not compile. */
export function compiledBy({ clang, compile }: Loaded, text: string) {
  const made = compile(text);
  if ("errors" in made) throw SourceError.of(made.errors);
  return { ptx: made.ptx, by: `Compiled by clang ${clang.version} in this page.` };
}
