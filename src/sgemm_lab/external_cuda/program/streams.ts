// The streams of a host program. Work waits in its stream until something waits for it, so what a
// program leaves to chance it gets in the order that it does not hope for.

import { LOADED, STORED, UPDATED } from "../../simulator/watches/written.ts";
import type { Block } from "./memory.ts";

/** Bytes of an array that some work uses, with the marks of `written.ts` for all or for each. */
export interface Use {
  block: Block;
  start: number;
  end: number;
  marks: number | Uint8Array;
}

/** Some bytes that are read, or written. */
export const reading = (block: Block | null, start: number, count: number): Use[] =>
  block ? [{ block, start, end: start + count, marks: LOADED }] : [];
export const writing = (block: Block | null, start: number, count: number): Use[] =>
  reading(block, start, count).map((one) => ({ ...one, marks: STORED }));

/** A launch, a copy or a mark in a stream. */
export interface Work {
  number: number;
  stream: number;
  line: number;
  /** what it does, in a sentence: "the launch of line 7" */
  what: string;
  /** the kernel, of a launch, and all that it is given */
  kernel?: string;
  given?: string;
  /** what it uses at most */
  uses: Use[];
  /** @param isWatched whether what it uses is asked for, which it returns then where it knows better */
  run: (isWatched: boolean) => Use[] | undefined;
  before: Work[];
  isDone: boolean;
}

type Asked = Omit<Work, "number" | "before" | "isDone">;

/** When work is done: where something waits for it, or at once. */
export type Order = "late" | "early";

/** The stream without a name: others wait for it, and it for them. */
const LEGACY = 0;
const FIRST = 16;

export class Streams {
  /** work in two streams that may use the same bytes, where neither waits for the other */
  #pairs: [Work, Work][] = [];
  #last = new Map<number, Work>();
  #apart = new Set<number>();
  #pending = new Set<Work>();
  count = 0;
  next = FIRST;

  constructor(public order: Order) {}

  /** A new stream. @param isApart whether it does not wait for the one without a name */
  create(isApart: boolean) {
    const stream = this.next++;
    if (isApart) this.#apart.add(stream);
    return stream;
  }

  get pending(): Work[] {
    return [...this.#pending];
  }

  add(asked: Asked) {
    const stream = asked.stream === 1 ? LEGACY : asked.stream;
    const own = this.#last.get(stream);
    const others =
      stream === LEGACY
        ? [...this.#last].flatMap(([other, work]) => (this.#apart.has(other) ? [] : work))
        : [this.#apart.has(stream) ? undefined : this.#last.get(LEGACY)];
    const before = [own, ...others].filter((one) => one !== undefined && !one.isDone) as Work[];
    const work = { ...asked, stream, number: this.count++, before, isDone: false };
    this.#last.set(stream, work);
    this.#pending.add(work);
    if (this.order === "early") this.finish(work);
    const apart = this.pending.filter((one) => one.stream !== stream && clash(one, work));
    const known = apart.length ? this.#until(work) : new Set();
    for (const one of apart) if (!known.has(one)) this.#pairs.push([one, work]);
    return work;
  }

  /** Work in two streams that uses the same array, where neither waits for the other. */
  clashes = () => this.#pairs.filter(([one, other]) => clash(one, other));

  /** Make what comes next in a stream wait for some work of another. */
  wait(stream: number, work: Work | undefined, line: number) {
    const own = this.mark(stream, line);
    if (work && !work.isDone) own.before.push(work);
  }

  /** A mark in a stream. */
  mark(stream: number, line: number) {
    return this.add({ stream, line, what: "", uses: [], run: () => undefined });
  }

  /** The last work of a stream. */
  last = (stream: number) => this.#last.get(stream === 1 ? LEGACY : stream);

  /** Do some work, after all that it waits for. */
  finish(work: Work | undefined) {
    if (!work || work.isDone) return;
    for (const one of [...this.#until(work)].sort((a, b) => a.number - b.number)) this.#run(one);
  }

  /** Some work and what it waits for. */
  #until(work: Work) {
    const found = new Set<Work>();
    const waiting = [work];
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      if (one.isDone || found.has(one)) continue;
      found.add(one);
      waiting.push(...one.before);
    }
    return found;
  }

  #run(work: Work) {
    work.isDone = true;
    work.before = [];
    this.#pending.delete(work);
    work.uses = work.run(this.#pairs.some((pair) => pair.includes(work))) ?? work.uses;
  }

  finishStream(stream: number) {
    this.finish(this.last(stream));
  }

  /** Do all that waits, that of the latest stream first. */
  finishAll() {
    for (const stream of [...this.#last.keys()].reverse()) this.finishStream(stream);
    for (const work of this.#pending) this.finish(work);
  }
}

/** Whether one may write what the other uses; the same launch twice writes the same. */
const clash = (one: Work, other: Work) =>
  (!one.given || one.given !== other.given) &&
  one.uses.some((own) => other.uses.some((use) => use.block === own.block && meet(own, use)));

function meet(one: Use, other: Use) {
  const [start, end] = [Math.max(one.start, other.start), Math.min(one.end, other.end)];
  const marksAt = ({ marks }: Use, at: number) => (typeof marks === "number" ? marks : marks[at]);
  const isAlike = typeof one.marks === "number" && typeof other.marks === "number";
  for (let at = start; at < (isAlike ? Math.min(start + 1, end) : end); at++) {
    const [own, use] = [marksAt(one, at), marksAt(other, at)];
    if (own && use && (own | use) & STORED && !(own & use & UPDATED)) return true;
  }
  return false;
}
