// The compiler in the worker that checks files: what follows a program compiles what it launches.

import type { Package } from "../../clang/compiler.ts";
import { type Compile, loadCompiler } from "../../clang/compiler.ts";
import { importPackage } from "../../clang/site.ts";
import { LabError } from "../../errors.ts";

/** The text does not compile: at a line of the file, or at none. */
export class BrokenError extends LabError {
  constructor(
    text: string,
    public line: number,
  ) {
    super(text);
  }
}

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
    const clang = await importPackage(
      folder,
      (done, total) => {
        const [have, all] = [done, total].map((bytes) => Math.round(bytes / 1e6));
        tell(`Loading the compiler: ${have} of ${all} MB, once a visit`);
      },
      true,
    );
    return { clang, compile: await loadCompiler(clang) };
  } catch (error) {
    loading = null;
    throw new LabError(`The compiler could not be loaded: ${error}`);
  }
}

/** PTX of a text, and what compiled it. Throws a BrokenError where it does not compile. */
export function compiledBy({ clang, compile }: Loaded, text: string) {
  const made = compile(text);
  if ("ptx" in made) {
    return { ptx: made.ptx, by: `Compiled by clang ${clang.version} in this page.` };
  }
  const [first] = made.errors;
  throw new BrokenError(first?.text ?? "The compiler does not say why.", first?.line ?? 0);
}
