// The compiler's package in Node, loaded once.

import { setFlagsFromString } from "node:v8";
import type { Package } from "./compiler.ts";

let loaded: Promise<Package> | null = null;

/** @param script the address of the package's script */
export function packageOf(script: string): Promise<Package> {
  loaded ??= load(script);
  return loaded;
}

async function load(script: string): Promise<Package> {
  const clang: Package = await import(script);
  await clang.runLLVM(null, {}, { fetchProgress: () => {} });
  return { ...clang, runLLVM: (...given) => quickly(() => clang.runLLVM(...given)) };
}

/**
 * Run some WebAssembly by its first translation: a better one of all that a compiler is made of takes
 * longer than what it compiles.
 */
function quickly<Made>(run: () => Made): Made {
  setFlagsFromString("--liftoff-only");
  try {
    return run();
  } finally {
    setFlagsFromString("--no-liftoff-only");
  }
}
