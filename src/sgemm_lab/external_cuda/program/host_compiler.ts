// Host code of a CUDA file to a WebAssembly module: clang and its linker, with the C and C++
// libraries that the package has for WebAssembly.

import { standard } from "../../clang/compiler.ts";
import { type Package, run } from "../../clang/run.ts";
import type { CudaFile } from "../cuda_file.ts";
import { UnfollowedError } from "./faults.ts";
import HOST_HEADER from "./host_cuda.h";
import LIBRARY_HEADER from "./host_libraries.h";
import { EVERY_HEADER, hostTexts, LIBRARY_FILE, OF_CPP, plainName } from "./host_text.ts";

/** A host program: its module, and what its functions and its kernels are called. */
export interface HostProgram {
  module: WebAssembly.Module;
  /** names as a reader writes them, of names in the module; filled by `demangled` */
  names: Map<string, string>;
  bytes: Uint8Array<ArrayBuffer>;
  clang: Package;
  file: string;
}

const HEADER = "lab_cuda.h";
const [OBJECT, OUTPUT, BINARY] = ["host.o", "host.wasm", "lab_binary"];
const TRIPLE = "wasm32-unknown-wasip1";
const INCLUDES = [
  ...["/usr/include/wasm32-wasip1/c++/v1", "/usr/include/c++/v1", "/usr/include"],
  "/usr/include/wasm32-wasip1",
];
const LIBRARIES = "/usr/lib/wasm32-wasip1";
const COMPILE = [
  ...`clang -cc1 -triple ${TRIPLE} -aux-triple nvptx64-nvidia-cuda -O1`.split(" "),
  ..."-mrelocation-model static -target-cpu generic -fno-strict-return -w".split(" "),
  ..."-debug-info-kind=line-tables-only -dwarf-version=4".split(" "),
  ..."-fcxx-exceptions -fexceptions -fignore-exceptions -target-sdk-version=12.0".split(" "),
  ...`-fcuda-include-gpubinary ${BINARY} -fsanitize-coverage-type=3`.split(" "),
  ..."-fsanitize-coverage-trace-pc-guard -fsanitize-coverage-no-prune -Wno-register".split(" "),
  ..."-fgnuc-version=4.2.1 -Wno-narrowing -ferror-limit 3 -fno-finite-loops -fwrapv".split(" "),
  ..."-resource-dir /usr -isysroot /usr".split(" "),
  ...INCLUDES.flatMap((folder) => ["-internal-isystem", folder]),
  ..."-D_GNU_SOURCE -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_SIGNAL".split(" "),
  ..."-D_WASI_EMULATED_GETPID -D_WASI_EMULATED_MMAN".split(" "),
];
const LINK = [
  ...["wasm-ld", "-m", "wasm32", `-L${LIBRARIES}`, `${LIBRARIES}/crt1-command.o`, OBJECT],
  ...["-lc++", "-lc++abi", "-lwasi-emulated-process-clocks", "-lwasi-emulated-signal"],
  ...["-lwasi-emulated-getpid", "-lwasi-emulated-mman", "-lc-printscan-long-double", "-lc"],
  `/usr/lib/${TRIPLE}/libclang_rt.builtins.a`,
  ...["--allow-undefined", "--max-memory=1073741824", "-z", "stack-size=8388608", "--stack-first"],
  ...["--export=__heap_base", "--export-table", "-o", OUTPUT],
];
/** Tokens that a macro may stand for. */
const MOST_EXPANDED = 100_000;
/** With it headers include no others than they need: they are read in half the time. */
const LEAN = ["-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES"];
const [OLD, EVERYTHING, READ] = ["-std=c++17", "everything.h", "start.pch"];
/** CUDA's header and those of C++ as the compiler keeps them; null until they are read. */
let start: Uint8Array | null = null;
/** Errors that other headers of the libraries, or another `long`, do not change. */
const UNKNOWN = "use of undeclared|unknown type|no (?:member|template|type) named";
const OF_CUDA = "\\b(?:cuda|cu[a-z]+[A-Z]\\w*|thrust|cub|nvcuda)\\b";
const NOT_OF_HEADERS = new RegExp(`error: (?:'.*' file not found|(?:${UNKNOWN}).*${OF_CUDA})`);
const NOT_OF_WIDTHS = new RegExp(`error: (?:'.*' file not found|${UNKNOWN})`);
/** What is not here, by the words of a compiler that misses it. */
const NOT_HERE: [RegExp, string][] = [
  [/cudaGraph/i, "CUDA graphs"],
  [/cudaTexture|cudaArray|cudaResource|cudaSurface|cudaChannel|texture</i, "textures"],
  [/cublas/i, "cuBLAS"],
  [/thrust/i, "Thrust"],
  [/cufft|cudnn|cusparse|cusolver|nccl|cutlass|\bcub\b|\btorch|opencv/i, "a library"],
  [/curand(Generate|Create|Generator)/i, "cuRAND from the host"],
];
const ERROR = /^(.*?):(\d+):\d+: (?:fatal )?error: (.*)$/m;

