// Parts of vectors and structures: they are scalars side by side, so nothing has to be run.

import { fieldOf, type IrInstruction } from "../ir/instructions.ts";
import { type IrType, leaves } from "../ir/types.ts";
import type { IrValue } from "../ir/values.ts";
import { choose } from "./arithmetic.ts";
import type { Lowering } from "./lowering.ts";
import type { Operand } from "./machine.ts";

export function lowerExtractElement(lowering: Lowering, { operands, result, type }: IrInstruction) {
  const scalars = lowering.scalars(operands[0]);
  const index = operands[1];
  if (index.kind === "number") {
    lowering.set(result, [scalars[Number(index.bits)] ?? "0"]);
    return;
  }
  let chosen = scalars[0];
  for (let number = 1; number < scalars.length; number++) {
    chosen = choose(lowering, type, isAt(lowering, index, number), scalars[number], chosen);
  }
  lowering.set(result, [chosen]);
}

export function lowerInsertElement(lowering: Lowering, { operands, result, type }: IrInstruction) {
  const scalars = [...lowering.scalars(operands[0])];
  const added = lowering.scalar(operands[1]);
  const index = operands[2];
  if (index.kind === "number") {
    scalars[Number(index.bits)] = added;
    lowering.set(result, scalars);
    return;
  }
  const changed = scalars.map((scalar, number) =>
    choose(lowering, type.of[0], isAt(lowering, index, number), added, scalar),
  );
  lowering.set(result, changed);
}

function isAt(lowering: Lowering, index: IrValue, number: number): Operand {
  const operand = lowering.scalar(index);
  const bits = index.type.bits > 32 ? 64 : 32;
  return lowering.compute(`setp.eq.s${bits}`, "pred", operand, String(number));
}

export function lowerShuffle(lowering: Lowering, { operands, result }: IrInstruction) {
  const scalars = [...lowering.scalars(operands[0]), ...lowering.scalars(operands[1])];
  const mask = operands[2];
  const items = mask.kind === "list" ? mask.items : leaves(mask.type).map(() => null);
  lowering.set(
    result,
    items.map((item) => scalars[Number(item?.bits ?? 0n)]),
  );
}

export function lowerExtractValue(
  lowering: Lowering,
  { operands, result, indices }: IrInstruction,
) {
  const { first, count } = span(operands[0].type, indices);
  lowering.set(result, lowering.scalars(operands[0]).slice(first, first + count));
}

export function lowerInsertValue(lowering: Lowering, { operands, result, indices }: IrInstruction) {
  const scalars = [...lowering.scalars(operands[0])];
  const { first, count } = span(operands[0].type, indices);
  scalars.splice(first, count, ...lowering.scalars(operands[1]));
  lowering.set(result, scalars);
}

/** Which scalars of a structure a field is. */
function span(type: IrType, indices: number[]): { first: number; count: number } {
  let first = 0;
  let inner = type;
  for (const index of indices) {
    for (let before = 0; before < index; before++) first += leaves(fieldOf(inner, before)).length;
    inner = fieldOf(inner, index);
  }
  return { first, count: leaves(inner).length };
}
