// One warp's memory request in words.

import { BANKS, SECTOR_BYTES, WARP, WORD_BYTES } from "../hardware.py";
import { plural } from "../text.ts";
import { globalRequest, sharedWavefronts, type Wavefront } from "./memory.ts";
import { sentence } from "./sentences.ts";

/** The part of a warp that the hardware serves at once, by its number of lanes; "" for all 32. */
function partOf(lanes: number) {
  if (lanes === WARP) return "";
  return lanes === WARP / 2 ? "half-warp" : "quarter-warp";
}

/** The array that a request goes to: its first byte, its sides, its name. */
interface Place {
  start: number;
  shape: number[];
  array: string;
}

/** "As[3][5]": the element of an array that starts at a byte. */
function elementName({ start, shape, array }: Place, address: number) {
  let index = (address - start) / WORD_BYTES;
  const indices: number[] = [];
  for (const side of shape.slice(1).reverse()) {
    indices.unshift(index % side);
    index = Math.floor(index / side);
  }
  return `${array}${[index, ...indices].map((i) => `[${i}]`).join("")}`;
}

/** "A[1][0] to A[1][3], bytes 256 to 271": what one lane asks for; without a place just bytes. */
export function asked(place: Place | null, address: number, bytes: number) {
  const last = address + bytes;
  const span = sentence("request.bytes", { first: address, last: last - 1 });
  if (!place?.shape.length) return span;
  const names = [elementName(place, address), elementName(place, last - WORD_BYTES)];
  return `${[...new Set(names)].join(" to ")}, ${span}`;
}

/** What a request to global memory moves, and how that compares: two sentences. */
export function sectorWords(addresses: Lanes, bytes: number) {
  const lanes = addresses.filter((address) => address !== null).length;
  const { sectors, moved, used } = globalRequest(addresses, bytes);
  const count = sectors.size;
  const what = { sectors: count, moved, asked: lanes * bytes, lanes };
  return [sentence("sectors.cost", what), comparison()];

  function comparison() {
    const fewest = Math.ceil(used / SECTOR_BYTES);
    if (count > fewest) {
      return sentence("sectors.fewer", { fewest, times: count / fewest, share: used / moved });
    }
    if (used === moved) return sentence("sectors.whole");
    if (lanes > 1 && used === bytes) return sentence("sectors.same", { lanes, used });
    return sentence("sectors.best");
  }
}

/** What a request to shared memory takes, and why: two sentences. */
export function bankWords(addresses: Lanes, bytes: number, isLoad: boolean) {
  const wavefronts = sharedWavefronts(addresses, bytes, isLoad);
  const phases = [...new Set(wavefronts.map(({ phase }) => phase))];
  const sizes = [...new Set(phases.map((phase) => phase.length))];
  const many = phases.length;
  const part = sizes.length === 1 ? partOf(sizes[0]) : "quarter- or half-warp";
  const again = askedAgain(wavefronts) ? ` ${sentence("banks.again", { part })}` : "";
  const parts = part ? `, in ${plural(many, part)}` : "";
  const what = sentence("banks.cost", { wavefronts: wavefronts.length, parts });
  if (wavefronts.length > many) {
    const turns = phases.map((phase) => wavefronts.filter((one) => one.phase === phase));
    const worst = turns.reduce((most, one) => (one.length > most.length ? one : most));
    const bank = [...worst[worst.length - 1].words.keys()][0] % BANKS;
    const where = part ? ` in one ${part}` : "";
    const why = sentence("banks.conflict", { bank, words: worst.length, where, least: many });
    return [what, why + again];
  }
  const apart = (WARP * WORD_BYTES) / bytes;
  const merged = bytes > WORD_BYTES && sizes.some((size) => size > apart);
  const free = merged ? sentence("banks.merged", { part: partOf(apart) }) : null;
  return [what, (free ?? sentence("banks.free")) + again];
}

/** Whether lanes of different phases ask for the same word. */
function askedAgain(wavefronts: Wavefront[]) {
  /** word → the phase that fetched it first */
  const fetched: Map<number, number[]> = new Map();
  for (const { phase, words } of wavefronts) {
    for (const word of words.keys()) {
      const first = fetched.get(word) ?? phase;
      if (first !== phase) return true;
      fetched.set(word, first);
    }
  }
  return false;
}
