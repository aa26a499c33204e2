// What all timelines have: the axis of time, and rows with a name.

import "./over_time.css";
import { number } from "../../text.ts";
import { ticks } from "./scale.ts";
import type { Scene } from "./scene.ts";

export const MARGIN = 10; // px right of the rows

/** A picture of time from left to right: rows that a subclass draws, and an axis. */
export class OverTime {
  x = scale(this.end, this.gutter, this.width).x;

  /**
   * @param end of the axis
   * @param gutter px left of the rows
   */
  constructor(
    public scene: Scene,
    public end: number,
    public gutter: number,
    public width: number,
  ) {}

  drawAxis(y: number, unit: string) {
    const { scene, x, end, gutter, width } = this;
    scene.draw("axis", "path", { class: "lab-axis", d: `M${gutter} ${y}H${width - MARGIN}` });
    for (const at of ticks(end, Math.max(3, Math.floor(width / 110)))) {
      scene.draw(`tick${at}`, "path", { class: "lab-axis", d: `M${x(at)} ${y}v5` });
      this.scene.text(`at${at}`, "lab-tick", x(at), y + 18, number(at));
    }
    this.scene.text("unit", "lab-unit", gutter - 8, y + 18, unit, "end");
  }

  /** The name of a row, beside it. */
  name(id: string, y: number, words: string): void {
    this.scene.text(id, "lab-tick", this.gutter - 8, y, words, "end");
  }
}

/** Times to pixels and back. */
export function scale(end: number, gutter: number, width: number) {
  const room = width - gutter - MARGIN;
  return {
    x: (time: number) => gutter + (room * time) / end,
    at: (pixel: number) => ((pixel - gutter) * end) / room,
  };
}