/** Compile and link the host code of a file. Throws an UnfollowedError where that is not possible. */
export function compileHost(file: CudaFile, clang: Package): HostProgram {
  refuseEndlessMacros(file);
  const name = plainName(file.files[0].name);
  const made = objectOf(file, clang, name);
  const linked = run(clang, LINK, { [OBJECT]: made });
  const bytes = linked.files?.[OUTPUT];
  if (!bytes) throw new UnfollowedError(`it cannot be linked: ${linked.messages.trim()}`);
  return { module: new WebAssembly.Module(bytes), names: new Map(), bytes, clang, file: name };
}

/** Macros that double each other would keep the compiler busy without an end. */
function refuseEndlessMacros({ macros }: CudaFile) {
  const sizes = new Map<string, number>();
  const sizeOf = (name: string): number => {
    const known = sizes.get(name);
    if (known !== undefined) return known;
    sizes.set(name, 1);
    const parts = (macros.get(name)?.body ?? []).map(({ text }) =>
      macros.has(text) ? sizeOf(text) : 1,
    );
    const size = parts.reduce((sum, one) => sum + one, 0);
    sizes.set(name, size);
    return size;
  };
  if ([...macros.keys()].some((name) => sizeOf(name) > MOST_EXPANDED)) {
    throw new UnfollowedError("its macros double each other");
  }
}

/** With `long` of 8 bytes; where that does not fit the libraries, of 4. */
function objectOf(file: CudaFile, clang: Package, name: string) {
  const { made: quick, messages: first } = compiled(file, clang, name, true, LEAN);
  if (quick) return quick;
  if (NOT_OF_HEADERS.test(first)) throw new UnfollowedError(reason(first, name));
  const { made, messages } = compiled(file, clang, name, true);
  if (made) return made;
  if (NOT_OF_WIDTHS.test(messages)) throw new UnfollowedError(reason(messages, name));
  const { made: narrow } = compiled(file, clang, name, false);
  if (!narrow) throw new UnfollowedError(reason(messages, name));
  return narrow;
}

function compiled(
  file: CudaFile,
  clang: Package,
  name: string,
  isWide: boolean,
  options: string[] = [],
) {
  const macros = Object.entries(file.defines).flatMap(([own, value]) => ["-D", `${own}=${value}`]);
  const own = hostTexts(file, isWide);
  const text = Object.values(own).join("\n");
  const language = standard(text);
  const isUsual = options === LEAN && !macros.length && language === OLD;
  const read = isUsual && OF_CPP.test(text) ? start : null;
  const begun = read ? ["-include-pch", READ] : ["-include", HEADER];
  const args = [language, ...options, ...macros, "-emit-obj", ...begun, "-x", "cuda"];
  return outputOf(clang, args, name, { ...own, ...(read && { [READ]: read }) });
}

