// A kernel at a toy size, step by step: matrices, shared tiles and one thread's registers.

import "./steps.css";
import type { StepTrace } from "../counting/step_trace.ts";
import { choiceSlider, controls, key, segments } from "./shared/controls.ts";
import { button, html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, redrawer, tool } from "./shared/model.ts";
import { Player } from "./shared/player.ts";
import { range, within } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";
import { Listing } from "./steps_listing.ts";
import { faultIn, firstWrong, placeInPhase } from "./steps_model.ts";
import { drawSteps, keyOf } from "./steps_picture.ts";
import { barsOf, drawRibbon, stepUnder } from "./steps_ribbon.ts";
import { placeName, stateAt, understand, type Walkthrough, type Who } from "./steps_trace.ts";
import { dangerWords, orderWords, productWords, stepWords } from "./steps_words.ts";

export interface State {
  trace: StepTrace;
  step: number;
  block: number;
  thread: number;
  who: Who;
  /** line of the barrier left out, 0 for none */
  left_out: number;
}

const STATE = [...["trace", "step", "block", "thread", "who", "left_out"]] as const;
const [PACE, WHOLE] = [700, 30_000]; // ms per step while playing, and for all steps, at most

export function render({ model, el }: View<State>) {
  const steps = new Steps(model, el);
  return keepDrawn(model, STATE, steps.root, () => steps.update(), {
    redraw: steps.redraw,
    stop: () => steps.player.close(),
  });
}

class Steps {
  /** by block and line */
  walkthroughs: Map<string, Walkthrough> = new Map();
  /** the chosen block's steps */
  walkthrough = this.newWalkthrough();
  redraw = redrawer(() => this.update());
  player = new Player({
    root: (): Element => this.root,
    at: () => this.at,
    last: () => this.walkthrough.steps.length,
    show: (step) => this.showStep(step),
    redraw: this.redraw,
    pace: () => Math.min(PACE, WHOLE / this.walkthrough.steps.length),
  });
  drive = driveOf(this);
  ribbon = svg("svg", { class: "lab-ribbon", "aria-hidden": "true" });
  choices = choicesOf(this);
  barriers = barriersOf(this);
  picture = svg("svg", { class: "lab-chart", role: "img" });
  readout = readoutOf();
  code = new Listing(this.walkthrough.trace);
  key = html("div", {});
  root = tool(
    this.el,
    "lab-steps",
    this.drive.bar,
    this.ribbon,
    this.barriers.element,
    [this.readout.element, this.code.element, this.picture, this.key],
    this.choices.element,
  );
  scene = new Scene(this.picture);
  ribbonScene = new Scene(this.ribbon);
  /** the step of the last drawing */
  shown: number | undefined;

  constructor(
    public model: Model<State>,
    public el: HTMLElement,
  ) {
    this.followPointer();
    this.showTour();
  }

  /** The step shown. */
  get at() {
    return Math.min(this.model.get("step"), this.walkthrough.steps.length);
  }

  /** The stretch between two barriers that the step shown is in. */
  get stage() {
    const { stages } = this.walkthrough;
    return stages.findLast(({ first }) => first <= this.at) ?? stages[0];
  }

  /** The run of steps of one kind that the step shown is in. */
  get phase() {
    return this.walkthrough.phases.find(({ first, last }) => this.at > first && this.at <= last);
  }

  change<K extends keyof State>(name: K, value: State[K]) {
    put(this.model, name, value);
  }

  /** A step; without a barrier, of a thread that acts in it. */
  showStep(step: number) {
    const { model, walkthrough } = this;
    const acting = walkthrough.steps[step - 1]?.entries.map(({ thread }) => thread) ?? [];
    if (walkthrough.line && acting.length && !acting.includes(model.get("thread"))) {
      put(model, "thread", acting[0]);
    }
    this.change("step", step);
  }

