// @ts-check
// What the roofs of a GPU leave to a kernel: roofs.py in JavaScript, held equal to it by a test.

/**
 * The roof to compare with: the first of its level, which is the measured one if there is one.
 * @param {RoofedGpu} gpu
 * @param {string} level
 */
export function levelRoof(gpu, level) {
  return gpu.levels.find((roof) => roof.id === level);
}

/**
 * One roof per level, in the order of the memory hierarchy.
 * @param {RoofedGpu} gpu
 */
export function referenceLevels(gpu) {
  return gpu.levels.filter((roof) => levelRoof(gpu, roof.id) === roof);
}

/**
 * GFLOP/s that a memory level allows at an intensity in FLOP/B, and whether the peak caps it.
 * @param {RoofedGpu} gpu
 * @param {string} level
 * @param {number} intensity
 */
export function roofAt(gpu, level, intensity) {
  const roof = levelRoof(gpu, level);
  const memory = roof ? roof.gbs * intensity : Infinity;
  const capped = memory >= gpu.peak_gflops;
  return { gflops: capped ? gpu.peak_gflops : memory, capped, roof };
}
