// Model of a software pipeline of one block on an SM: K tiles are loaded into a buffer of shared
// memory, then multiplied from there. Rules, with all times in clocks of the SM:
//
// - K tile w uses buffer w mod `stages`. One buffer is a serial kernel, two are double buffering.
// - `early` K tiles are requested at once. With as many as stages, as by warps that only copy, each
//   later one is requested when K tile w - `stages` has been multiplied. With one fewer, as by
//   warps that do both, when the product of K tile w - `early` begins.
// - After `latency` the data arrive and occupy the memory pipe of the SM for `load`. Latencies of
//   several loads overlap; the pipe serves the loads in order of issue.
// - What has come to registers is stored for `store` clocks: into a buffer of its own while the K
//   tile before it is multiplied, into the only buffer after that.
// - K tiles are multiplied in order, each for `compute` clocks.
//
// Barriers and other instructions are free, so the model is a bound.

/** Durations in clocks, and numbers of K tiles (`windows`) and stages. */
export interface Pipeline {
  latency: number;
  load: number;
  compute: number;
  windows: number;
  stages: number;
  store?: number;
}

export interface TimedWindow {
  number: number;
  buffer: number;
  asked: number;
  comes: number;
  there: number;
  begins: number;
  done: number;
}

/**
 * What happens to every K tile, in order.
 *
 * @param ahead whether the next K tile is requested when a product begins, not when it ends
 */
export function schedule(
  { latency, load, compute, windows, stages, store = 0 }: Pipeline,
  early = stages,
  ahead = false,
): TimedWindow[] {
  const found: TimedWindow[] = [];
  let [pipeFree, done] = [0, 0];
  for (let number = 0; number < windows; number++) {
    const free = number < early ? 0 : found[number - early].begins;
    const asked = ahead || number < early ? free : found[number - stages].done;
    const comes = Math.max(asked + latency, pipeFree);
    const there = comes + load;
    pipeFree = there;
    const begins = stages > 1 ? Math.max(there + store, done) : Math.max(there, done) + store;
    done = begins + compute;
    found.push({ number, buffer: number % stages, asked, comes, there, begins, done });
  }
  return found;
}
