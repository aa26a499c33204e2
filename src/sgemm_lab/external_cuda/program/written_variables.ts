// Which variables of the device, and which of its arrays, a kernel may write.

import { registersRead, registersWritten } from "../../simulator/operands.ts";
import type { Instruction, PtxKernel } from "../../simulator/ptx.ts";

const written = new WeakMap<PtxKernel, Set<string>>();

/** The variables and parameters that a kernel may write: their addresses go to more than loads. */
export function writtenBy(kernel: PtxKernel) {
  const names = [...kernel.variables, ...kernel.parameters].map(({ name }) => name);
  const found = written.get(kernel) ?? new Set(names.filter((name) => mayWrite(kernel, name)));
  written.set(kernel, found);
  return found;
}

function mayWrite({ instructions, variables }: PtxKernel, variable: string) {
  const others = instructions.filter(({ parts }) => parts[0] !== "ld" || parts[1] === "param");
  const holding = new Set([variable]);
  const uses = (one: Instruction) =>
    registersRead(one).some(({ name }) => holding.has(name)) ||
    one.operands.some((operand) => {
      const base = operand.kind === "address" ? operand.base : operand;
      return base.kind === "symbol" && holding.has(base.name);
    });
  for (let count = 0; count < holding.size; ) {
    count = holding.size;
    for (const { name } of others.filter(uses).flatMap(registersWritten)) holding.add(name);
  }
  const isPointed = variables.some(({ addresses }) =>
    addresses.some(([, name]) => name === variable),
  );
  const stores = (one: Instruction) => one.parts[0] === "atom" || !registersWritten(one).length;
  return isPointed || others.some((one) => stores(one) && uses(one));
}
