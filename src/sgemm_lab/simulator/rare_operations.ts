// Instructions that few kernels have: bit tricks, sums over a warp or a block, hints. Each does what
// the PTX ISA says of it. Those that only hint at what is to come do nothing here.

import { WARP } from "../hardware.py";
import { WHOLE } from "./arithmetic.ts";
import { widthOf } from "./conversions.ts";
import { getOrInsert } from "./get_or_insert.ts";
import type { ThreadGroup } from "./group.ts";
import { LOCAL_WINDOW, SHARED_WINDOW } from "./memory.ts";
import type { Binder, Match, Step } from "./operations.ts";
import { lanewise, nothing, operations, perLane, reader, slowly, target } from "./operations.ts";
import type { Instruction } from "./ptx.ts";
import { type Mask, predicateOf, type Value } from "./registers.ts";
import { exchange } from "./warp_operations.ts";

/** `brev`: the lowest bit becomes the highest. */
const reverse = perLane([""], "", ({ type }, a: bigint) => {
  const bits = a.toString(2).padStart(widthOf(type), "0");
  return BigInt(`0b${[...bits].reverse().join("")}`);
});

/** `bfind`: the place of the highest bit that is no copy of the sign; all ones without one. */
const findHighest = perLane([""], "u32", ({ type, shift }, a: bigint) => {
  const size = a < 0n ? ~a : a;
  if (!size) return -1n;
  const place = size.toString(2).length - 1;
  return BigInt(shift ? widthOf(type) - 1 - place : place);
});

/** `bmsk`: ones from a place on, as many as b says. */
const bitMask = perLane(["u32", "u32"], "u32", ({ mode }, a: bigint, b: bigint) => {
  const [start, width] = [a, b].map((one) => (mode === "wrap" ? one % 32n : one));
  if (start >= 32n) return 0n;
  return BigInt.asUintN(32, (width >= 32n ? -1n : (1n << width) - 1n) << start);
});

/** One of the whole numbers that lie in a word. */
const partOf = (word: bigint, bits: number, place: number, type: string) =>
  (type === "s32" ? BigInt.asIntN : BigInt.asUintN)(bits, word >> BigInt(bits * place));

/** `dp4a`: c plus four products of bytes. `dp2a`: c plus two, of 16 bits by a byte of b's half. */
const dotOfBytes = perLane(["u32", "u32", "u32"], "u32", (match, a, b, c) => {
  const count = match.half ? 2 : 4;
  const begin = match.half === "hi" ? 2 : 0;
  return Array.from({ length: count }, (_, place) => place).reduce(
    (sum, place) =>
      sum + partOf(a, 32 / count, place, match.first) * partOf(b, 8, begin + place, match.second),
    c as bigint,
  );
});

const absoluteDifference = perLane(["", "", ""], "", (_, a, b, c) => (a < b ? b - a : a - b) + c);

/** `mul24.lo`: the low 32 bits of a product of the 24 low bits of each. */
const multiply24 = perLane(["", ""], "", ({ type }, a, b) => {
  const low = type === "s32" ? BigInt.asIntN : BigInt.asUintN;
  return low(24, a) * low(24, b);
});

/** `copysign d, a, b`: b with the sign of a. */
const copySign: Binder = (group, instruction, { type }) => {
  const bits = `b${type.slice(1)}`;
  const sign = 1n << BigInt(widthOf(type) - 1);
  const copy = perLane([bits, bits], bits, (_, a, b) => (a & sign) | (b & ~sign));
  return copy(group, instruction, {});
};

const FLOAT_TESTS: Record<string, (a: number, least: number) => boolean> = {
  finite: Number.isFinite,
  infinite: (a) => Math.abs(a) === Number.POSITIVE_INFINITY,
  number: (a) => !Number.isNaN(a),
  notanumber: Number.isNaN,
  normal: (a, least) => Number.isFinite(a) && Math.abs(a) >= least,
  subnormal: (a, least) => a !== 0 && Math.abs(a) < least,
};
const testFloat = perLane([""], "pred", ({ what, type }, a) =>
  Number(FLOAT_TESTS[what](a, type === "f32" ? 2 ** -126 : 2 ** -1022)),
);

/** `isspacep`: whether a generic address lies in a space. */
const isSpace = perLane(["u64"], "pred", ({ space }, address) => {
  const lies = address >= LOCAL_WINDOW ? "local" : address >= SHARED_WINDOW ? "shared" : "global";
  return Number(lies === space);
});

/** For each lane, which lanes of its warp are named with it and active, a bit for each. */
function fellowsOf(group: ThreadGroup, members: (lane: number) => Value, mask: Mask | null) {
  const fellows = new Uint32Array(group.lanes);
  for (let first = 0; first < group.lanes; first += WARP) {
    let active = 0;
    for (let lane = 0; lane < WARP; lane++) {
      if (mask === null || mask[first + lane]) active |= 1 << lane;
    }
    for (let lane = first; lane < first + WARP; lane++) {
      fellows[lane] = Number(members(lane)) & active;
    }
  }
  return fellows;
}

/** The lanes of a warp that have a bit; `first` is its first lane. */
function lanesIn(bits: number, first: number) {
  return Array.from({ length: WARP }, (_, at) => first + at).filter((_, at) => (bits >>> at) & 1);
}