  go(step: number) {
    this.player.go(within(step, 0, this.walkthrough.steps.length));
  }

  /** To the barrier before or behind. */
  goByStage(by: 1 | -1) {
    const { stages } = this.walkthrough;
    const here = stages.findIndex(({ first, last }) => this.at >= first && this.at <= last);
    // From inside a stage, back leads to its own beginning first.
    const inside = by < 0 && here >= 0 && this.at > stages[here].first;
    this.go(stages[within(inside ? here : here + by, 0, stages.length - 1)].first);
  }

  /**
   * Play without a barrier, from the first thread that finds something wrong, or with all of them.
   */
  leaveOut(line: number) {
    const { model } = this;
    const here = this.walkthrough.steps[this.at - 1];
    this.player.stop();
    put(model, "left_out", line);
    this.understand();
    const wrong = line ? firstWrong(this.walkthrough.steps) : undefined;
    if (wrong) put(model, "thread", wrong.thread);
    this.change("step", wrong ? wrong.step : line || !here ? 0 : here.of + 1);
  }

  update() {
    const { model } = this;
    const width = Math.max(270, availableWidth(this.root)); // asked before anything changes: cheap
    this.understand();
    const { walkthrough, at } = this;
    const seen = stateAt(walkthrough, at, model.get("thread"), model.get("who"));
    const { now } = seen;
    this.drive.show(this);
    this.choices.show(this);
    drawRibbon(this.ribbonScene, this.ribbon, walkthrough, at, width);
    const jumps = Math.abs(at - (this.shown ?? at)) > 1; // many cells change at once
    this.picture.classList.toggle("lab-jump", jumps);
    this.shown = at;
    drawSteps(this.scene, this.picture, walkthrough, seen, width);
    this.barriers.show(this);
    const words = stepWords(walkthrough, seen);
    const phase = this.phase;
    const place = phase ? `${this.stage.name}. ${placeInPhase(phase, this.at)}.` : "";
    say(this.readout.lines, [
      place,
      words,
      ...productWords(walkthrough, seen),
      dangerWords(walkthrough, seen),
    ]);
    const wrong = seen.now && faultIn({ ...seen.now, entries: seen.acting }) === "wrong";
    this.root.classList.toggle("lab-failed", Boolean(now?.fault || wrong));
    const label = `A, B, C, shared memory and registers after step ${at}. ${words}`;
    setAttributes(this.picture, { "aria-label": label });
    // Last: it asks for the layout. Before the first step its line is in sight, not lit.
    this.code.light(now?.line, walkthrough.steps[0]?.line, walkthrough.line);
  }

  /** The walkthrough of the block and the barriers shown; those of one trace are kept. */
  newWalkthrough() {
    const { model, walkthroughs } = this;
    const [trace, block, line] = [model.get("trace"), model.get("block"), model.get("left_out")];
    const known = walkthroughs.get(`${block}/${line}`);
    if (known?.trace === trace) return known;
    const walkthrough = understand(trace, block, line);
    walkthroughs.set(`${block}/${line}`, walkthrough);
    return walkthrough;
  }

  /** Keep the walkthrough at the block and the barriers shown. */
  understand() {
    const { walkthrough, model } = this;
    const same =
      walkthrough.block === model.get("block") && walkthrough.line === model.get("left_out");
    if (walkthrough.trace === model.get("trace") && same) return;
    this.walkthrough = this.newWalkthrough();
    if (walkthrough.trace !== this.walkthrough.trace) this.code.fill(this.walkthrough.trace);
    this.showTour();
  }

  /** Show what does not depend on the step. */
  showTour() {
    const { walkthrough } = this;
    this.key.replaceChildren(key(keyOf(walkthrough)));
    this.root.classList.toggle("lab-unsafe", walkthrough.unsafe);
  }

