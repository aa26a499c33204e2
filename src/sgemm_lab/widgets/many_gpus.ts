// A product on very many GPUs, on paper: efficiency by their number, in two dimensions and with
// copies of A and B.

import "./many_gpus.css";
import { leastGpus, onPaper, paperWords } from "../formulas/scaling_model.ts";
import { comma, number, percent } from "../text.ts";
import { choiceSlider, key } from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { Scene } from "./shared/scene.ts";

type Setting = "size" | "gpus" | "copies" | "gbs" | "microseconds";

type State = { tflops: number; note: string } & Record<Setting, number> &
  Record<`${Setting}_choices`, number[]>;

/** The present settings; `machine` is a link's latency and rate, and a GPU's. */
type Settled = Record<Setting, number> & { machine: [number, number, number]; among: number[] };

const SLIDERS = [
  { name: "gpus", label: "GPUs", words: comma },
  { name: "size", label: "M = N = K", words: comma },
  { name: "copies", label: "Copies (2.5-D)", words: comma },
  { name: "gbs", label: "Link, GB/s", words: number },
  { name: "microseconds", label: "Latency, µs", words: number },
] as const;
const KEY: [string, string][] = [
  ["lab-k-plain", "2-D: A, B and C once"],
  ["lab-k-copies", "2.5-D: with copies of A and B"],
];
const [GUTTER, MARGIN, TOP, HEIGHT] = [44, 22, 10, 170]; // px
const SHARES = [0, 0.25, 0.5, 0.75, 1];

export function render({ model, el }: View<State>) {
  const sliders = SLIDERS.map(({ name, label, words }) => {
    const slider = choiceSlider(label, (value) => put(model, name, value));
    return { name, words, ...slider };
  });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const [plain, copies] = [html("p"), html("p")];
  const about = html("p", { class: "lab-about" });
  const root = tool(
    el,
    "lab-many-gpus",
    html(
      "div",
      { class: "lab-controls" },
      sliders.map(({ element }) => element),
    ),
    [picture, key(KEY)],
    html("div", { class: "lab-verdict", role: "status" }, plain, copies),
    about,
  );
  const scene = new Scene(picture);

  function update() {
    const now = settled(model);
    for (const { name, words, show } of sliders) {
      show(now[name], model.get(`${name}_choices`), words(now[name]));
    }
    new Chart(scene, now, availableWidth(root)).draw(picture);
    const readout = paperWords(now.size, now.gpus, now.copies, ...now.machine);
    const note = model.get("note");
    const rate = `Each GPU multiplies at ${number(model.get("tflops"))} TFLOP/s`;
    say(
      [plain, copies, about],
      [...readout, `${rate}${note && `: ${note}`}. The rest is assumed.`],
    );
    setAttributes(picture, { "aria-label": `Efficiency by the number of GPUs. ${readout[0]}` });
  }
  const names = SLIDERS.map(({ name }) => name);
  return keepDrawn(model, names, root, update);
}

function settled(model: Model<State>): Settled {
  const [gbs, microseconds] = [model.get("gbs"), model.get("microseconds")];
  return {
    ...{ gbs, microseconds, size: model.get("size"), gpus: model.get("gpus") },
    copies: model.get("copies"),
    machine: [1e-6 * microseconds, 1e9 * gbs, 1e12 * model.get("tflops")],
    among: model.get("gpus_choices"),
  };
}

/** Two lines over the number of GPUs, and the number chosen. */
class Chart {
  x;
  y;

  constructor(
    public scene: Scene,
    public now: Settled,
    public width: number,
  ) {
    const last = now.among.length - 1;
    /** @param place the index of a number of GPUs */
    this.x = (place: number) => GUTTER + ((width - GUTTER - MARGIN) * place) / last;
    this.y = (share: number) => TOP + (HEIGHT - TOP) * (1 - share);
  }

  draw(picture: SVGSVGElement) {
    const { scene, now, width, x, y } = this;
    for (const share of SHARES) {
      const look = share ? "lab-grid" : "lab-axis";
      const d = `M${GUTTER} ${y(share)}H${width - MARGIN}`;
      scene.draw(`line${share}`, "path", { class: look, d });
      this.scene.text(`share${share}`, "lab-tick", GUTTER - 8, y(share) + 4, percent(share), "end");
    }
    const each = width < 420 ? 2 : 1; // names of numbers that find room
    now.among.forEach((gpus, place) => {
      scene.draw(`tick${place}`, "path", { class: "lab-axis", d: `M${x(place)} ${HEIGHT}v5` });
      const words = place % each ? "" : comma(gpus);
      this.scene.text(`gpus${place}`, "lab-tick", x(place), HEIGHT + 19, words);
    });
    const here = now.among.indexOf(now.gpus);
    const d = `M${x(here)} ${TOP}V${HEIGHT}`;
    scene.draw("here", "path", { class: "lab-here", d });
    this.line("plain", 1);
    this.line("copies", now.copies);
    this.scene.text("unit", "lab-unit", GUTTER - 8, HEIGHT + 19, "GPUs", "end");
    setAttributes(picture, { viewBox: `0 0 ${width} ${HEIGHT + 26}`, height: HEIGHT + 26 });
    scene.finish();
  }

  line(name: string, copies: number) {
    const { now, scene, x, y } = this;
    const points = now.among.flatMap((gpus, place) => {
      if (gpus < leastGpus(copies)) return [];
      const { efficiency } = onPaper(now.size, gpus, copies, ...now.machine);
      return [{ gpus, at: x(place), up: y(efficiency) }];
    });
    const d = points.map(({ at, up }, i) => `${i ? "L" : "M"}${at} ${up}`).join("") || "M0 0";
    scene.draw(`${name}-line`, "path", { class: `lab-paper lab-${name}`, d });
    for (const { gpus, at, up } of points) {
      const look = `lab-dot lab-${name}${gpus === now.gpus ? " lab-chosen" : ""}`;
      const square = `M${at - 4} ${up - 4}h8v8h-8z`;
      const disc = `M${at - 4.5} ${up}a4.5 4.5 0 1 1 9 0a4.5 4.5 0 1 1 -9 0`;
      scene.draw(`${name}${gpus}`, "path", { class: look, d: copies > 1 ? square : disc });
    }
  }
}
