// The types of a host program: the bytes that values take, and arithmetic between them.

import { ProgramFault, UnfollowedError } from "./faults.ts";
import { asHalf } from "./halves.ts";

/** A whole number beyond 2⁵³ is a bigint, any other value of the program a number. */
export type Value = number | bigint;

export interface Field {
  at: number;
  type: Type;
}

/** A type of C++. `bytes` is 0 where it has no values of its own. */
export interface Type {
  kind: "int" | "float" | "pointer" | "array" | "struct" | "vector" | "void" | "closure" | "object";
  name: string;
  bytes: number;
  align: number;
  signed: boolean;
  /** what a pointer, an array or a vector is of */
  to: Type;
  /** elements of an array */
  count: number;
  fields: Map<string, Field>;
}

function made(kind: Type["kind"], name: string, bytes: number, more: Partial<Type> = {}): Type {
  const type = {
    kind,
    name,
    bytes,
    align: Math.max(1, Math.min(bytes, 8)),
    signed: false,
    count: 0,
  };
  return { fields: new Map(), ...type, ...more } as Type;
}

const whole = (name: string, bytes: number, signed: boolean) =>
  made("int", name, bytes, { signed });

export const VOID = made("void", "void", 0);
export const INT = whole("int", 4, true);
export const UNSIGNED = whole("unsigned int", 4, false);
export const LONG = whole("long long", 8, true);
export const SIZE = whole("unsigned long long", 8, false);
export const BOOL = whole("bool", 1, false);
export const CHAR = whole("char", 1, true);
export const DOUBLE = made("float", "double", 8);
export const FLOAT = made("float", "float", 4);
export const HALF = made("float", "half", 2);
export const AUTO = made("void", "auto", 0);
/** A stream of text, such as std::cout: what is written to it is collected. */
export const STREAM = made("object", "stream", 0);
/** Values that are kept outside the program's memory, such as a generator of numbers. */
export const object = (name: string, to: Type = VOID) => made("object", name, 8, { to });

const NAMED: Record<string, Type> = {
  ...{ void: VOID, bool: BOOL, char: CHAR, float: FLOAT, double: DOUBLE, auto: AUTO },
  ...{ int8_t: whole("signed char", 1, true), uint8_t: whole("unsigned char", 1, false) },
  ...{ uchar: whole("unsigned char", 1, false), int16_t: whole("short", 2, true) },
  ...{ uint16_t: whole("unsigned short", 2, false), ushort: whole("unsigned short", 2, false) },
  ...{ int32_t: INT, uint32_t: UNSIGNED, uint: UNSIGNED, int64_t: LONG, uint64_t: SIZE },
  ...{ size_t: SIZE, ptrdiff_t: LONG, ssize_t: LONG, intptr_t: LONG, uintptr_t: SIZE },
  ...{ half: HALF, __half: HALF, float16: HALF },
  ...{ __nv_bfloat16: made("float", "bfloat16", 2), nv_bfloat16: made("float", "bfloat16", 2) },
  ...{ cudaError_t: INT, cudaError: INT, clock_t: LONG, time_t: LONG, cudaMemcpyKind: INT },
};
export const namedType = (name: string): Type | null =>
  Object.hasOwn(NAMED, name) ? NAMED[name] : (vectorType(name) ?? null);

/** The type that words such as "unsigned long long" say. */
export function wordsType(words: string[]): Type {
  const has = (word: string) => words.includes(word);
  if (has("double")) return DOUBLE;
  const signed = !has("unsigned");
  if (has("char"))
    return whole(signed ? (has("signed") ? "signed char" : "char") : "unsigned char", 1, signed);
  if (has("short")) return whole(`${signed ? "" : "unsigned "}short`, 2, signed);
  if (has("long")) return signed ? LONG : SIZE;
  return signed ? INT : UNSIGNED;
}

export const pointerTo = (to: Type) => made("pointer", `${to.name}*`, 8, { to });
export const vectorOf = (to: Type) => made("vector", `vector<${to.name}>`, 24, { to });
export const STRING = { ...vectorOf(CHAR), name: "string" };
export const arrayOf = (to: Type, count: number) =>
  made("array", `${to.name}[${count}]`, to.bytes * count, { to, count, align: to.align });

/** A struct whose fields lie as C++ lays them out; those of a union lie all at its start. */
export function structOf(
  name: string,
  members: [string, Type][],
  align = 1,
  isUnion = false,
): Type {
  const fields = new Map<string, Field>();
  let [end, most] = [0, align];
  for (const [member, type] of members) {
    const at = isUnion ? 0 : Math.ceil(end / type.align) * type.align;
    fields.set(member, { at, type });
    end = Math.max(end, at + type.bytes);
    most = Math.max(most, type.align);
  }
  const bytes = Math.max(1, Math.ceil(end / most) * most);
  return made("struct", name, bytes, { fields, align: most });
}

const LANES = /^(u?)(char|short|int|long|longlong|float|double)([1234])$/;
const HALVES: Record<string, Type> = { half2: HALF, __half2: HALF };

/** A vector type of CUDA such as float4, or dim3. */
function vectorType(name: string) {
  const [, sign, base, count] = LANES.exec(name) ?? (name === "dim3" ? ["", "u", "int", "3"] : []);
  const half = HALVES[name];
  if (!base && !half) return null;
  const words = [sign ? "unsigned" : "", base?.replace("longlong", "long") ?? ""];
  const lane = half ?? (base === "float" ? FLOAT : wordsType(words));
  const lanes = half ? 2 : Number(count);
  const members = [..."xyzw"].slice(0, lanes).map((axis): [string, Type] => [axis, lane]);
  return structOf(name, members, lanes === 3 ? 1 : Math.min(16, lane.bytes * lanes));
}

