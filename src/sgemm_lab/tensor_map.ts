// Tensor maps, as in tensor_map.py.

import { FLOAT_BYTES } from "./hardware.py";
import { ALIGNMENT, ELEMENT_BYTES, LARGEST_BOX, SWIZZLES } from "./tensor_map.py";

/** A row-major matrix in global memory, and the box of it that one copy brings. */
export interface TensorMap {
  name: string;
  dtype: keyof typeof ELEMENT_BYTES;
  matrix: "A" | "B" | "C" | null;
  offset: number | null;
  rows: number;
  columns: number;
  pitchBytes: number;
  boxRows: number;
  boxColumns: number;
  swizzle: number;
}

/** Why the driver would refuse a map, as a key of the messages. */
export function faultOf(map: TensorMap) {
  const bytes = ELEMENT_BYTES[map.dtype];
  const row = map.boxColumns * bytes;
  if (map.pitchBytes % ALIGNMENT || map.pitchBytes < map.columns * bytes) return "pitch";
  const fitting = [map.boxRows, map.boxColumns].every((side) => side > 0 && side <= LARGEST_BOX);
  if (!fitting || row % ALIGNMENT) return "box";
  const fits = SWIZZLES.includes(map.swizzle) && (map.swizzle === 0 || row <= map.swizzle);
  return fits ? null : "swizzle";
}

/**
 * The matrix's address for a launch with matrices and a workspace at these addresses.
 * @param inputBytes of an element of A and B
 */
export function addressOf(
  { dtype, matrix, offset, columns }: TensorMap,
  a: number,
  b: number,
  workspace: number,
  c = 0,
  inputBytes: number = FLOAT_BYTES,
) {
  if (!matrix) return workspace + (offset ?? 0);
  const own = { A: a, B: b, C: c }[matrix];
  const row = columns * inputBytes;
  const fits = ELEMENT_BYTES[dtype] === inputBytes && (own | row) % ALIGNMENT === 0;
  return offset === null || fits ? own : workspace + offset;
}
