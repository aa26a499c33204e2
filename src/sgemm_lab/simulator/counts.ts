// Counts of memory requests, arithmetic and barriers while a kernel runs, per source line. Their
// names are those of counts.py, which says what each counts: they stand in pages and records.

import { SECTOR_BYTES, WARP } from "../hardware.py";
import type { Merged } from "./access_merging.ts";
import type { BasicBlock } from "./control_flow.ts";
import type { Tally } from "./execution_counts.ts";
import { getOrInsert } from "./get_or_insert.ts";
import type { Access, BulkCopy } from "./group.ts";
import { ATOMIC, COPY_READ, COPY_WRITE, flatnonzero, LOAD, less, STORE } from "./group.ts";
import type { Instruction } from "./ptx.ts";
import { RequestCosts } from "./request_costs.ts";

const NAMES = [
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
] as const;

/** Counts of one source line, or of a whole launch: see LineCounts in counts.py. */
type LineCounts = Record<string, number>;

/** What a launch cost: in order of file and line. */
export interface Counts {
  total: LineCounts;
  lines: { file: string; line: number; counts: LineCounts }[];
}

/** Counts that are all zero. */
const noCounts = (): LineCounts => Object.fromEntries(NAMES.map((name) => [name, 0]));

/** Add counts to others. */
function add(to: LineCounts, other: LineCounts) {
  for (const name of NAMES) to[name] += other[name];
}

/** Counts every access of a launch. An observer. */
export class RequestCounter {
  forgetful = true;
  costs = new RequestCosts();
  /** requests by the index of their instruction */
  byInstruction: Map<number, LineCounts> = new Map();

  constructor(public merged: Merged) {}

  /** Count the requests of one memory instruction. */
  onAccess(access: Access) {
    const { site } = access;
    if (site.space === "global") this.countGlobal(access, this.countsOf(site.instruction.index));
    else if (site.space === "shared") {
      this.countShared(ownOf(access), this.countsOf(site.instruction.index));
    } else this.countsOf(site.instruction.index);
  }

  /** Count what a bulk copy moves. It is no request of a warp and passes no lanes. */
  onBulkCopy({ access, data, sectors }: BulkCopy) {
    const counts = this.countsOf(access.site.instruction.index);
    counts.async_copy_bytes += data.byteLength;
    counts.async_copy_sectors += sectors;
  }

  countsOf(index: number) {
    return getOrInsert(this.byInstruction, index, noCounts);
  }

  countGlobal(access: Access, counts: LineCounts) {
    const { site, memory } = access;
    const { costs } = this;
    const asked = askedOf(access, 0);
    costs.ofGlobal(asked, asked.count, site.width, memory.bytes.length);
    const bytes = access.positions.length * site.width;
    if (site.kind === LOAD || site.kind === STORE) {
      counts[`global_${site.kind}_requests`] += costs.requests;
      counts[`global_${site.kind}_sectors`] += costs.sectors;
      counts[`global_${site.kind}_bytes`] += bytes;
    } else if (site.kind === ATOMIC) {
      counts.atomic_requests += costs.requests;
      counts.atomic_sectors += atomicSectors(asked);
    } else if (site.kind === COPY_READ) {
      counts.async_copy_reads += costs.requests;
      counts.async_copy_sectors += costs.sectors;
    }
  }

  countShared(access: Access, counts: LineCounts) {
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
    const prefix = site.kind === LOAD ? "shared_load" : "shared_store";
    this.addCosts(counts, prefix, "_as_written");
    counts[`${prefix}_bytes`] += positions.length * site.width;
    const issued = this.merged.get(site.instruction.index);
    if (!issued) this.addCosts(counts, prefix, "");
    for (const { offset, width } of issued ?? []) {
      if (offset !== 0 || width !== site.width) this.shared(access, offset, width);
      else if (issued && issued.length > 1) this.shared(access, 0, site.width);
      this.addCosts(counts, prefix, "");
    }
  }

  /** Work out the cost of an access that starts `offset` bytes on. */
  shared(access: Access, offset: number, width: number) {
    const asked = askedOf(access, offset);
    const isLoad = access.site.kind === LOAD;
    this.costs.ofShared(asked, asked.count, width, isLoad, access.memory.bytes.length);
  }

