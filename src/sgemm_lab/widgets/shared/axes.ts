// Log-log axes.

import { number } from "../../text.ts";
import { logScale } from "./scale.ts";
import type { Scene } from "./scene.ts";

export interface Limits {
  x: [number, number];
  y: [number, number];
}

export interface Axes {
  x: LogScale;
  y: LogScale;
}

/** What stands at the axes: their units, and how a number of the horizontal one is written. */
export interface Names {
  x: string;
  y: string;
  tick: (value: number) => string;
}

/** The decades of a log scale; where there are only one or two, their double and fivefold too. */
function ticks({ decades, low, high }: LogScale) {
  if (decades.length > 2) return decades;
  return [decades[0] / 10, ...decades]
    .flatMap((decade) => [decade, 2 * decade, 5 * decade])
    .filter((value) => value >= low && value <= high);
}

/** Axes with few words: a faint line and a number per tick, the units once. */
export function drawAxes(scene: Scene, box: Box, limits: Limits, names: Names): Axes {
  const x = logScale(...limits.x, box.left, box.right);
  const y = logScale(...limits.y, box.bottom, box.top);
  const line = (
    key: string,
    [x1, y1]: [number, number],
    [x2, y2]: [number, number],
    name: string,
  ): void => {
    scene.draw(key, "path", { class: name, d: `M${x1} ${y1}L${x2} ${y2}` });
  };
  const text = (
    key: string,
    at: [number, number],
    anchor: string,
    words: string,
    name: string = "lab-tick",
  ): void => {
    const attributes = { class: name, x: at[0], y: at[1], "text-anchor": anchor };
    scene.draw(key, "text", attributes, words);
  };
  for (const tick of ticks(x)) {
    line(`x${tick}`, [x(tick), box.top], [x(tick), box.bottom], "lab-grid");
    text(`tx${tick}`, [x(tick), box.bottom + 24], "middle", names.tick(tick));
  }
  for (const tick of ticks(y)) {
    line(`y${tick}`, [box.left, y(tick)], [box.right, y(tick)], "lab-grid");
    text(`ty${tick}`, [box.left - 8, y(tick) + 4], "end", number(tick));
  }
  line("axis", [box.left, box.bottom], [box.right, box.bottom], "lab-axis");
  text("y-unit", [4, box.top - 10], "start", names.y, "lab-unit");
  text("x-unit", [box.right, box.bottom + 43], "end", names.x, "lab-unit");
  return { x, y };
}
