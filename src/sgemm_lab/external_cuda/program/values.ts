// How values of host code come into being: variables, vectors, texts, copies of structs.

import type { Expressions } from "./expressions.ts";
import type { HostMemory } from "./memory.ts";
import type { Expression } from "./reader.ts";
import type { Type, Value } from "./types.ts";
import * as types from "./types.ts";

const LEAST = 8;

/** The vectors of a program: where the elements lie, how many there are, for how many is room. */
export class Vectors {
  #load;
  #store;

  constructor(public memory: HostMemory) {
    this.#load = memory.load(types.SIZE) as (address: number) => number;
    this.#store = memory.store(types.SIZE);
  }

  data(at: number) {
    return this.#load(at);
  }

  size(at: number) {
    return this.#load(at + 8);
  }

  /** Make it a vector of `count` elements without values, or zeros. */
  create(at: number, count: number, bytes: number, name = "a vector") {
    const block = count ? this.memory.allocate(count * bytes, "host", name) : null;
    this.#store(at, block?.address ?? 0);
    this.#store(at + 8, count);
    this.#store(at + 16, count);
    return block?.address ?? 0;
  }

  /** Give it another length; returns where the elements lie. */
  resize(at: number, count: number, bytes: number) {
    const size = this.size(at);
    if (count > this.#load(at + 16)) {
      const room = Math.max(count, 2 * size, LEAST);
      const block = this.memory.allocate(room * bytes, "host", "a vector");
      if (size) this.memory.copy(block.address, this.data(at), size * bytes);
      this.#store(at, block.address);
      this.#store(at + 16, room);
    } else if (count > size) {
      const [block, start] = this.memory.host(this.data(at), count * bytes);
      block.bytes.fill(0, start + size * bytes, start + count * bytes);
    }
    this.#store(at + 8, count);
    return this.data(at);
  }

  /** A text as the program prints it. */
  text(at: number) {
    const size = this.size(at);
    return size ? new TextDecoder("latin1").decode(this.memory.read(this.data(at), size)) : "";
  }

  write(at: number, text: string) {
    const data = this.create(at, text.length, 1, "a text");
    if (!text) return;
    const bytes = this.memory.read(data, text.length);
    for (let place = 0; place < text.length; place++) bytes[place] = text.charCodeAt(place);
  }
}

const known = new WeakMap<HostMemory, Vectors>();

export function vectors(memory: HostMemory) {
  const found = known.get(memory) ?? new Vectors(memory);
  known.set(memory, found);
  return found;
}

/** Copy a value of a type from one address to another; vectors with all their elements. */
export function copier(memory: HostMemory, type: Type): (to: number, from: number) => void {
  const all = vectors(memory);
  if (type.kind === "vector") {
    const { bytes } = type.to;
    const each = isPlain(type.to) ? null : copier(memory, type.to);
    return (to, from) => {
      const [data, size] = [all.data(from), all.size(from)];
      const into = all.create(to, size, bytes);
      if (!each) memory.copy(into, data, size * bytes);
      else for (let at = 0; at < size * bytes; at += bytes) each(into + at, data + at);
    };
  }
  if (isPlain(type)) return (to, from) => memory.copy(to, from, type.bytes);
  const parts = [...type.fields.values()].map((one) => ({
    at: one.at,
    copy: copier(memory, one.type),
  }));
  return (to, from) => {
    for (const { at, copy } of parts) copy(to + at, from + at);
  };
}

/** Whether a value is its bytes. */
function isPlain(type: Type): boolean {
  if (type.kind === "vector") return false;
  if (type.kind === "array") return isPlain(type.to);
  return [...type.fields.values()].every((one) => isPlain(one.type));
}

