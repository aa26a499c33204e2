// All steps of a trace in one row: a bar each, barriers as walls, phases pressed together. Where
// warps wait in parts, each role has a row, and what stands above each other is done at the same
// time.

import { setAttributes } from "./shared/dom.ts";
import { textWidth } from "./shared/labels.ts";
import type { Scene } from "./shared/scene.ts";
import { faultIn } from "./steps_faults.ts";
import { phaseWords } from "./steps_phases.ts";
import { capital, roleName } from "./steps_roles.ts";
import type { Walkthrough } from "./steps_trace.ts";

/** Where the bar of a step begins, how wide it is, and in which row it stands. */
interface Bar {
  x: number;
  wide: number;
  lane: number;
}

const [BARS, WORDS] = [26, 15]; // px, of the bars and of the names of phases below
const SHORTEST = 20; // a window of time is at least as wide as that part of the row
const NAME = 16; // px above the bars, for the name of a role
const LETTERS = 11; // px

/** How many rows there are. */
export const lanesOf = ({ trace }: Walkthrough) => Math.max(1, trace.roles.length);

/**
 * Long phases are pressed together, so that short ones can be seen: a phase of n steps is as wide
 * as the root of n. Of several roles, what they do in one window of time is as wide as the
 * longest of it.
 */
export function barsOf(walkthrough: Walkthrough, width: number): Bar[] {
  const several = lanesOf(walkthrough) > 1;
  /** weight by column and row */
  const rows: Map<string, number> = new Map();
  /** weight by column */
  const columns: Map<number, number> = new Map();
  const phases = walkthrough.phases.map(({ first, last, window, role }, i) => {
    const column = several ? window : i;
    const row = `${column}/${role}`;
    const steps = last - first;
    const weight = (rows.get(row) ?? 0) + Math.sqrt(steps);
    rows.set(row, weight);
    columns.set(column, Math.max(columns.get(column) ?? 0, weight));
    return { column, row, steps, role };
  });
  const all = [...columns.values()].reduce((sum, weight) => sum + weight, 0);
  // A short window of time beside long ones can still be seen.
  const least = several ? all / SHORTEST : 0;
  const places: Map<number, { x: number; wide: number }> = new Map();
  let end = 0;
  for (const [column, weight] of [...columns].sort(([one], [other]) => one - other)) {
    const wide = Math.max(weight, least);
    places.set(column, { x: end, wide });
    end += wide;
  }
  /** where the next phase of a row begins */
  const next: Map<string, number> = new Map();
  return phases.flatMap(({ column, row, steps, role }) => {
    const place = places.get(column) ?? { x: 0, wide: 0 };
    const wide = (place.wide * width) / end / (rows.get(row) ?? 1) / Math.sqrt(steps);
    const x = next.get(row) ?? (place.x * width) / end;
    next.set(row, x + steps * wide);
    return Array.from({ length: steps }, (_, at) => ({ x: x + at * wide, wide, lane: role }));
  });
}

/** The step whose bar is at `x`, in px, or last before it in its row; the first one, if none is. */
export function stepUnder(bars: Bar[], x: number, lane: number) {
  let found = bars.findIndex((bar) => bar.lane === lane);
  bars.forEach((bar, i) => {
    if (bar.lane === lane && bar.x <= x && bar.x >= bars[found].x) found = i;
  });
  return found + 1;
}

const HUES: { global: string; shared: string; register: string } = {
  global: "dram",
  shared: "shared",
  register: "register",
};

/** The name of a phase, or nothing where it has no room, and its middle. */
interface Label {
  words: string | undefined;
  x: number;
  y: number;
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
  const height = lanesOf(walkthrough) * laneHeight(walkthrough);
  setAttributes(ribbon, { viewBox: `0 0 ${width} ${height}`, height });
  const { bars, looks, labels } = fixed(walkthrough, width);
  walkthrough.steps.forEach(({ store, fault }, i) => {
    const state = i === step - 1 ? " lab-here" : i < step - 1 ? " lab-past" : "";
    const node = scene.draw(`step${i}`, "rect", {});
    const was = drawn.get(node);
    if (was?.bars === bars && was.state === state) return; // as most are
    drawn.set(node, { bars, state });
    const [y, tall] = fault ? [0, BARS] : store ? [4, 18] : [10, 12];
    const { x, wide, lane } = bars[i];
    setAttributes(node, {
      class: looks[i] + state,
      x: x + Math.min(0.5, wide / 8),
      y: topOf(walkthrough, lane) + y,
      width: Math.max(0.5, wide - Math.min(1, wide / 4)),
      height: tall,
    });
  });
  for (const { first } of walkthrough.stages.slice(1)) {
    const { x, lane } = bars[first - 1];
    if (!x) continue; // nothing is before it
    const d = `M${x} ${topOf(walkthrough, lane)}v${BARS}`;
    scene.draw(`wall${first}`, "path", { class: "lab-wall", d });
  }
  drawPhases(scene, walkthrough, labels, step);
  drawNames(scene, walkthrough, step);
  scene.finish();
}

/** The height of a row, in px. */
const laneHeight = (walkthrough: Walkthrough) =>
  BARS + WORDS + (lanesOf(walkthrough) > 1 ? NAME : 0);

/** Where the bars of a row begin. */
const topOf = (walkthrough: Walkthrough, lane: number) =>
  lane * laneHeight(walkthrough) + (lanesOf(walkthrough) > 1 ? NAME : 0);

/** Whose a row is, above it. */
function drawNames(scene: Scene, walkthrough: Walkthrough, step: number) {
  const { roles } = walkthrough.trace;
  if (roles.length < 2) return;
  roles.forEach((warps, lane) => {
    const here = walkthrough.steps[step - 1]?.role === lane ? " lab-here" : "";
    const look = { class: `lab-phase-name${here}`, x: 0, y: topOf(walkthrough, lane) - 4 };
    scene.draw(`lane${lane}`, "text", look, capital(roleName(warps)));
  });
}

function labelsOf(walkthrough: Walkthrough, bars: Bar[]): Label[] {
  return walkthrough.phases.map((phase) => {
    const { first, last, action, role } = phase;
    const [from, end] = [bars[first].x, bars[last - 1]];
    const to = end.x + end.wide;
    const words = [phaseWords(phase), action === "copy" ? action : `${last - first}`].find(
      (one) => textWidth(one, LETTERS) <= to - from - 3,
    );
    return { words, x: (from + to) / 2, y: topOf(walkthrough, role) + BARS + 11 };
  });
}

/** The names of phases, each below its bars. */
function drawPhases(scene: Scene, { phases }: Walkthrough, labels: Label[], step: number) {
  phases.forEach(({ first, last }, i) => {
    const { words, x, y } = labels[i];
    if (!words) return;
    const here = step > first && step <= last ? " lab-here" : "";
    const look = { class: `lab-phase-name${here}`, "text-anchor": "middle" };
    scene.draw(`phase${i}`, "text", { ...look, x, y }, words);
  });
}
