// The compiler's package in Node, loaded once.

import { setFlagsFromString } from "node:v8";
import type { Package } from "./run.ts";

/** WebAssembly is translated once: a better translation of a compiler takes longer than what it compiles. */
const ONCE = ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering"];
const AGAIN = ["--wasm-tier-up", "--wasm-dynamic-tiering"];

/** npm has checked the package: what of it is never called need not be validated. */
const WHERE_CALLED = "--wasm-lazy-validation";

/** A file of the package. Node's own Response copies each twice, in pieces. */
class Whole {
  body;

  constructor(public bytes: Uint8Array) {
    this.body = { pipeThrough: () => bytes };
  }

  arrayBuffer() {
    return new Uint8Array(this.bytes).buffer;
  }
}

let loaded: Promise<Package> | null = null;

/** @param script the address of the package's script */
export function packageOf(script: string): Promise<Package> {
  loaded ??= load(script);
  return loaded;
}

async function load(script: string): Promise<Package> {
  const clang: Package = await import(script);
  setFlagsFromString(WHERE_CALLED);
  const [{ Response }, { compileStreaming }] = [globalThis, WebAssembly];
  Object.assign(globalThis, { Response: Whole });
  Object.assign(WebAssembly, { compileStreaming: undefined });
  await clang.runLLVM(null, {}, { fetchProgress: () => {} });
  Object.assign(globalThis, { Response });
  Object.assign(WebAssembly, { compileStreaming });
  return { ...clang, runLLVM: (...given) => translatedOnce(() => clang.runLLVM(...given)) };
}

function translatedOnce<Made>(run: () => Made): Made {
  ONCE.forEach(setFlagsFromString);
  try {
    return run();
  } finally {
    AGAIN.forEach(setFlagsFromString);
  }
}
