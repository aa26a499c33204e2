// Constants as PTX writes them, and which register holds which type.

import { IrError } from "../ir/errors.ts";
import { type IrType, leaves } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";
import type { RegisterType } from "./machine.ts";

/** The register for a scalar. A narrow integer stands in 32 bits, extended with zeros. */
export function registerType(type: IrType): RegisterType {
  if (type.kind === "ptr") return "b64";
  if (type.kind === "float" && type.bits === 32) return "f32";
  if (type.kind === "float" && type.bits === 64) return "f64";
  if (type.kind === "int" && type.bits === 1) return "pred";
  if (type.kind === "int" && type.bits <= 32) return "b32";
  if (type.kind === "int" && type.bits <= 64) return "b64";
  const name =
    type.kind === "int" ? `integers of ${type.bits} bits` : `values of ${type.bits} bits`;
  throw new IrError(`The compiler makes ${name} of this line, which are not known here.`);
}

/** A number, or zeros for what has no value, as operands. */
export function literal(value: IrValue): string[] {
  if (value.kind === "undefined") return leaves(value.type).map((leaf) => bitsAs(leaf, 0n));
  return [bitsAs(value.type, value.bits)];
}

function bitsAs(type: IrType, bits: bigint): string {
  if (type.kind === "float") {
    const digits = bits
      .toString(16)
      .toUpperCase()
      .padStart(type.bits / 4, "0");
    return `${type.bits === 64 ? "0d" : "0f"}${digits}`;
  }
  // Only whole registers have a sign: narrow integers are extended with zeros.
  const signed = type.bits === 32 || type.bits === 64;
  return (signed ? BigInt.asIntN(type.bits, bits) : bits).toString();
}
