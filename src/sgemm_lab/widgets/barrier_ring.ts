// The stages between producer warps and consumers: which of them owns a stage, step by step.

import "./barrier_ring.css";
import { type Pipeline, schedule, type TimedWindow } from "../formulas/overlap.ts";
import { choiceSlider } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { range } from "./shared/scale.ts";
import { fit, Scene } from "./shared/scene.ts";

interface State {
  times: Pipeline;
  time: number;
}

interface Ring {
  tiles: TimedWindow[];
  stages: number;
  end: number;
  /** when a barrier completes */
  events: number[];
}

type Barrier = "emptied" | "filled";

/** A barrier that is awaited, and the K tile whose turn then comes. */
interface At {
  barrier: Barrier;
  tile: TimedWindow;
}

const SAID = { empty: "empty", copied: "copying", ready: "ready", multiplied: "in use" };
const STATE = ["times", "time"] as const;
const GUTTER = 92; // px beside the lanes
const NARROWEST = 290;
const INSTANT = 1e-6; // closer events are one
const [BOX, GAP, LANE] = [58, 10, 118]; // px: a stage, between stages, from lane to lane
const ARROWS = { emptied: "▲", filled: "▼" };
const BARRIERS = ["emptied", "filled"] as const;
const BARRIER_ROW = 18; // px from one barrier of a stage to the other
const TOP = 24; // px above the upper lane

export function render({ model, el }: View<State>) {
  const slider = choiceSlider("Step", (time) => put(model, "time", time));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const words = html("p", { class: "lab-told", role: "status" });
  const root = tool(el, "lab-barrier-ring", [slider.element, picture, words]);
  const scene = new Scene(picture);

  function update() {
    const now = ringOf(model);
    const step = now.events.findLastIndex((event) => event <= model.get("time") + INSTANT);
    const time = now.events[step];
    slider.show(time, now.events, `${step + 1} of ${now.events.length}`);
    new Drawing(scene, now, time, Math.max(NARROWEST, availableWidth(root))).draw(picture);
    const moment = momentWords(now, time);
    say([words], [moment]);
    setAttributes(picture, { "aria-label": `The ring of stages. ${moment}` });
  }

  return keepDrawn(model, STATE, root, update);
}

function ringOf(model: Model<State>): Ring {
  const times = model.get("times");
  const tiles = schedule(times);
  const events = [0, ...tiles.flatMap(({ there, done }) => [there, done])].sort((a, b) => a - b);
  return {
    ...{ tiles, stages: times.stages, end: events[events.length - 1] },
    events: events.filter((time, i) => !i || time - events[i - 1] > INSTANT),
  };
}

/** The K tile of a stage, and what happens to it. */
function heldBy({ tiles }: Ring, stage: number, time: number) {
  const tile = tiles.find((one) => one.buffer === stage && one.asked <= time && time < one.done);
  return { tile, does: tile ? doesAt(tile, time) : "empty" } as const;
}

function doesAt({ there, begins }: TimedWindow, time: number) {
  if (time < there) return "copied";
  return time < begins ? "ready" : "multiplied";
}

/** The barriers that must complete before producers and consumers go on, if they wait. */
function waitsOf({ tiles }: Ring, time: number) {
  const toCopy = tiles.find(({ asked }) => asked > time);
  const toRead = tiles.find(({ done }) => done > time);
  const waits: { producers?: At; readers?: At } = {};
  if (toCopy) waits.producers = { barrier: "emptied", tile: toCopy };
  if (toRead && toRead.begins > time) waits.readers = { barrier: "filled", tile: toRead };
  return waits;
}

/** What both kinds of warps do at one time, and which barrier they wait for. */
function momentWords(ring: Ring, time: number) {
  if (time >= ring.end) return "All K tiles are multiplied.";
  const { producers, readers } = waitsOf(ring, time);
  const waitWords = ({ barrier, tile }: At, act: string) =>
    `wait for ${barrier}[${tile.buffer}] to ${act} K tile ${tile.number}`;
  const copy = producers ? waitWords(producers, "copy") : "have started their last copy";
  const busy = ring.tiles.find((tile) => tile.begins <= time && time < tile.done);
  const multiply = readers ? waitWords(readers, "read") : `multiply K tile ${busy?.number}`;
  return `Producers ${copy}; consumers ${multiply}.`;
}

