// Instructions in which the threads of a warp exchange values.

import { WARP } from "../hardware.py";
import { addressOf, begin } from "./accesses.ts";
import { countNonzero, LOAD, Site, type ThreadGroup, warpsAmong } from "./group.ts";
import { type Binder, copyWords, type Match, operations, type Step, target } from "./operations.ts";
import type { Instruction, Operand, Register } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { type Mask, predicateOf } from "./registers.ts";
import { sentence } from "./sentences.ts";
import { handsOnByFlags } from "./vector_clocks.ts";

/** The row of a 32-bit operand. */
function wordsOf(group: ThreadGroup, operand: Operand) {
  const row = group.registers.source(operand, 4);
  if (!row) throw new TypeError(operand.kind);
  return row;
}

function targetWords(group: ThreadGroup, register: Register) {
  const row = group.registers.row(register, 4);
  if (!row) throw new TypeError(register.name);
  return row.i32;
}

/**
 * Let a step report a mask, operand `at`, that does not name just the lanes that run it. Lanes that
 * have returned may be named.
 */
export function exchange(
  group: ThreadGroup,
  instruction: Instruction,
  at: number,
  step: Step,
): Step {
  const operand = instruction.operands[at];
  const members = wordsOf(group, operand).u32;
  const everyone = operand.kind === "immediate" && members[0] === ALL;
  return (mask) => {
    if (mask !== null || !everyone) checkMembers(group, instruction, members, mask);
    step(mask);
  };
}

function checkMembers(
  group: ThreadGroup,
  instruction: Instruction,
  members: Uint32Array,
  mask: Mask | null,
) {
  for (let first = 0; first < group.lanes; first += WARP) {
    const [running, alive] = [bitsOf(group, first, mask), bitsOf(group, first, null)];
    for (let lane = 0; lane < WARP; lane++) {
      if (!((running >>> lane) & 1)) continue;
      const named = members[first + lane];
      // A lane that its own mask does not name counts as absent too.
      const absent = (alive & named & ~running) | (~named & (1 << lane));
      if (absent === 0) continue;
      const other = 31 - Math.clz32(absent & -absent);
      group.launch.hazards.exchangeMissed(group, first + lane, instruction, named, other);
      return;
    }
  }
}

const ALL = 0xffffffff;

/** The lanes of a warp that run and have not returned, a bit for each. */
function bitsOf({ alive }: ThreadGroup, first: number, mask: Mask | null) {
  let bits = 0;
  for (let lane = 0; lane < WARP; lane++) {
    if (alive[first + lane] && (mask === null || mask[first + lane])) bits |= 1 << lane;
  }
  return bits;
}

/** The lane that each of a mode's lanes reads from, before it is checked: by the PTX manual. */
const SOURCES: Record<
  string,
  (lane: number, by: number, lowest: number, segment: number) => number
> = {
  up: (lane, by) => lane - by,
  down: (lane, by) => lane + by,
  bfly: (lane, by) => lane ^ by,
  idx: (_, by, lowest, segment) => lowest | (by & ~segment),
};

/** `shfl.sync`, by the pseudo-code of the PTX manual. */
function shuffle(group: ThreadGroup, instruction: Instruction, { mode }: Match): Step {
  const [first] = instruction.operands;
  const register = first.kind === "pair" ? first.first : target(instruction);
  const out = targetWords(group, register);
  const inRangeOut = first.kind === "pair" ? group.registers.predicate(first.second) : null;
  const [values, offset, control] = [1, 2, 3].map((at) => wordsOf(group, instruction.operands[at]));
  const moved = new Int32Array(group.lanes);
  const inRange = new Uint8Array(group.lanes);
  const gone = new Uint8Array(group.lanes);
  const sourceOf = SOURCES[mode];
  return exchange(group, instruction, 4, (mask) => {
    for (let at = 0; at < group.lanes; at++) {
      const lane = at % WARP;
      const [by, settings] = [offset.i32[at] & 31, control.i32[at]];
      const [segment, clamp] = [(settings >> 8) & 31, settings & 31];
      const lowest = lane & segment;
      const limit = lowest | (clamp & ~segment);
      const from = sourceOf(lane, by, lowest, segment);
      inRange[at] = (mode === "up" ? from >= limit : from <= limit) ? 1 : 0;
      const source = at - lane + (inRange[at] ? from : lane);
      moved[at] = values.i32[source];
      gone[at] = (mask === null || mask[at]) && !(mask ?? group.alive)[source] ? 1 : 0;
    }
    if (mask === null) out.set(moved);
    else copyWords(out, moved, mask, 0, group.lanes);
    if (inRangeOut) {
      for (let at = 0; at < group.lanes; at++) {
        if (mask === null || mask[at]) inRangeOut[at] = inRange[at];
      }
    }
    const first = gone.indexOf(1);
    if (first < 0) return;
    const { uninitialized, hazards } = group.launch;
    const suspect = () => hazards.fromGone(group, first, instruction);
    uninitialized.onEmpty(group, instruction, register.name, gone, suspect);
  });
}

function vote(group: ThreadGroup, instruction: Instruction, { mode }: Match): Step {
  const { row, flip } = predicateOf(group.registers, instruction.operands[1]);
  const words = mode === "ballot" ? targetWords(group, target(instruction)) : null;
  const out = words ?? group.registers.predicate(target(instruction));
  return exchange(group, instruction, 2, (mask) => {
    for (let first = 0; first < group.lanes; first += WARP) {
      let [bits, active] = [0, 0];
      for (let lane = 0; lane < WARP; lane++) {
        if (mask !== null && !mask[first + lane]) continue;
        active |= 1 << lane;
        if (row[first + lane] ^ flip) bits |= 1 << lane;
      }
      const results: Record<string, number> = {
        ballot: bits,
        any: bits ? 1 : 0,
        all: bits === active ? 1 : 0,
        uni: bits === active || bits === 0 ? 1 : 0,
      };
      setWarp(out, first, results[mode], mask);
    }
  });
}

