// The roofs of a GPU on log-log axes, shared by the widgets that show them.
// A fragment: see module() in base.py. Needs common.js.

/** The roof to compare with: the first of its level, which is the measured one if there is one. */
function levelRoof(gpu, level) {
  return gpu.levels.find((roof) => roof.id === level);
}

/** One roof per level, in the order of the memory hierarchy. */
function referenceLevels(gpu) {
  return gpu.levels.filter((roof) => levelRoof(gpu, roof.id) === roof);
}

/** GFLOP/s that memory level `level` allows at `intensity` FLOP/B, and whether the peak caps it. */
function roofAt(gpu, level, intensity) {
  const roof = levelRoof(gpu, level);
  const memory = roof ? roof.gbs * intensity : Infinity;
  const capped = memory >= gpu.peak_gflops;
  return { gflops: capped ? gpu.peak_gflops : memory, capped, roof };
}

/** Axis limits that hold every roof of every GPU and all `points`, so that nothing moves but roofs. */
function chartLimits(gpus, points) {
  const slopes = gpus.flatMap((gpu) => gpu.levels.map((roof) => roof.gbs));
  const ridges = gpus.flatMap((gpu) => gpu.levels.map((roof) => gpu.peak_gflops / roof.gbs));
  const peaks = gpus.flatMap((gpu) => gpu.peaks.map((peak) => peak.gflops));
  const xs = points.map((point) => point.intensity);
  const x = [Math.min(0.2, ...xs) / 2, Math.max(4, ...ridges, ...xs) * 4];
  const ys = [Math.min(...slopes) * x[0], ...points.map((point) => point.gflops)];
  return { x, y: [Math.min(...ys) / 1.6, Math.max(...peaks, ...ys) * 2.2] };
}

/** The decades of a log scale; where there are only one or two, their double and fivefold too. */
function ticks({ decades, low, high }) {
  if (decades.length > 2) return decades;
  return [decades[0] / 10, ...decades].flatMap((decade) => [decade, 2 * decade, 5 * decade])
    .filter((value) => value >= low && value <= high);
}

/** Axes with few words: a faint line and a number per tick, the units once. */
function drawAxes(scene, box, limits) {
  const x = logScale(...limits.x, box.left, box.right);
  const y = logScale(...limits.y, box.bottom, box.top);
  const line = (key, x1, y1, x2, y2, name) =>
    scene.draw(key, "path", { class: name, d: `M${x1} ${y1}L${x2} ${y2}` });
  const text = (key, at, anchor, words, name = "lab-tick") =>
    scene.draw(key, "text", { class: name, x: at[0], y: at[1], "text-anchor": anchor }, words);
  for (const tick of ticks(x)) {
    line(`x${tick}`, x(tick), box.top, x(tick), box.bottom, "lab-grid");
    text(`tx${tick}`, [x(tick), box.bottom + 24], "middle", number(tick));
  }
  for (const tick of ticks(y)) {
    line(`y${tick}`, box.left, y(tick), box.right, y(tick), "lab-grid");
    text(`ty${tick}`, [box.left - 8, y(tick) + 4], "end", number(tick));
  }
  line("axis", box.left, box.bottom, box.right, box.bottom, "lab-axis");
  text("y-unit", [4, box.top - 10], "start", "GFLOP/s", "lab-unit");
  const words = "arithmetic intensity, FLOP per byte";
  text("x-unit", [box.right, box.bottom + 43], "end", words, "lab-unit");
  return { x, y };
}

/** Where a slanted roof runs: from the left edge (or the floor) up to the peak. */
function slant({ x, y }, gbs, peak) {
  const start = Math.max(x.low, y.low / gbs);
  const ridge = peak / gbs;
  return { x1: x(start), y1: y(start * gbs), x2: x(ridge), y2: y(peak), ridge };
}

/**
 * Draw the roofs of `gpu` without their labels and keep the room they take.
 * Returns what labelRoofs() needs.
 */
