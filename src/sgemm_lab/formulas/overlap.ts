// How windows of K flow through one SM: overlap.py in TypeScript; a test compares them.

import { SLACK, STEADY } from "./overlap.py";

/** How long things take, in clocks, and how many windows may be on their way; see overlap.py. */
export interface Pipeline {
  latency: number;
  load: number;
  compute: number;
  windows: number;
  stages: number;
  blocks: number;
}

/** A stretch of time in which a window is multiplied with a share of the arithmetic. */
export interface Piece {
  start: number;
  end: number;
  share: number;
}

export interface TimedWindow {
  block: number;
  number: number;
  buffer: number;
  asked: number;
  comes: number;
  there: number;
  pieces: Piece[];
  done: number;
}

type BoundOfPipeline = "compute" | "load" | "latency";

/** One SM under way: what is coming in, what is multiplied, what is done. */
class Sm {
  /** by block */
  waiting: { asked: number; comes: number; there: number }[][];
  /** by block */
  done: number[];
  /** block → its window's work */
  busy: Map<number, { left: number; pieces: Piece[] }> = new Map();
  finished: TimedWindow[] = [];
  now = 0;
  pipeFree = 0;

  constructor(public pipeline: Pipeline) {
    this.waiting = Array.from({ length: pipeline.blocks }, () => []);
    this.done = new Array(pipeline.blocks).fill(0);
  }

  /** Ask for every window that has a buffer, and begin to multiply those that are there. */
  begin() {
    const { latency, load, compute, windows, stages } = this.pipeline;
    this.waiting.forEach((line, block) => {
      const done = this.done[block];
      while (done + line.length < Math.min(windows, done + stages)) {
        const comes = Math.max(this.now + latency, this.pipeFree);
        this.pipeFree = comes + load;
        line.push({ asked: this.now, comes, there: this.pipeFree });
      }
      if (!this.busy.has(block) && line.length && line[0].there <= this.now) {
        this.busy.set(block, { left: compute, pieces: [] });
      }
    });
  }

  /** Go on to the next event. */
  step() {
    const { busy, now } = this;
    const arrivals = this.waiting.flatMap((line, block) =>
      line.length && !busy.has(block) ? [line[0].there] : [],
    );
    const ends = [...busy.values()].map(({ left }) => now + left * busy.size);
    const then = Math.min(...arrivals, ...ends);
    const share = 1 / Math.max(1, busy.size);
    for (const [block, work] of [...busy]) {
      const last = work.pieces.at(-1);
      if (then > now && last?.share === share) last.end = then;
      else if (then > now) work.pieces.push({ start: now, end: then, share });
      work.left -= (then - now) * share;
      if (work.left <= SLACK) this.finish(block, work.pieces, then);
    }
    this.now = then;
  }

  finish(block: number, pieces: Piece[], done: number) {
    const number = this.done[block]++;
    const [times] = this.waiting[block].splice(0, 1);
    const buffer = number % this.pipeline.stages;
    this.finished.push({ block, number, buffer, ...times, pieces, done });
    this.busy.delete(block);
  }
}

/** What happens to every window, in the order in which they are multiplied. */
export function schedule(pipeline: Pipeline) {
  const sm = new Sm(pipeline);
  while (sm.finished.length < pipeline.windows * pipeline.blocks) {
    sm.begin();
    sm.step();
  }
  return sm.finished;
}

/**
 * What a pipeline reaches: clocks until the last product, clocks per K tile in the steady state, the
 * limit, buffers that hide the latency (null if `most` do not), and barriers per K tile.
 */
export function pipelineReport(pipeline: Pipeline, most: number = 6) {
  const total = totalOf(pipeline);
  const serial = totalOf({ ...pipeline, stages: 1 });
  const tries = Array.from({ length: most }, (_, i) => i + 1);
  const enough = tries.find((stages) => paceOf({ ...pipeline, stages }).bound !== "latency");
  return {
    total,
    serial,
    ...paceOf(pipeline),
    enough: enough ?? null,
    share: total ? (pipeline.blocks * pipeline.windows * pipeline.compute) / total : 0,
    speedup: total ? serial / total : 1,
    barriers: pipeline.stages === 1 ? 2 : 1,
  };
}

function totalOf(pipeline: Pipeline) {
  const windows = schedule(pipeline);
  return windows[windows.length - 1].done;
}

/** The steady clocks per window of a block, and what sets them. */
function paceOf(pipeline: Pipeline): { pace: number; bound: BoundOfPipeline } {
  const ends = schedule({ ...pipeline, windows: 2 * STEADY }).filter(({ block }) => block === 0);
  const pace = (ends[ends.length - 1].done - ends[STEADY - 1].done) / STEADY;
  const names = ["compute", "load"] as const;
  const bound = names.find((name) => pace <= pipeline.blocks * pipeline[name] + SLACK);
  return { pace, bound: bound ?? "latency" };
}
