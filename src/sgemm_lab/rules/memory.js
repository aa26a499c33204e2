// How the hardware counts one warp's memory request: simulator/memory_model.py in JavaScript, held
// equal to it and to the counters of an H200 by tests. A fragment: see module() in base.py.

const LANES = 32;
const SECTOR_BYTES = 32; // smallest piece of global memory that moves
const LINE_BYTES = 128;

/**
 * What a request to global memory touches. `addresses` holds the first byte of each lane, null
 * where the lane is inactive; each lane asks for `bytes`, at a multiple of `bytes`.
 */
function globalRequest(addresses, bytes) {
  const asked = new Set(addresses.filter((address) => address !== null));
  const sectors = new Set([...asked].map((address) => Math.floor(address / SECTOR_BYTES)));
  return {
    requests: asked.size ? 1 : 0,
    sectors,
    moved: sectors.size * SECTOR_BYTES,
    used: asked.size * bytes, // what several lanes ask for moves once
  };
}

const BANKS = 32; // each one word wide
const WORD_BYTES = 4;

/**
 * The wavefronts of a request to shared memory, in order. Each is { phase, words }: `words` maps
 * the first word of what a lane asks for to the lanes that ask for it.
 *
 * Up to 4 bytes all lanes go at once; 8 and 16 bytes go in phases of 16 and 8 lanes. Two phases of
 * a load merge where every lane's partner, at lane XOR 1 or every one's at XOR 2, is off or asks
 * the same, and merging costs no more. Which of a bank's words comes first is not known: here the
 * one that the lowest lane asks for.
 */
function sharedWavefronts(addresses, bytes, isLoad) {
  const lanes = [...Array(LANES).keys()];
  if (bytes <= WORD_BYTES) return inPhases([lanes], addresses, bytes);
  const perPhase = (LANES * WORD_BYTES) / bytes;
  const phases = [];
  for (let start = 0; start < LANES; start += 2 * perPhase) {
    const both = lanes.slice(start, start + 2 * perPhase);
    const apart = [both.slice(0, perPhase), both.slice(perPhase)];
    const merges = isLoad && [1, 2].some((distance) => partnersAgree(both, addresses, distance)) &&
      inPhases([both], addresses, bytes).length <= inPhases(apart, addresses, bytes).length;
    phases.push(...(merges ? [both] : apart));
  }
  return inPhases(phases, addresses, bytes);
}

function partnersAgree(lanes, addresses, distance) {
  return lanes.every((lane) => {
    const [mine, other] = [addresses[lane], addresses[lane ^ distance]];
    return mine === null || other === null || mine === other;
  });
}

/** In each phase the banks work side by side; a bank gives one word per wavefront. */
function inPhases(phases, addresses, bytes) {
  return phases.flatMap((phase) => {
    const wavefronts = [];
    const turn = new Map(); // word → its wavefront; all words of a lane have the same
    const given = Array(BANKS).fill(0);
    for (const lane of phase) {
      if (addresses[lane] === null) continue;
      const word = Math.floor(addresses[lane] / WORD_BYTES);
      if (!turn.has(word)) {
        turn.set(word, given[word % BANKS]);
        for (let i = 0; i < Math.max(1, bytes / WORD_BYTES); i++) given[(word + i) % BANKS] += 1;
      }
      const { words } = (wavefronts[turn.get(word)] ??= { phase, words: new Map() });
      words.set(word, [...(words.get(word) ?? []), lane]);
    }
    return wavefronts;
  });
}
