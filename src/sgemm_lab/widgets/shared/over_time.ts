// What all timelines have: a cursor that goes from event to event, and the axis that it stands on.

import "./over_time.css";
import { number } from "../../text.ts";
import { choiceSlider } from "./controls.ts";
import { button, html } from "./dom.ts";
import { range, ticks } from "./scale.ts";
import type { Scene } from "./scene.ts";

/** What a cursor goes through: `events` are the times at which something begins or ends. */
interface Span {
  events: number[];
  end: number;
}

export const MARGIN = 10; // px right of the rows
const STEPS = 240;
const INSTANT = 1e-6; // closer events are one

/**
 * A slider through time, between buttons that go to the event before and to the next.
 * @param at where the cursor stands
 */
export function scrubber(span: () => Span, at: () => number, go: (time: number) => void) {
  const back = button("◀", () => go(before(span(), at())), "Back to the last event");
  const on = button("▶", () => go(after(span(), at())), "On to the next event");
  const slider = choiceSlider("Time", (step) => go((step / STEPS) * span().end));
  return {
    element: html("div", { class: "lab-scrub" }, back, slider.element, on),
    show(time: number, words: string) {
      const { end } = span();
      slider.show(end ? Math.round((STEPS * time) / end) : 0, range(0, STEPS), words);
      back.disabled = time <= 0;
      on.disabled = time >= end;
    },
  };
}

const before = ({ events }: Span, time: number): number =>
  events.findLast((one) => one < time - INSTANT) ?? 0;

const after = ({ events, end }: Span, time: number): number =>
  events.find((one) => one > time + INSTANT) ?? end;

/** A picture of time from left to right: rows that a subclass draws, an axis, a cursor. */
export class OverTime {
  gutter;
  width;
  x;

  /**
   * @param time where the cursor stands
   * @param end of the axis
   * @param room in pixels
   */
  constructor(
    public scene: Scene,
    public time: number,
    public end: number,
    { gutter, width }: { gutter: number; width: number },
  ) {
    this.gutter = gutter;
    this.width = width;
    this.x = scale(end, gutter, width).x;
  }

  drawAxis(y: number, unit: string) {
    const { scene, x, end, gutter, width } = this;
    scene.draw("axis", "path", { class: "lab-axis", d: `M${gutter} ${y}H${width - MARGIN}` });
    for (const at of ticks(end, Math.max(2, Math.floor(width / 110)))) {
      scene.draw(`tick${at}`, "path", { class: "lab-axis", d: `M${x(at)} ${y}v5` });
      this.scene.text(`at${at}`, "lab-tick", x(at), y + 18, number(at));
    }
    this.scene.text("unit", "lab-unit", gutter - 8, y + 18, unit, "end");
  }

  drawCursor(bottom: number) {
    const x = this.x(this.time);
    const d = `M${x} 4V${bottom}M${x - 5} 0h10l-5 7z`;
    this.scene.draw("cursor", "path", { class: "lab-cursor", d });
  }

  now(from: number, to: number): string {
    return from <= this.time && this.time < to ? " lab-now" : "";
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