/** Give the active lanes of a warp one value. */
function setWarp(out: Int32Array | Uint8Array, first: number, value: number, mask: Mask | null) {
  for (let lane = first; lane < first + WARP; lane++) {
    if (mask === null || mask[lane]) out[lane] = value;
  }
}

function activeMask(group: ThreadGroup, instruction: Instruction): Step {
  const out = targetWords(group, target(instruction));
  return (mask) => {
    const active = mask ?? group.exists;
    for (let first = 0; first < group.lanes; first += WARP) {
      let bits = 0;
      for (let lane = 0; lane < WARP; lane++) if (active[first + lane]) bits |= 1 << lane;
      setWarp(out, first, bits, active);
    }
  };
}

/** `__syncwarp()`; with a mask of some lanes it orders those alone. */
const warpBarrier: Binder = (group, { operands }) => {
  const members = operands.length ? wordsOf(group, operands[0]).i32 : null;
  return (mask) => {
    group.warpEpoch = group.warpEpoch.map(
      (epoch, lane) => epoch + (mask === null ? 1 : mask[lane]),
    );
    for (let first = 0; first < group.lanes; first += WARP) {
      const running = bitsOf(group, first, mask);
      for (let lane = first; lane < first + WARP; lane++) {
        if (mask !== null && !mask[lane]) continue;
        const named = members ? members[lane] : -1;
        const whole = (named & running) === running;
        group.syncwarpMask[lane] = whole ? -1 : named;
        if (whole) group.wholeEpoch[lane] = group.warpEpoch[lane];
        else group.partialSyncwarp = true;
      }
    }
  };
};

/** Accesses are carried out in order anyway: only the race detector needs to know. */
const fence: Binder = (group, { parts }) => {
  const { batch, launch } = group;
  const clocks = handsOnByFlags(launch.kernel) ? batch.clocks : null;
  const inBlock = parts.includes("cta");
  return (mask) => {
    if (!inBlock) for (const observer of launch.observers) observer.onFence?.(group, mask);
    for (const [own, warp] of clocks ? warpsAmong(group, mask ?? group.alive) : []) {
      clocks?.fence(batch.clusterOf(own), warp);
    }
  };
};

/** 8×8 matrices of 16-bit values; lane 8i+r gives the address of row r of i. */
function loadMatrix(group: ThreadGroup, instruction: Instruction, { count, trans }: Match): Step {
  const matrices = Number(count);
  const [first] = instruction.operands;
  const rows = (first.kind === "vector" ? first.items : [first]).map((item) => {
    if (item.kind !== "register") throw new TypeError(item.kind);
    return targetWords(group, item);
  });
  const addresses = addressOf(group, instruction, 1);
  const site = new Site(instruction, "shared", LOAD, 4, 4, false);
  // Four words for each lane that gives an address, and the same as 16-bit values.
  const words = new Int32Array(4 * group.lanes);
  const halves = new Uint16Array(words.buffer);
  return (mask) => {
    if (mask !== null && group.warpsOf(mask) * WARP !== countNonzero(mask)) {
      throw new PtxError(sentence("run.ldmatrix", { place: `${instruction.location}` }));
    }
    const asking = Uint8Array.from(group.slot, (_, lane) =>
      lane % WARP < 8 * matrices && (mask === null || mask[lane]) ? 1 : 0,
    );
    const access = begin(group, site, addresses(), asking.includes(0) ? asking : null);
    const { lanes, positions, memory } = access;
    words.fill(0);
    for (let i = 0; i < positions.length; i++) {
      const [lane, word] = [lanes === null ? i : lanes[i], positions[i] >> 2];
      for (let part = 0; part < 4; part++) words[4 * lane + part] = memory.words[word + part];
    }
    rows.forEach((out, matrix) => {
      for (let lane = 0; lane < group.lanes; lane++) {
        if (mask !== null && !mask[lane]) continue;
        const [quarter, inside] = [(lane % WARP) >> 2, lane % 4];
        const [low, high] = [0, 1].map((next) => {
          const [row, column] = trans ? [2 * inside + next, quarter] : [quarter, 2 * inside + next];
          return halves[8 * (lane - (lane % WARP) + 8 * matrix + row) + column];
        });
        out[lane] = low | (high << 16);
      }
    });
    for (const observer of group.launch.valueObservers) {
      const values = [0, 1, 2, 3].map((part) =>
        Uint32Array.from(positions, (_, i) => words[4 * (lanes === null ? i : lanes[i]) + part]),
      );
      observer.onValues?.(access, values);
    }
  };
}

export const WARP_OPERATIONS = operations([
  ["shfl\\.sync\\.(?<mode>up|down|bfly|idx)\\.b32", shuffle],
  ["vote\\.sync\\.(?<mode>ballot)\\.b32", vote],
  ["vote\\.sync\\.(?<mode>any|all|uni)\\.pred", vote],
  ["activemask\\.b32", activeMask],
  ["bar\\.warp\\.sync", warpBarrier],
  ["(?:membar|fence)\\..*", fence],
  [
    "ldmatrix\\.sync\\.aligned(?:\\.m8n8)?\\.x(?<count>[124])(?:\\.m8n8)?(?<trans>\\.trans)?" +
      "(?:\\.m8n8)?\\.shared(?:::cta)?\\.b16",
    loadMatrix,
  ],
]);
