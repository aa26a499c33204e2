// Instructions that move, choose, convert and take apart.

import { FLOAT, FLOAT_BITS } from "./float_bits.ts";
import type { ThreadGroup } from "./group.ts";
import { LOCAL_WINDOW, SHARED_WINDOW } from "./memory.ts";
import type { Match, Step } from "./operations.ts";
import {
  copied,
  elementwise,
  lanewise,
  operations,
  overRuns,
  perLane,
  reader,
  rowsOf,
  slowly,
  target,
} from "./operations.ts";
import type { Instruction, Operand } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import { fromHalf, predicateOf, roundHalfEven, toHalf, typeOf, type Value } from "./registers.ts";
import { narrow, PAIRS, widen } from "./row_loops.ts";
import { sentence } from "./sentences.ts";

/** The type that holds the same bits, whatever they mean. */
const bitsOf = (type: string) => `b${8 * typeOf(type).bytes}`;

function select(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const { bytes } = typeOf(type);
  const { row: condition, flip } = predicateOf(group.registers, instruction.operands[3]);
  const rows = bytes >= 4 ? rowsOf(group, instruction, [1, 2], bytes) : null;
  const out = rows && group.registers.row(target(instruction), bytes);
  if (rows && out) {
    const [a, b] = rows;
    const choose = bytes === 8 ? choosePairs : chooseWords;
    return elementwise(group, out, (row, from, to) =>
      choose(row.i32, condition, flip, a.i32, b.i32, from, to),
    );
  }
  const [a, b] = [1, 2].map((at) => reader(group, instruction, at, bitsOf(type)));
  return slowly(group, instruction, bitsOf(type), (lane) =>
    condition[lane] === flip ? b(lane) : a(lane),
  );
}

function chooseWords(
  out: Int32Array,
  condition: Uint8Array,
  flip: 0 | 1,
  a: Int32Array,
  b: Int32Array,
  from: number,
  to: number,
) {
  for (let lane = from; lane < to; lane++) {
    out[lane] = condition[lane] === flip ? b[lane] : a[lane];
  }
}

function choosePairs(
  out: Int32Array,
  condition: Uint8Array,
  flip: 0 | 1,
  a: Int32Array,
  b: Int32Array,
  from: number,
  to: number,
) {
  for (let lane = from; lane < to; lane++) {
    const chosen = condition[lane] === flip ? b : a;
    out[2 * lane] = chosen[2 * lane];
    out[2 * lane + 1] = chosen[2 * lane + 1];
  }
}

export function move(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const [to, from] = instruction.operands;
  if (to.kind === "vector") return unpack(group, to.items, from, type);
  if (from.kind === "vector") return pack(group, instruction, from.items, type);
  if (from.kind === "special") return moveSpecial(group, instruction, from.name, type);
  if (type === "pred") {
    const { row, flip } = predicateOf(group.registers, from);
    const out = group.registers.predicate(target(instruction));
    return overRuns(group, (start, end, mask) => {
      for (let lane = start; lane < end; lane++) {
        if (mask === null || mask[lane] !== 0) out[lane] = row[lane] ^ flip;
      }
    });
  }
  const { bytes } = typeOf(type);
  const rows = bytes >= 4 ? rowsOf(group, instruction, [1], bytes) : null;
  const out = rows && group.registers.row(target(instruction), bytes);
  if (rows && out) return copied(group, out, rows[0].i32);
  const value = reader(group, instruction, 1, bitsOf(type));
  return slowly(group, instruction, bitsOf(type), value);
}

function moveSpecial(group: ThreadGroup, instruction: Instruction, name: string, type: string) {
  const special = group.special(name);
  const out = typeOf(type).bytes === 4 ? group.registers.row(target(instruction), 4) : null;
  const values = typeof special === "number" ? new Int32Array(group.lanes).fill(special) : special;
  const step = out
    ? copied(group, out, values)
    : slowly(group, instruction, bitsOf(type), (lane) => BigInt(values[lane] >>> 0));
  if (!/^%(clock|globaltimer)/.test(name)) return step;
  // Time passes where it is asked for, ever faster: a loop that waits ends soon.
  return (...given: Parameters<Step>) => {
    values.fill(32 * (group.readings++) ** 2);
    step(...given);
  };
}

