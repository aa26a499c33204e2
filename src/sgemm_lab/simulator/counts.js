// @ts-check
// Count memory requests, arithmetic and barriers while a kernel runs, per source line: counts.py in
// JavaScript. The names of the counts are those of Python, for they stand in pages and records.

import { SECTOR_BYTES, WARP } from "../hardware.py";
import { ATOMIC, COPY_READ, COPY_WRITE, LOAD, STORE } from "./group.js";
import { RequestCosts } from "./request_costs.js";

/** @typedef {import("./control_flow.js").BasicBlock} BasicBlock */
/** @typedef {import("./group.js").Access} Access */
/** @typedef {import("./group.js").BulkCopy} BulkCopy */
/** @typedef {import("./access_merging.js").Merged} Merged */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./execution_counts.js").Tally} Tally */

const NAMES = /** @type {const} */ ([
  ...["global_load_requests", "global_load_sectors", "global_load_bytes"],
  ...["global_store_requests", "global_store_sectors", "global_store_bytes"],
  ...["atomic_requests", "atomic_sectors"],
  ...["shared_load_requests", "shared_load_wavefronts", "shared_load_bank_conflicts"],
  ...["shared_load_requests_as_written", "shared_load_wavefronts_as_written"],
  ...["shared_load_bank_conflicts_as_written", "shared_load_bytes"],
  ...["shared_store_requests", "shared_store_wavefronts", "shared_store_bank_conflicts"],
  ...["shared_store_requests_as_written", "shared_store_wavefronts_as_written"],
  ...["shared_store_bank_conflicts_as_written", "shared_store_bytes"],
  ...["shared_atomic_requests", "async_copy_requests", "async_copy_reads", "async_copy_sectors"],
  ...["async_copy_wavefronts", "async_copy_bytes"],
  ...["ffma_thread_instructions", "flop", "barriers"],
  ...["warp_instructions", "thread_instructions"],
]);

/**
 * Counts of one source line, or of a whole launch: see LineCounts in counts.py.
 * @typedef {Record<string, number>} LineCounts
 *
 * What a launch cost: in order of file and line.
 * @typedef {{ total: LineCounts, lines: { file: string, line: number, counts: LineCounts }[]
 * }} Counts
 */

/**
 * Counts that are all zero.
 * @returns {LineCounts}
 */
const noCounts = () => Object.fromEntries(NAMES.map((name) => [name, 0]));

/**
 * Add counts to others.
 * @param {LineCounts} to
 * @param {LineCounts} other
 */
function add(to, other) {
  for (const name of NAMES) to[name] += other[name];
}

/** Counts every access of a launch. An observer. */
export class RequestCounter {
  /**
   * @param {Merged} merged
   */
  constructor(merged) {
    this.forgetful = true;
    this.merged = merged;
    this.costs = new RequestCosts();
    /** @type {Map<number, LineCounts>} requests by the index of their instruction */
    this.byInstruction = new Map();
  }

  /**
   * Count the requests of one memory instruction.
   * @param {Access} access
   */
  onAccess(access) {
    const { site } = access;
    if (site.space === "global") this.countGlobal(access, this.countsOf(site.instruction.index));
    else if (site.space === "shared") {
      this.countShared(access, this.countsOf(site.instruction.index));
    } else this.countsOf(site.instruction.index);
  }

  /**
   * Count what a bulk copy moves. It is no request of a warp and passes no lanes.
   * @param {BulkCopy} copy
   */
  onBulkCopy({ access, data }) {
    const counts = this.countsOf(access.site.instruction.index);
    counts.async_copy_bytes += data.byteLength;
    counts.async_copy_sectors += Math.ceil(data.byteLength / SECTOR_BYTES);
  }

  /**
   * @param {number} index
   */
  countsOf(index) {
    let counts = this.byInstruction.get(index);
    if (!counts) {
      counts = noCounts();
      this.byInstruction.set(index, counts);
    }
    return counts;
  }