/** Make a function that puts a new value of a type where `into` says. */
export function construct(c: Expressions, type: Type, given: Expression[], into: () => number) {
  const { memory } = c;
  if (type.kind === "vector") return constructVector(c, type, given, into);
  if (type.kind === "object") {
    const values = given.map(({ get }) => get);
    const store = memory.store(types.SIZE);
    return () => {
      const number = c.shared.objects.size + 1;
      c.shared.objects.set(
        number,
        values.map((get) => Number(get())),
      );
      store(into(), number);
    };
  }
  if (type.kind === "array") {
    const [text] = given;
    if (!text) return () => {};
    if (text.type.kind !== "array") c.fail("an array of this");
    const bytes = Math.min(type.bytes, text.type.bytes);
    return () => memory.copy(into(), text.get() as number, bytes);
  }
  if (type.kind === "struct") return constructStruct(c, type, given, into);
  if (!given.length) return () => {};
  const store = memory.store(type);
  const { get } = c.as(c.decayed(given[0]), type);
  return () => {
    const value = get();
    store(into(), value);
  };
}

function constructStruct(c: Expressions, type: Type, given: Expression[], into: () => number) {
  const { memory } = c;
  const [first] = given;
  if (first && types.sameType(first.type, type)) {
    const copy = copier(memory, type);
    return () => copy(into(), first.get() as number);
  }
  const fields = [...type.fields.values()];
  const isDim = type.name === "dim3";
  if (given.length && !isDim) c.fail(`${type.name}(…)`);
  const parts = fields.flatMap(({ at, type: part }, number) => {
    const place = () => into() + at;
    const value = given[number] ?? (isDim ? c.constant(types.UNSIGNED, 1) : null);
    if (value) return [construct(c, part, [value], place)];
    return types.isLaid(part) ? [construct(c, part, [], place)] : [];
  });
  const defaults = c.shared.defaults.get(type.name) ?? [];
  for (const [name, words] of isDim ? [] : defaults) {
    const field = type.fields.get(name);
    if (!field) continue;
    const value = c.elsewhere(words, () => (words[0]?.text === "{" ? null : c.assignment()));
    if (value) parts.push(construct(c, field.type, [value], () => into() + field.at));
  }
  return () => {
    for (const make of parts) make();
  };
}

function constructVector(c: Expressions, type: Type, given: Expression[], into: () => number) {
  const all = vectors(c.memory);
  const { to } = type;
  const [first, second] = given;
  if (!first) return () => void all.create(into(), 0, to.bytes);
  if (first.type.kind === "vector") {
    const copy = copier(c.memory, type);
    return () => copy(into(), first.get() as number);
  }
  const one = c.decayed(first);
  if (one.type.kind === "pointer") {
    if (type.to.name === "char" && !second) {
      return () => all.write(into(), c.memory.text(one.get() as number));
    }
    const end = c.decayed(second ?? c.fail("a vector of this"));
    const isRange = end.type.kind === "pointer";
    return () => {
      const start = one.get() as number;
      const bytes = isRange ? (end.get() as number) - start : Number(end.get()) * to.bytes;
      const place = into();
      c.memory.copy(all.create(place, bytes / to.bytes, to.bytes), start, bytes);
    };
  }
  const make = filler(c, to, second && second.type.kind !== "object" ? second : null);
  return () => {
    const count = Number(one.get());
    const place = into();
    const data = all.create(place, count, to.bytes, first.name ?? "a vector");
    make(data, count);
  };
}

/** Fill elements with a value; without one they are zeros already. */
export function filler(c: Expressions, to: Type, value: Expression | null) {
  if (!value) return () => {};
  if (types.isLaid(to)) {
    const copy = copier(c.memory, to);
    return (data: number, count: number) => {
      const from = value.get() as number;
      for (let at = 0; at < count; at++) copy(data + at * to.bytes, from);
    };
  }
  const store = c.memory.store(to);
  const { get } = c.as(value, to);
  return (data: number, count: number) => {
    const held: Value = get();
    for (let at = 0; at < count; at++) store(data + at * to.bytes, held);
  };
}
