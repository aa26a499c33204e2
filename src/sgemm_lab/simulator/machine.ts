// Run the blocks of a launch: bind instructions to registers, and schedule blocks and warps.

import { LabError } from "../errors.ts";
import { APPROXIMATIONS } from "./approximations.ts";
import { ARITHMETIC } from "./arithmetic.ts";
import { ASYNC_COPIES } from "./async_copies.ts";
import { runToCompletion } from "./barriers.ts";
import { type BasicBlock, basicBlocks } from "./control_flow.ts";
import { CONVERSIONS } from "./conversions.ts";
import { type BlockBarrier, type Condition, Program, type Segment } from "./divergence.ts";
import type { Tally } from "./execution_counts.ts";
import { FUSED_OPERATIONS } from "./fma_contraction.ts";
import { getOrInsert } from "./get_or_insert.ts";
import { BlockBatch, CLUSTER_BARRIER, countNonzero, type Launch, ThreadGroup } from "./group.ts";
import { HALF_OPERATIONS } from "./half_operations.ts";
import { IMAGE_OPERATIONS, refuseOtherImages } from "./image_operations.ts";
import { MBARRIER_OPERATIONS } from "./mbarrier_operations.ts";
import { MEMORY_OPERATIONS } from "./memory_operations.ts";
import { registersOf } from "./operands.ts";
import { type Binder, type Match, overRuns, type Step } from "./operations.ts";
import type { Guard, Instruction, PtxKernel } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { RARE_OPERATIONS } from "./rare_operations.ts";
import { sentence } from "./sentences.ts";
import { TENSOR_COPIES } from "./tensor_copies.ts";
import { TENSOR_OPERATIONS } from "./tensor_operations.ts";
import { TRAPS } from "./traps.ts";
import { mark, unsetLanes } from "./uninitialized_registers.ts";
import { WARP_OPERATIONS } from "./warp_operations.ts";
import { WGMMA_OPERATIONS } from "./wgmma_operations.ts";
import { WMMA_OPERATIONS } from "./wmma_operations.ts";

/** blocks done, and all of them */
export type Progress = (done: number, all: number) => void;

const OPERATIONS = [
  ...ARITHMETIC,
  ...CONVERSIONS,
  ...APPROXIMATIONS,
  ...FUSED_OPERATIONS,
  ...HALF_OPERATIONS,
  ...MEMORY_OPERATIONS,
  ...ASYNC_COPIES,
  ...MBARRIER_OPERATIONS,
  ...WARP_OPERATIONS,
  ...TENSOR_OPERATIONS,
  ...TENSOR_COPIES,
  ...WGMMA_OPERATIONS,
  ...WMMA_OPERATIONS,
  ...RARE_OPERATIONS,
  ...IMAGE_OPERATIONS,
  ...TRAPS,
];
const BARRIER = /^(?:bar|barrier)(?:\.cta)?\.(?<how>sync|arrive)(?:\.aligned)?$/;
const BRANCH = /^(?:bra(?:\.uni)?|ret|exit)$/;
const CLUSTER_WAIT = /^barrier\.cluster\.wait(?:\.acquire)?(?:\.aligned)?$/;

// Lanes that run side by side: registers of more no longer fit the processor's cache.
const REGISTER_BYTES = 6 * 2 ** 20;
const [MIN_LANES, MAX_LANES] = [1024, 16384];

const known: Map<string, { bind: Binder; match: Match } | null> = new Map();

function operationOf(opcode: string) {
  return getOrInsert(known, opcode, () => {
    for (const [pattern, bind] of OPERATIONS) {
      const match = pattern.exec(opcode);
      if (match) return { bind, match: { ...match.groups } };
    }
    return null;
  });
}

/**
 * Refuse a kernel that uses an instruction the simulator does not know: a PtxError names the opcode
 * and its source line.
 */
function checkOpcodes(kernel: PtxKernel) {
  refuseOtherImages(kernel.instructions, (opcode) => operationOf(opcode) !== null);
  for (const { opcode, location: place } of kernel.instructions) {
    if (CLUSTER_WAIT.test(opcode)) continue;
    if (!BARRIER.test(opcode) && !BRANCH.test(opcode) && !operationOf(opcode)) {
      throw new PtxError(sentence("run.opcode", { opcode, place }));
    }
  }
}