/** Where the words of a barrier stand, between the lanes. */
function barrierRow(barrier: Barrier) {
  return TOP + BOX + 25 + BARRIER_ROW * BARRIERS.indexOf(barrier);
}

/** Two lanes of stages: those to be filled and those to be read. */
class Drawing {
  constructor(
    public scene: Scene,
    public ring: Ring,
    public time: number,
    public width: number,
  ) {}

  /** Whether a stage has no room for the name of its barrier. */
  get narrow() {
    return this.width / this.ring.stages < 150;
  }

  draw(picture: SVGSVGElement) {
    const { ring, width } = this;
    this.lane("copy", "Producers", "copy", TOP, "producers");
    this.lane("read", "Consumers", "read", TOP + LANE, "readers");
    for (const stage of range(0, ring.stages - 1)) this.drawStage(stage);
    if (this.narrow) {
      this.scene.text("key-stage", "lab-barrier", GUTTER - 12, 11, "stage", "end");
      for (const barrier of BARRIERS) {
        const words = `${barrier} ${ARROWS[barrier]}`;
        this.scene.text(
          `key-${barrier}`,
          "lab-barrier",
          GUTTER - 12,
          barrierRow(barrier),
          words,
          "end",
        );
      }
    }
    fit(picture, width, TOP + LANE + BOX + 12);
    this.scene.finish();
  }

  lane(id: string, first: string, second: string, y: number, look: string) {
    const { scene, width } = this;
    const [x, height] = [GUTTER - 4, BOX + 16];
    const frame = { x, y: y - 8, width: width - x - 2, height, rx: 4 };
    scene.draw(`lane-${id}`, "rect", { class: `lab-lane lab-lane-${look}`, ...frame });
    this.scene.text(`${id}-1`, "lab-lane-name", GUTTER - 12, y + BOX / 2 - 3, first, "end");
    this.scene.text(`${id}-2`, "lab-lane-name", GUTTER - 12, y + BOX / 2 + 13, second, "end");
  }

  /** The names of a stage's two barriers, and whether warps wait for it. */
  drawBarriers(stage: number, middle: number) {
    const { scene, ring, time, narrow } = this;
    const awaited = Object.values(waitsOf(ring, time));
    for (const barrier of BARRIERS) {
      const waits = awaited.some((one) => one.tile.buffer === stage && one.barrier === barrier);
      const name = narrow ? "" : `${ARROWS[barrier]} ${barrier}[${stage}]`;
      const words = waits ? `${name} wait` : name;
      const look = waits ? "lab-barrier lab-awaited" : "lab-barrier";
      scene.text(`${barrier}${stage}`, look, middle, barrierRow(barrier), words);
    }
  }

  /** A stage in the lane of those whom it belongs to, and its barriers. */
  drawStage(stage: number) {
    const { scene, ring, time, width } = this;
    const each = (width - GUTTER - 12 + GAP) / ring.stages;
    const [x, wide] = [GUTTER + 4 + stage * each, each - GAP];
    const { tile, does } = heldBy(ring, stage, time);
    const below = does === "ready" || does === "multiplied";
    this.drawBarriers(stage, x + wide / 2);
    const called = this.narrow ? `${stage}` : `stage ${stage}`;
    this.scene.text(`stage-name${stage}`, "lab-barrier", x + wide / 2, 11, called);
    const node = scene.draw(`stage${stage}`, "g", {
      class: `lab-stage lab-${does}`,
      style: `transform:translateY(${below ? LANE : 0}px)`,
    });
    if (!node.firstChild) {
      node.append(svg("rect"), svg("text"), svg("text"));
    }
    const [frame, name, state] = node.children;
    setAttributes(frame, { x, y: TOP, width: wide, height: BOX, rx: 3 });
    const centre = { x: x + wide / 2, "text-anchor": "middle" };
    setAttributes(name, { ...centre, y: TOP + 26, class: "lab-tile-name" });
    setAttributes(state, { ...centre, y: TOP + 44, class: "lab-tile-state" });
    const title = this.narrow ? `${tile?.number ?? ""}` : `K tile ${tile?.number}`;
    name.textContent = tile ? title : "–";
    state.textContent = this.narrow && does === "copied" ? "copy" : SAID[does];
  }
}
