// @ts-check
// A kernel at a toy size, access by access: matrices, shared tiles and one thread's registers.

import { choiceSlider, key, segments } from "./shared/controls.js";
import { button, html, say, setAttributes, svg } from "./shared/dom.js";
import { keepDrawn, put, redrawer, roomIn } from "./shared/model.js";
import { Player } from "./shared/player.js";
import { range, within } from "./shared/scale.js";
import { Scene } from "./shared/scene.js";
import { placeName, stateAt, understand } from "./walk.js";
import { drawRibbon, drawWalk, keyOf } from "./walk_picture.js";
import { dangerWords, stepWords } from "./walk_words.js";

/**
 * @typedef {import("./walk.js").Walk} Walk
 * @typedef {import("./walk.js").Tour} Tour
 * @typedef {import("./walk.js").Step} Step
 *
 * @typedef {object} State
 * @property {Walk} walk
 * @property {number} step
 * @property {number} block
 * @property {number} thread
 * @property {import("./walk.js").Who} who
 * @property {import("./walk_picture.js").Cells} cells
 */

const STATE = /** @type {const} */ (["walk", "step", "block", "thread", "who", "cells"]);
const [PACE, WHOLE] = [700, 30_000]; // ms per step while playing, and for all steps, at most

/** @param {View<State>} view */
export function render({ model, el }) {
  const steps = new Steps(model, el);
  const update = () => steps.update();
  return keepDrawn(model, STATE, steps.root, update, steps.redraw, () => steps.player.close());
}

class Steps {
  /**
   * @param {Model<State>} model
   * @param {HTMLElement} el
   */
  constructor(model, el) {
    this.model = model;
    this.tour = understand(model.get("walk"), model.get("block")); // the chosen block's steps
    this.redraw = redrawer(() => this.update());
    this.player = new Player({
      at: () => this.at,
      last: () => this.tour.steps.length,
      show: (step) => this.change("step", step),
      redraw: this.redraw,
      pace: () => Math.min(PACE, WHOLE / this.tour.steps.length),
    });
    this.drive = driveOf(this);
    this.ribbon = svg("svg", { class: "lab-ribbon", "aria-hidden": "true" });
    this.choices = choicesOf(this);
    this.picture = svg("svg", { class: "lab-chart", role: "img" });
    this.source = html("code", { class: "lab-line" });
    this.said = html("p", { class: "lab-said" });
    this.danger = html("p", { class: "lab-danger" });
    this.code = new Listing(this.tour.walk);
    const told = { class: "lab-told", role: "status" };
    this.root = html(
      "div",
      { class: "sgemm-lab lab-tool lab-steps" },
      this.drive.bar,
      html("div", { class: "lab-scrub" }, this.ribbon, this.drive.scrub.element),
      html("div", told, this.source, this.said, this.danger),
      [this.picture, key(keyOf(this.tour.walk)), this.code.element],
      html("div", { class: "lab-controls" }, this.choices.elements),
    );
    el.append(this.root);
    this.scene = new Scene(this.picture);
    this.ribbonScene = new Scene(this.ribbon);
    /** @type {number | undefined} the step of the last drawing */
    this.shown = undefined;
    this.followPointer();
    this.drive.showStages(this.tour);
  }

  /** The step shown. */
  get at() {
    return Math.min(this.model.get("step"), this.tour.steps.length);
  }

  /** The stretch between two barriers that the step shown is in. */
  get stage() {
    const { stages } = this.tour;
    return stages.findLast(({ first }) => first <= this.at) ?? stages[0];
  }

  /**
   * @template {keyof State} K
   * @param {K} name
   * @param {State[K]} value
   */
  change(name, value) {
    put(this.model, name, value);
    this.redraw();
  }

  /** @param {number} step */
  go(step) {
    this.player.go(within(step, 0, this.tour.steps.length));
  }

  /**
   * To the barrier before or behind.
   * @param {1 | -1} by
   */
  goByStage(by) {
    const { stages } = this.tour;
    const here = stages.findIndex(({ first, last }) => this.at >= first && this.at <= last);
    // From inside a stage, back leads to its own beginning first.
    const inside = by < 0 && here >= 0 && this.at > stages[here].first;
    this.go(stages[within(inside ? here : here + by, 0, stages.length - 1)].first);
  }

  update() {
    const { model } = this;
    const width = Math.max(270, roomIn(this.root)); // asked before anything changes: cheap
    this.understand();
    const { tour, at } = this;
    const seen = stateAt(tour, at, model.get("thread"), model.get("who"));
    const { now } = seen;
    this.drive.show(this);
    this.choices.show(this);
    drawRibbon(this.ribbonScene, this.ribbon, tour, at, width);
    const jumps = Math.abs(at - (this.shown ?? at)) > 1; // many cells change at once
    this.picture.classList.toggle("lab-jump", jumps);
    this.shown = at;
    drawWalk(this.scene, this.picture, tour, seen, model.get("cells"), width);
    const words = stepWords(tour, seen);
    this.source.replaceChildren(...lineOf(tour.walk, now));
    say([this.said, this.danger], [words, dangerWords(tour, seen)]);
    this.root.classList.toggle("lab-unsafe", tour.unsafe);
    this.root.classList.toggle("lab-failed", Boolean(now?.fault));
    const label = `A, B, C, shared memory and registers after step ${at}. ${words}`;
    setAttributes(this.picture, { "aria-label": label });
    this.code.light(now?.line); // last: it asks for the layout
  }

