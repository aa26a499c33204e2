// How K tiles flow through one block on an SM: overlap.py in TypeScript; a test compares them.

/** How long things take, in clocks, and how many K tiles may be on their way; see overlap.py. */
export interface Pipeline {
  latency: number;
  load: number;
  compute: number;
  windows: number;
  stages: number;
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

/** What happens to every K tile, in order. */
export function schedule({ latency, load, compute, windows, stages }: Pipeline): TimedWindow[] {
  const found: TimedWindow[] = [];
  let [pipeFree, done] = [0, 0];
  for (let number = 0; number < windows; number++) {
    const asked = number < stages ? 0 : found[number - stages].done;
    const comes = Math.max(asked + latency, pipeFree);
    const there = comes + load;
    pipeFree = there;
    const begins = Math.max(there, done);
    done = begins + compute;
    found.push({ number, buffer: number % stages, asked, comes, there, begins, done });
  }
  return found;
}