/**
 * Let the compiler read once what most files include. What then does not compile does without.
 * @param kept what is made of a key, made before or now
 */
export function readStart(
  clang: Package,
  kept = (_key: string, make: () => Uint8Array | null) => make(),
) {
  const args = [OLD, ...LEAN, "-emit-pch", "-include", HEADER, "-x", "cuda-header"];
  const key = [clang.version, ...COMPILE, ...args, EVERY_HEADER, HOST_HEADER].join("\n");
  start ??= kept(key, () => outputOf(clang, args, EVERYTHING, {}).made);
}

/** What the compiler makes of a file, and what it says. */
function outputOf(
  clang: Package,
  args: string[],
  name: string,
  texts: Record<string, string | Uint8Array>,
) {
  const named = ["-main-file-name", name, name, "-o", "-"];
  const given = {
    ...{ ...texts, [HEADER]: HOST_HEADER, [LIBRARY_FILE]: LIBRARY_HEADER },
    ...{ [EVERYTHING]: EVERY_HEADER, [BINARY]: "lab" },
  };
  // It comes by stdout: written to a file of the package, every few bytes copy it whole.
  const { files, output, messages } = run(clang, [...COMPILE, ...args, ...named], given);
  return { made: files && output, messages };
}

/** The first error, as a reason. */
function reason(messages: string, name: string) {
  const [, file, line, text] = ERROR.exec(messages) ?? [];
  if (!text) return `its host code cannot be compiled: ${messages.trim().slice(-200)}`;
  const missing = /^'(.+)' file not found$/.exec(text)?.[1];
  const what = NOT_HERE.find(([words]) => words.test(text))?.[1];
  if (what)
    return `${missing ? `it includes ${missing}: ` : `line ${line} needs `}${what}, which is not followed`;
  if (missing) return `it includes ${missing}`;
  const place = file.replace(/^\.\//, "") === name ? `line ${line}: ` : "";
  return `${place}${text}`;
}

/** The lines that a program of the package prints. */
function printed(clang: Package, args: string[], files: Record<string, Uint8Array> = {}) {
  return new TextDecoder()
    .decode(run(clang, args, files).output)
    .trim()
    .split("\n");
}

/** What names of the module are in C++: "void tiled<16>(float*, int)". */
export function demangled(program: HostProgram, names: string[]) {
  const plain = names.map((name) => name.replace(/(\.|__)(static|intern)__.*$/, ""));
  return printed(program.clang, ["c++filt", ...plain]);
}

/** The line of the file in which the module was, by the stack of an error; 0 if unknown. */
export function lineOf(program: HostProgram, stack: string) {
  const code = codeStart(program.bytes);
  const places = [...stack.matchAll(/wasm-function\[\d+\]:(0x[\da-f]+)/g)].map(([, at]) => at);
  const addresses = places.slice(0, 8).map((at) => `0x${(Number(at) - code).toString(16)}`);
  if (!addresses.length) return 0;
  const args = ["symbolizer", `--obj=${OUTPUT}`, ...addresses];
  const found = printed(program.clang, args, { [OUTPUT]: program.bytes }).find((one) =>
    one.replace(/^\/+/, "").startsWith(`${program.file}:`),
  );
  return Number(/:(\d+):\d+$/.exec(found ?? "")?.[1] ?? 0);
}

const CODE_SECTION = 10;

/** Where the contents of the code section begin: debug information counts from there. */
function codeStart(bytes: Uint8Array) {
  for (let at = 8; at < bytes.length; ) {
    const section = bytes[at++];
    let [size, shift] = [0, 0];
    for (let more = true; more; shift += 7) {
      const byte = bytes[at++];
      size |= (byte & 0x7f) << shift;
      more = byte >= 0x80;
    }
    if (section === CODE_SECTION) return at;
    at += size;
  }
  return 0;
}