  /** Keep the tour at the block shown. */
  understand() {
    const [walk, block] = [this.model.get("walk"), this.model.get("block")];
    if (this.tour.walk === walk && this.tour.block === block) return;
    this.tour = understand(walk, block);
    this.code.fill(walk);
    this.drive.showStages(this.tour);
  }

  followPointer() {
    // A click on an element of C chooses the thread that computes it.
    this.picture.addEventListener("click", (event) => {
      const cell = /** @type {Element} */ (event.target).closest("[data-owner]");
      if (cell) this.change("thread", Number(cell.getAttribute("data-owner")));
    });
    // A click on the ribbon goes to the step under the pointer.
    this.ribbon.addEventListener("click", (event) => {
      const box = this.ribbon.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      this.go(Math.ceil(this.tour.steps.length * share));
    });
  }
}

/**
 * The buttons, the list of stages and the slider that lead from step to step.
 * @param {Steps} steps
 */
function driveOf(steps) {
  const play = button("Play", () => steps.player.toggle(), "Play");
  const backToWall = button("|◀", () => steps.goByStage(-1), "Back to the last barrier");
  const back = button("◀", () => steps.go(steps.at - 1), "One step back");
  const on = button("▶", () => steps.go(steps.at + 1), "One step on");
  const onToWall = button("▶|", () => steps.goByStage(1), "On to the next barrier");
  const stages = html("select", { class: "lab-select" });
  stages.addEventListener("change", () => steps.go(Number(stages.value)));
  const scrub = choiceSlider("Step", (step) => steps.go(step));
  const buttons = html("div", { class: "lab-buttons" }, backToWall, back, play, on, onToWall);
  const field = html("label", { class: "lab-field" }, html("span", {}, "Go to"), stages);
  return {
    scrub,
    bar: html("div", { class: "lab-bar lab-drive" }, buttons, field),
    /** @param {Tour} tour */
    showStages(tour) {
      const options = tour.stages.map(({ name, first }) => html("option", { value: first }, name));
      stages.replaceChildren(...options);
    },
    /** @param {Steps} now */
    show({ at, tour, stage, player }) {
      const last = tour.steps.length;
      stages.value = String(stage.first);
      scrub.show(at, range(0, last), `${at} of ${last}`);
      play.textContent = player.plays ? "Pause" : "Play";
      setAttributes(play, { "aria-label": play.textContent });
      backToWall.disabled = at === 0;
      back.disabled = at === 0;
      on.disabled = at === last;
      onToWall.disabled = stage === tour.stages.at(-1);
    },
  };
}

/**
 * What is shown of a step: whose deeds, names or values, which thread and block.
 * @param {Steps} steps
 */
function choicesOf(steps) {
  const { model } = steps;
  const who = segments(
    "Show what is done by",
    { thread: "one thread", warp: "its warp", block: "all" },
    (value) => steps.change("who", value),
  );
  const cells = segments("Cells show", { names: "names", values: "values" }, (value) =>
    steps.change("cells", value),
  );
  const thread = choiceSlider("Thread", (value) => steps.change("thread", value));
  const block = choiceSlider("Block", (value) => steps.change("block", value));
  return {
    elements: [who, cells, thread, block].map(({ element }) => element),
    /** @param {Steps} now */
    show({ tour: { walk } }) {
      const threads = walk.block[0] * walk.block[1];
      const blocks = walk.blocks.length;
      const [ofThread, ofBlock] = [model.get("thread"), model.get("block")];
      thread.show(ofThread, range(0, threads - 1), placeName(ofThread, walk.block));
      block.show(ofBlock, range(0, blocks - 1), placeName(ofBlock, walk.grid));
      block.element.hidden = blocks < 2;
      thread.element.hidden = threads < 2;
      who.show(model.get("who"));
      cells.show(model.get("cells"));
    },
  };
}

/**
 * The line of the present step.
 * @param {Walk} walk
 * @param {Step | undefined} now
 */
function lineOf(walk, now) {
  const number = html("span", { class: "lab-line-number" }, now ? `${now.line}` : "–");
  return now ? [number, walk.source[now.line - walk.first_line].trim()] : [number];
}

/** The source, with the line of the present step lit. */
class Listing {
  /** @param {Walk} walk */
  constructor(walk) {
    const label = { "aria-label": "Source of the kernel", role: "list" };
    this.element = html("ol", { class: "lab-code", tabindex: "0", ...label });
    /** @type {Map<number, HTMLElement>} by number */
    this.lines = new Map();
    this.fill(walk);
  }

  /** @param {Walk} walk */
  fill({ source, first_line: first }) {
    const lines = source.map((text, i) => {
      const number = { class: "lab-line-number", "aria-hidden": "true" };
      const words = [html("span", number, `${first + i}`), text || " "];
      return html("li", { "data-line": first + i }, words);
    });
    this.lines = new Map(lines.map((line, i) => [first + i, line]));
    this.element.replaceChildren(...lines);
  }

  /** @param {number | undefined} number */
  light(number) {
    for (const [at, line] of this.lines) {
      const lit = at === number;
      if (lit === line.classList.contains("lab-lit")) continue;
      line.classList.toggle("lab-lit", lit);
      setAttributes(line, { "aria-current": lit ? "step" : null });
      if (lit) this.bringIntoView(line);
    }
  }

  /**
   * Only the list scrolls, never the page, and only for a line that is not well inside it.
   * @param {HTMLElement} line
   */
  bringIntoView(line) {
    const { element } = this;
    const [height, above] = [line.offsetHeight, line.offsetTop - element.scrollTop];
    if (above < height || above > element.clientHeight - 2 * height) {
      element.scrollTop = line.offsetTop - (element.clientHeight - height) / 2;
    }
  }
}
