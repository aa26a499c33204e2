// @ts-check
// What all timelines have: a cursor that goes from event to event, and the axis that it stands on.

import { number } from "../../text.js";
import { choiceSlider } from "./controls.js";
import { button, html } from "./dom.js";
import { range, ticks } from "./scale.js";

/**
 * What a cursor goes through: `events` are the times at which something begins or ends.
 * @typedef {{ events: number[], end: number }} Span
 */

export const MARGIN = 10; // px right of the rows
const STEPS = 240;
const INSTANT = 1e-6; // closer events are one

/**
 * A slider through time, between buttons that go to the event before and to the next.
 * @param {() => Span} span
 * @param {() => number} at where the cursor stands
 * @param {(time: number) => void} go
 */
export function scrubber(span, at, go) {
  const back = button("◀", () => go(before(span(), at())), "Back to the last event");
  const on = button("▶", () => go(after(span(), at())), "On to the next event");
  const slider = choiceSlider("Time", (step) => go((step / STEPS) * span().end));
  return {
    element: html("div", { class: "lab-scrub" }, back, slider.element, on),
    /**
     * @param {number} time
     * @param {string} words
     */
    show(time, words) {
      const { end } = span();
      slider.show(end ? Math.round((STEPS * time) / end) : 0, range(0, STEPS), words);
      back.disabled = time <= 0;
      on.disabled = time >= end;
    },
  };
}

/** @type {(span: Span, time: number) => number} */
const before = ({ events }, time) => events.findLast((one) => one < time - INSTANT) ?? 0;

/** @type {(span: Span, time: number) => number} */
const after = ({ events, end }, time) => events.find((one) => one > time + INSTANT) ?? end;

/** A picture of time from left to right: rows that a subclass draws, an axis, a cursor. */
export class OverTime {
  /**
   * @param {import("./scene.js").Scene} scene
   * @param {number} time where the cursor stands
   * @param {number} end of the axis
   * @param {{ gutter: number, width: number }} room in pixels
   */
  constructor(scene, time, end, { gutter, width }) {
    this.scene = scene;
    this.time = time;
    this.end = end;
    this.gutter = gutter;
    this.width = width;
    this.x = scale(end, gutter, width).x;
  }

  /**
   * @param {number} y
   * @param {string} unit
   */
  drawAxis(y, unit) {
    const { scene, x, end, gutter, width } = this;
    scene.draw("axis", "path", { class: "lab-axis", d: `M${gutter} ${y}H${width - MARGIN}` });
    for (const at of ticks(end, Math.max(2, Math.floor(width / 110)))) {
      scene.draw(`tick${at}`, "path", { class: "lab-axis", d: `M${x(at)} ${y}v5` });
      this.text(`at${at}`, "lab-tick", x(at), y + 18, number(at));
    }
    this.text("unit", "lab-unit", gutter - 8, y + 18, unit, "end");
  }

  /** @param {number} bottom */
  drawCursor(bottom) {
    const x = this.x(this.time);
    const d = `M${x} 4V${bottom}M${x - 5} 0h10l-5 7z`;
    this.scene.draw("cursor", "path", { class: "lab-cursor", d });
  }

  /** @type {(from: number, to: number) => string} */
  now(from, to) {
    return from <= this.time && this.time < to ? " lab-now" : "";
  }

  /**
   * The name of a row, beside it.
   * @type {(id: string, y: number, words: string) => void}
   */
  name(id, y, words) {
    this.text(id, "lab-tick", this.gutter - 8, y, words, "end");
  }

  /** @type {(id: string, look: string, x: number, y: number, words: string, anchor?: string) => void} */
  text(id, look, x, y, words, anchor = "middle") {
    this.scene.draw(id, "text", { class: look, x, y, "text-anchor": anchor }, words);
  }
}

/**
 * Times to pixels and back.
 * @param {number} end
 * @param {number} gutter
 * @param {number} width
 */
export function scale(end, gutter, width) {
  const room = width - gutter - MARGIN;
  return {
    /** @param {number} time */
    x: (time) => gutter + (room * time) / end,
    /** @param {number} pixel */
    at: (pixel) => ((pixel - gutter) * end) / room,
  };
}
