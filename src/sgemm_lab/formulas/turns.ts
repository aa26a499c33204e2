// Workers that take turns at one unit, each with a wait between its turns; see turns.py.

/** The share of the time that the unit is busy, at most 1. */
export const busy = (work: number, wait: number, workers: number) =>
  Math.min(1, (workers * work) / (work + wait));
