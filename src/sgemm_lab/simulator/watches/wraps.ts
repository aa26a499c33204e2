// Counters of 8 or 16 bits that pass their largest number: after 255 a byte begins from 0 again.

import type { Access, Observer } from "../group.ts";
import { storedValues } from "../loaded_values.ts";
import { readersOf, writersOf } from "../operands.ts";
import type { Instruction } from "../ptx.ts";
import type { Location } from "../source_locations.ts";

/** Watches stores of what was loaded there and 1 more, which nothing else uses. */
export class Wraps implements Observer {
  forgetful = true;
  found = new Set<Location>();
  counting: Set<number>;

  constructor(instructions: Instruction[]) {
    const [writers, readers] = [writersOf(instructions), readersOf(instructions)];
    const { updating } = storedValues(instructions);
    const counting = instructions.filter(({ index, parts, operands: [, value] }) => {
      if (!updating.has(index) || !/^[usb](8|16)$/.test(parts[parts.length - 1])) return false;
      const name = value.kind === "register" ? value.name : "";
      const [made] = writers.get(name) ?? [];
      const by = made?.parts[0] === "add" ? made.operands[2] : null;
      return by?.kind === "immediate" && by.bits === 1n && readers.get(name)?.length === 1;
    });
    this.counting = new Set(counting.map(({ index }) => index));
  }

  onStored({ site, positions }: Access, bits: (element: number, i: number) => bigint) {
    if (!this.counting.has(site.instruction.index)) return;
    const isZero = (i: number) => BigInt.asUintN(8 * site.width, bits(0, i)) === 0n;
    if ([...positions.keys()].some(isZero)) this.found.add(site.instruction.location);
  }
}
