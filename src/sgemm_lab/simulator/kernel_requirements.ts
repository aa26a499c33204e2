// What has to be known of a kernel before it is launched.

import { LabError } from "../errors.ts";
import { TEXTURE } from "./image_operations.ts";
import { type Operand, type PtxKernel, parse } from "./ptx.ts";
import { sentence } from "./sentences.ts";
import { arrayOf } from "./variables.ts";

/** Describe a kernel as plain data. Throws as `parse` does, and where there is no such kernel. */
export function describe(ptx: string, entry: string) {
  const kernels = parse(ptx);
  const kernel = kernels.get(entry);
  if (!kernel) {
    throw new LabError(sentence("run.entry", { entry, names: [...kernels.keys()].join(", ") }));
  }
  const operands = kernel.instructions.flatMap((one) => one.operands);
  return {
    parameters: kernel.parameters,
    shared: kernel.shared.map(({ bytes }) => bytes),
    variables: kernel.variables.map((one) => {
      const { data } = arrayOf(one);
      const { name, isSet, constant } = one;
      return { name, start: new Uint8Array(data.buffer), isSet, constant };
    }),
    images: imageUses(kernel),
    specials: operands.flatMap((one) => (one.kind === "special" ? [one.name] : [])),
    mostThreads: kernel.mostThreads,
    target: kernel.target,
  };
}

/** The instructions that use textures and surfaces, and which parameter each uses. */
function imageUses({ instructions }: PtxKernel) {
  const parameters: Map<string, string> = new Map();
  for (const { opcode, operands } of instructions) {
    const [to, from] = operands;
    if (opcode.startsWith("ld.param") && from.kind === "address" && from.base.kind === "symbol") {
      parameters.set(registerOf(to), from.base.name);
    }
  }
  return instructions
    .filter(({ opcode }) => TEXTURE.test(opcode))
    .map(({ parts, operands }) => {
      const used = operands.map((one) => parameters.get(registerOf(one)));
      return { parameter: used.find(Boolean) ?? null, parts };
    });
}

/** A register's name, or that of the handle in `[%rd1, {%f1}]`. */
function registerOf(operand: Operand) {
  const first = operand.kind === "vector" ? operand.items[0] : operand;
  return first.kind === "register" ? first.name : "";
}
