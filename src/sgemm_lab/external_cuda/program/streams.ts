// The streams of a host program. Work waits in its stream until something waits for it, so what a
// program leaves to chance it gets in the order that it does not hope for.

/** A launch, a copy or a mark in a stream. */
export interface Work {
  number: number;
  stream: number;
  line: number;
  /** what it does, in a sentence: "the launch of line 7" */
  what: string;
  /** arrays that it reads and that it writes */
  reads: object[];
  writes: object[];
  /** of a launch without atomics: its numbers and the arrays that it may write, and all it is given */
  results?: string;
  from?: string;
  run: () => void;
  before: Work[];
  isDone: boolean;
}

type Asked = Omit<Work, "number" | "before" | "isDone">;

/**
 * When work is done: where something waits for it; at once; or where something waits, but after all in
 * other streams that may come before it.
 */
export type Order = "late" | "early" | "others first";

/** The stream without a name: others wait for it, and it for them. */
const LEGACY = 0;
const FIRST = 16;

export class Streams {
  /** one that ran before another of an earlier line, though both use the same array */
  overtaken: [Work, Work] | null = null;
  /** whether two streams used the same array, and neither waited for the other */
  isLoose = false;
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
    else this.isLoose ||= this.besides(work).length > 0;
    return work;
  }

  /** Work in other streams that uses an array of some work, and that nothing orders with it. */
  besides(work: Work) {
    const apart = this.pending.filter((one) => one.stream !== work.stream && clash(one, work));
    const known = apart.length ? this.#until(work) : new Set();
    return apart.filter((one) => !known.has(one));
  }

  /** Make what comes next in a stream wait for some work of another. */
  wait(stream: number, work: Work | undefined, line: number) {
    const mark = { stream, line, what: "", reads: [], writes: [], run: () => {} };
    const own = this.add(mark);
    if (work && !work.isDone) own.before.push(work);
  }

  /** The last work of a stream. */
  last = (stream: number) => this.#last.get(stream === 1 ? LEGACY : stream);

  /** Do some work, after all that it waits for. */
  finish(work: Work | undefined) {
    if (!work || work.isDone) return;
    const found = this.#until(work);
    for (const one of this.order === "others first" ? this.pending : []) {
      if (!found.has(one) && one.before.every(({ isDone }) => isDone)) this.#run(one);
    }
    for (const one of [...found].sort((a, b) => a.number - b.number)) this.#run(one);
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
    for (const other of this.#pending) {
      if (other.number < work.number && clash(other, work)) this.overtaken ??= [other, work];
    }
    work.run();
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

const clash = (one: Work, other: Work) =>
  one.writes.some((array) => other.reads.includes(array) || other.writes.includes(array)) ||
  one.reads.some((array) => other.writes.includes(array));
