// Whether the reader's kernel is right at a size.

import { type CheckedHere, checkHere } from "../checking/simulated.ts";
import sentences from "../cuda/sentences.json";
import { STATIC_SHARED } from "../hardware.py";
import { ENTRY, parseKernel, type Size } from "../kernel.ts";
import { parse } from "../simulator/ptx.ts";
import { filled } from "../text.ts";

/** Why there is no kernel: at a line of the file, or at none. */
export interface Refused {
  refused: string;
  line: number;
}

/**
 * Check a kernel at a size, unless NVRTC would refuse to compile it.
 * @param onlyWholeNumbers whether it is judged on whole numbers alone
 */
export function checked(
  { source, ptx }: { source: string; ptx: string },
  size: Size,
  onlyWholeNumbers: boolean,
): CheckedHere | Refused {
  const wanted = declaredBytes(ptx);
  if (wanted > STATIC_SHARED) {
    return { refused: filled(sentences.shared, { wanted, limit: STATIC_SHARED }), line: 0 };
  }
  const [result] = checkHere(parseKernel("mine", source), ptx, [size], { onlyWholeNumbers });
  return result;
}

/** What was asked last: one kernel is checked at many sizes. */
let last = { ptx: "", bytes: 0 };

/** The bytes of shared memory that a block declares. */
export function declaredBytes(ptx: string) {
  if (last.ptx !== ptx) {
    const shared = parse(ptx).get(ENTRY)?.shared ?? [];
    last = { ptx, bytes: shared.reduce((sum, { bytes }) => sum + bytes, 0) };
  }
  return last.bytes;
}
