// The ring of stages between producer warps and multiplying warps: which of them owns a stage, over time.

import "./barrier_ring.css";
import { type Pipeline, schedule, type TimedWindow } from "../formulas/overlap.ts";
import { number } from "../text.ts";
import { choiceSlider } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { OverTime, scale } from "./shared/over_time.ts";
import { range, within } from "./shared/scale.ts";
import { fit, Scene, scrubByPointer } from "./shared/scene.ts";

interface State {
  times: Pipeline;
  note: string;
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

/** A barrier for which warps wait, and the bit that it will show when they may go on. */
interface Wait {
  barrier: Barrier;
  stage: number;
  bit: number;
}

/** What is in a stage: a K tile that is copied, ready, multiplied, or nothing. */
interface Held {
  tile: TimedWindow | undefined;
  does: "empty" | "copied" | "ready" | "multiplied";
  /** share of the stage that holds numbers still to be multiplied */
  level: number;
}

const SAID = { empty: "empty", copied: "copying", ready: "ready", multiplied: "in use" };
const STATE = ["times", "note", "time"] as const;
const GUTTER = 92; // px beside the lanes and the rows
const NARROWEST = 290;
const INSTANT = 1e-6; // closer events are one
const [BOX, GAP, LANE] = [58, 10, 118]; // px: a stage, between stages, from lane to lane
const ARROWS = { emptied: "▲", filled: "▼" };
const BARRIERS = ["emptied", "filled"] as const;
const [LAMP, LAMP_ROW] = [16, 18]; // px: the bit of a barrier, from one to the other
const [TOP, ROW] = [24, 20]; // px: above the upper lane, a row of the timeline

export function render({ model, el }: View<State>) {
  const go = (time: number) => put(model, "time", time);
  const slider = choiceSlider("Time", go);
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const words = html("p", { class: "lab-told", role: "status" });
  const note = html("p", { class: "lab-note" });
  const root = tool(el, "lab-over-time lab-barrier-ring", [picture, slider.element, words, note]);
  const scene = new Scene(picture);
  let now = ringOf(model);
  const room = () => Math.max(NARROWEST, availableWidth(root));

  function update() {
    now = ringOf(model);
    const time = Math.min(model.get("time"), now.end);
    slider.show(time, now.events, `${number(time)} clocks`);
    new Drawing(scene, now, time, room()).draw(picture);
    const moment = momentWords(now, time);
    say([words, note], [moment, model.get("note")]);
    setAttributes(picture, { "aria-label": `The ring of stages. ${moment}` });
  }

  scrubByPointer(picture, (x) => go(within(scale(now.end, GUTTER, room()).at(x), 0, now.end)));
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

function heldBy({ tiles }: Ring, stage: number, time: number): Held {
  const tile = tiles.find((one) => one.buffer === stage && one.asked <= time && time < one.done);
  if (!tile) return { tile, does: "empty", level: 0 };
  const { comes, there, begins, done } = tile;
  const share = (from: number, to: number) => within((time - from) / (to - from), 0, 1);
  if (time < there) return { tile, does: "copied", level: share(comes, there) };
  if (time < begins) return { tile, does: "ready", level: 1 };
  return { tile, does: "multiplied", level: 1 - share(begins, done) };
}

/** The bit of a barrier: 1 at first, and flipped by each completion. */
function bitOf({ tiles }: Ring, { stage, barrier }: Omit<Wait, "bit">, time: number) {
  const completes = barrier === "filled" ? "there" : "done";
  const over = tiles.filter((one) => one.buffer === stage && one[completes] <= time);
  return (over.length + 1) % 2;
}

/** What producers and multiplying warps wait for; neither where they are at work or done. */
function waitsOf({ tiles, stages }: Ring, time: number) {
  const toAsk = tiles.find(({ asked }) => asked > time);
  const copies = tiles.some(({ asked, there }) => asked <= time && time < there);
  const toRead = tiles.find(({ done }) => done > time);
  const waits: { producers?: Wait; readers?: Wait } = {};
  const odd = (tile: TimedWindow) => Math.floor(tile.number / stages) % 2;
  if (toAsk && !copies) {
    waits.producers = { barrier: "emptied", stage: toAsk.buffer, bit: 1 - odd(toAsk) };
  }
  if (toRead && toRead.begins > time) {
    waits.readers = { barrier: "filled", stage: toRead.buffer, bit: odd(toRead) };
  }
  return waits;
}

const waitWords = ({ barrier, stage, bit }: Wait) => `wait until ${barrier}[${stage}] shows ${bit}`;

/** What both kinds of warps do at one time, and which barrier they wait for. */
function momentWords(ring: Ring, time: number) {
  const { stages, end } = ring;
  if (time >= end) return `At ${number(time)} clocks: all K tiles are multiplied.`;
  const held = range(0, stages - 1).map((stage) => heldBy(ring, stage, time));
  const copied = held.filter(({ does }) => does === "copied").map(({ tile }) => tile);
  const busy = held.find(({ does }) => does === "multiplied")?.tile;
  const { producers, readers } = waitsOf(ring, time);
  const names = copied.map((one) => one?.number).sort((a, b) => Number(a) - Number(b));
  let copy = producers ? waitWords(producers) : "have copied the last K tile";
  if (names.length === 1) copy = `copy K tile ${names[0]} into stage ${copied[0]?.buffer}`;
  if (names.length > 1) copy = `copy K tiles ${names[0]} to ${names.at(-1)}`;
  const multiply = busy
    ? `multiply K tile ${busy.number} from stage ${busy.buffer}`
    : readers && waitWords(readers);
  return `At ${number(time)} clocks: producers ${copy}; multiplying warps ${multiply}.`;
}

/** Where the words of a barrier stand, between the lanes. */
function lampRow(barrier: Barrier) {
  return TOP + BOX + 25 + LAMP_ROW * BARRIERS.indexOf(barrier);
}

/** Two lanes of stages, and below the time of each stage in a row. */
class Drawing extends OverTime {
  constructor(
    scene: Scene,
    public ring: Ring,
    public time: number,
    width: number,
  ) {
    super(scene, ring.end, GUTTER, width);
  }

  /** Whether a stage has no room for the name of its barrier. */
  get narrow() {
    return this.width / this.ring.stages < 120;
  }

  draw(picture: SVGSVGElement) {
    const { ring, width } = this;
    this.lane("copy", "Producers", "copy", TOP, "producers");
    this.lane("read", "Multiplying", "warps read", TOP + LANE, "readers");
    for (const stage of range(0, ring.stages - 1)) this.drawStage(stage);
    if (this.narrow) {
      this.scene.text("key-stage", "lab-barrier", GUTTER - 12, 11, "stage", "end");
      for (const barrier of BARRIERS) {
        const words = `${barrier} ${ARROWS[barrier]}`;
        this.scene.text(
          `key-${barrier}`,
          "lab-barrier",
          GUTTER - 12,
          lampRow(barrier),
          words,
          "end",
        );
      }
    }
    const rows = TOP + LANE + BOX + 36;
    for (const tile of ring.tiles) this.drawTile(tile, rows + tile.buffer * ROW);
    for (const stage of range(0, ring.stages - 1)) {
      this.name(`row${stage}`, rows + stage * ROW + 14, `stage ${stage}`);
    }
    const axis = rows + ring.stages * ROW + 6;
    this.drawAxis(axis, "clocks");
    this.scene.draw("cursor", "path", {
      class: "lab-cursor",
      d: `M${this.x(this.time)} ${rows - 8}V${axis}m-5 ${rows - 12 - axis}h10l-5 7z`,
    });
    fit(picture, width, axis + 26);
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

  /** The bits of a stage's two barriers, framed where warps wait for them. */
  drawLamps(stage: number, x: number, wide: number) {
    const { scene, ring, time, narrow } = this;
    const awaited = Object.values(waitsOf(ring, time));
    for (const barrier of BARRIERS) {
      const [id, y] = [`${barrier}${stage}`, lampRow(barrier)];
      const left = narrow ? x + (wide - LAMP) / 2 : x + wide - LAMP - 4;
      const bit = bitOf(ring, { stage, barrier }, time);
      const waits = awaited.some((one) => one.stage === stage && one.barrier === barrier);
      const look = `lab-lamp${bit ? " lab-on" : ""}${waits ? " lab-awaited" : ""}`;
      const shape = { x: left, y: y - 12.5, width: LAMP, height: LAMP, rx: 3 };
      scene.draw(`lamp-${id}`, "rect", { class: look, ...shape });
      const ink = bit ? "lab-bit lab-on" : "lab-bit";
      scene.text(`bit-${id}`, ink, left + LAMP / 2, y, `${bit}`, "middle");
      if (narrow) continue;
      const words = `${ARROWS[barrier]} ${barrier}[${stage}]`;
      scene.text(`name-${id}`, "lab-barrier", left - 6, y, words, "end");
    }
  }

  /** A stage in the lane of those whom it belongs to, and its barriers. */
  drawStage(stage: number) {
    const { scene, ring, time, width } = this;
    const each = (width - GUTTER - 12 + GAP) / ring.stages;
    const [x, wide] = [GUTTER + 4 + stage * each, each - GAP];
    const { tile, does, level } = heldBy(ring, stage, time);
    const below = does === "ready" || does === "multiplied";
    this.drawLamps(stage, x, wide);
    const called = this.narrow ? `${stage}` : `stage ${stage}`;
    this.scene.text(`stage-name${stage}`, "lab-barrier", x + wide / 2, 11, called);
    const node = scene.draw(`stage${stage}`, "g", {
      class: `lab-stage lab-${does}`,
      style: `transform:translateY(${below ? LANE : 0}px)`,
    });
    if (!node.firstChild) {
      node.append(svg("rect"), svg("rect", { class: "lab-level" }), svg("text"), svg("text"));
    }
    const [frame, filled, name, state] = node.children;
    setAttributes(frame, { x, y: TOP, width: wide, height: BOX, rx: 3 });
    const tall = BOX * level;
    setAttributes(filled, { x, y: TOP + BOX - tall, width: wide, height: tall, rx: 3 });
    const centre = { x: x + wide / 2, "text-anchor": "middle" };
    setAttributes(name, { ...centre, y: TOP + 26, class: "lab-tile-name" });
    setAttributes(state, { ...centre, y: TOP + 44, class: "lab-tile-state" });
    const title = this.narrow ? `${tile?.number ?? ""}` : `K tile ${tile?.number}`;
    name.textContent = tile ? title : "–";
    state.textContent = this.narrow && does === "copied" ? "copy" : SAID[does];
  }

  /** A K tile in the row of its stage: asked for, copied, ready, and multiplied. */
  drawTile({ number: n, asked, comes, there, begins, done }: TimedWindow, y: number) {
    const { scene, x } = this;
    const box = (id: string, from: number, to: number, top: number, look: string) => {
      const width = Math.max(2, x(to) - x(from) - 1);
      const shape = { x: x(from), y: top, width, height: ROW - 2 };
      const now = from <= this.time && this.time < to ? " lab-now" : "";
      scene.draw(id, "rect", { class: `${look}${now}`, ...shape });
    };
    box(`asked${n}`, asked, comes, y, "lab-asked");
    box(`copy${n}`, comes, there, y, "lab-copy");
    if (begins > there) box(`ready${n}`, there, begins, y, "lab-waits");
    box(`work${n}`, begins, done, y, "lab-work");
    const label = { x: (x(begins) + x(done)) / 2, y: y + 14, "text-anchor": "middle" };
    scene.draw(`name${n}`, "text", { class: "lab-work-name", ...label }, `${n}`);
  }
}
