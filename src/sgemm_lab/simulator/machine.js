// @ts-check
// Run the blocks of a launch: bind instructions to registers, and schedule blocks and warps.
// machine.py in JavaScript. Multiply-adds are not bundled: a loop over a row is fast as it is.

import { LabError } from "../errors.js";
import { APPROXIMATIONS } from "./approximations.js";
import { ARITHMETIC } from "./arithmetic.js";
import { ASYNC_COPIES } from "./async_copies.js";
import { runToTheEnd } from "./barriers.js";
import { basicBlocks } from "./control_flow.js";
import { CONVERSIONS } from "./conversions.js";
import { Program } from "./divergence.js";
import { BlockBatch, countNonzero, ThreadGroup } from "./group.js";
import { HALF_OPERATIONS } from "./half_operations.js";
import { MBARRIER_OPERATIONS } from "./mbarrier_operations.js";
import { MEMORY_OPERATIONS } from "./memory_operations.js";
import { registersOf } from "./operands.js";
import { overRuns } from "./operations.js";
import { PtxError } from "./ptx.js";
import { sentence } from "./sentences.js";
import { TENSOR_OPERATIONS } from "./tensor_operations.js";
import { WARP_OPERATIONS } from "./warp_operations.js";

/** @typedef {import("./control_flow.js").BasicBlock} BasicBlock */
/** @typedef {import("./group.js").Launch} Launch */
/** @typedef {import("./operations.js").Binder} Binder */
/** @typedef {import("./operations.js").Match} Match */
/** @typedef {import("./operations.js").Step} Step */
/** @typedef {import("./divergence.js").BlockBarrier} BlockBarrier */
/** @typedef {import("./divergence.js").Condition} Condition */
/** @typedef {import("./divergence.js").Segment} Segment */
/** @typedef {import("./ptx.js").Guard} Guard */
/** @typedef {import("./ptx.js").Instruction} Instruction */
/** @typedef {import("./ptx.js").PtxKernel} PtxKernel */
/** @typedef {import("./execution_counts.js").Tally} Tally */
/** @typedef {(done: number, all: number) => void} Progress blocks done, and all of them */

const OPERATIONS = [
  ...ARITHMETIC,
  ...CONVERSIONS,
  ...APPROXIMATIONS,
  ...HALF_OPERATIONS,
  ...MEMORY_OPERATIONS,
  ...ASYNC_COPIES,
  ...MBARRIER_OPERATIONS,
  ...WARP_OPERATIONS,
  ...TENSOR_OPERATIONS,
];
const BARRIER = /^(?:bar|barrier)(?:\.cta)?\.(?<how>sync|arrive)(?:\.aligned)?$/;
const BRANCH = /^(?:bra(?:\.uni)?|ret|exit)$/;
const CLUSTER = /^(?:barrier\.cluster|mapa\b)/;
const WARP_GROUP = /^wgmma\./;

// Lanes that run side by side, as many as in Python: so both meet a hazard in the same order.
const REGISTER_BYTES = 6 * 2 ** 20;
const [MIN_LANES, MAX_LANES] = [1024, 16384];

/** @type {Map<string, { bind: Binder, match: Match } | null>} */
const known = new Map();

/**
 * @param {string} opcode
 */
function operationOf(opcode) {
  let found = known.get(opcode);
  if (found === undefined) {
    found = null;
    for (const [pattern, bind] of OPERATIONS) {
      const match = pattern.exec(opcode);
      if (!match) continue;
      found = { bind, match: { ...match.groups } };
      break;
    }
    known.set(opcode, found);
  }
  return found;
}

/**
 * Refuse a kernel that uses an instruction the simulator does not know: a PtxError names the opcode
 * and its source line.
 * @param {PtxKernel} kernel
 */
function checkOpcodes(kernel) {
  for (const { opcode, location: place } of kernel.instructions) {
    // Said first: such a kernel has other instructions, too, that are for a GPU only.
    if (WARP_GROUP.test(opcode)) throw new PtxError(sentence("run.warpgroup", { place }));
  }
  for (const { opcode, location: place } of kernel.instructions) {
    if (CLUSTER.test(opcode)) throw new PtxError(sentence("run.cluster", { place }));
    if (!BARRIER.test(opcode) && !BRANCH.test(opcode) && !operationOf(opcode)) {
      throw new PtxError(sentence("run.opcode", { opcode, place }));
    }
  }
}

