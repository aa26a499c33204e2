// Asynchronous copies of words, `cp.async`.

import { addressOf, begin } from "./accesses.ts";
import type { Access, PendingCopy, ThreadGroup } from "./group.ts";
import { COPY_READ, COPY_WRITE, flatnonzero, Site } from "./group.ts";
import { type Binder, type Match, operations, overRuns, type Step } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { type Mask, predicateOf } from "./registers.ts";
import { sentence } from "./sentences.ts";

const COPY_WORD = 4;

/** Read global memory now, write shared memory when the copy is waited for. */
function copyAsync(group: ThreadGroup, instruction: Instruction): Step {
  const size = instruction.operands[2];
  if (size?.kind !== "immediate") {
    throw new PtxError(sentence("run.copy_size", { place: `${instruction.location}` }));
  }
  const bytes = Number(size.bits);
  const words = Math.floor(bytes / COPY_WORD);
  const readSite = new Site(instruction, "global", COPY_READ, COPY_WORD, words, true);
  const writeSite = new Site(instruction, "shared", COPY_WRITE, COPY_WORD, words, true);
  const [to, from] = [addressOf(group, instruction, 0), addressOf(group, instruction, 1)];
  const kept = keptBytes(group, instruction, bytes);
  const data = new Int32Array(group.lanes * words);
  const prepare = (mask: Mask | null, reading: Uint8Array) => {
    const clear = overRuns(group, (start, end, some) => {
      data.fill(0, words * start, words * end);
      for (let lane = start; lane < end; lane++) {
        if ((some === null || some[lane] !== 0) && kept(lane) > 0) reading[lane] = 1;
      }
    });
    clear(mask);
  };
  return (mask) => {
    const write = begin(group, writeSite, to(mask), mask, { scratch: 0 });
    // Bytes past the kept ones are filled with zeros and their source is not read.
    const reading = new Uint8Array(group.lanes);
    prepare(mask, reading);
    if (reading.includes(1)) {
      const readers = reading.includes(0) ? reading : null;
      const read = begin(group, readSite, from(readers), readers, { scratch: 1 });
      fetch(read, data, words, kept);
      notifyWords(read, data, words);
    }
    for (const observer of group.launch.observers) {
      observer.onStored?.(write, (word, i) => {
        const lane = write.lanes === null ? i : write.lanes[i];
        return BigInt(data[lane * words + word]);
      });
    }
    notifyWords(write, data, words);
    group.pending.push(pendingCopy(group, write, data, words));
  };
}

/** Read what a copy moves; what lies past the kept bytes stays zero. */
function fetch(
  { memory, positions, lanes }: Access,
  data: Int32Array,
  words: number,
  kept: (lane: number) => number,
) {
  for (let i = 0; i < positions.length; i++) {
    const lane = lanes === null ? i : lanes[i];
    const bytes = kept(lane);
    for (let word = 0; word < words; word++) {
      if (COPY_WORD * word < bytes) {
        data[lane * words + word] = memory.words[(positions[i] >> 2) + word];
      }
    }
  }
}

function notifyWords(access: Access, data: Int32Array, words: number) {
  const { valueObservers } = access.group.launch;
  if (!valueObservers.length) return;
  const floats = new Float32Array(data.buffer);
  const { lanes, positions } = access;
  const values = Array.from({ length: words }, (_, word) =>
    Float32Array.from(positions, (_, i) => floats[(lanes === null ? i : lanes[i]) * words + word]),
  );
  for (const observer of valueObservers) observer.onValues?.(access, values);
}

function pendingCopy(group: ThreadGroup, write: Access, data: Int32Array, words: number) {
  const lanes = write.lanes?.slice() ?? new Int32Array(group.lanes).map((_, lane) => lane);
  const positions = new Int32Array(lanes.length * words);
  const copied = new Int32Array(lanes.length * words);
  for (let i = 0; i < lanes.length; i++) {
    for (let word = 0; word < words; word++) {
      positions[i * words + word] = write.positions[i] + COPY_WORD * word;
      copied[i * words + word] = data[lanes[i] * words + word];
    }
  }
  const ticket = lanes.map((lane) => group.committed[lane]);
  return { lanes, ticket, positions, words: copied };
}

