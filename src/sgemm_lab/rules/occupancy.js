// How many blocks an SM holds at once: sgemm_lab/occupancy.py in JavaScript, and the sentences of
// occupancy.py beside this file. A test holds them equal.
// A fragment: see module() in base.py. Needs common.js and controls.js.

const WARP = 32;
const QUARTERS = 4; // of an SM; each has its own registers
const REGISTER_UNIT = 256; // registers are handed out to warps in multiples of this
const REGISTERS_PER_THREAD = 255;
const REGISTERS_PER_SM = 65536;
const THREADS_PER_BLOCK = 1024;

const comma = (value) => value.toLocaleString("en-US");
const roundUp = (value, unit) => Math.ceil(value / unit) * unit;

/** What a block of {threads, registers, shared} takes on a GPU. */
function blockTakes(gpu, { threads, registers, shared }) {
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
function smHas(gpu) {
  return {
    blocks: gpu.blocks_per_sm,
    warps: gpu.warps_per_sm,
    registers: REGISTERS_PER_SM,
    shared: gpu.shared_per_sm,
  };
}

/** A plain sentence if no block of the launch can run, and "" if one can. */
function refusal(gpu, launch) {
  const { threads, registers, shared } = launch;
  if (threads < 1 || threads > THREADS_PER_BLOCK) {
    return `A block has 1 to ${comma(THREADS_PER_BLOCK)} threads, not ${comma(threads)}.`;
  }
  if (registers < 1 || registers > REGISTERS_PER_THREAD) {
    return `A thread has 1 to ${REGISTERS_PER_THREAD} registers, not ${comma(registers)}.`;
  }
  if (shared < 0 || shared > gpu.shared_per_block) {
    return `A block may have 0 to ${comma(gpu.shared_per_block)} bytes of shared memory here, ` +
      `not ${comma(shared)}.`;
  }
  const { warps, warpsByRegisters } = blockTakes(gpu, launch);
  if (warps > warpsByRegisters) {
    return `At ${registers} registers a thread, the registers of an SM suffice for ` +
      `${warpsByRegisters} warps. A block of ${comma(threads)} threads has ${warps}: take fewer ` +
      "threads or registers.";
  }
  return "";
}

/** What fits: blocks, warps, share of the warp slots, room per resource (null: no limit). */
function fitOf(gpu, launch) {
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
  const blocks = Math.min(...Object.values(room).filter((count) => count !== null));
  const warps = blocks * takes.warps;
  const binding = Object.keys(room).filter((name) => room[name] === blocks);
  return { blocks, warps, share: warps / gpu.warps_per_sm, room, binding };
}

/** A share as "50 %" or "6.3 %". */
function percentOf(share) {
  return `${Math.floor(1000 * share + 0.5) / 10} %`;
}

/** The conclusion, a sentence each: what fits, what decides, and whether lanes idle. */
function fitWords(gpu, launch) {
  const refused = refusal(gpu, launch);
  if (refused) return ["No block can run.", refused];
  const fit = fitOf(gpu, launch);
  const takes = blockTakes(gpu, launch);
  const kept = gpu.shared_reserved
    ? `, ${gpu.shared_reserved / 1024} KB of it kept by the system` : "";
  const reasons = {
    blocks: ["Block slots decide", `an SM has ${gpu.blocks_per_sm}, however small the blocks.`],
    warps: ["Warp slots decide", `an SM has ${gpu.warps_per_sm}, and a block takes ${takes.warps}.`],
    registers: ["Registers decide",
      `an SM has enough for ${takes.warpsByRegisters} warps, and a block has ${takes.warps}.`],
    shared: ["Shared memory decides", `an SM has ${gpu.shared_per_sm / 1024} KB, and a block takes ` +
      `${takes.shared / 1024} KB${kept}.`],
  };
  const words = [`${plural(fit.blocks, "block")} fit${fit.blocks === 1 ? "s" : ""} on an SM: ` +
    `${plural(fit.blocks * launch.threads, "thread")} in ${fit.warps} of ${gpu.warps_per_sm} warp ` +
    `slots. Occupancy is ${percentOf(fit.share)}.`];
  fit.binding.forEach((name, i) => {
    const [head, why] = reasons[name];
    words.push(`${head}${i ? " too" : ""}: ${why}`);
  });
  const rest = launch.threads % WARP;
  if (rest) words.push(`The last warp of a block uses ${rest} of its ${WARP} lanes.`);
  return words;
}