/**
 * Every instruction bound to a group's registers.
 * @param {ThreadGroup} group
 * @param {BasicBlock[]} blocks
 * @param {Tally} tally
 */
function codeOf(group, blocks, tally) {
  // Blocks are bound when they first run: many never do.
  /** @type {(Segment[] | undefined)[]} */
  const bound = Array(blocks.length).fill(undefined);
  /** @param {BasicBlock} block */
  const segments = (block) => {
    const found = bound[block.number] ?? segmentsOf(group, block, tally);
    bound[block.number] = found;
    return found;
  };
  const condition = blocks.map(({ terminator }) =>
    terminator?.guard ? decisionOf(group, terminator.guard) : null,
  );
  return { blocks, segments, condition };
}

/**
 * @param {ThreadGroup} group
 * @param {BasicBlock} block
 * @param {Tally} tally
 * @returns {Segment[]}
 */
function segmentsOf(group, { instructions }, tally) {
  const found = [];
  /** @type {Step[]} */
  let steps = [];
  for (const instruction of instructions) {
    const how = BARRIER.exec(instruction.opcode)?.groups?.how;
    if (how) {
      found.push({ steps, barrier: barrierOf(group, instruction, how === "sync") });
      steps = [];
    } else steps.push(bind(group, instruction, tally));
  }
  found.push({ steps, barrier: null });
  return found;
}

/**
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {boolean} waits
 * @returns {BlockBarrier}
 */
function barrierOf(group, instruction, waits) {
  /** @param {number} position */
  const valueAt = (position) => {
    const operand = instruction.operands[position];
    const row = group.registers.source(operand, 4);
    if (!row) throw new TypeError(instruction.opcode);
    return operand.kind === "register" ? row.u32 : row.u32[0];
  };
  const number = valueAt(0);
  const threads = instruction.operands.length > 1 ? valueAt(1) : null;
  let guard = instruction.guard && decisionOf(group, instruction.guard);
  const names = instruction.operands.flatMap(registersOf).map(({ name }) => name);
  if (names.length) {
    const everybody = guard ?? ((mask) => mask ?? group.alive.slice());
    guard = group.launch.neverSet.deciding(group, names, everybody);
  }
  return { instruction, number, threads, waits, guard };
}

/**
 * The lanes where a guard holds that decides where threads go on.
 * @param {ThreadGroup} group
 * @param {Guard} guard
 * @returns {Condition}
 */
function decisionOf(group, guard) {
  const holds = conditionOf(group, guard);
  return group.launch.neverSet.deciding(group, [guard.register.name], holds);
}

/**
 * A function that gives the lanes of a mask where a guard holds.
 * @param {ThreadGroup} group
 * @param {Guard} guard
 * @returns {Condition}
 */
function conditionOf(group, { register, negated }) {
  const row = group.registers.predicate(register);
  const flip = negated ? 1 : 0;
  let where = new Uint8Array(0);
  const fill = overRuns(group, (from, to, mask) => {
    if (mask === null) for (let lane = from; lane < to; lane++) where[lane] = row[lane] ^ flip;
    else for (let lane = from; lane < to; lane++) where[lane] = (row[lane] ^ flip) & mask[lane];
  });
  return (mask) => {
    where = new Uint8Array(row.length);
    fill(mask);
    return where;
  };
}

/**
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {Tally} tally
 * @returns {Step}
 */
function bind(group, instruction, tally) {
  const step = bound(group, instruction);
  const condition = instruction.guard && conditionOf(group, instruction.guard);
  const guarded = condition ? guardedStep(group, instruction, step, condition, tally) : step;
  return group.launch.neverSet.following(group, instruction, guarded, step, condition);
}

/**
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @param {Step} step
 * @param {Condition} condition
 * @param {Tally} tally
 * @returns {Step}
 */