function drawRoofs(scene, axes, gpu, hidden, labels) {
  const { x, y } = axes;
  const roofs = [];
  const peakFor = (measured) => gpu.peaks.find((peak) => peak.measured === measured) ?? gpu.peaks[0];
  for (const level of gpu.levels.filter((roof) => !hidden.includes(roof.id))) {
    const main = levelRoof(gpu, level.id) === level;
    const line = slant(axes, level.gbs, main ? gpu.peak_gflops : peakFor(level.measured).gflops);
    roofs.push({ ...line, gpu, level, main });
  }
  const steepest = Math.max(...roofs.filter((roof) => roof.main).map((roof) => roof.level.gbs));
  for (const peak of gpu.peaks) {
    const main = peak === gpu.peaks[0];
    const x1 = x(Math.max(x.low, peak.gflops / steepest)); // from the left where no level is shown
    roofs.push({ x1, y1: y(peak.gflops), x2: x(x.high), y2: y(peak.gflops), gpu, peak, main });
  }
  for (const roof of [...roofs].sort((a, b) => a.main - b.main)) {
    const { measured } = roof.level ?? roof.peak;
    const name = roof.level ? `${roof.level.id}-${measured}` : `peak-${measured}`;
    scene.draw(`roof-${name}`, "path", {
      class: `lab-roof lab-${roof.level ? HUES[roof.level.id] : "peak"}`,
      "data-level": roof.level?.id ?? "peak",
      "data-measured": measured,
      d: `M${roof.x1} ${roof.y1}L${roof.x2} ${roof.y2}`,
    });
    labels.blockLine(roof.x1, roof.y1, roof.x2, roof.y2);
    if (roof.main && roof.level && roof.ridge < x.high) {
      scene.draw(`ridge-${name}`, "circle", {
        class: `lab-ridge lab-${HUES[roof.level.id]}`, cx: roof.x2, cy: roof.y2, r: 4,
      });
      labels.block(roof.x2, roof.y2, 5);
    }
  }
  return roofs;
}

/** Write each roof's name along it, and the ridge's intensity beside the ridge, where room is left. */
function labelRoofs(scene, axes, roofs, labels) {
  const write = (key, hue, size, text, spots) => {
    const spot = labels.place(text, size, spots);
    if (!spot) return false;
    const turn = spot.angle ? `rotate(${(spot.angle * 180) / Math.PI})` : "";
    scene.draw(key, "text", {
      class: `lab-label lab-${hue}`, "text-anchor": spot.anchor, "font-size": size,
      transform: `translate(${spot.x} ${spot.y})${turn}`,
    }, text);
    return true;
  };
  const value = ({ level, peak }) => level?.gbs ?? peak.gflops;
  for (const roof of roofs) {
    const { level, main } = roof;
    const { measured } = level ?? roof.peak;
    const amount = number(value(roof));
    const name = level ? level.label : "FP32 peak";
    const long = level ? `${name} ${amount} GB/s` : `${name} ${amount}`;
    const longest = level ? [] : [`${long}, operands in registers`];
    const texts = main ? [...longest, long, name] : [`${measured ? "measured" : "data sheet"} ${amount}`];
    const twins = (level ? roof.gpu.levels : roof.gpu.peaks).filter((one) => one.id === level?.id);
    const above = twins.every((twin) => (twin.gbs ?? twin.gflops) <= value(roof));
    const size = main ? 12.5 : 11.5;
    // A slanted roof has a twin close by; the flat one may be named on its other side too.
    const sides = level ? [above] : [above, !above];
    texts.some((text) => write(`label-${level?.id ?? "peak"}-${measured}`, level ? HUES[level.id] : "peak",
      size, text, sides.flatMap((side) => along(roof, text, size, side))));
  }
  for (const { level, main, ridge, x2, y2 } of roofs) {
    if (!level || !main || ridge > axes.x.high) continue;
    write(`ridge-label-${level.id}`, HUES[level.id], 11.5, `ridge ${number(ridge)}`, [
      { x: x2, y: y2 - 10, anchor: "middle" },
      { x: x2 + 8, y: y2 + 18, anchor: "start" },
      { x: x2, y: y2 - 26, anchor: "middle" },
    ]);
  }
}

/**
 * Places for a label along a roof: slanted roofs from the left, flat ones from the right. Of two
 * roofs of one level the higher is named `above` its line and the lower below.
 */
function along({ x1, y1, x2, y2 }, text, size, above) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const half = textWidth(text, size) / 2 + 6;
  const off = above ? 6 : -6 - size * 0.72;
  const spots = [];
  for (let step = half; step <= length - half; step += 6) {
    const at = angle ? step : length - step;
    spots.push({
      x: x1 + at * Math.cos(angle) + off * Math.sin(angle),
      y: y1 + at * Math.sin(angle) - off * Math.cos(angle),
      anchor: "middle",
      angle,
    });
  }
  return spots;
}

/** The outline of a level's mark, so that hue is not all: L1 and shared memory have the same. */
function mark(level, r) {
  if (level === "l2") return `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0Z`;
  if (level === "l1") return `M0 ${r * 1.3}L${r * 1.2} ${-r * 0.9}H${-r * 1.2}Z`;
  if (level === "shared") return `M${-r} ${-r}H${r}V${r}H${-r}Z`;
  if (level === "register") return `M0 ${-r * 1.3}L${r * 1.2} ${r * 0.9}H${-r * 1.2}Z`;
  return `M${-r} 0A${r} ${r} 0 1 1 ${r} 0A${r} ${r} 0 1 1 ${-r} 0Z`;
}
