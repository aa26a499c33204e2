// The largest value of every narrow number in an address: what index_overflow.ts extrapolates to
// large matrices.

import { getOrInsert } from "../get_or_insert.ts";
import type { Access, Observer } from "../group.ts";
import { registersRead, writersOf } from "../operands.ts";
import { type Instruction, type Register, TYPE_BYTES } from "../ptx.ts";
import type { Location } from "../source_locations.ts";

/** Bytes of the narrowest number that is an index; a byte is a letter. */
const HALF = 2;
/** An element has at most 2⁴ bytes. */
const WIDEST_SHIFT = 5;
/** What leads from a part of an address to the address. */
const PASSES_ON = new Set(
  "add sub mul mad shl shr or and mov cvt cvta selp min max neg rem div".split(" "),
);

/**
 * A number in an address that an instruction narrows to its low bits. `most`: the largest that
 * passes unchanged. `readAs`: type of the register that it is in. `largest`: the largest seen.
 */
interface Narrow {
  location: Location;
  bits: number;
  most: number;
  readAs: string;
  largest: number;
}

/** Records the largest value of every narrow number in an address. An observer. */
export class WidestIndices implements Observer {
  forgetful = true;
  #narrow: Map<string, Narrow> = new Map();
  #sources: Map<number, [Omit<Narrow, "largest">, Register][]> = new Map();
  #writers: Map<string, Instruction[]> | null = null;

  found() {
    return [...this.#narrow.values()];
  }

  /** Look at what goes into the address, while the registers still hold it. */
  onAccess({ group, site, memory, mask, lanes }: Access) {
    if (memory.space !== "global") return;
    const looked = lanes ?? (mask ? group.lanesOf(mask) : Int32Array.from(group.thread.keys()));
    if (!looked.length) return;
    for (const [narrow, register] of this.#of(group.launch.kernel.instructions, site.instruction)) {
      const read = group.registers.reader(register, narrow.readAs);
      const key = `${narrow.location} ${narrow.bits} ${narrow.most} ${narrow.readAs}`;
      const known = getOrInsert(this.#narrow, key, () => ({ ...narrow, largest: 0 }));
      for (const lane of looked) known.largest = Math.max(known.largest, Number(read(lane)));
    }
  }

  #of(instructions: Instruction[], access: Instruction) {
    this.#writers ??= writersOf(instructions);
    const writers = this.#writers;
    return getOrInsert(this.#sources, access.index, () => [...narrowSources(access, writers)]);
  }
}

/** Trace an address back to the narrow numbers that it is computed from. */
function* narrowSources(
  { operands }: Instruction,
  writers: Map<string, Instruction[]>,
): Generator<[Omit<Narrow, "largest">, Register]> {
  const waiting = operands.flatMap((one) =>
    one.kind === "address" && one.base.kind === "register" ? [one.base.name] : [],
  );
  const seen = new Set<string>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    for (const writer of writers.get(name) ?? []) {
      if (!PASSES_ON.has(writer.parts[0])) continue;
      const narrow = narrowed(writer);
      for (const operand of writer.operands.slice(1, 3)) {
        if (narrow && operand.kind === "register") yield [narrow, operand];
      }
      waiting.push(...registersRead(writer).map((register) => register.name));
    }
  }
}

/** What an instruction leaves of its operands; null where it leaves all of them. */
function narrowed({ parts, operands, location }: Instruction) {
  const ofType = (type: string) => {
    const bits = 8 * (TYPE_BYTES.get(type) as number);
    return { location, bits, most: 2 ** (type[0] === "s" ? bits - 1 : bits) - 1, readAs: type };
  };
  const [to, from] = parts.slice(-2);
  const last = operands[operands.length - 1];
  const constant = last?.kind === "immediate" ? last.bits : null;
  if ((parts[0] === "mul" || parts[0] === "mad") && parts.includes("wide")) return ofType(from);
  // What a product passes its type by is gone where it is divided.
  if (/^(rem|div)\.s32$/.test(parts.join("."))) return ofType("s32");
  if (parts[0] === "cvt" && "su".includes(to[0]) && "su".includes(from[0])) {
    const [wide, narrow] = [to, from].map((type) => TYPE_BYTES.get(type) as number);
    return wide > narrow && narrow >= HALF ? ofType(from) : null;
  }
  if (from !== "b64" || constant === null) return null;
  // With the shift back that follows: (int) of a number of 64 bits.
  const kept = { location, bits: 32, readAs: "s64" };
  if (parts[0] === "shl" && constant === 32n) return { ...kept, most: 2 ** 31 - 1 };
  // (unsigned) of a number of 64 bits, which may stand for bytes already.
  for (let shift = 0; parts[0] === "and" && shift < WIDEST_SHIFT; shift++) {
    if (constant === (2n ** 32n - 1n) << BigInt(shift)) {
      return { ...kept, most: Number(constant) + 2 ** shift - 1 };
    }
  }
  return null;
}
