// All steps of a trace in one row: a bar each, barriers as walls, phases pressed together.

import { setAttributes } from "./shared/dom.ts";
import { textWidth } from "./shared/labels.ts";
import { fit, type Scene } from "./shared/scene.ts";
import { faultIn, phaseWords } from "./steps_model.ts";
import type { Walkthrough } from "./steps_trace.ts";

/** Where the bar of a step begins, and how wide it is. */
interface Bar {
  x: number;
  wide: number;
}

const [ABOVE, BARS, WORDS] = [16, 26, 15]; // px, of flights, of bars, of names of phases below
const LETTERS = 11; // px

/**
 * Long phases are pressed together, so that short ones can be seen: a phase of n steps is as wide
 * as the root of n.
 */
export function barsOf({ phases }: Walkthrough, width: number): Bar[] {
  const weights = phases.map(({ first, last }) => Math.sqrt(last - first));
  const unit = width / weights.reduce((sum, weight) => sum + weight, 0);
  let x = 0;
  return phases.flatMap(({ first, last }, i) => {
    const wide = (weights[i] * unit) / (last - first);
    return Array.from({ length: last - first }, () => {
      const bar = { x, wide };
      x += wide;
      return bar;
    });
  });
}

/** The step whose bar is at `x`, in px. */
export const stepUnder = (bars: Bar[], x: number) =>
  Math.max(1, 1 + bars.findLastIndex((bar) => bar.x <= x));

const HUES: { global: string; shared: string; register: string } = {
  global: "dram",
  shared: "shared",
  register: "register",
};

/** The name of a phase, or nothing where it has no room, and its middle. */
interface Label {
  words: string | undefined;
  x: number;
}

const known: WeakMap<
  Walkthrough,
  { width: number; bars: Bar[]; looks: string[]; labels: Label[] }
> = new WeakMap();

/** what is drawn of each bar */
const drawn: WeakMap<Element, { bars: Bar[]; state: string }> = new WeakMap();

/** What does not change from step to step. */
function fixed(walkthrough: Walkthrough, width: number) {
  const old = known.get(walkthrough);
  if (old?.width === width) return old;
  const looks = walkthrough.steps.map((step) => {
    const trouble = { none: "", unsafe: " lab-racing", wrong: " lab-racing lab-wrong" }[
      faultIn(step)
    ];
    return `lab-bar-step lab-${HUES[step.array.space]}${trouble}${step.fault ? " lab-fault" : ""}`;
  });
  const bars = barsOf(walkthrough, width);
  const made = { width, bars, looks, labels: labelsOf(walkthrough, bars) };
  known.set(walkthrough, made);
  return made;
}

export function drawRibbon(
  scene: Scene,
  ribbon: SVGSVGElement,
  walkthrough: Walkthrough,
  step: number,
  width: number,
) {
  const { bars, looks, labels } = fixed(walkthrough, width);
  const top = walkthrough.flights.length ? ABOVE : 0;
  fit(ribbon, width, top + BARS + WORDS);
  for (const { first, last } of walkthrough.flights) {
    const [x, end] = [bars[first].x, bars[last].x + bars[last].wide];
    scene.draw(`flight${first}`, "path", { class: "lab-flight", d: `M${x} ${top - 2}H${end - 9}` });
    scene.text(
      `flight-name${first}`,
      "lab-phase-name",
      (x + end) / 2,
      top - 6,
      "in flight",
      "middle",
    );
  }
  walkthrough.steps.forEach(({ fault }, i) => {
    const state = i === step - 1 ? " lab-here" : i < step - 1 ? " lab-past" : "";
    const node = scene.draw(`step${i}`, "rect", {});
    const was = drawn.get(node);
    if (was?.bars === bars && was.state === state) return; // as most are
    drawn.set(node, { bars, state });
    const [y, tall] = fault ? [0, BARS] : [6, 16];
    const { x, wide } = bars[i];
    setAttributes(node, {
      class: looks[i] + state,
      x: x + Math.min(0.5, wide / 8),
      y: top + y,
      width: Math.max(0.5, wide - Math.min(1, wide / 4)),
      height: tall,
    });
  });
  for (const { first } of walkthrough.stages.slice(1)) {
    const d = `M${bars[first - 1].x} ${top}v${BARS}`;
    scene.draw(`wall${first}`, "path", { class: "lab-wall", d });
  }
  drawPhases(scene, walkthrough, labels, step, top + BARS + 11);
  scene.finish();
}

function labelsOf({ phases }: Walkthrough, bars: Bar[]): Label[] {
  return phases.map((phase) => {
    const { first, last, action } = phase;
    const [from, end] = [bars[first].x, bars[last - 1]];
    const to = end.x + end.wide;
    const words = [phaseWords(phase), action].find(
      (one) => textWidth(one, LETTERS) <= to - from - 3,
    );
    return { words, x: (from + to) / 2 };
  });
}

/** The names of phases, each below its bars. */
function drawPhases(
  scene: Scene,
  { phases }: Walkthrough,
  labels: Label[],
  step: number,
  y: number,
) {
  phases.forEach(({ first, last }, i) => {
    const { words, x } = labels[i];
    if (!words) return;
    const here = step > first && step <= last ? " lab-here" : "";
    const look = { class: `lab-phase-name${here}`, "text-anchor": "middle" };
    scene.draw(`phase${i}`, "text", { ...look, x, y }, words);
  });
}
