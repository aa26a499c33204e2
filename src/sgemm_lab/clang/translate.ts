// LLVM IR, as clang writes it for nvptx64, to the PTX that the simulator reads.
//
// Registers stay virtual and every load and store of the IR is one of the PTX, as NVRTC leaves
// them for ptxas. Lines come from the debug information.

import { IrError } from "./ir/errors.ts";
import { readModule } from "./ir/module.ts";
import { lowerKernel } from "./ptx/kernel.ts";
import { Register } from "./ptx/machine.ts";
import { withoutPhis } from "./ptx/phis.ts";
import { kernelText } from "./ptx/text.ts";

/** Where a source is called from, what it is compiled for, and the blocks of its clusters. */
interface Options {
  file: string;
  target: string;
  cluster: number;
}

/** The blocks of a cluster that a source declares: clang does not know its attribute. */
export function clusterOf(source: string) {
  const term = /^[^/\n]*\b__cluster_dims__\(\s*(\w+)/m.exec(source)?.[1] ?? "1";
  const constant = new RegExp(`^constexpr int ${term} = (\\d+);`, "m").exec(source)?.[1];
  return Number(constant ?? term);
}

/**
 * The PTX of all kernels of a module. `file` is what places in the source are called by.
 *
 * Throws IrError, with the line, where the IR has something that is not known here.
 */
export function translate(ir: string, { file, target, cluster }: Options): string {
  const module = readModule(ir);
  if (!module.kernels.length) {
    throw new IrError("The source has no kernel. It needs one: __global__ void name(…).");
  }
  const outside = new Set();
  const texts = [];
  for (const kernel of module.kernels) {
    const { blocks, lowering } = lowerKernel(module, kernel);
    const plain = withoutPhis(blocks, (of) => new Register(of.type, lowering.count++));
    const { outside: arrays, text } = kernelText(module, kernel, plain, lowering, cluster);
    for (const array of arrays) outside.add(array);
    texts.push(text.join("\n"));
  }
  const head = [".version 8.0", `.target ${target}`, ".address_size 64", ""];
  return `${[...head, ...outside, "", ...texts, "", `.file 1 "${file}"`].join("\n")}\n`;
}