/** `mov.b64 {%r1, %r2}, %rd1`: low bits first. */
function unpack(group: ThreadGroup, items: Operand[], from: Operand, type: string): Step {
  const bits = (8 * typeOf(type).bytes) / items.length;
  const whole = group.registers.reader(from, bitsOf(type));
  const writers = items.map((item) => {
    if (item.kind !== "register") throw new TypeError(item.kind);
    return group.registers.writer(item, `b${bits}`);
  });
  return lanewise(
    group,
    (lane, value) => {
      for (let number = 0; number < writers.length; number++) {
        writers[number](lane, BigInt(value) >> BigInt(bits * number));
      }
    },
    whole,
  );
}

/** `mov.b64 %rd1, {%r1, %r2}`: low bits first. */
function pack(group: ThreadGroup, instruction: Instruction, items: Operand[], type: string) {
  const bits = (8 * typeOf(type).bytes) / items.length;
  const parts = items.map((item) => group.registers.reader(item, `b${bits}`));
  return slowly(group, instruction, bitsOf(type), (lane) =>
    parts.reduce((whole, part, at) => whole | (BigInt(part(lane)) << BigInt(bits * at)), 0n),
  );
}

const ROUNDINGS: Record<string, (value: number) => number> = {
  rni: roundHalfEven,
  rzi: Math.trunc,
  rmi: Math.floor,
  rpi: Math.ceil,
};

function convert(group: ThreadGroup, instruction: Instruction, { to, from, rounding }: Match) {
  const [result, source] = [typeOf(to), typeOf(from)];
  if (result.kind !== "f" && source.kind !== "f") {
    return integerRows(group, instruction, to, from) ?? integers(group, instruction, to, from);
  }
  const value = reader(group, instruction, 1, from);
  if (result.kind !== "f") {
    const round = ROUNDINGS[rounding];
    if (!round) throw new TypeError(instruction.opcode);
    const write = group.registers.wholeWriter(target(instruction));
    return lanewise(group, write, (lane) => clamped(round(Number(value(lane))), to));
  }
  if (source.kind !== "f") {
    return slowly(group, instruction, to, (lane) => toFloat(BigInt(value(lane)), to));
  }
  const round = rounding?.endsWith("i") ? ROUNDINGS[rounding] : null;
  if (from === "f16" && to === "f32" && !round) return widenHalf(group, instruction);
  return slowly(group, instruction, to, (lane) =>
    round ? round(Number(value(lane))) : value(lane),
  );
}

/** A NaN keeps its bits. */
function widenHalf(group: ThreadGroup, instruction: Instruction) {
  const read = reader(group, instruction, 1, "b16");
  return slowly(group, instruction, "b32", (lane) => {
    const bits = Number(read(lane));
    FLOAT[0] = fromHalf(bits);
    const nan = ((bits & 0x8000) << 16) | 0x7f800000 | ((bits & 0x3ff) << 13);
    return BigInt(Number.isNaN(FLOAT[0]) ? nan >>> 0 : FLOAT_BITS[0]);
  });
}

/** Between 32 and 64 bits, where the register has the width of the type. */
function integerRows(group: ThreadGroup, instruction: Instruction, to: string, from: string) {
  const [result, source] = [typeOf(to), typeOf(from)];
  if (result.bytes < 4 || source.bytes < 4) return null;
  const rows = rowsOf(group, instruction, [1], source.bytes);
  const out = group.registers.row(target(instruction), result.bytes);
  if (!rows || !out) return null;
  const [a] = rows;
  if (result.bytes === source.bytes) return copied(group, out, a.i32);
  if (result.bytes === 4)
    return elementwise(group, out, (row, start, end) => narrow(row.i32, a.i32, start, end));
  return elementwise(group, out, (row, start, end) =>
    widen(row.i32, a.i32, source.kind === "s", start, end),
  );
}

