// An index into an array as a variable and a constant, so that neighbours share one register.

import type { IrInstruction } from "../ir/instructions.ts";
import type { IrValue } from "../ir/values.ts";

/** `value`, extended with its sign ("s"), with zeros ("u") or not at all (""), plus `constant`. */
interface Peeled {
  value: IrValue;
  extension: "" | "s" | "u";
  constant: bigint;
}

export function peel(index: IrValue, definitions: Map<string, IrInstruction>): Peeled {
  let value = index;
  let extension: Peeled["extension"] = "";
  let mayBoth = false;
  const outer = definitions.get(index.name);
  if (outer && (outer.op === "sext" || outer.op === "zext") && outer.operands[0].type.bits === 32) {
    mayBoth = outer.flags.includes("nneg");
    extension = outer.op === "sext" ? "s" : "u";
    value = outer.operands[0];
  }
  let constant = 0n;
  for (;;) {
    const sum = definitions.get(value.name);
    const added = sum && value.kind === "local" ? addedConstant(sum) : null;
    if (!sum || added === null) break;
    const signed = extension === "s" || mayBoth;
    const disjoint = sum.op === "or";
    const exact =
      extension === "" ||
      disjoint ||
      (signed && sum.flags.includes("nsw")) ||
      (extension === "u" && sum.flags.includes("nuw"));
    if (!exact) break;
    // A sum that is not negative may have a part that is: then its sign must be kept.
    if (mayBoth && !disjoint && !sum.flags.includes("nuw")) extension = "s";
    if (extension === "s") mayBoth = mayBoth && !disjoint;
    value = sum.operands[0];
    constant += added;
  }
  if (constant === 0n) return { value: index, extension: "", constant };
  return { value, extension, constant };
}

function addedConstant({ op, flags, operands, type }: IrInstruction): bigint | null {
  const last = operands[1];
  if (type.kind !== "int" || last?.kind !== "number") return null;
  if (op === "add") return BigInt.asIntN(type.bits, last.bits);
  const small = BigInt.asIntN(type.bits, last.bits) >= 0n;
  return op === "or" && flags.includes("disjoint") && small ? last.bits : null;
}