  /**
   * @param {Access} access
   * @param {LineCounts} counts
   */
  countGlobal(access, counts) {
    const { site, memory } = access;
    const { costs } = this;
    const asked = askedOf(access, 0);
    costs.ofGlobal(asked, asked.count, site.width, memory.bytes.length);
    const bytes = access.positions.length * site.width;
    if (site.kind === LOAD) {
      counts.global_load_requests += costs.requests;
      counts.global_load_sectors += costs.sectors;
      counts.global_load_bytes += bytes;
    } else if (site.kind === STORE) {
      counts.global_store_requests += costs.requests;
      counts.global_store_sectors += costs.sectors;
      counts.global_store_bytes += bytes;
    } else if (site.kind === ATOMIC) {
      counts.atomic_requests += costs.requests;
      counts.atomic_sectors += atomicSectors(asked);
    } else if (site.kind === COPY_READ) {
      counts.async_copy_reads += costs.requests;
      counts.async_copy_sectors += costs.sectors;
    }
  }

  /**
   * @param {Access} access
   * @param {LineCounts} counts
   */
  countShared(access, counts) {
    const { site, positions } = access;
    const { costs } = this;
    this.shared(access, 0, site.width);
    if (site.kind === COPY_WRITE) {
      counts.async_copy_requests += costs.requests;
      counts.async_copy_wavefronts += costs.wavefronts;
      counts.async_copy_bytes += positions.length * site.width;
      return;
    }
    if (site.kind === ATOMIC) {
      counts.shared_atomic_requests += costs.requests;
      return;
    }
    const isLoad = site.kind === LOAD;
    if (isLoad) {
      counts.shared_load_requests_as_written += costs.requests;
      counts.shared_load_wavefronts_as_written += costs.wavefronts;
      counts.shared_load_bank_conflicts_as_written += costs.conflicts;
      counts.shared_load_bytes += positions.length * site.width;
    } else {
      counts.shared_store_requests_as_written += costs.requests;
      counts.shared_store_wavefronts_as_written += costs.wavefronts;
      counts.shared_store_bank_conflicts_as_written += costs.conflicts;
      counts.shared_store_bytes += positions.length * site.width;
    }
    const issued = this.merged.get(site.instruction.index);
    if (!issued) this.addAsCompiled(counts, isLoad);
    for (const { offset, width } of issued ?? []) {
      if (offset !== 0 || width !== site.width) this.shared(access, offset, width);
      else if (issued && issued.length > 1) this.shared(access, 0, site.width);
      this.addAsCompiled(counts, isLoad);
    }
  }

  /**
   * Work out the cost of an access that starts `offset` bytes on.
   * @param {Access} access
   * @param {number} offset
   * @param {number} width
   */
  shared(access, offset, width) {
    const asked = askedOf(access, offset);
    const isLoad = access.site.kind === LOAD;
    this.costs.ofShared(asked, asked.count, width, isLoad, access.memory.bytes.length);
  }

  /**
   * @param {LineCounts} counts
   * @param {boolean} isLoad
   */
  addAsCompiled(counts, isLoad) {
    const { requests, wavefronts, conflicts } = this.costs;
    if (isLoad) {
      counts.shared_load_requests += requests;
      counts.shared_load_wavefronts += wavefronts;
      counts.shared_load_bank_conflicts += conflicts;
    } else {
      counts.shared_store_requests += requests;
      counts.shared_store_wavefronts += wavefronts;
      counts.shared_store_bank_conflicts += conflicts;
    }
  }
}

/**
 * The addresses that an access asks for. An illegal one costs what a legal one would: where there
 * are some, all lanes that run count, by their addresses.
 * @param {Access} access
 * @param {number} from
 */
function askedOf({ group, mask, addresses, lanes, positions, whole }, from) {
  if (whole) return { addresses: positions, lanes, from, count: positions.length };
  if (mask === null) return { addresses, lanes: null, from, count: group.lanes };
  const running = group.lanesOf(mask);
  const theirs = Float64Array.from(running, (lane) => addresses[lane]);
  return { addresses: theirs, lanes: running, from, count: running.length };
}

/**
 * Sectors of an atomic: lanes that meet at one address go one after the other, so each sector is
 * asked for as often as the address in it at which most lanes meet. Where all lanes of a warp meet
 * at one address, ptxas lets one of them add for all.
 * @param {{ addresses: ArrayLike<number>, lanes: ArrayLike<number> | null, count: number, from: number }} asked
 */
