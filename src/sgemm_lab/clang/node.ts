// The compiler's package in Node, loaded once.

import { setFlagsFromString } from "node:v8";
import type { Package } from "./run.ts";

/** WebAssembly by its first translation alone, or by any. */
const [FIRST_ONLY, ANY] = ["--liftoff-only", "--no-liftoff-only"];

/** npm has checked the package: what of it is never called need not be validated. */
const WHERE_CALLED = "--wasm-lazy-validation";

let loaded: Promise<Package> | null = null;

/** @param script the address of the package's script */
export function packageOf(script: string): Promise<Package> {
  loaded ??= load(script);
  return loaded;
}

async function load(script: string): Promise<Package> {
  const clang: Package = await import(script);
  setFlagsFromString(WHERE_CALLED);
  // Whether functions are translated better later is settled where a module is made.
  setFlagsFromString(FIRST_ONLY);
  try {
    await clang.runLLVM(null, {}, { fetchProgress: () => {} });
  } finally {
    setFlagsFromString(ANY);
  }
  return { ...clang, runLLVM: (...given) => quickly(() => clang.runLLVM(...given)) };
}

/**
 * Run some WebAssembly by its first translation: a better one of all that a compiler is made of takes
 * longer than what it compiles.
 */
function quickly<Made>(run: () => Made): Made {
  setFlagsFromString(FIRST_ONLY);
  try {
    return run();
  } finally {
    setFlagsFromString(ANY);
  }
}
