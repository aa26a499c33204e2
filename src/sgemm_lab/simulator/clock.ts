// How long something takes, in seconds: of the processor in Node, which other programs do not slow
// down; of the clock in a page.

/** Seconds from some point in time on. */
export function secondsNow() {
  if (typeof process === "undefined") return performance.now() / 1000;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