/** `redux.sync`: one operation over the lanes that a mask names. */
function reduceWarp(group: ThreadGroup, instruction: Instruction, { op, type }: Match): Step {
  const [value, members] = [
    reader(group, instruction, 1, type),
    reader(group, instruction, 2, "u32"),
  ];
  const write = group.registers.writer(target(instruction), type);
  return exchange(group, instruction, 2, (mask) => {
    const values = Array.from({ length: group.lanes }, (_, lane) => value(lane) as bigint);
    const results: Map<string, bigint> = new Map();
    fellowsOf(group, members, mask).forEach((bits, lane) => {
      if (mask !== null && !mask[lane]) return;
      const first = lane - (lane % WARP);
      const key = `${first} ${bits}`;
      const named = () => lanesIn(bits, first).map((one) => values[one]);
      write(
        lane,
        getOrInsert(results, key, () => named().reduce(WHOLE[op])),
      );
    });
  });
}

/** `match.any`: lanes of the same value. `match.all`: all lanes, if all have the same. */
function matchLanes(group: ThreadGroup, instruction: Instruction, { how, type }: Match): Step {
  const [first] = instruction.operands;
  const register = first.kind === "pair" ? first.first : target(instruction);
  const write = group.registers.writer(register, "u32");
  const holds = first.kind === "pair" ? group.registers.predicate(first.second) : null;
  const [value, members] = [
    reader(group, instruction, 1, type),
    reader(group, instruction, 2, "u32"),
  ];
  return exchange(group, instruction, 2, (mask) => {
    const values = Array.from({ length: group.lanes }, (_, lane) => value(lane));
    fellowsOf(group, members, mask).forEach((bits, lane) => {
      if (mask !== null && !mask[lane]) return;
      const fellows = lanesIn(bits, lane - (lane % WARP));
      const same = fellows.filter((one) => values[one] === values[lane]);
      const whole = same.length === fellows.length;
      const named = how === "all" && !whole ? [] : same;
      write(
        lane,
        named.reduce((sum, one) => sum | (1n << BigInt(one % WARP)), 0n),
      );
      if (holds) holds[lane] = Number(whole);
    });
  });
}

/** The first half of `bar.red`: each thread leaves its predicate, then the barrier comes. */
function voteInBlock(group: ThreadGroup, instruction: Instruction): Step {
  const { row, flip } = predicateOf(group.registers, instruction.operands[0]);
  return (mask) => {
    (mask ?? group.exists).forEach((runs, lane) => {
      if (!runs) return;
      group.votes[lane] += 1;
      group.batch.vote(group.slot[lane], group.votes[lane], row[lane] ^ flip);
    });
  };
}

/** The second half of `bar.red`: what all threads of the block have left. */
function votesOfBlock(group: ThreadGroup, instruction: Instruction, { what }: Match): Step {
  const write = group.registers.writer(target(instruction), what === "popc.u32" ? "u32" : "pred");
  return lanewise(group, write, (lane) => {
    const { hold, came } = group.batch.votesOf(group.slot[lane], group.votes[lane]);
    if (what === "popc.u32") return BigInt(hold);
    return Number(what === "and.pred" ? hold === came : hold > 0);
  });
}

/**
 * `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`: sums over several words. The carry of each
 * lane, or what was borrowed, is kept in between.
 */
function withCarry(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { name, part, type } = match;
  const [a, b, c] = instruction.operands
    .slice(1)
    .map((_, at) => reader(group, instruction, at + 1, type));
  const word = (value: Value) => BigInt.asUintN(32, value as bigint);
  return slowly(group, instruction, type, (lane) => {
    const before = match.takes ? BigInt(group.carry[lane]) : 0n;
    let [one, other] = [a(lane), b(lane)] as bigint[];
    if (name === "mad") {
      const product = one * other;
      [one, other] = [part === "hi" ? product >> 32n : product, c(lane) as bigint];
    }
    const signed = name === "sub" ? -word(other) - before : word(other) + before;
    const total = word(one) + signed;
    if (match.chains) group.carry[lane] = Number((total >> 32n) & 1n);
    return total;
  });
}

const INTEGER = "(?<type>[su](?:32|64))";
const FLOAT = "(?<type>f32|f64)";

export const RARE_OPERATIONS = operations([
  ["brev\\.(?<type>b32|b64)", reverse],
  [`bfind(?<shift>\\.shiftamt)?\\.${INTEGER}`, findHighest],
  ["bmsk\\.(?<mode>clamp|wrap)\\.b32", bitMask],
  ["(?:dp4a|dp2a\\.(?<half>lo|hi))\\.(?<first>[su]32)\\.(?<second>[su]32)", dotOfBytes],
  [`sad\\.${INTEGER}`, absoluteDifference],
  ["mul24\\.lo\\.(?<type>[su]32)", multiply24],
  [`copysign\\.${FLOAT}`, copySign],
  [`testp\\.(?<what>${Object.keys(FLOAT_TESTS).join("|")})\\.${FLOAT}`, testFloat],
  ["isspacep\\.(?<space>global|shared|local|const)(?:::cta)?", isSpace],
  [`redux\\.sync\\.(?<op>add|min|max|and|or|xor)\\.(?<type>[sub]32)`, reduceWarp],
  ["match\\.(?<how>any|all)\\.sync\\.(?<type>b32|b64)", matchLanes],
  ["blockvote\\.leave", voteInBlock],
  ["blockvote\\.(?<what>popc\\.u32|and\\.pred|or\\.pred)", votesOfBlock],
  [
    "(?<name>add|sub|mad)(?<takes>c)?(?:\\.(?<part>lo|hi))?(?<chains>\\.cc)?\\.(?<type>[us]32)",
    withCarry,
  ],
  ["(?:prefetch|prefetchu|nanosleep|discard|applypriority|griddepcontrol)\\b.*", nothing],
]);