/** Every instruction bound to a group's registers. */
function codeOf(group: ThreadGroup, blocks: BasicBlock[], tally: Tally) {
  // Blocks are bound when they first run: many never do.
  const bound: (Segment[] | undefined)[] = Array(blocks.length).fill(undefined);
  const segments = (block: BasicBlock) => {
    const found = bound[block.number] ?? segmentsOf(group, block, tally);
    bound[block.number] = found;
    return found;
  };
  const condition = blocks.map(({ terminator }) =>
    terminator?.guard ? decisionOf(group, terminator.guard) : null,
  );
  return { blocks, segments, condition };
}

function segmentsOf(group: ThreadGroup, { instructions }: BasicBlock, tally: Tally): Segment[] {
  const found = [];
  let steps: Step[] = [];
  for (const instruction of instructions) {
    const waits = CLUSTER_WAIT.test(instruction.opcode);
    const how = waits ? "sync" : BARRIER.exec(instruction.opcode)?.groups?.how;
    if (how) {
      found.push({ steps, barrier: barrierOf(group, instruction, how === "sync") });
      steps = [];
      continue;
    }
    for (const one of group.launch.usedIf.get(instruction.index)?.first ?? []) {
      steps.push(bound(group, one));
    }
    steps.push(bind(group, instruction, tally));
  }
  found.push({ steps, barrier: null });
  return found;
}

function barrierOf(group: ThreadGroup, instruction: Instruction, waits: boolean): BlockBarrier {
  const valueAt = (position: number) => {
    const operand = instruction.operands[position];
    const row = group.registers.source(operand, 4);
    if (!row) throw new TypeError(instruction.opcode);
    return operand.kind === "register" ? row.u32 : row.u32[0];
  };
  const whole = CLUSTER_WAIT.test(instruction.opcode) ? CLUSTER_BARRIER : 0;
  const number = instruction.operands.length ? valueAt(0) : whole;
  const threads = instruction.operands.length > 1 ? valueAt(1) : null;
  let guard = instruction.guard && decisionOf(group, instruction.guard);
  const names = instruction.operands.flatMap(registersOf).map(({ name }) => name);
  if (names.length) {
    const everybody = guard ?? ((mask) => mask ?? group.alive.slice());
    guard = group.launch.uninitialized.wrapBranch(group, names, everybody);
  }
  return { instruction, number, threads, waits, guard };
}

/** The lanes where a guard holds that decides where threads go on. */
function decisionOf(group: ThreadGroup, guard: Guard): Condition {
  const holds = conditionOf(group, guard);
  return group.launch.uninitialized.wrapBranch(group, [guard.register.name], holds);
}

