// The roofs of a GPU on log-log axes: those of one memory level, and the peaks.

import { levelRoof } from "../formulas/roofs.ts";
import { number } from "../text.ts";
import type { Axes, Names } from "./shared/axes.ts";
import { type Labels, spotsAround, textWidth } from "./shared/labels.ts";
import { HUES } from "./shared/levels.ts";
import type { Scene } from "./shared/scene.ts";

interface Line {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

interface More {
  gpu: RoofedGpu;
  /** whether it is the one to compare with */
  main: boolean;
  measured: boolean;
  /** GB/s, or GFLOP/s of a peak */
  amount: number;
  /** none for a peak */
  level?: Roof;
  /** FLOP/B; Infinity for a peak */
  ridge: number;
}

type DrawnRoof = Line & More;

export const ROOF_AXES: Names = {
  x: "arithmetic intensity, FLOP per byte",
  y: "GFLOP/s",
  tick: number,
};

/**
 * Draw the roofs of `gpu` without their labels and keep the room they take.
 * @param shown id of a level
 * @returns what labelRoofs() needs
 */
export function drawRoofs(
  scene: Scene,
  axes: Axes,
  gpu: RoofedGpu,
  shown: string,
  labels: Labels,
): DrawnRoof[] {
  const slanted = slantedRoofs(axes, gpu, shown);
  const roofs = [...slanted, ...flatRoofs(axes, gpu, slanted)];
  for (const roof of [...roofs].sort((a, b) => Number(a.main) - Number(b.main))) {
    const { level, measured } = roof;
    const name = `${level ? level.id : "peak"}-${measured}`;
    const hue = level ? HUES[level.id] : "peak";
    scene.draw(`roof-${name}`, "path", {
      class: `lab-roof lab-${hue}`,
      "data-level": level?.id ?? "peak",
      "data-measured": measured,
      d: `M${roof.x1} ${roof.y1}L${roof.x2} ${roof.y2}`,
    });
    labels.blockLine(roof.x1, roof.y1, roof.x2, roof.y2);
    if (roof.main && level && roof.ridge < axes.x.high) {
      const at = { cx: roof.x2, cy: roof.y2, r: 4 };
      scene.draw(`ridge-${name}`, "circle", { class: `lab-ridge lab-${hue}`, ...at });
      labels.block(roof.x2, roof.y2, 5);
    }
  }
  return roofs;
}

/** The roofs of memory: from the left edge, or the floor, up to the peak. */
function slantedRoofs({ x, y }: Axes, gpu: RoofedGpu, shown: string): DrawnRoof[] {
  return gpu.levels
    .filter(({ id }) => id === shown)
    .map((level) => {
      const { gbs, measured } = level;
      const main = levelRoof(gpu, level.id) === level;
      const kin = gpu.peaks.find((one) => one.measured === measured) ?? gpu.peaks[0];
      const peak = main ? gpu.peak_gflops : kin.gflops;
      const start = Math.max(x.low, y.low / gbs);
      const ridge = peak / gbs;
      const line = { x1: x(start), y1: y(start * gbs), x2: x(ridge), y2: y(peak) };
      return { ...line, gpu, main, measured, amount: gbs, level, ridge };
    });
}

/** The roofs of the arithmetic, from the roof of memory on. */
function flatRoofs({ x, y }: Axes, gpu: RoofedGpu, slanted: DrawnRoof[]): DrawnRoof[] {
  const steepest = slanted.find(({ main }) => main)?.amount ?? 0;
  return gpu.peaks.map(({ gflops, measured }, i) => {
    const x1 = x(Math.max(x.low, gflops / steepest));
    const line = { x1, y1: y(gflops), x2: x(x.high), y2: y(gflops) };
    return { ...line, gpu, main: i === 0, measured, amount: gflops, ridge: Infinity };
  });
}

/**
 * Write each roof's name along it, and the ridge's intensity beside the ridge, where room is left.
 */
export function labelRoofs(scene: Scene, axes: Axes, roofs: DrawnRoof[], labels: Labels) {
  const write = (key: string, hue: string, size: number, text: string, spots: Spot[]): boolean => {
    const spot = labels.place(text, size, spots);
    if (!spot) return false;
    const turn = spot.angle ? `rotate(${(spot.angle * 180) / Math.PI})` : "";
    const look = { class: `lab-label lab-${hue}`, "text-anchor": spot.anchor, "font-size": size };
    const transform = `translate(${spot.x} ${spot.y})${turn}`;
    scene.draw(key, "text", { ...look, transform }, text);
    return true;
  };
  for (const roof of roofs) {
    const { level, main } = roof;
    const hue = level ? HUES[level.id] : "peak";
    const above = twinsOf(roof).every((amount) => amount <= roof.amount);
    // A roof with a twin close by is named on its own side.
    const sides = level && twinsOf(roof).length > 1 ? [above] : [above, !above];
    const size = main ? 12.5 : 11.5;
    const key = `label-${level?.id ?? "peak"}-${roof.measured}`;
    const names = namesOf(roof);
    const middle = spotsAround((roof.x1 + roof.x2) / 2, (roof.y1 + roof.y2) / 2);
    names.some((text) =>
      write(
        key,
        hue,
        size,
        text,
        sides.flatMap((side) => along(roof, text, size, side)),
      ),
    ) || write(key, hue, size, names[names.length - 1], middle);
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

/** What a roof may be called, the longest first. */
function namesOf({ level, main, measured, amount }: DrawnRoof) {
  if (!main) return [`${measured ? "measured" : "data sheet"} ${number(amount)}`];
  if (level) return [`${level.label} ${number(amount)} GB/s`, level.label];
  const name = `FP32 peak ${number(amount)}`;
  return [`${name}, operands in registers`, name, "FP32 peak"];
}

/** The amounts of the roofs of the same level, or of all peaks. */
function twinsOf({ gpu, level }: DrawnRoof) {
  if (!level) return gpu.peaks.map(({ gflops }) => gflops);
  return gpu.levels.filter(({ id }) => id === level.id).map(({ gbs }) => gbs);
}

/**
 * Places for a label along a roof: slanted roofs from the left, flat ones from the right. Of two
 * roofs of one level the higher is named `above` its line and the lower below.
 */
function along({ x1, y1, x2, y2 }: Line, text: string, size: number, above: boolean): Spot[] {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const angle = Math.atan2(y2 - y1, x2 - x1);
  const half = textWidth(text, size) / 2 + 6;
  const off = above ? 6 : -6 - size * 0.72;
  const spots: Spot[] = [];
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
