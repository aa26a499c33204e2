// clang in the page: CUDA C++ to PTX for the simulator.
//
// clang is the npm package @yowasp/clang: WebAssembly, without a backend for NVIDIA's GPUs but with
// the whole frontend and optimiser. It makes LLVM IR; `translate` makes PTX of that. Loading is
// asynchronous, compiling is not.

import CUDA_HEADER from "./cuda.h";
import { readDiagnostics, type SourceError } from "./diagnostics.ts";
import { IrError } from "./ir/errors.ts";
import { type Package, run } from "./run.ts";
import { clusterOf, translate } from "./translate.ts";

/**
 * `defines` are macros by name; `target` is such as "sm_90"; `file` is what places are called by.
 */
interface Options {
  defines?: Record<string, string | number>;
  target?: string;
  file?: string;
}

/** The PTX, or what is wrong with the source; `line` is 1-based, 0 where no line is to blame. */
export type Compiled = { ptx: string } | { errors: SourceError[] };

export type Compile = (source: string, options?: Options) => Compiled;

const HEADER_FILE = "cuda.h";

const LANGUAGE = [
  ["-triple", "nvptx64-nvidia-cuda", "-fcuda-is-device", "-x", "cuda"],
  ["-nostdsysteminc", "-fdeclspec", "-include", HEADER_FILE, "-w", "-ferror-limit", "20"],
].flat();

/** Loops are unrolled about as far as by NVRTC and ptxas together, all functions are inlined, and
 * what calculates with single floats stays so. C++ lets a compiler take for granted that a loop
 * ends; here one that does not stays a loop, so that the reader hears of it. */
const OPTIMISATION = [
  ["-O2", "-ffp-contract=fast", "-debug-info-kind=line-tables-only", "-disable-llvm-verifier"],
  ["-fno-jump-tables", "-fno-finite-loops"],
  ["-mllvm", "-unroll-threshold=2000", "-mllvm", "-inline-threshold=100000"],
  ["-mllvm", "-jump-threading-threshold=0", "-mllvm", "-disable-vector-combine"],
].flat();

/**
 * Load the package's files, and return what compiles with them.
 * @param clang the package's module
 * @param progress hears of bytes that have come
 */
export async function loadCompiler(
  clang: Package,
  progress?: (done: number, total: number) => void,
): Promise<Compile> {
  // Without arguments nothing is run: the files are fetched and compiled.
  await clang.runLLVM(
    null,
    {},
    { fetchProgress: ({ doneLength, totalLength }) => progress?.(doneLength, totalLength) },
  );
  return (source, options = {}) => compile(clang, source, options);
}

function compile(
  clang: Package,
  source: string,
  { defines = {}, target = "sm_90", file = "kernel.cu" }: Options,
): Compiled {
  const macros = Object.entries(defines).flatMap(([name, value]) => ["-D", `${name}=${value}`]);
  const processor = ["-target-cpu", target, "-target-feature", feature(target)];
  const language = ["clang", "-cc1", ...LANGUAGE, standard(source)];
  const args = [...language, ...processor, ...OPTIMISATION, ...macros];
  const output = ["-emit-llvm", "-o", "-", file];
  const files = { [file]: source, [HEADER_FILE]: CUDA_HEADER };
  // The IR comes by stdout: written to a file of the package, every few bytes copy it whole.
  const { output: ir, messages, files: done } = run(clang, [...args, ...output], files);
  if (!done) return { errors: readDiagnostics(messages, file) };
  try {
    return {
      ptx: translate(new TextDecoder().decode(ir), { file, target, cluster: clusterOf(source) }),
    };
  } catch (error) {
    if (!(error instanceof IrError)) throw error;
    return { errors: [{ line: error.line, text: error.message }] };
  }
}

/** The option for the version of C++ that a file is written in: 20 only where it says so. */
export function standard(source: string): string {
  return /\bconcept\s+\w+\s*=|\brequires\s+[\w:]+\s*</.test(source) ? "-std=c++20" : "-std=c++17";
}

/** The version of PTX whose instructions clang knows for a GPU. */
function feature(target: string): string {
  const number = Number.parseInt(target.slice("sm_".length), 10);
  return number >= 100 ? "+ptx87" : "+ptx80";
}
