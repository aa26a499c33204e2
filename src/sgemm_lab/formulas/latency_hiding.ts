// Workers that take turns at one unit, each with a wait between its turns. A worker uses the unit for
// `work` clocks and then waits `wait` clocks; the unit serves one at a time, in a fixed order.

/** The share of the time that the unit is busy, at most 1, by Little's law. */
export const busy = (work: number, wait: number, workers: number) =>
  Math.min(1, (workers * work) / (work + wait));
