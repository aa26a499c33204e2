// clang in the page: CUDA C++ to PTX for the simulator.
//
// clang is the npm package @yowasp/clang: WebAssembly, without a backend for NVIDIA's GPUs but with
// the whole frontend and optimiser. It makes LLVM IR; `translate` makes PTX of that. Loading is
// asynchronous, compiling is not.

import { readDiagnostics } from "./diagnostics.js";
import { cudaHeader } from "./header.js";
import { IrError } from "./ir/errors.js";
import { translate } from "./translate.js";

/** What the package gives, as far as it is used here.
 *
 * @typedef {{
 *   runLLVM: (
 *     args?: string[] | null,
 *     files?: Record<string, string>,
 *     options?: {
 *       synchronously?: boolean,
 *       stdout?: (bytes: Uint8Array | null) => void,
 *       stderr?: (bytes: Uint8Array | null) => void,
 *       fetchProgress?: (state: { totalLength: number, doneLength: number }) => void,
 *     },
 *   ) => unknown,
 *   Exit: new () => Error,
 *   version: string,
 * }} Package */

/** @typedef {import("./diagnostics.js").SourceError} SourceError */

/** `defines` are macros by name; `target` is such as "sm_90"; `file` is what places are called by.
 * @typedef {{ defines?: Record<string, string | number>, target?: string, file?: string }} Options */

/** The PTX, or what is wrong with the source; `line` is 1-based, 0 where no line is to blame.
 * @typedef {{ ptx: string } | { errors: SourceError[] }} Compiled */

/** @typedef {(source: string, options?: Options) => Compiled} Compile */

const HEADER_FILE = "cuda.h";

const LANGUAGE = [
  ["-triple", "nvptx64-nvidia-cuda", "-fcuda-is-device", "-x", "cuda", "-std=c++17"],
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

/** Load the package's files, and return what compiles with them.
 *
 * @param {Package} clang the package's module
 * @param {(done: number, total: number) => void} [progress] hears of bytes that have come
 * @returns {Promise<Compile>}
 */
export async function loadCompiler(clang, progress) {
  // Without arguments nothing is run: the files are fetched and compiled.
  await clang.runLLVM(
    null,
    {},
    { fetchProgress: ({ doneLength, totalLength }) => progress?.(doneLength, totalLength) },
  );
  const header = cudaHeader();
  return (source, options = {}) => compile(clang, header, source, options);
}

/** @type {(clang: Package, header: string, source: string, options: Options) => Compiled} */
function compile(clang, header, source, { defines = {}, target = "sm_90", file = "kernel.cu" }) {
  const macros = Object.entries(defines).flatMap(([name, value]) => ["-D", `${name}=${value}`]);
  const processor = ["-target-cpu", target, "-target-feature", feature(target)];
  const args = ["clang", "-cc1", ...LANGUAGE, ...processor, ...OPTIMISATION, ...macros];
  const output = ["-emit-llvm", "-o", "-", file];
  const files = { [file]: source, [HEADER_FILE]: header };
  const { ir, messages, failed } = run(clang, [...args, ...output], files);
  if (failed) return { errors: readDiagnostics(messages, file) };
  try {
    return { ptx: translate(ir, { file, target }) };
  } catch (error) {
    if (!(error instanceof IrError)) throw error;
    return { errors: [{ line: error.line, text: error.message }] };
  }
}

/** The version of PTX whose instructions clang knows for a GPU.
 * @type {(target: string) => string} */
function feature(target) {
  const number = Number.parseInt(target.slice("sm_".length), 10);
  return number >= 100 ? "+ptx87" : "+ptx80";
}

/** @type {(clang: Package, args: string[], files: Record<string, string>) => { ir: string, messages: string, failed: boolean }} */
function run(clang, args, files) {
  const ir = new Text();
  const messages = new Text();
  let failed = false;
  try {
    // The IR comes by stdout: written to a file of the package, every few bytes copy it whole.
    clang.runLLVM(args, files, {
      synchronously: true,
      stdout: (bytes) => ir.add(bytes),
      stderr: (bytes) => messages.add(bytes),
    });
  } catch (error) {
    failed = true;
    if (!(error instanceof clang.Exit)) messages.add(new TextEncoder().encode(`\n${error}`));
  }
  return { ir: ir.read(), messages: messages.read(), failed };
}

const FIRST_BYTES = 1 << 20;

/** A text that comes in many small pieces. */
class Text {
  constructor() {
    this.bytes = new Uint8Array(FIRST_BYTES);
    this.length = 0;
  }

  /** @type {(piece: Uint8Array | null) => void} */
  add(piece) {
    if (!piece) return;
    if (this.length + piece.length > this.bytes.length) {
      const larger = new Uint8Array(2 * (this.length + piece.length));
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    this.bytes.set(piece, this.length);
    this.length += piece.length;
  }

  read() {
    return new TextDecoder().decode(this.bytes.subarray(0, this.length));
  }
}
