// What the roofs of a GPU leave to a kernel: roofs.py in TypeScript; a test compares them.

/** The roof to compare with: the first of its level, which is the measured one if there is one. */
export function levelRoof(gpu: RoofedGpu, level: string) {
  return gpu.levels.find((roof) => roof.id === level);
}

/** One roof per level, in the order of the memory hierarchy. */
export function referenceLevels(gpu: RoofedGpu) {
  return gpu.levels.filter((roof) => levelRoof(gpu, roof.id) === roof);
}

/** GFLOP/s that a memory level allows at an intensity in FLOP/B, and whether the peak caps it. */
export function roofAt(gpu: RoofedGpu, level: string, intensity: number) {
  const roof = levelRoof(gpu, level);
  const memory = roof ? roof.gbs * intensity : Infinity;
  const capped = memory >= gpu.peak_gflops;
  return { gflops: capped ? gpu.peak_gflops : memory, capped, roof };
}
