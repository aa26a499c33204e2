// References in a file: a function or a kernel that computes what another kernel should, as
// external_cuda/references.py finds them.

import WORDS from "../../external_cuda/reference_words.json";
import type { CudaFile, KernelSource } from "./cuda_file.ts";
import { readCudaFile } from "./cuda_file.ts";

export const WRAPPER = "lab_reference";

export interface Reference {
  function: KernelSource;
  isKernel: boolean;
  /** for each of its parameters the place of the kernel's that it gets */
  places: number[];
}

/** The reference for a kernel whose name says most; null where the file has none. */
export function referenceOf(file: CudaFile, kernel: KernelSource): Reference | null {
  const wanted = meaning(kernel.name);
  const own = isReference(kernel.name) ? [] : file.kernels;
  const found = [...file.functions, ...own].flatMap((one) => {
    const places = placesOf(one, kernel);
    const fits = one.name !== kernel.name && isReference(one.name) && !one.template.length;
    const says = meaning(one.name).every((word) => wanted.includes(word));
    return fits && says && places
      ? [{ function: one, isKernel: file.kernels.includes(one), places }]
      : [];
  });
  const rank = (one: Reference) => Number(one.isKernel) * 100 - meaning(one.function.name).length;
  return found.sort((one, other) => rank(one) - rank(other))[0] ?? null;
}

/** The text to compile: of a function of the host, with a kernel that calls it. */
export function referencePart(file: CudaFile, { function: one, isKernel }: Reference) {
  if (isKernel) return file.devicePart(one.name);
  const parameters = one.parameters.map(
    ({ name, type, pointer, constant }) =>
      `${constant ? "const " : ""}${type}${pointer ? "*" : ""} ${name}`,
  );
  const call = `${one.name}(${one.parameters.map(({ name }) => name).join(", ")});`;
  const text = file.text.replace(one.text, () => `__device__ ${one.text}`);
  const wrapper = `\n__global__ void ${WRAPPER}(${parameters.join(", ")}) { ${call} }\n`;
  return readCudaFile(text + wrapper).devicePart(WRAPPER);
}

function wordsOf(name: string) {
  const words = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  return words.map((word) => word.toLowerCase());
}

const isReference = (name: string) => wordsOf(name).some((one) => WORDS.references.includes(one));

const meaning = (name: string) =>
  wordsOf(name).filter(
    (one) => !WORDS.references.includes(one) && !WORDS.meaningless.includes(one),
  );

function placesOf({ parameters }: KernelSource, kernel: KernelSource) {
  if (!parameters.some(({ pointer, constant }) => pointer && !constant)) return null;
  const theirs = kernel.parameters;
  let places = parameters.map(({ name }) => theirs.findIndex((one) => one.name === name));
  if (places.includes(-1)) {
    if (parameters.length !== theirs.length) return null;
    places = parameters.map((_, at) => at);
  }
  const same = parameters.every(({ pointer, type }, at) => {
    const other = theirs[places[at]];
    return other?.pointer === pointer && (!pointer || other.type === type);
  });
  return same ? places : null;
}
