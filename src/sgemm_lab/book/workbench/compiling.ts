// From a pasted file to compiled kernels: in the worker that checks files.

import { type Compile, loadCompiler } from "../../clang/compiler.ts";
import type { Package } from "../../clang/run.ts";
import { importPackage, loadingWords } from "../../clang/site.ts";
import { LabError } from "../../errors.ts";
import type { CompiledReference } from "../../external_cuda/compare.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import { devicePart } from "../../external_cuda/device_part.ts";
import { kernelDeclarations, lastName } from "../../external_cuda/kernels.ts";
import { type Kernel, resumed } from "../../external_cuda/launch.ts";
import { type Opened, openKernel } from "../../external_cuda/open_kernel.ts";
import { referencesOf, type Wrapped } from "../../external_cuda/references.ts";
import type { KernelReport } from "../../external_cuda/report.ts";
import { SourceError } from "../source_error.ts";

/** The compiler's package, and what it makes of a text. `compiled` throws a SourceError. */
export interface Compiler {
  clang: Package;
  compiled: (text: string) => { ptx: string; by: string };
}

let loading: Promise<Compiler> | null = null;

/**
 * The compiler, loaded once. Throws a LabError where that is not possible.
 * @param folder the address of its files
 * @param tell hears how much of it has come
 */
export function compilerFrom(folder: string, tell: (words: string) => void): Promise<Compiler> {
  loading ??= load(folder, tell);
  return loading;
}

async function load(folder: string, tell: (words: string) => void) {
  try {
    const hear = (done: number, total: number) =>
      tell(`${loadingWords(done, total)}, once a visit`);
    const clang = await importPackage(folder, hear, true);
    return compilerOf(clang, await loadCompiler(clang));
  } catch (error) {
    loading = null;
    throw new LabError(`The compiler could not be loaded: ${error}`);
  }
}

export const compilerOf = (clang: Package, compile: Compile): Compiler => ({
  clang,
  compiled(text) {
    const made = compile(text);
    if ("errors" in made) throw SourceError.of(made.errors);
    return { ptx: made.ptx, by: `Compiled by clang ${clang.version} in this page.` };
  },
});

/**
 * The text to compile. Functions without a mark are device code too, as NVRTC takes them; a template is
 * instantiated by a host function that names it.
 */
export function deviceText({ file, kernel, name }: Opened) {
  const [own] = kernel.declaration.names;
  const roots = kernelDeclarations(file).filter(({ names }) => names[0] === own);
  const [part] = devicePart(file, roots, () => true).files;
  const text = part.text.replace(/^[ \t]*#[ \t]*error\b.*/gm, ""); // its macros may be missing
  const instance = `inline void lab_instances() { auto kernel = &${name}; (void)kernel; }`;
  const marked = "#pragma clang force_cuda_host_device";
  const whole = `${marked} begin\n#line 1\n${text}\n${marked} end\n`;
  return kernel.template.length ? `${whole}${instance}\n` : whole;
}

/** The name that a kernel has in PTX: as it is for extern "C", else mangled. */
export function entryOf(ptx: string, name: string) {
  const own = lastName(name);
  const entries = [...ptx.matchAll(/\.entry\s+([\w$]+)/g)].map(([, entry]) => entry);
  const found = entries.find((entry) => entry === own || entry.includes(`${own.length}${own}`));
  if (!found) throw new LabError(`The compiler made no kernel “${name}” of this file.`);
  return found;
}

/** A compiled kernel of which the launch is not known. */
export const kernelOf = (opened: Opened, ptx: string, symbol: string): Kernel => ({
  ...{ opened, ptx, symbol, notes: [], templateAssumed: false },
  ...{ grid: [], block: [], sharedBytes: "0", args: null, loaded: new Map() },
});

/**
 * What else in the file computes what a kernel should, compiled; none if it has been judged.
 * @param launch of such a text, as far as it is known
 */
export function compiledReferences(
  kernel: Kernel,
  { comparable }: KernelReport,
  compiled: Compiler["compiled"],
  launch: (text: Wrapped, opened: Opened) => Partial<Kernel>,
): CompiledReference[] {
  if (!comparable) return [];
  const { fields } = resumed(kernel, comparable.launches[0][0]);
  return referencesOf(kernel.opened, fields).map((one) => ({
    ...one,
    compiled: one.texts.map((text) => {
      try {
        const file = new CudaFile([{ name: "The file", text: text.text }]);
        const opened = openKernel(file, text.entry);
        const { ptx } = compiled(deviceText(opened));
        const made = kernelOf(opened, ptx, entryOf(ptx, opened.kernel.name));
        return { ...made, ...launch(text, opened) };
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
        return error.message;
      }
    }),
  }));
}