export const isNumber = ({ kind }: Type) => kind === "int" || kind === "float";
/** Whether a value is an address of where it lies. */
export const isLaid = ({ kind }: Type) =>
  kind === "struct" || kind === "vector" || kind === "array";

/** Whether two types are the same. */
export const sameType = (one: Type, other: Type) => one.name === other.name;

/** The type in which two numbers are added. */
export function common(one: Type, other: Type): Type {
  if (one.kind === "float" || other.kind === "float") {
    const floats = [one, other].filter(({ kind }) => kind === "float");
    return floats.reduce((a, b) => (a.bytes >= b.bytes ? a : b));
  }
  const [a, b] = [promoted(one), promoted(other)];
  if (a.bytes !== b.bytes) return a.bytes > b.bytes ? a : b;
  return a.signed ? b : a;
}

export const promoted = (type: Type) => (type.kind === "int" && type.bytes < 4 ? INT : type);

/** Make a value fit a type, as a cast does. */
export function fitting(type: Type): (value: Value) => Value {
  const { kind, bytes, signed, name } = type;
  if (kind === "float") {
    if (bytes === 8) return Number;
    return bytes === 4 ? (value) => Math.fround(Number(value)) : (v) => asHalf(Number(v), name);
  }
  if (name === "bool") return (value) => Number(Boolean(value));
  if (kind !== "int") return (value) => value;
  if (bytes === 8) return (value) => wide(value, signed);
  const shift = 32 - 8 * bytes;
  const low = (value: Value) =>
    typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : low32(value);
  if (bytes === 4) return signed ? low : (value) => low(value) >>> 0;
  return signed ? (v) => (low(v) << shift) >> shift : (v) => (low(v) << shift) >>> shift;
}

/** The low 32 bits of a number that is cut off at its point. */
function low32(value: number) {
  if (Math.abs(value) < 2 ** 53) return Math.trunc(value) | 0;
  return Number.isFinite(value) ? Number(BigInt.asIntN(32, BigInt(Math.trunc(value)))) : -(2 ** 31);
}

function wide(value: Value, signed: boolean): Value {
  if (typeof value === "number") {
    const cut = Math.trunc(value);
    if (Number.isSafeInteger(cut) && (signed || cut >= 0)) return cut;
    if (!Number.isFinite(value)) return 0;
    return wide(BigInt(cut), signed);
  }
  const bits = signed ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
  const number = Number(bits);
  return Number.isSafeInteger(number) ? number : bits;
}

type Two = (a: Value, b: Value) => Value;
type Numbers = (a: number, b: number) => number;

const REAL: Record<string, Numbers> = {
  ...{ "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b },
};
const LARGE: Record<string, (a: bigint, b: bigint) => bigint> = {
  ...{ "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b },
  ...{ "%": (a, b) => a % b, "&": (a, b) => a & b, "|": (a, b) => a | b, "^": (a, b) => a ^ b },
  ...{ "<<": (a, b) => a << (b & 63n), ">>": (a, b) => a >> (b & 63n) },
};
const SMALL: Record<string, Numbers> = {
  ...REAL,
  "*": Math.imul,
  ...{ "/": (a, b) => a / b, "%": (a, b) => a % b, "&": (a, b) => a & b, "|": (a, b) => a | b },
  ...{ "^": (a, b) => a ^ b, "<<": (a, b) => a << b, ">>": (a, b) => a >> b },
};
const COMPARED: Record<string, (a: Value, b: Value) => boolean> = {
  // A bigint and a number may be equal.
  // biome-ignore lint/suspicious/noDoubleEquals: see above
  ...{ "==": (a, b) => a == b, "!=": (a, b) => a != b, "<": (a, b) => a < b },
  ...{ ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b },
};

export const compares = (sign: string) => Object.hasOwn(COMPARED, sign);

export function comparison(sign: string): Two {
  const test = COMPARED[sign];
  return (a, b) => Number(test(a, b));
}

/** What an operator makes of two values of a type. */
export function arithmetic(sign: string, type: Type): Two {
  if (type.kind === "float") {
    const make = REAL[sign];
    if (!make) throw new UnfollowedError(`'${sign}' of floats`);
    if (type.bytes === 8) return make as Two;
    if (type.bytes === 4) return (a, b) => Math.fround(make(a as number, b as number));
    return (a, b) => asHalf(make(a as number, b as number), type.name);
  }
  const divides = sign === "/" || sign === "%";
  const check = (b: Value) => {
    if (!b) throw new ProgramFault("Host code divides by zero.", "host memory");
  };
  if (type.bytes === 8) return ofLong(sign, type.signed, divides, check);
  const small = SMALL[sign];
  if (type.signed) {
    if (!divides) return (a, b) => small(a as number, b as number) | 0;
    return (a, b) => {
      check(b);
      return small(a as number, b as number) | 0;
    };
  }
  if (sign === ">>") return (a, b) => (a as number) >>> (b as number);
  return (a, b) => {
    if (divides) check(b);
    return Math.trunc(small(a as number, b as number)) >>> 0;
  };
}

function ofLong(sign: string, signed: boolean, divides: boolean, check: (b: Value) => void): Two {
  const small = sign === "*" ? REAL["*"] : /^[-+/%]$/.test(sign) ? SMALL[sign] : null;
  const large = LARGE[sign];
  return (a, b) => {
    if (divides) check(b);
    if (small && typeof a === "number" && typeof b === "number") {
      const found = Math.trunc(small(a, b));
      if (Number.isSafeInteger(found) && (signed || found >= 0)) return found;
    }
    return wide(large(BigInt(a), BigInt(b)), signed);
  };
}