/**
 * How many bytes of each lane's copy are read; the rest are zeros. The fourth operand is that
 * number, or a predicate that holds where nothing is to be read.
 */
function keptBytes(
  group: ThreadGroup,
  instruction: Instruction,
  size: number,
): (lane: number) => number {
  const operand = instruction.operands[3];
  if (!operand) return () => size;
  const register = operand.kind === "negated" ? operand.register : operand;
  if (register.kind === "register" && group.registers.isPredicate(register)) {
    const { row, flip } = predicateOf(group.registers, operand);
    return (lane) => (row[lane] === flip ? size : 0);
  }
  const row = group.registers.source(operand, 4);
  if (row) return (lane) => row.u32[lane];
  const read = group.registers.reader(operand, "u32");
  return (lane) => Number(read(lane));
}

const commit: Binder = (group) => (mask) => {
  for (let lane = 0; lane < group.lanes; lane++) {
    if (mask === null || mask[lane] !== 0) group.committed[lane] += 1;
  }
};

/** `cp.async.wait_group N`: all but each lane's last N groups become visible. */
function wait(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  if (match.wait === "all") return (mask) => landCopies(group, mask, null);
  const count = instruction.operands[0];
  if (count?.kind !== "immediate") {
    throw new PtxError(sentence("run.wait_group", { place: `${instruction.location}` }));
  }
  const allowed = Number(count.bits);
  return (mask) => landCopies(group, mask, allowed);
}

/** Let asynchronous copies of some lanes arrive: all, or all but the last `allowed` groups. */
export function landCopies(group: ThreadGroup, mask: Mask | null, allowed: number | null) {
  const stillPending = [];
  for (const copy of group.pending) {
    const done = new Uint8Array(copy.lanes.length);
    for (let i = 0; i < done.length; i++) {
      const lane = copy.lanes[i];
      const asked = mask === null || mask[lane] !== 0;
      if (asked && (allowed === null || copy.ticket[i] < group.committed[lane] - allowed)) {
        done[i] = 1;
      }
    }
    if (done.includes(1)) land(group, done.includes(0) ? chosen(copy, done) : copy);
    if (done.includes(0)) {
      stillPending.push(
        chosen(
          copy,
          done.map((one) => 1 - one),
        ),
      );
    }
  }
  group.pending.splice(0, group.pending.length, ...stillPending);
}

/**
 * A part of a copy.
 * @param which of its lanes
 */
function chosen({ lanes, ticket, positions, words }: PendingCopy, which: Uint8Array): PendingCopy {
  const where = flatnonzero(which);
  const each = positions.length / lanes.length;
  const taken = (all: Int32Array) => {
    const found = new Int32Array(where.length * each);
    for (let i = 0; i < where.length; i++) {
      for (let word = 0; word < each; word++) found[i * each + word] = all[where[i] * each + word];
    }
    return found;
  };
  return {
    lanes: where.map((at) => lanes[at]),
    ticket: where.map((at) => ticket[at]),
    positions: taken(positions),
    words: taken(words),
  };
}

function land(group: ThreadGroup, { lanes, positions, words }: PendingCopy) {
  const { shared } = group.batch;
  for (let i = 0; i < positions.length; i++) shared.words[positions[i] >> 2] = words[i];
  shared.markWritten(positions, COPY_WORD);
  const each = positions.length / lanes.length;
  const owners = new Int32Array(positions.length).map((_, i) => lanes[Math.floor(i / each)]);
  for (const observer of group.launch.observers)
    observer.onCopiesLanded?.(group, owners, positions);
}

export const ASYNC_COPIES = operations([
  ["cp\\.async\\.c[ag]\\.shared(?:::cta)?\\.global(?:\\.L2::\\w+)*", copyAsync],
  ["cp\\.async\\.commit_group", commit],
  ["cp\\.async\\.wait_(?<wait>group|all)", wait],
]);
