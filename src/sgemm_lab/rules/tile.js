// What a tile buys: tile_math.py in JavaScript, held equal to it by a test.
// A fragment: see module() in base.py. Needs chart.js.

const MAX_REGISTERS = 255; // a thread's, on every GPU since 2012

/** A kernel's constants [{name, value}] as a tile; TILE stands for BM, BN and BK at once. */
function tileOf(constants) {
  const value = Object.fromEntries(constants.map((constant) => [constant.name, constant.value]));
  const side = value.TILE ?? 1;
  const { BM = side, BN = side, BK = side, TM = 1, TN = 1 } = value;
  return { bm: BM, bn: BN, bk: BK, tm: TM, tn: TN };
}

/** FLOP/B of an a×b tile in FP32: per step along K, a + b floats read for a·b multiply-adds. */
function tileIntensity(a, b) {
  return (a * b) / (2 * (a + b));
}

/** FLOP/B if each element of A, B and C moves exactly once. */
function compulsoryIntensity({ m, n, k }) {
  return (2 * m * n * k) / (4 * (m * k + k * n + m * n));
}

/** All that the widget says about a tile on a GPU, for matrices of size {m, n, k}. */
function tileReport(tile, gpu, matrix) {
  const { bm, bn, bk, tm, tn } = tile;
  const usesShared = bm * bn > 1;
  const report = {
    block: tileIntensity(bm, bn),
    global: Math.min(tileIntensity(bm, bn), compulsoryIntensity(matrix)),
    thread: tileIntensity(tm, tn),
    usesShared,
    sharedBytes: usesShared ? 4 * bk * (bm + bn) : 0,
    threads: (bm / tm) * (bn / tn),
    accumulators: tm * tn,
    compulsory: compulsoryIntensity(matrix),
    gflops: gpu.peak_gflops,
    limit: "peak",
    roofs: [], // of the levels that the tile asks: what each alone leaves
  };
  const asked = [["dram", report.global], ...(usesShared ? [["shared", report.thread]] : [])];
  for (const [level, intensity] of asked) {
    const roof = levelRoof(gpu, level);
    if (!roof) continue;
    const gflops = roof.gbs * intensity;
    report.roofs.push({ level, roof, intensity, gflops });
    if (gflops >= report.gflops) continue;
    Object.assign(report, { gflops, limit: level });
  }
  return { ...report, problems: tileProblems(tile, report, gpu) };
}

/** The constants whose next larger choice would run on the GPU and raise the bound. */
function raising(constants, gpu, matrix) {
  const now = tileReport(tileOf(constants), gpu, matrix).gflops;
  return constants.filter(({ name, value, choices }) => {
    const larger = choices.find((choice) => choice > value);
    if (!larger) return false;
    const changed = constants.map((one) => (one.name === name ? { ...one, value: larger } : one));
    const report = tileReport(tileOf(changed), gpu, matrix);
    return !report.problems.length && report.gflops > now;
  }).map(({ name }) => name);
}

/** A plain sentence for each reason why the tile cannot run on the GPU. */
function tileProblems({ bm, bn, tm, tn }, { threads, sharedBytes, accumulators }, gpu) {
  const uneven = [["M", bm, tm], ["N", bn, tn]].filter(([, whole, part]) => whole % part);
  if (uneven.length) {
    return uneven.map(([side, whole, part]) => `T${side} = ${part} does not divide B${side} = ` +
      `${whole}: the threads' tiles would not fill the block's.`);
  }
  const found = [];
  const comma = (value) => value.toLocaleString("en-US");
  if (threads > gpu.max_threads_per_block) {
    found.push(`The block would have ${comma(threads)} threads. ${gpu.name} allows ` +
      `${comma(gpu.max_threads_per_block)}: take larger thread tiles.`);
  }
  const limit = gpu.shared_per_block_bytes ?? Infinity;
  if (sharedBytes > limit) {
    found.push(`The strips take ${comma(sharedBytes)} bytes of shared memory. A block on ` +
      `${gpu.name} may have ${comma(limit)}: take a smaller tile or a smaller BK.`);
  }
  if (accumulators > MAX_REGISTERS) {
    found.push(`Each thread would keep ${comma(accumulators)} sums, but it may have ` +
      `${MAX_REGISTERS} registers: take a smaller thread tile.`);
  }
  return found;
}
