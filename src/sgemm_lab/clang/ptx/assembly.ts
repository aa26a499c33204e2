// Inline PTX: its text stays as it is, with the kernel's registers in it.

import type { IrInstruction } from "../ir/instructions.ts";
import { leaves } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";
import { literal, registerType } from "./literals.ts";
import type { Lowering } from "./lowering.ts";
import { type Operand, Register } from "./machine.ts";

export function lowerAssembly(
  lowering: Lowering,
  { asm, type, operands, result, flags }: IrInstruction,
) {
  if (!asm) return;
  const results = type.kind === "struct" ? type.of : leaves(type);
  const outputs = results.map((each) => lowering.register(registerType(each)));
  const all: Operand[] = [...outputs];
  const inputs: Operand[] = [];
  const constraints = asm.constraints.split(",").filter((one) => one && !one.startsWith("~"));
  const given = constraints.filter((one) => !one.startsWith("="));
  for (const [number, constraint] of given.entries()) {
    const value = operands[number];
    if (!value) lowering.refuse("This line's inline PTX has an operand that is not known here.");
    const input = operandFor(lowering, value, constraint);
    if (/^\d+$/.test(constraint)) {
      // The operand is one of the results as well: it starts with this value.
      const to = outputs[Number(constraint)];
      const opcode = to.type === "pred" ? "mov.pred" : `mov.b${to.type.slice(1)}`;
      lowering.write([`${opcode} `, to, ", ", input], [to], [input]);
      inputs.push(to);
    } else {
      inputs.push(input);
    }
    all.push(input);
  }
  const parts = filled(lowering, asm.text, all);
  const pure =
    !flags.includes("sideeffect") && outputs.length > 0 && !asm.constraints.includes("~{memory}");
  lowering.write(parts, outputs, inputs, { pure, changes: pure ? "" : "any" });
  if (result) lowering.set(result, outputs);
}

function operandFor(lowering: Lowering, value: IrValue, constraint: string): Operand {
  if (constraint === "n" || constraint === "i") {
    if (value.kind === "number") return literal(value)[0];
    return lowering.refuse('An "n" operand of this line\'s inline PTX is not a constant.');
  }
  const scalar =
    value.type.kind === "ptr" ? lowering.pointer(value, "generic") : lowering.scalar(value);
  return lowering.inRegister(scalar, value.type);
}

/** The text with operands for `$0` and `${0:…}`; `$$` is a dollar sign. */
function filled(lowering: Lowering, text: string, all: Operand[]): Operand[] {
  const parts: Operand[] = [];
  const pieces = text.trim().split(/(\$\$|\$\d+|\$\{\d+(?::\w+)?\})/);
  for (const piece of pieces) {
    const number = /^\$\{?(\d+)/.exec(piece);
    if (piece === "$$") parts.push("$");
    else if (number) parts.push(all[Number(number[1])] ?? lowering.refuse("Unknown operand."));
    else parts.push(piece);
  }
  const last = parts.at(-1);
  // Every other instruction gets its semicolon when it is written out.
  if (typeof last === "string") parts[parts.length - 1] = last.trimEnd().replace(/;$/, "");
  if (parts[0] instanceof Register) parts.unshift("");
  return parts;
}
