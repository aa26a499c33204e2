// How many blocks an SM holds at once: occupancy.py in TypeScript; a test compares them.

import { MAX_REGISTERS, WARP } from "../hardware.py";
import { QUARTERS, REGISTER_UNIT, REGISTERS_PER_SM, THREADS_PER_BLOCK } from "./occupancy.py";
import { sentence } from "./sentences.ts";

export type Resource = "blocks" | "warps" | "registers" | "shared";

/** What an SM of a GPU has, as occupancy.py of the widgets gives it. */
export interface Sm {
  blocks_per_sm: number;
  warps_per_sm: number;
  shared_per_sm: number;
  shared_per_block: number;
  shared_reserved: number;
  shared_unit: number;
}

/** What a block takes: bytes of shared memory, registers of each thread. */
export interface Launch {
  threads: number;
  registers: number;
  shared: number;
}

interface Fit {
  blocks: number;
  warps: number;
  /** of the warp slots */
  share: number;
  /** for blocks; null: the launch takes nothing */
  room: Record<Resource, number | null>;
  /** the resources that have room for no block more */
  binding: Resource[];
}

const roundUp = (value: number, unit: number) => Math.ceil(value / unit) * unit;

/** What a block of a launch takes on a GPU. */
export function blockTakes(gpu: Sm, { threads, registers, shared }: Launch) {
  const warps = Math.ceil(threads / WARP);
  const warpRegisters = roundUp(registers * WARP, REGISTER_UNIT);
  return {
    blocks: 1,
    warps,
    registers: warps * warpRegisters,
    shared: roundUp(shared + gpu.shared_reserved, gpu.shared_unit),
    warpsByRegisters: QUARTERS * Math.floor(REGISTERS_PER_SM / QUARTERS / warpRegisters),
  };
}

/** What an SM of a GPU has. */
export function smHas(gpu: Sm) {
  return {
    blocks: gpu.blocks_per_sm,
    warps: gpu.warps_per_sm,
    registers: REGISTERS_PER_SM,
    shared: gpu.shared_per_sm,
  };
}

/** A plain sentence if no block of the launch can run, and "" if one can. */
export function refusal(gpu: Sm, launch: Launch) {
  const { threads, registers, shared } = launch;
  if (threads < 1 || threads > THREADS_PER_BLOCK) {
    return sentence("launch.threads", { most: THREADS_PER_BLOCK, threads });
  }
  if (registers < 1 || registers > MAX_REGISTERS) {
    return sentence("launch.registers", { most: MAX_REGISTERS, registers });
  }
  if (shared < 0 || shared > gpu.shared_per_block) {
    return sentence("launch.shared", { most: gpu.shared_per_block, shared });
  }
  const { warps, warpsByRegisters: most } = blockTakes(gpu, launch);
  return warps > most ? sentence("launch.warps", { registers, most, threads, warps }) : "";
}

/** What fits on an SM at once. */
export function fitOf(gpu: Sm, launch: Launch): Fit {
  if (refusal(gpu, launch)) {
    const none = { blocks: 0, warps: 0, registers: 0, shared: 0 };
    return { blocks: 0, warps: 0, share: 0, room: none, binding: [] };
  }
  const takes = blockTakes(gpu, launch);
  const room = {
    blocks: gpu.blocks_per_sm,
    warps: Math.floor(gpu.warps_per_sm / takes.warps),
    registers: Math.floor(takes.warpsByRegisters / takes.warps),
    shared: takes.shared ? Math.floor(gpu.shared_per_sm / takes.shared) : null,
  };
  const names = Object.keys(room) as Resource[];
  const blocks = Math.min(...names.map((name) => room[name] ?? Infinity));
  const warps = blocks * takes.warps;
  const binding = names.filter((name) => room[name] === blocks);
  return { blocks, warps, share: warps / gpu.warps_per_sm, room, binding };
}

/** The conclusion, a sentence each: what fits, what decides, and whether lanes idle. */
export function fitWords(gpu: Sm, launch: Launch) {
  const refused = refusal(gpu, launch);
  if (refused) return [sentence("launch.none"), refused];
  const { blocks, warps, share, binding } = fitOf(gpu, launch);
  const threads = blocks * launch.threads;
  const rest = launch.threads % WARP;
  return [
    sentence("fit.conclusion", { blocks, threads, warps, slots: gpu.warps_per_sm, share }),
    ...binding.map((name, i) => reason(name, i ? " too" : "", gpu, launch)),
    ...(rest ? [sentence("fit.lanes", { rest, warp: WARP })] : []),
  ];
}

/** Why a resource has room for no block more. */
function reason(name: Resource, too: string, gpu: Sm, launch: Launch) {
  const { warps, warpsByRegisters: most, shared } = blockTakes(gpu, launch);
  if (name === "blocks") return sentence("fit.blocks", { too, slots: gpu.blocks_per_sm });
  if (name === "warps") return sentence("fit.warps", { too, slots: gpu.warps_per_sm, warps });
  if (name === "registers") return sentence("fit.registers", { too, most, warps });
  const kept = gpu.shared_reserved / 1024;
  return sentence("fit.shared", {
    too,
    has: gpu.shared_per_sm / 1024,
    takes: shared / 1024,
    kept: kept ? sentence("fit.kept", { kept }) : "",
  });
}
