// Which roof is the lowest over a kernel, and what would lift it to the next one: limits.py in
// JavaScript, held equal to it by a test. A fragment: see module() in base.py. Needs common.js and
// chart.js.

const FLOP_PER_WARP_FMA = 64; // 32 lanes, two each
const WAVEFRONT_BYTES = 128;
const ABOVE = 1.25; // a point this far over its roof is not held by it
const FAR = 0.5;

/** What each roof leaves at a kernel's intensities, lowest first, the peak last. */
function ceilings(gpu, points) {
  const found = [];
  for (const { level, intensity, gflops } of points) {
    const { gflops: roof, capped, roof: entry } = roofAt(gpu, level, intensity);
    if (entry && !capped && gflops <= ABOVE * roof) {
      found.push({ level, label: entry.label, gflops: roof, intensity });
    }
  }
  found.sort((a, b) => a.gflops - b.gflops);
  return [...found, { level: "peak", label: "the FP32 peak", gflops: gpu.peak_gflops, intensity: 0 }];
}

/** The roof that holds a kernel, how near it is, and what the next takes. `points` are its own. */
function limitWords(gpu, points) {
  const measured = points.filter(({ kind }) => kind === "measured");
  const [lowest, ...others] = ceilings(gpu, measured.length ? measured : points);
  const inside = ({ level, label }) => (level === "shared" ? "shared memory" : label);
  const times = (higher) => number(higher.gflops / lowest.gflops);
  if (!measured.length) {
    const start = `Not measured on ${gpu.name}. By what its threads ask for, `;
    return others.length
      ? `${start}${inside(lowest)} would leave it ${number(lowest.gflops)} GFLOP/s; the FP32 peak ` +
        `takes ${times(others.at(-1))} times fewer bytes per FLOP.`
      : `${start}memory would keep up with the FP32 peak, ${number(lowest.gflops)} GFLOP/s.`;
  }
  const speed = measured[0].gflops;
  const roofs = measured.map(({ level, intensity }) => roofAt(gpu, level, intensity).gflops);
  if (roofs.every((roof) => speed > ABOVE * roof)) {
    return `It stands ${number(speed / roofs[0])} times above this roof: caches serve most of what ` +
      "its threads ask for. The bytes that really move are not counted on this GPU.";
  }
  const share = percent(speed / lowest.gflops);
  if (!others.length) {
    return `No memory roof over this kernel is lower than the FP32 peak, ${number(lowest.gflops)} ` +
      `GFLOP/s. It reaches ${share} of it: the rest goes to other instructions and to waiting, not to bytes.`;
  }
  const shared = lowest.level === "shared";
  const perFma = FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * lowest.intensity);
  const cost = shared ? ` (${number(perFma)} wavefronts per multiply-add of a warp)` : "";
  const unit = shared ? "wavefronts per multiply-add" : `${lowest.label} bytes per FLOP`;
  const far = speed < FAR * lowest.gflops ? " At less than half of its roof, more than bytes holds it back." : "";
  return `The lowest roof over this kernel is ${inside(lowest)}, ${number(lowest.gflops)} GFLOP/s${cost}; ` +
    `it reaches ${share} of that. The next is ${inside(others[0])} at ${number(others[0].gflops)}: ` +
    `it takes ${times(others[0])} times fewer ${unit}.${far}`;
}
