// Which roof is the lowest over a kernel, and what would lift it to the next one.

import { roofAt } from "../formulas/roofs.ts";
import { sentence } from "../formulas/sentences.ts";
import { FLOP_PER_WARP_FMA, WAVEFRONT_BYTES } from "../hardware.py";

/** A point this factor above a roof is not limited by it. */
const ABOVE = 1.25;
/** Below this share of its roof a kernel is limited by more than bandwidth. */
const FAR = 0.5;

/** A kernel's place on the roofline at one level. */
interface Point {
  level: LevelId;
  intensity: number;
  gflops: number;
  kind: string;
  bound_by?: string;
  bound_gflops?: number;
}

/** What a roof leaves to a kernel. */
interface Ceiling {
  level: string;
  label: string;
  gflops: number;
  intensity: number;
}

/** What each roof leaves at a kernel's intensities, lowest first, the peak last. */
function ceilings(gpu: RoofedGpu, points: Point[]): Ceiling[] {
  const found = points.flatMap(({ level, intensity, gflops }) => {
    const { gflops: roof, capped, roof: entry } = roofAt(gpu, level, intensity);
    const holds = entry && !capped && gflops <= ABOVE * roof;
    return holds ? [{ level, label: entry.label, gflops: roof, intensity }] : [];
  });
  found.sort((a, b) => a.gflops - b.gflops);
  const peak = { level: "peak", label: "the FP32 peak", gflops: gpu.peak_gflops, intensity: 0 };
  return [...found, peak];
}

/**
 * The roof that holds a kernel, how near it is, and what the next takes.
 * @param points the kernel's own, predicted or measured. If the first measured one names its bound,
 *   only that bound is reported.
 */
export function limitWords(gpu: RoofedGpu, points: Point[]) {
  const measured = points.filter(({ kind }) => kind === "measured");
  const [lowest, ...others] = ceilings(gpu, measured.length ? measured : points);
  const { gflops } = lowest;
  const roof = inside(lowest);
  if (!measured.length) {
    if (!others.length) return sentence("limit.expected peak", { gpu: gpu.name, gflops });
    const times = others[others.length - 1].gflops / gflops;
    return sentence("limit.expected", { gpu: gpu.name, roof, gflops, times });
  }
  const [{ gflops: speed, bound_by: unit, bound_gflops: cap }] = measured;
  if (unit && cap) return sentence("limit.bound", { unit, gflops: cap, share: speed / cap });
  const roofs = measured.map(({ level, intensity }) => roofAt(gpu, level, intensity).gflops);
  if (roofs.every((one) => speed > ABOVE * one)) {
    return sentence("limit.above", { times: speed / roofs[0] });
  }
  const share = speed / gflops;
  if (!others.length) return sentence("limit.peak", { gflops, share });
  const [next] = others;
  return sentence("limit.lowest", {
    roof,
    gflops,
    ...costOf(lowest),
    share,
    next: inside(next),
    next_gflops: next.gflops,
    times: next.gflops / gflops,
    far: speed < FAR * gflops ? sentence("limit.far") : "",
  });
}

/** What a kernel asks of the memory that holds it, and what it would have to ask less of. */
function costOf({ level, label, intensity }: Ceiling) {
  if (level !== "shared") return { cost: "", unit: sentence("limit.bytes", { roof: label }) };
  const wavefronts = FLOP_PER_WARP_FMA / (WAVEFRONT_BYTES * intensity);
  return { cost: sentence("limit.cost", { wavefronts }), unit: sentence("limit.wavefronts") };
}

/** A roof's name as it stands within a sentence. */
function inside({ level, label }: Ceiling) {
  return level === "shared" ? "shared memory" : label;
}