function atomicSectors({ addresses, lanes, count, from }) {
  /** @type {Map<number, Map<number, number>>} */
  const warps = new Map();
  for (let i = 0; i < count; i++) {
    const warp = Math.floor((lanes ? lanes[i] : i) / WARP);
    const times = warps.get(warp) ?? new Map();
    const address = addresses[i] + from;
    times.set(address, (times.get(address) ?? 0) + 1);
    warps.set(warp, times);
  }
  let sectors = 0;
  for (const times of warps.values()) sectors += sectorsOfWarp(times);
  return sectors;
}

/** @param {Map<number, number>} times how many lanes meet at each address */
function sectorsOfWarp(times) {
  if (times.size === 1) return 1;
  /** @type {Map<number, number>} */
  const most = new Map();
  for (const [address, lanes] of times) {
    const sector = Math.floor(address / SECTOR_BYTES);
    most.set(sector, Math.max(most.get(sector) ?? 0, lanes));
  }
  return [...most.values()].reduce((sum, lanes) => sum + lanes, 0);
}

/** FFMA that ptxas puts in the place of an instruction, as counted on an H200. */
const FFMA_INSIDE = new Map([
  ["div.rn.f32", 5],
  ["rcp.rn.f32", 2],
  ["sqrt.rn.f32", 2],
]);

const ONE_FLOP = ["add", "sub", "mul", "div"];
/** Numbers that an operation on a type works on. */
const FLOATS = new Map([
  ["f32", 1],
  ["f64", 1],
  ["f16", 1],
  ["bf16", 1],
  ["f16x2", 2],
  ["bf16x2", 2],
]);

/**
 * @param {Instruction} instruction
 * @param {number} lanes
 * @param {number} warps
 */
function flopOf({ parts }, lanes, warps) {
  if (parts[0] === "mma") {
    const [rows, columns, depth] = [16, 8, Number(parts[3].split("k")[1])];
    return 2 * rows * columns * depth * warps;
  }
  const each = FLOATS.get(parts[parts.length - 1]);
  if (each === undefined || parts[0] === "atom" || parts[0] === "red") return 0;
  if (parts[0] === "fma") return 2 * each * lanes;
  return ONE_FLOP.includes(parts[0]) ? each * lanes : 0;
}

/**
 * Bring everything counted together, by source line.
 * @param {RequestCounter} counter
 * @param {Instruction[]} instructions
 * @param {BasicBlock[]} blocks
 * @param {Tally} tally
 * @returns {Counts}
 */
export function collect(counter, instructions, blocks, tally) {
  /** @type {Map<string, { file: string, line: number, counts: LineCounts }>} */
  const byLocation = new Map();
  /** @param {Instruction} instruction */
  const countsAt = ({ location: { file, line } }) => {
    const key = `${line} ${file}`;
    let found = byLocation.get(key);
    if (!found) {
      found = { file, line, counts: noCounts() };
      byLocation.set(key, found);
    }
    return found.counts;
  };
  for (const [index, counts] of counter.byInstruction) add(countsAt(instructions[index]), counts);
  tally.barriers.forEach((times, index) => {
    if (times) countsAt(instructions[index]).barriers += times;
  });
  for (const { number, instructions: body, terminator } of blocks) {
    for (const instruction of terminator ? [...body, terminator] : body) {
      const guarded = instruction.guard && instruction !== terminator;
      const { index } = instruction;
      const lanes = guarded ? tally.guardedLanes[index] : tally.blockLanes[number];
      const warps = guarded ? tally.guardedWarps[index] : tally.blockWarps[number];
      if (lanes) countExecution(countsAt(instruction), instruction, lanes, warps);
    }
  }
  const lines = [...byLocation.values()].sort(
    (a, b) => Number(a.file > b.file) - Number(a.file < b.file) || a.line - b.line,
  );
  const total = noCounts();
  for (const { counts } of lines) add(total, counts);
  return { total, lines };
}

/**
 * @param {LineCounts} counts
 * @param {Instruction} instruction
 * @param {number} lanes
 * @param {number} warps
 */
function countExecution(counts, instruction, lanes, warps) {
  const { opcode, parts } = instruction;
  counts.thread_instructions += lanes;
  counts.warp_instructions += warps;
  counts.flop += flopOf(instruction, lanes, warps);
  const isFused = parts[0] === "fma" && parts[parts.length - 1] === "f32";
  counts.ffma_thread_instructions += lanes * (isFused ? 1 : (FFMA_INSIDE.get(opcode) ?? 0));
}
