// The tiles of a product on several GPUs, round by round: what each multiplies, what travels, and
// what that takes of the links.

import "./gpu_tiles.css";
import { sentence } from "../formulas/sentences.ts";
import { choiceSlider, chooser, key } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { range } from "./shared/scale.ts";
import { fit, Scene } from "./shared/scene.ts";

/** First row, first column, rows, columns. */
type Rectangle = [number, number, number, number];

interface Product {
  gpu: number;
  a: Rectangle;
  b: Rectangle;
  c: Rectangle;
}

interface Transfer {
  source: number;
  to: number;
  matrix: string;
  tile: Rectangle;
  bytes: number;
}

interface Round {
  products: Product[];
  transfers: Transfer[];
}

interface Plan {
  label: string;
  size: number;
  grid: [number, number];
  rounds: Round[];
}

interface State {
  plans: Plan[];
  plan: number;
  round: number;
  hues: string[];
}

/** A plan at one of its rounds. */
interface Moment {
  plan: Plan;
  at: number;
  gpus: number;
  hues: string[];
}

const NAMES = ["a", "b", "c"] as const;
const KEY: [string, string][] = [
  ["lab-k-now", "multiplied now"],
  ["lab-k-done", "part of C done before"],
  ["lab-k-comes", "comes now, from the GPU named below it"],
];
const [APART, INSIDE, HEAD, FOOT] = [8, 6, 34, 18]; // px between boxes, in them, above, below
const WIDEST = 92; // px of a matrix

export function render({ model, el }: View<State>) {
  const go = (round: number) => put(model, "round", round);
  const labels = model.get("plans").map(({ label }, i): [number, string] => [i, label]);
  const layout = chooser("Plan", labels, (plan) => {
    model.set("plan", Number(plan));
    go(0);
  });
  const slider = choiceSlider("Round", (i) => go(i - 1));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const [readout, total] = [html("p"), html("p")];
  const root = tool(
    el,
    "lab-gpu-tiles",
    html("div", { class: "lab-bar" }, layout.field),
    slider.element,
    [picture, key(KEY)],
    html("div", { class: "lab-verdict", role: "status" }, readout, total),
  );
  const scene = new Scene(picture);

  function update() {
    const moment = momentOf(model);
    const { plan, at } = moment;
    const last = plan.rounds.length - 1;
    layout.show(model.get("plan"));
    slider.show(at + 1, range(1, last + 1), `${at + 1} of ${last + 1}`);
    new Drawing(scene, moment, availableWidth(root)).draw(picture);
    say([readout, total], [roundWords(moment), totalWords(moment)]);
    setAttributes(picture, { "aria-label": `Tiles on GPUs. ${roundWords(moment)}` });
  }
  return keepDrawn(model, ["plans", "plan", "round"], root, update);
}

function momentOf(model: Model<State>): Moment {
  const plans = model.get("plans");
  const plan = plans[model.get("plan")] ?? plans[0];
  const at = Math.min(model.get("round"), plan.rounds.length - 1);
  return { plan, at, gpus: plan.grid[0] * plan.grid[1], hues: model.get("hues") };
}

/** The bytes that the GPU which receives most receives. */
function mostInto(transfers: Transfer[]) {
  const into: Map<number, number> = new Map();
  for (const { to, bytes } of transfers) into.set(to, (into.get(to) ?? 0) + bytes);
  return Math.max(0, ...into.values());
}

function roundWords({ plan, at }: Moment) {
  const { products, transfers } = plan.rounds[at];
  const kinds = ["gpus.first", "gpus.last", "gpus.both"] as const;
  return sentence(kinds[products.length ? (transfers.length ? 2 : 1) : 0], {
    round: at + 1,
    rounds: plan.rounds.length,
    products: products.length,
    transfers: transfers.length,
    into: mostInto(transfers) / 1e6,
  });
}

function totalWords({ plan, gpus }: Moment) {
  const received = mostInto(plan.rounds.flatMap(({ transfers }) => transfers));
  const flop = (2 * plan.size ** 3) / gpus;
  const intensity = flop / received;
  return sentence("gpus.total", { received: received / 1e6, gflop: flop / 1e9, intensity });
}