/** A narrow result is extended to the whole register by its own sign. */
function integers(group: ThreadGroup, instruction: Instruction, to: string, from: string) {
  const { kind, bytes } = typeOf(to);
  const value = reader(group, instruction, 1, from);
  const fit = kind === "s" ? BigInt.asIntN : BigInt.asUintN;
  const write = group.registers.wholeWriter(target(instruction));
  return lanewise(group, write, (lane) => fit(8 * bytes, BigInt(value(lane))));
}

/** A rounded number as a whole one of a type, clamped to its range as PTX does; NaN is 0. */
function clamped(value: number, type: string) {
  const { kind, bytes } = typeOf(type);
  const bits = BigInt(8 * bytes);
  const least = kind === "s" ? -(1n << (bits - 1n)) : 0n;
  const most = least + (1n << bits) - 1n;
  if (Number.isNaN(value)) return 0n;
  if (value <= Number(least)) return least;
  return value >= Number(most) ? most : BigInt(value);
}

/** A whole number, rounded once. */
function toFloat(value: bigint, type: string) {
  const size = value < 0n ? -value : value;
  if (type !== "f32" || size < 1n << 53n) return Number(value);
  // What is cut off stays visible in the last bit, so that the last rounding knows of it.
  const kept = size >> 11n;
  const odd = size & 0x7ffn ? kept | 1n : kept;
  return Number(value < 0n ? -odd : odd) * 2048;
}

const NARROW: Record<string, (value: number) => number> = { f16: toHalf, bf16: toBfloat16 };