/** A function that gives the lanes of a mask where a guard holds. */
function conditionOf(group: ThreadGroup, { register, negated }: Guard): Condition {
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

function bind(group: ThreadGroup, instruction: Instruction, tally: Tally): Step {
  const step = warning(group, instruction, bound(group, instruction));
  const condition = instruction.guard && conditionOf(group, instruction.guard);
  const guarded = condition ? guardedStep(group, instruction, step, condition, tally) : step;
  const { uninitialized } = group.launch;
  const wrapped = uninitialized.wrapStep(group, instruction, guarded, step, condition);
  return looking(group, instruction, wrapped);
}

function guardedStep(
  group: ThreadGroup,
  { index }: Instruction,
  step: Step,
  condition: Condition,
  tally: Tally,
): Step {
  return (mask) => {
    const where = condition(mask);
    const lanes = countNonzero(where);
    if (!lanes) return;
    tally.guardedLanes[index] += lanes;
    tally.guardedWarps[index] += group.warpsOf(where);
    step(lanes === group.lanes ? null : where);
  };
}

/** Look for registers without a value before a step that may read some. */
function looking(group: ThreadGroup, instruction: Instruction, step: Step): Step {
  const { hazards, unset, uninitialized } = group.launch;
  const reads = unset.get(instruction.index);
  if (!reads) return step;
  return (mask) => {
    for (const { name } of reads) {
      const lanes = unsetLanes(group, name, mask);
      if (!lanes) continue;
      const suspect = () => hazards.unset(group, lanes.indexOf(1), instruction);
      uninitialized.onEmpty(group, instruction, name, lanes, suspect);
    }
    step(mask);
  };
}

/** Tell of registers of products that may still run before a step that uses some. */
function warning(group: ThreadGroup, instruction: Instruction, step: Step): Step {
  const { hazards, earlyUses } = group.launch;
  const key = earlyUses.get(instruction.index);
  if (!key) return step;
  return (mask) => {
    hazards.earlyUse(group, (mask ?? group.alive).indexOf(1), instruction, key);
    step(mask);
  };
}

function bound(group: ThreadGroup, instruction: Instruction): Step {
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

/** How many blocks to run side by side. */
function defaultSlots(launch: Launch, count: number) {
  const { cluster } = launch;
  if (launch.cooperative) return count;
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
  const blocks = Math.min(count, Math.floor(lanes / (launch.warps * 32)));
  return Math.max(cluster, Math.floor(blocks / cluster) * cluster);
}

/** Run all blocks, many at a time, all threads of a block together. */
export function runLockstep(
  launch: Launch,
  blocks: BasicBlock[],
  tally: Tally,
  progress: Progress | null,
) {
  const every = launch.numbers();
  const slots = defaultSlots(launch, every.length);
  let program: Program | null = null;
  for (let first = 0; first < every.length; first += slots) {
    const numbers = every.slice(first, first + slots);
    if (program?.group.batch.slots !== numbers.length) {
      const batch = new BlockBatch(launch, numbers.length);
      program = programOf(new ThreadGroup(batch, everyWarp(launch)), blocks, tally);
    }
    const { batch } = program.group;
    start(batch, numbers, [program]);
    runToCompletion(batch, [program], tally);
    for (const observer of launch.observers) observer.onBlocksDone?.(batch);
    launch.blocksDone = first + numbers.length;
    progress?.(launch.blocksDone, every.length);
  }
}

function everyWarp({ warps }: Launch) {
  return Array.from({ length: warps }, (_, warp) => warp);
}

/**
 * Run block after block, or cluster after cluster; in each, every warp runs to its next barrier
 * before the next warp, in the order of `warpOrder`, or of their numbers. With
 * `threadByThread` every thread does so: CUDA orders the threads of a warp neither. Hardware may do
 * the same, so a kernel whose result differs from lockstep lacks a barrier.
 */
export function runWarpAfterWarp(
  launch: Launch,
  blocks: BasicBlock[],
  tally: Tally,
  progress: Progress | null,
  threadByThread: boolean,
  warpOrder: number[] | null = null,
) {
  const { cluster } = launch;
  const numbers = launch.numbers();
  const batch = new BlockBatch(launch, cluster);
  const programs = (warpOrder ?? everyWarp(launch)).map((warp) =>
    programOf(new ThreadGroup(batch, [warp]), blocks, tally),
  );
  for (let first = 0; first < numbers.length; first += cluster) {
    start(batch, numbers.slice(first, first + cluster), programs);
    runToCompletion(batch, programs, tally, threadByThread);
    for (const observer of launch.observers) observer.onBlocksDone?.(batch);
    launch.blocksDone = first + cluster;
    progress?.(launch.blocksDone, numbers.length);
  }
}

/** Put fresh blocks into a batch, and marks where registers may be read before a write. */
function start(batch: BlockBatch, numbers: number[], programs: Program[]) {
  batch.start(numbers);
  for (const { group } of programs) {
    group.readings = 0;
    mark(group, batch.launch.unset);
  }
}

function programOf(group: ThreadGroup, blocks: BasicBlock[], tally: Tally) {
  return new Program(group, codeOf(group, blocks, tally), tally);
}

/**
 * The basic blocks of a kernel that the simulator can run. Throws a PtxError where it uses an
 * unknown instruction or a broken branch.
 */
export function flowOf(kernel: PtxKernel) {
  checkOpcodes(kernel);
  return basicBlocks(kernel);
}