  /** Add what was worked out last to the counts of loads or stores. */
  addCosts(counts: LineCounts, prefix: string, suffix: string) {
    const { requests, wavefronts, conflicts } = this.costs;
    counts[`${prefix}_requests${suffix}`] += requests;
    counts[`${prefix}_wavefronts${suffix}`] += wavefronts;
    counts[`${prefix}_bank_conflicts${suffix}`] += conflicts;
  }
}

/**
 * An access without the lanes that ask another block of the cluster: a GPU's counters of shared
 * memory leave them out.
 */
function ownOf(access: Access): Access {
  const { group, elsewhere, mask, lanes, positions } = access;
  if (!elsewhere?.includes(1)) return access;
  const own = less(mask ?? new Uint8Array(group.lanes).fill(1), elsewhere);
  const kept = (_: number, i: number) => own[lanes === null ? i : lanes[i]] === 1;
  return {
    ...access,
    mask: own,
    lanes: (lanes ?? flatnonzero(own)).filter((lane) => own[lane]),
    positions: positions.filter(kept),
  };
}

/**
 * The addresses that an access asks for. An illegal one costs what a legal one would: where there
 * are some, all lanes that run count, by their addresses.
 */
function askedOf({ group, mask, addresses, lanes, positions, whole }: Access, from: number) {
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
 */
function atomicSectors({ addresses, lanes, count, from }: ReturnType<typeof askedOf>) {
  const warps: Map<number, Map<number, number>> = new Map();
  for (let i = 0; i < count; i++) {
    const warp = Math.floor((lanes ? lanes[i] : i) / WARP);
    const times = getOrInsert(warps, warp, () => new Map<number, number>());
    const address = addresses[i] + from;
    times.set(address, (times.get(address) ?? 0) + 1);
  }
  let sectors = 0;
  for (const times of warps.values()) sectors += sectorsOfWarp(times);
  return sectors;
}

/** @param times how many lanes meet at each address */
function sectorsOfWarp(times: Map<number, number>) {
  if (times.size === 1) return 1;
  const most: Map<number, number> = new Map();
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
const FUSED = ["fma", "fused"];
/** Numbers that an operation on a type works on. */
const FLOATS: Record<string, number> = { f32: 1, f64: 1, f16: 1, bf16: 1, f16x2: 2, bf16x2: 2 };

const SHAPE = /^m\d+n\d+k\d+$/;

function flopOf({ parts }: Instruction, lanes: number, warps: number) {
  const shape = parts.find((part) => SHAPE.test(part));
  if (shape && (parts[0] === "mma" || parts[1].startsWith("mma"))) {
    const [rows, columns, depth] = shape.split(/[mnk]/).slice(1).map(Number);
    // Four warps run a wgmma.
    return (2 * rows * columns * depth * warps) / (parts[0] === "wgmma" ? 4 : 1);
  }
  const each = FLOATS[parts[parts.length - 1]];
  if (each === undefined || parts[0] === "atom" || parts[0] === "red") return 0;
  if (FUSED.includes(parts[0])) return 2 * each * lanes;
  return ONE_FLOP.includes(parts[0]) ? each * lanes : 0;
}

/** Bring everything counted together, by source line. */
export function collect(
  counter: RequestCounter,
  instructions: Instruction[],
  blocks: BasicBlock[],
  tally: Tally,
): Counts {
  const byLocation: Map<string, { file: string; line: number; counts: LineCounts }> = new Map();
  const countsAt = ({ location: { file, line } }: Instruction) =>
    getOrInsert(byLocation, `${line} ${file}`, () => ({ file, line, counts: noCounts() })).counts;
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

function countExecution(
  counts: LineCounts,
  instruction: Instruction,
  lanes: number,
  warps: number,
) {
  const { opcode, parts } = instruction;
  counts.thread_instructions += lanes;
  counts.warp_instructions += warps;
  counts.flop += flopOf(instruction, lanes, warps);
  const isFused = FUSED.includes(parts[0]) && parts.at(-1) === "f32";
  counts.ffma_thread_instructions += lanes * (isFused ? 1 : (FFMA_INSIDE.get(opcode) ?? 0));
}
