// @ts-check
// How many blocks an SM holds at once: occupancy.py in JavaScript, held equal to it by a test.

import { MAX_REGISTERS, WARP } from "../hardware.py";
import { QUARTERS, REGISTER_UNIT, REGISTERS_PER_SM, THREADS_PER_BLOCK } from "./occupancy.py";
import { sentence } from "./sentences.js";

/**
 * @typedef {"blocks" | "warps" | "registers" | "shared"} Resource
 *
 * What an SM of a GPU has, as occupancy.py of the widgets gives it.
 * @typedef {object} Sm
 * @property {number} blocks_per_sm
 * @property {number} warps_per_sm
 * @property {number} shared_per_sm
 * @property {number} shared_per_block
 * @property {number} shared_reserved
 * @property {number} shared_unit
 *
 * What a block takes: bytes of shared memory, registers of each thread.
 * @typedef {{ threads: number, registers: number, shared: number }} Launch
 *
 * @typedef {object} Fit
 * @property {number} blocks
 * @property {number} warps
 * @property {number} share of the warp slots
 * @property {Record<Resource, number | null>} room for blocks; null: the launch takes nothing
 * @property {Resource[]} binding the resources that have room for no block more
 */

/**
 * @param {number} value
 * @param {number} unit
 */
const roundUp = (value, unit) => Math.ceil(value / unit) * unit;

/**
 * What a block of a launch takes on a GPU.
 * @param {Sm} gpu
 * @param {Launch} launch
 */
export function blockTakes(gpu, { threads, registers, shared }) {
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

/**
 * What an SM of a GPU has.
 * @param {Sm} gpu
 */
export function smHas(gpu) {
  return {
    blocks: gpu.blocks_per_sm,
    warps: gpu.warps_per_sm,
    registers: REGISTERS_PER_SM,
    shared: gpu.shared_per_sm,
  };
}

/**
 * A plain sentence if no block of the launch can run, and "" if one can.
 * @param {Sm} gpu
 * @param {Launch} launch
 */
export function refusal(gpu, launch) {
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

/**
 * What fits on an SM at once.
 * @param {Sm} gpu
 * @param {Launch} launch
 * @returns {Fit}
 */
export function fitOf(gpu, launch) {
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
  const names = /** @type {Resource[]} */ (Object.keys(room));
  const blocks = Math.min(...names.map((name) => room[name] ?? Infinity));
  const warps = blocks * takes.warps;
  const binding = names.filter((name) => room[name] === blocks);
  return { blocks, warps, share: warps / gpu.warps_per_sm, room, binding };
}

/**
 * The conclusion, a sentence each: what fits, what decides, and whether lanes idle.
 * @param {Sm} gpu
 * @param {Launch} launch
 */
export function fitWords(gpu, launch) {
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

/**
 * Why a resource has room for no block more.
 * @param {Resource} name
 * @param {string} too
 * @param {Sm} gpu
 * @param {Launch} launch
 */
function reason(name, too, gpu, launch) {
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