/** The upper 16 bits of a float32, rounded to nearest even. */
function toBfloat16(value: number) {
  if (Number.isNaN(value)) return 0x7fff;
  FLOAT[0] = value;
  const [bits] = FLOAT_BITS;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

const convertToNarrow = perLane(["f32"], "b16", ({ narrow: to }, a) => BigInt(NARROW[to](a)));

/** `cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half. */
const convertToNarrowPair = perLane(["f32", "f32"], "b32", ({ narrow: to }, a, b) => {
  const cut = NARROW[to];
  return (BigInt(cut(a)) << 16n) | BigInt(cut(b));
});

const convertToTf32 = perLane(["b32"], "b32", ({ ties }, bits) =>
  BigInt(roundedToTf32(Number(bits), ties === "rn")),
);

/**
 * Round a float's bits to 10 fraction bits, to nearest; ties to even or away from zero. Of NaN the
 * low bits are cut off.
 */
export function roundedToTf32(bits: number, toEven: boolean) {
  const half = toEven ? 0xfff + ((bits >>> 13) & 1) : 0x1000;
  const finite = (bits & 0x7fffffff) >>> 0 < 0x7f800000;
  return ((bits + (finite ? half : 0)) & 0xffffe000) >>> 0;
}

const convertFromBfloat16 = perLane(["b16"], "b32", (_, bits) => bits << 16n);

const WINDOWS: Record<string, number> = {
  global: 0,
  param: 0,
  const: 0,
  shared: SHARED_WINDOW,
  local: LOCAL_WINDOW,
};

function convertAddress(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const shift = group.registers.constant(BigInt(WINDOWS[match.space]), 8);
  const rows = rowsOf(group, instruction, [1], 8);
  const out = group.registers.row(target(instruction), 8);
  if (!rows || !out) throw new TypeError(instruction.opcode);
  const [a] = rows;
  const loop = match.to ? PAIRS.sub : PAIRS.add;
  return elementwise(group, out, (row, from, to) => loop(row.i32, a.i32, shift.i32, from, to));
}

export const widthOf = (type: string) => 8 * typeOf(type).bytes;

const countBits = perLane([""], "u32", ({ op, type }, value: bigint) => {
  const bits = value.toString(2);
  if (op === "popc") return BigInt(bits.split("1").length - 1);
  return BigInt(bits === "0" ? widthOf(type) : widthOf(type) - bits.length);
});

const atMost = (value: Value, most: number) => BigInt(Math.min(Number(value) & 0xff, most));

const extractBits = perLane(["", "u32", "u32"], "", ({ type }, a, start, length) => {
  const width = widthOf(type);
  const fit = typeOf(type).kind === "s" ? BigInt.asIntN : BigInt.asUintN;
  const [first, count] = [atMost(start, width), atMost(length, width)];
  if (!count) return 0n;
  // Signed fields take their sign from their own top bit, or from a's where they pass it.
  const top = first + count < width ? first + count : BigInt(width);
  const left = BigInt(width) - top;
  return fit(width, a << left) >> (left + first);
});

function insertBits(group: ThreadGroup, instruction: Instruction, { type }: Match): Step {
  const width = widthOf(type);
  const [field, base] = [1, 2].map((at) => reader(group, instruction, at, type));
  const [start, length] = [3, 4].map((at) => reader(group, instruction, at, "u32"));
  return slowly(group, instruction, type, (lane) => {
    const [first, count] = [atMost(start(lane), width), atMost(length(lane), width)];
    const mask = ((1n << count) - 1n) << first;
    return (BigInt(base(lane)) & ~mask) | ((BigInt(field(lane)) << first) & mask);
  });
}

const WORDS = ["u32", "u32", "u32"];

const funnelShift = perLane(WORDS, "u32", ({ side, mode }, low, high, amount) => {
  const both = (high << 32n) | low;
  const asked = Number(amount);
  const count = BigInt(mode === "wrap" ? asked & 31 : Math.min(asked, 32));
  return side === "r" ? both >> count : BigInt.asUintN(64, both << count) >> 32n;
});

const permuteBytes = perLane(WORDS, "u32", (_, a, b, selector) => {
  const both = a | (b << 32n);
  let result = 0n;
  for (let place = 0n; place < 4n; place++) {
    const chosen = (selector >> (4n * place)) & 15n;
    let byte = (both >> ((chosen & 7n) * 8n)) & 0xffn;
    // Bit 3 of a selector asks for the byte's sign in all eight bits.
    if (chosen & 8n) byte = byte & 0x80n ? 0xffn : 0n;
    result |= byte << (8n * place);
  }
  return result;
});

function logic3(group: ThreadGroup, instruction: Instruction): Step {
  const [a, b, c] = [1, 2, 3].map((at) => reader(group, instruction, at, "u32"));
  const table = instruction.operands[4];
  if (table.kind !== "immediate") {
    throw new PtxError(sentence("run.lop3", { place: `${instruction.location}` }));
  }
  const rows = [0, 1, 2, 3, 4, 5, 6, 7].filter((row) => (table.bits >> BigInt(row)) & 1n);
  return slowly(group, instruction, "u32", (lane) => {
    const [x, y, z] = [BigInt(a(lane)), BigInt(b(lane)), BigInt(c(lane))];
    return rows.reduce(
      (result, row) => result | ((row & 4 ? x : ~x) & (row & 2 ? y : ~y) & (row & 1 ? z : ~z)),
      0n,
    );
  });
}

const ANY = "(?<type>[subf](?:16|32|64))";
const NUMBERS = "[su](?:8|16|32|64)|f16|f32|f64";

export const CONVERSIONS = operations([
  [`selp\\.${ANY}`, select],
  ["mov\\.(?<type>pred|[subf](?:16|32|64))", move],
  [`cvt(?:\\.(?<rounding>rn|rni|rzi|rmi|rpi))?\\.(?<to>${NUMBERS})\\.(?<from>${NUMBERS})`, convert],
  ["cvt\\.rn\\.(?<narrow>bf16)\\.f32", convertToNarrow],
  ["cvt\\.rn\\.(?<narrow>f16|bf16)x2\\.f32", convertToNarrowPair],
  ["cvt\\.(?<ties>rn|rna)\\.tf32\\.f32", convertToTf32],
  ["cvt\\.f32\\.bf16", convertFromBfloat16],
  ["cvta(?<to>\\.to)?\\.(?<space>global|shared|local|const|param)\\.u64", convertAddress],
  ["(?<op>popc|clz)\\.(?<type>b32|b64)", countBits],
  ["bfe\\.(?<type>[su](?:32|64))", extractBits],
  ["bfi\\.(?<type>b32|b64)", insertBits],
  ["shf\\.(?<side>l|r)\\.(?<mode>wrap|clamp)\\.b32", funnelShift],
  ["prmt\\.b32", permuteBytes],
  ["lop3\\.b32", logic3],
]);