/** Boxes side by side: a grid of one column stands in two. */
const columnsOf = ({ grid: [rows, columns] }: Plan) => (rows > 1 && columns === 1 ? 2 : columns);

/** A box for each GPU, with what it multiplies and what comes. */
class Drawing {
  across = Math.min(columnsOf(this.moment.plan), this.moment.gpus);
  box = (this.width - APART * (this.across - 1)) / this.across;
  side = Math.min(WIDEST, (this.box - 4 * INSIDE) / 3);
  tall = HEAD + this.side + FOOT + INSIDE;

  constructor(
    public scene: Scene,
    public moment: Moment,
    public width: number,
  ) {}

  draw(picture: SVGSVGElement) {
    const { moment, across, box, tall, width } = this;
    for (const gpu of range(0, moment.gpus - 1)) {
      const [x, y] = [(gpu % across) * (box + APART), Math.floor(gpu / across) * (tall + APART)];
      this.drawGpu(gpu, x, y);
    }
    const height = Math.ceil(moment.gpus / across) * (tall + APART) - APART;
    fit(picture, width, height);
    this.scene.finish();
  }

  drawGpu(gpu: number, x: number, y: number) {
    const { scene, moment, box, tall, side } = this;
    const { products, transfers } = moment.plan.rounds[moment.at];
    const hue = this.hue(gpu);
    const frame = { x: x + 0.5, y: y + 0.5, width: box - 1, height: tall - 1, rx: 6 };
    scene.draw(`frame${gpu}`, "rect", { class: `lab-gpu ${hue}`, ...frame });
    const product = products.find((one) => one.gpu === gpu);
    this.scene.text(`name${gpu}`, "lab-gpu-name", x + INSIDE, y + 15, `GPU ${gpu}`, "start");
    NAMES.forEach((name, place) => {
      const left = x + INSIDE + (place * (box - 2 * INSIDE - side)) / 2;
      const id = `${gpu}${name}`;
      const top = y + HEAD;
      this.scene.text(`of${id}`, "lab-tick", left + side / 2, top - 4, name.toUpperCase());
      const whole = { x: left, y: top, width: side, height: side };
      scene.draw(`whole${id}`, "rect", { class: "lab-whole", ...whole });
      if (name === "c") this.drawDone(gpu, left, top);
      if (product) {
        const home = this.home(gpu, name.toUpperCase(), product[name]);
        this.tile(`now${id}`, `lab-now ${home}`, product[name], left, top);
      }
      const coming = transfers.filter((one) => one.to === gpu && one.matrix === name.toUpperCase());
      coming.forEach((one, i) => {
        const home = this.home(one.source, one.matrix, one.tile);
        this.tile(`comes${id}${i}`, `lab-comes ${home}`, one.tile, left, top);
        const below = top + side + 14;
        this.scene.text(`from${id}`, "lab-from", left + side / 2, below, `← ${one.source}`);
      });
    });
  }

  /** What a GPU has of C from earlier rounds. */
  drawDone(gpu: number, left: number, top: number) {
    const { plan, at } = this.moment;
    plan.rounds.slice(0, at).forEach(({ products }, round) => {
      const mine = products.find((one) => one.gpu === gpu);
      if (mine) this.tile(`done${gpu}-${round}`, `lab-done ${this.hue(gpu)}`, mine.c, left, top);
    });
  }

  /** The hue of the GPU that a tile starts on: it keeps it when it travels. */
  home(gpu: number, matrix: string, tile: Rectangle) {
    const moves = this.moment.plan.rounds.flatMap(({ transfers }) => transfers);
    const first = moves.find((one) => one.matrix === matrix && `${one.tile}` === `${tile}`);
    return this.hue(first?.source ?? gpu);
  }

  hue(gpu: number) {
    const { hues } = this.moment;
    return `lab-${hues[gpu % hues.length]}`;
  }

  tile(
    id: string,
    look: string,
    [row, column, rows, columns]: Rectangle,
    left: number,
    top: number,
  ): void {
    const scale = this.side / this.moment.plan.size;
    const [x, y] = [left + column * scale, top + row * scale];
    const shape = { x, y, width: columns * scale, height: rows * scale };
    this.scene.draw(id, "rect", { class: look, ...shape });
  }
}