function guardedStep(group, { index }, step, condition, tally) {
  return (mask) => {
    const where = condition(mask);
    const lanes = countNonzero(where);
    if (!lanes) return;
    tally.guardedLanes[index] += lanes;
    tally.guardedWarps[index] += group.warpsOf(where);
    step(lanes === group.lanes ? null : where);
  };
}

/**
 * @param {ThreadGroup} group
 * @param {Instruction} instruction
 * @returns {Step}
 */
function bound(group, instruction) {
  const { opcode, location } = instruction;
  try {
    const operation = operationOf(opcode);
    if (!operation) throw new TypeError(opcode);
    return operation.bind(group, instruction, operation.match);
  } catch (error) {
    const place = `${location}`;
    if (!(error instanceof LabError)) {
      throw new PtxError(sentence("run.operands", { opcode, place }), { cause: error });
    }
    if (!(error instanceof PtxError) || error.message.includes(place)) throw error;
    throw new PtxError(`${place}: ${error.message}`);
  }
}

/**
 * How many blocks to run side by side.
 * @param {Launch} launch
 */
export function defaultSlots(launch) {
  if (launch.together) return launch.blocks;
  const names = new Set(
    launch.kernel.instructions.flatMap(({ operands }) =>
      operands.flatMap((operand) => (operand.kind === "register" ? [operand.name] : [])),
    ),
  );
  let perLane = 0;
  for (const name of names) perLane += name[1] === "p" ? 1 : 4;
  const lanes = Math.min(
    Math.max(Math.floor(REGISTER_BYTES / (perLane || 1)), MIN_LANES),
    MAX_LANES,
  );
  return Math.max(1, Math.min(launch.blocks, Math.floor(lanes / (launch.warps * 32))));
}

/**
 * Run all blocks, many at a time, all threads of a block together.
 * @param {Launch} launch
 * @param {BasicBlock[]} blocks
 * @param {Tally} tally
 * @param {Progress | null} progress
 */
export function runLockstep(launch, blocks, tally, progress) {
  const slots = defaultSlots(launch);
  /** @type {Program | null} */
  let program = null;
  for (let first = 0; first < launch.blocks; first += slots) {
    const count = Math.min(slots, launch.blocks - first);
    if (program?.group.batch.slots !== count) {
      const warps = Array.from({ length: launch.warps }, (_, warp) => warp);
      program = programOf(new ThreadGroup(new BlockBatch(launch, count), warps), blocks, tally);
    }
    const { batch } = program.group;
    batch.start(first);
    runToTheEnd(batch, [program], tally);
    launch.blocksDone = first + count;
    progress?.(launch.blocksDone, launch.blocks);
  }
}

/**
 * Run block after block; in each, every warp runs to its next barrier before the next warp. With
 * `apart` every thread does so, for CUDA promises no order among those of a warp either. Hardware
 * may do the same, so a kernel whose result differs from lockstep lacks a barrier.
 * @param {Launch} launch
 * @param {BasicBlock[]} blocks
 * @param {Tally} tally
 * @param {Progress | null} progress
 * @param {boolean} apart
 */
export function runWarpAfterWarp(launch, blocks, tally, progress, apart) {
  const batch = new BlockBatch(launch, 1);
  const programs = Array.from({ length: launch.warps }, (_, warp) =>
    programOf(new ThreadGroup(batch, [warp]), blocks, tally),
  );
  for (let number = 0; number < launch.blocks; number++) {
    batch.start(number);
    runToTheEnd(batch, programs, tally, apart);
    launch.blocksDone = number + 1;
    progress?.(launch.blocksDone, launch.blocks);
  }
}

/**
 * @param {ThreadGroup} group
 * @param {BasicBlock[]} blocks
 * @param {Tally} tally
 */
function programOf(group, blocks, tally) {
  return new Program(group, codeOf(group, blocks, tally), tally);
}

/**
 * The basic blocks of a kernel that the simulator can run. Throws a PtxError where it uses an
 * unknown instruction or a broken branch.
 * @param {PtxKernel} kernel
 */
export function flowOf(kernel) {
  checkOpcodes(kernel);
  return basicBlocks(kernel);
}
