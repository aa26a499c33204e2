// Races in which every thread writes the same value: they do no harm. A flag that several warps set
// to 1 is a race by the letter, and what it holds afterwards is known. NVIDIA's racecheck calls it
// information, too.

import { type Access, type BulkCopy, LOAD, type Observer, STORE } from "../group.ts";
import { RACE } from "../hazard_log.ts";
import type { Hazard } from "../hazard_types.ts";
import { uniformStores } from "../loaded_values.ts";
import { parse } from "../ptx.ts";
import type { Location } from "../source_locations.ts";

/**
 * Races of stores to shared memory that write the same; races with stores of a value that is the same for
 * all threads, of which a reader finds that or what was there before; and all other hazards.
 * @param harmful as SameValues finds them
 */
export function weighed(hazards: Hazard[], harmful: Location[], ptx: string, entry: string) {
  const races = new Map<Hazard, string[]>();
  for (const one of hazards) {
    const { kind, location, otherLocation } = one;
    if (kind === RACE && otherLocation) races.set(one, [`${location}`, `${otherLocation}`]);
  }
  const [lines, marks, others] = [harmful.map(String), new Set<string>(), new Set<string>()];
  const instructions = races.size ? (parse(ptx).get(entry)?.instructions ?? []) : [];
  const uniform = uniformStores(instructions);
  for (const { index, parts, location } of instructions) {
    const isOther = /^(st|atom|red)$/.test(parts[0]) && !parts.includes("local");
    if (uniform.has(index)) marks.add(`${location}`);
    else if (isOther) others.add(`${location}`);
  }
  const harmless = hazards.filter((one) => races.get(one)?.every((line) => !lines.includes(line)));
  const isMild = (places: string[] = []) =>
    places.some((line) => marks.has(line)) && !places.some((line) => others.has(line));
  const mild = hazards.filter((one) => !harmless.includes(one) && isMild(races.get(one)));
  const rest = hazards.filter((one) => !harmless.includes(one) && !mild.includes(one));
  return { harmless, mild, rest };
}

/** Watches, byte by byte, whether stores to shared memory that race change anything. */
export class SameValues implements Observer {
  forgetful = true;
  #writer = new Int32Array(0);
  #epoch = new Int32Array(0);
  #blocks = "";
  /** Of the last store, by byte: what another thread wrote there since the last barrier. */
  #before: Map<number, number> = new Map();
  #harmful: Set<Location> = new Set();

  /** Lines that read or change what another thread wrote, or do more than store. */
  found() {
    return [...this.#harmful];
  }

  onAccess({ site, group, memory, lanes, positions }: Access) {
    if (site.space !== "shared" || site.kind !== STORE) {
      // Races in global memory are judged by their values where they are found.
      if (site.space === "shared" || site.kind !== LOAD) {
        this.#harmful.add(site.instruction.location);
      }
      return;
    }
    const { blocks, epoch } = group.batch;
    if (this.#writer.length !== memory.bytes.length || this.#blocks !== `${blocks}`) {
      this.#writer = new Int32Array(memory.bytes.length).fill(-1);
      this.#epoch = new Int32Array(memory.bytes.length);
      this.#blocks = `${blocks}`;
    }
    this.#before.clear();
    const each = (use: (at: number, thread: number, now: number) => void) => {
      for (let i = 0; i < positions.length; i++) {
        const lane = lanes ? lanes[i] : i;
        for (let at = positions[i]; at < positions[i] + site.width; at++) {
          use(at, group.thread[lane], epoch[group.slot[lane]]);
        }
      }
    };
    // Lanes of this store are compared with each other afterwards.
    each((at, thread, now) => {
      const other = this.#writer[at] >= 0 && this.#writer[at] !== thread;
      if (other && this.#epoch[at] === now) this.#before.set(at, memory.bytes[at]);
    });
    each((at, thread, now) => {
      this.#writer[at] = thread;
      this.#epoch[at] = now;
    });
  }

  onStored({ site, memory, positions }: Access, bits: (element: number, i: number) => bigint) {
    if (site.space !== "shared" || site.kind !== STORE) return;
    const held = this.#before;
    if (new Set(positions).size === positions.length) {
      // Each lane stores elsewhere, as addresses are multiples of the width.
      const isChanged = [...held].some(([at, before]) => memory.bytes[at] !== before);
      if (isChanged) this.#harmful.add(site.instruction.location);
      return;
    }
    for (let i = 0; i < positions.length; i++) {
      for (let byte = 0; byte < site.width; byte++) {
        const shift = BigInt(8 * (byte % site.wordBytes));
        const stored = bits(Math.floor(byte / site.wordBytes), i) >> shift;
        const value = Number(BigInt.asUintN(8, stored));
        const before = held.get(positions[i] + byte) ?? value;
        if (value !== before) this.#harmful.add(site.instruction.location);
        held.set(positions[i] + byte, value);
      }
    }
  }

  onBulkCopy({ access }: BulkCopy) {
    this.#harmful.add(access.site.instruction.location);
  }
}