  followPointer() {
    // A click on an element of C chooses the thread that computes it.
    this.picture.addEventListener("click", (event) => {
      const cell = (event.target as Element).closest("[data-owner]");
      if (cell) this.change("thread", Number(cell.getAttribute("data-owner")));
    });
    // A click on the ribbon goes to the step under the pointer.
    this.ribbon.addEventListener("click", (event) => {
      const box = this.ribbon.getBoundingClientRect();
      this.go(stepUnder(barsOf(this.walkthrough, box.width), event.clientX - box.left));
    });
  }
}

/** The buttons and the slider that lead from step to step. */
function driveOf(steps: Steps) {
  const play = button("Play", () => steps.player.toggle());
  const backToWall = button("|◀", () => steps.goByStage(-1), "Back to the last barrier");
  const back = button("◀", () => steps.go(steps.at - 1), "One step back");
  const on = button("▶", () => steps.go(steps.at + 1), "One step on");
  const onToWall = button("▶|", () => steps.goByStage(1), "On to the next barrier");
  const scrub = choiceSlider("Step", (step) => steps.go(step));
  const buttons = html("div", { class: "lab-buttons" }, [backToWall, back, play, on, onToWall]);
  return {
    scrub,
    bar: html("div", { class: "lab-bar" }, buttons, scrub.element),
    show({ at, walkthrough, stage, player }: Steps) {
      const last = walkthrough.steps.length;
      scrub.show(at, range(0, last), `${at} of ${last}`);
      play.textContent = player.plays ? "Pause" : "Play";
      for (const one of [backToWall, back]) one.disabled = at === 0;
      on.disabled = at === last;
      onToWall.disabled = stage === walkthrough.stages.at(-1);
    },
  };
}

/** What is shown of a step: whose deeds, which thread and block. */
function choicesOf(steps: Steps) {
  const { model } = steps;
  const who = segments(
    "Show what is done by",
    { thread: "one thread", warp: "its warp", block: "all" },
    (value) => steps.change("who", value),
  );
  const thread = choiceSlider("Thread", (value) => steps.change("thread", value));
  const block = choiceSlider("Block", (value) => steps.change("block", value));
  return {
    element: html(
      "details",
      { class: "lab-more-choices" },
      html("summary", {}, "More: the whole block, other threads"),
      controls([who, thread, block]),
    ),
    show({ walkthrough: { trace } }: Steps) {
      const threads = trace.block[0] * trace.block[1];
      const blocks = trace.blocks.length;
      const [ofThread, ofBlock] = [model.get("thread"), model.get("block")];
      thread.show(ofThread, range(0, threads - 1), placeName(ofThread, trace.block));
      block.show(ofBlock, range(0, blocks - 1), placeName(ofBlock, trace.grid));
      block.element.hidden = blocks < 2;
      thread.element.hidden = threads < 2;
      who.show(model.get("who"));
    },
  };
}

/**
 * What is said of a step: where in its phase it is, what it does, its product in elements and in
 * numbers, and what is wrong.
 */
function readoutOf() {
  const names = ["place", "said", "sum", "sum", "danger"];
  const lines = names.map((name) => html("p", { class: `lab-${name}` }));
  return { lines, element: html("div", { class: "lab-told", role: "status" }, lines) };
}

/** The switch that leaves out a barrier. */
function barriersOf(steps: Steps) {
  const { left_out: left } = steps.model.get("trace");
  const lines = left.map(({ line }) => [`${line}`, `line ${line}`] as const);
  const choice = segments(
    "Leave out the barrier of",
    { 0: "none", ...Object.fromEntries(lines) } as Record<string, string>,
    (value) => steps.leaveOut(Number(value)),
  );
  const order = html("p", { class: "lab-order" });
  const element = html("div", { class: "lab-barriers" }, choice.element, order);
  element.hidden = !left.length;
  return {
    element,
    show({ walkthrough }: Steps) {
      choice.show(walkthrough.line);
      say([order], [orderWords(walkthrough)]);
    },
  };
}
