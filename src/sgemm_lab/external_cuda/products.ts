// The product that a kernel should compute, and which elements of C differ from it.

import { productOf } from "../checking/judge.ts";
import { FLOAT } from "./elements.ts";
import { type Arrays, elementIn, factorsOf, numbersOf, type Prepared, valuesOf } from "./launch.ts";
import { pack, unpack } from "./packing.ts";

/** alpha·A·B + beta·C, from what the launch started with. */
export function productIn(prepared: Prepared, arrays: Arrays, factors = factorsOf(prepared)) {
  const [alpha, beta] = factors;
  const [a, b] = ["A", "B"].map((name) => {
    const { sides, numbers } = valuesOf(arrays, name);
    return { rows: sides[0], columns: sides[1], values: numbers };
  });
  const c = numbersOf(arrays, "C");
  const found = productOf(a, b).values as Float64Array;
  return found.map((one, at) => alpha * one + (beta ? beta * c[at] : 0));
}

/** Which elements of C differ from the right numbers, as C can hold them. */
export function wrongElements(prepared: Prepared, got: Float64Array, right: Float64Array) {
  const c = prepared.given.find(({ name }) => name === "C");
  const element = c ? elementIn(prepared, c) : FLOAT;
  const held = unpack(element, pack(element, right));
  return Uint8Array.from(got, (one, at) => Number(one !== held[at]));
}
