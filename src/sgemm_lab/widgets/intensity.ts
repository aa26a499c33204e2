// Sliders over a kernel's tile constants: what the tile reuses, what it takes, and the roof it
// meets.

import "./intensity.css";
import { levelRoof, roofAt } from "../formulas/roofs.ts";
import type { Tile, Constant as TileConstant, TileReport } from "../formulas/tile.ts";
import { raising, tileOf, tileReport } from "../formulas/tile.ts";
import { MAX_REGISTERS } from "../hardware.py";
import { number, percent } from "../text.ts";
import { drawAxes } from "./shared/axes.ts";
import { moveTo } from "./shared/controls.ts";
import { button, html, setAttributes, svg } from "./shared/dom.ts";
import { Labels } from "./shared/labels.ts";
import { HUES, mark } from "./shared/levels.ts";
import { chosenGpu, gpuChooser, keepDrawn, put, redrawer, roomIn } from "./shared/model.ts";
import { chartLimits, drawRoofs, labelRoofs, ROOF_AXES } from "./shared/roofs_chart.ts";
import { within } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

type Constant = TileConstant & { label: string; default: number };

interface State {
  gpus: RoofedGpu[];
  gpu: string;
  constants: Constant[];
  matrix: MatrixSize;
  /** wavefronts by the constants' values */
  counted: Record<string, number>;
  predict: boolean;
  guess: number | null;
  revealed: boolean;
}

/**
 * All that is drawn: `secret` while the answer is covered, `raises` the sliders that would help.
 */
type Situation = ReturnType<typeof situationOf>;

const STATE = [
  "gpus",
  "gpu",
  "constants",
  "counted",
  "matrix",
  "predict",
  "guess",
  "revealed",
] as const;

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const chooser = gpuChooser(model);
  chooser.field.addEventListener("change", redraw);
  const setConstants = (constants: Constant[]) => {
    put(model, "constants", constants);
    redraw();
  };
  const reset = button("Reset", () =>
    setConstants(model.get("constants").map((one) => ({ ...one, value: one.default }))),
  );
  const sliders = tileSliders(model, setConstants);
  const tilePicture = svg("svg", { class: "lab-tile", role: "img" });
  const tileKey = html("p", { class: "lab-tile-key" });
  const verdict = html("div", { class: "lab-verdict", role: "status", "aria-live": "polite" });
  const numbers = html("dl", { class: "lab-numbers" });
  const roofPicture = svg("svg", { class: "lab-chart", role: "img" });
  const form = guessForm(model, redraw);
  const root = html(
    "div",
    { class: "sgemm-lab lab-intensity" },
    html("div", { class: "lab-bar" }, chooser.field, reset),
    html(
      "div",
      { class: "lab-columns" },
      html("div", {}, sliders.element, form.element),
      html("div", {}, tilePicture, tileKey),
    ),
    verdict,
    html("div", { class: "lab-columns" }, numbers, html("div", {}, roofPicture)),
  );
  el.append(root);
  const tileScene = new Scene(tilePicture);
  const roofScene = new Scene(roofPicture);

  function update() {
    const width = Math.max(270, roomIn(root));
    const wide = width >= 600;
    const half = wide ? (width - 28) / 2 : width;
    const now = situationOf(model);
    root.classList.toggle("lab-wide", wide);
    chooser.show();
    sliders.show(now.raises);
    form.show();
    drawTile(tileScene, tilePicture, now, half);
    tileKey.replaceChildren(...tileWords(now));
    showVerdict(verdict, now);
    showNumbers(numbers, now);
    drawLanding(roofScene, roofPicture, now, model.get("gpus"), half);
  }

  return keepDrawn(model, STATE, root, update, redraw);
}

function situationOf(model: Model<State>) {
  const gpu = chosenGpu(model);
  const constants = model.get("constants");
  const matrix = model.get("matrix");
  const counted = model.get("counted");
  const tile = tileOf(constants, counted);
  const report = tileReport(tile, gpu, matrix);
  const secret = model.get("predict") && !model.get("revealed");
  const raises = secret || report.problems.length ? [] : raising(constants, gpu, matrix, counted);
  const guess = secret ? null : model.get("guess");
  return { gpu, constants, tile, report, secret, raises, guess };
}

/** A slider per constant; those that raise the bound are marked. */
function tileSliders(model: Model<State>, setConstants: (constants: Constant[]) => void) {
  const group = { class: "lab-sliders", role: "group", "aria-label": "Tile constants" };
  const element = html("div", group);
  let sliders: { input: HTMLInputElement; words: HTMLElement }[] = [];

  function slider({ name, label, choices }: Constant) {
    const range = { type: "range", min: 0, max: choices.length - 1, step: 1, class: "lab-range" };
    const input = html("input", range);
    input.addEventListener("input", () => {
      const value = choices[Number(input.value)];
      const now = model.get("constants");
      setConstants(now.map((one) => (one.name === name ? { ...one, value } : one)));
    });
    const head = [html("code", {}, name), label && ` ${label}`];
    const words = html("span", { class: "lab-value" });
    const title = html("span", { class: "lab-slider-name" }, head);
    element.append(html("label", { class: "lab-slider" }, title, words, input));
    return { input, words };
  }

  return {
    element,
    show(raises: string[]) {
      const constants = model.get("constants");
      const names = constants.map(({ name, choices }) => `${name}:${choices}`).join(" ");
      if (element.dataset.names !== names) {
        element.dataset.names = names;
        element.replaceChildren();
        sliders = constants.map(slider);
      }
      constants.forEach(({ name, value, choices }, i) => {
        const { input, words } = sliders[i];
        const up = raises.includes(name);
        moveTo(input, choices.indexOf(value), choices.length);
        const hint = up ? ", larger raises the bound" : "";
        input.setAttribute("aria-valuetext", `${name} = ${value}${hint}`);
        words.textContent = `${up ? "▲ " : ""}${value}`;
      });
    },
  };
}

/** Predict first: the answer stays covered until the reader has committed to a number. */
function guessForm(model: Model<State>, redraw: () => void) {
  const field = { type: "number", min: 1, step: "any", inputmode: "decimal", class: "lab-input" };
  const input = html("input", field);
  const submit = html("button", { type: "submit", class: "lab-button" });
  const complaint = html("p", { class: "lab-complaint", role: "alert" });
  const label = html("span", {}, "Your guess for the bound, GFLOP/s");
  const element = html(
    "form",
    { class: "lab-guess", novalidate: "" },
    html("label", {}, label, input),
    [submit, complaint],
  );
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    const guess = Number(input.value);
    const again = model.get("revealed");
    const good = again || guess > 0;
    complaint.textContent = good ? "" : "Type a number of GFLOP/s above zero first.";
    if (good) {
      model.set("guess", again ? null : guess);
      put(model, "revealed", !again);
      if (again) input.value = "";
      redraw();
    }
    input.focus();
  });
  return {
    element,
    show() {
      const [guess, revealed] = [model.get("guess"), model.get("revealed")];
      element.hidden = !model.get("predict");
      input.readOnly = revealed;
      if (guess !== null) input.value = String(guess);
      submit.textContent = revealed ? "Guess again" : "Commit and reveal";
    },
  };
}

function showVerdict(verdict: HTMLElement, now: Situation) {
  const lines = verdictLines(now).map((line) => html("p", {}, line));
  verdict.classList.toggle("lab-impossible", now.report.problems.length > 0);
  // The same words again would be read aloud again.
  const words = lines.map((line) => line.textContent).join("\n");
  if (verdict.dataset.words === words) return;
  verdict.dataset.words = words;
  verdict.replaceChildren(...lines);
}

function verdictLines({ report, gpu, secret, raises, guess }: Situation): Child[][] {
  if (report.problems.length) {
    return [[html("strong", {}, "This tile does not fit. "), report.problems.join(" ")]];
  }
  if (secret) {
    return [["Commit to a number first: how many GFLOP/s do the roofs leave to this tile?"]];
  }
  const lines = [[verdictOf(report, gpu)], [changeWords(report, gpu, raises)]];
  return guess ? [[html("strong", {}, compared(guess, report.gflops))], ...lines] : lines;
}

/** The roof that bounds the tile, and what the others would leave. */
function verdictOf(report: TileReport, gpu: RoofedGpu) {
  const rate = number(report.gflops);
  const others = report.roofs
    .filter(({ level }) => level !== report.limit)
    .map(({ roof, gflops }) => `${inside(roof)} alone would leave ${number(gflops)}`)
    .join(", ");
  const ruling = report.roofs.find(({ level }) => level === report.limit);
  if (!ruling) {
    return (
      `Memory keeps up on ${gpu.name}: only arithmetic bounds this tile, at the FP32 peak of ` +
      `${rate} GFLOP/s${others && ` (${others})`}.`
    );
  }
  const { roof, intensity } = ruling;
  return (
    `${roof.label} bounds this tile on ${gpu.name}: ${number(intensity)} FLOP/B × ` +
    `${number(roof.gbs)} GB/s = ${rate} GFLOP/s, ` +
    `${percent(report.gflops / gpu.peak_gflops)} of the FP32 peak${others && `; ${others}`}.`
  );
}

/** What the reader must change to raise the bound. `raises` names the sliders that do. */
function changeWords({ limit, roofs }: TileReport, gpu: RoofedGpu, raises: string[]) {
  const ruling = roofs.find(({ level }) => level === limit);
  if (!ruling) return "The tile is large enough: a larger one cannot raise this bound.";
  const part = limit === "dram" ? "block tile" : "thread tile";
  const ridge = number(gpu.peak_gflops / ruling.roof.gbs);
  const need = `the ${part} needs ${ridge} FLOP/B to reach the peak.`;
  // One wavefront per 32 words of the threads' fragments is assumed; a float4 that lanes share
  // takes fewer.
  const share =
    " Lanes that read the same float4 share wavefronts, so a kernel can pass this bound.";
  const raised = raises.length
    ? `▲ A larger ${raises.join(" or ")} raises it:`
    : "No slider raises it from here:";
  return `${raised} ${need}${limit === "shared" ? share : ""}`;
}

/** A level's name as it stands within a sentence. */
function inside({ id, label }: Roof) {
  return id === "shared" ? "shared memory" : label;
}

function compared(guess: number, truth: number) {
  const times = `${Number(Math.max(guess / truth, truth / guess).toPrecision(2))} times`;
  const said = `You said ${number(guess)} GFLOP/s; the bound is ${number(truth)}`;
  if (Math.abs(guess / truth - 1) < 0.1) return `${said}. Well judged.`;
  return guess < truth ? `${said}, ${times} your guess.` : `${said}. Your guess is ${times} that.`;
}

/** A quantity: what it is measured against in words, and the whole that its bar is a share of. */
interface Quantity {
  hue: string;
  name: string;
  value: number;
  unit: string;
  context: string;
  whole?: number;
}

function quantitiesOf({ report, gpu }: Situation): Quantity[] {
  const reuse = (level: LevelId) => {
    const roof = levelRoof(gpu, level);
    const whole = roof && gpu.peak_gflops / roof.gbs;
    return { hue: level, unit: "FLOP/B", whole, context: whole ? `ridge ${number(whole)}` : "" };
  };
  const taken = (
    hue: string,
    name: string,
    value: number,
    unit: string,
    whole?: number,
  ): Quantity => {
    const context = whole ? `${value > whole ? "more than" : "of"} ${number(whole)}` : "";
    return { hue, name, value, unit, whole, context };
  };
  const { sharedBytes, threads, accumulators, gflops } = report;
  const [bytes, most] = [gpu.shared_per_block_bytes, gpu.max_threads_per_block];
  const peak = `peak ${number(gpu.peak_gflops)}`;
  const shared = { ...reuse("shared"), name: "Reuse of shared memory", value: report.thread };
  return [
    { ...reuse("dram"), name: "Reuse of global memory", value: report.global },
    ...(report.usesShared ? [shared] : []),
    taken("shared", "Shared memory per block", sharedBytes, "bytes", bytes),
    taken("peak", "Threads per block", threads, "", most),
    taken("register", "Sums per thread", accumulators, "registers", MAX_REGISTERS),
    { ...taken("peak", "Bound", gflops, "GFLOP/s", gpu.peak_gflops), context: peak },
  ];
}

/** One row per quantity: name, value, what it is measured against, and a bar of that share. */
function showNumbers(list: HTMLElement, now: Situation) {
  const { secret, report } = now;
  const rows = quantitiesOf(now).map(({ hue, name, value, unit, context, whole }) => {
    const isAnswer = unit === "FLOP/B" || unit === "GFLOP/s";
    const none = report.problems.length > 0 && unit === "GFLOP/s" ? "none" : "";
    const blank = secret && isAnswer ? "?" : none;
    const bar = html("span", { class: "lab-bar-fill" });
    bar.style.width = `${blank || !whole ? 0 : Math.min(100, (100 * value) / whole)}%`;
    const amount = html(
      "dd",
      {},
      html("strong", {}, blank || number(value)),
      blank !== "none" && ` ${unit}`,
      context && html("span", { class: "lab-context" }, ` ${context}`),
      html("span", { class: "lab-bar-track", "aria-hidden": "true" }, bar),
    );
    return html("div", { class: `lab-number lab-${hue}` }, html("dt", {}, name), amount);
  });
  list.replaceChildren(...rows);
}

type Landing = ReturnType<typeof landingOf>;

/** Where the tile lands on a small roofline: one mark per memory level, the lower one rules. */
function drawLanding(
  scene: Scene,
  picture: SVGSVGElement,
  now: Situation,
  gpus: RoofedGpu[],
  width: number,
) {
  const { gpu, report, secret, guess } = now;
  const height = Math.round(within(width * 0.8, 250, 320));
  const told = secret ? "The tile's place is covered until you commit." : verdictOf(report, gpu);
  const label = `Roofline of ${gpu.name}. ${told}`;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
  const box = { left: 58, top: 24, right: width - 8, bottom: height - 48 };
  const landing = landingOf(scene, now, gpus, box);
  const roofs = drawRoofs(scene, landing.axes, gpu, landing.hidden, landing.labels);
  drawLimit(landing, now);
  for (const { x, y } of landing.places) landing.labels.block(x, y, 10);
  if (!secret) drawBound(landing, now);
  if (guess) drawGuess(landing, guess);
  drawMarks(landing, report);
  const main = roofs.filter((roof) => roof.main);
  labelRoofs(scene, landing.axes, main, landing.labels);
  nameLimit(landing);
  scene.finish();
}

/** Axes, marks and what is needed to draw beside them. */
function landingOf(scene: Scene, { gpu, report, secret }: Situation, gpus: RoofedGpu[], box: Box) {
  const hidden = ["l2", "l1", "register", ...(report.usesShared ? [] : ["shared"])];
  const reach = { intensity: report.compulsory / 3, gflops: gpu.peak_gflops };
  const axes = drawAxes(scene, box, chartLimits(gpus, [reach]), ROOF_AXES);
  const labels = new Labels(box.left + 2, box.top - 6, box.right, box.bottom - 2);
  const shown = secret ? [] : report.roofs.filter(({ level }) => !hidden.includes(level));
  const places = shown.map(({ level, intensity }) => {
    const { gflops } = roofAt(gpu, level, intensity);
    return { level, x: axes.x(intensity), y: axes.y(gflops) };
  });
  const line = (key: string, name: string, d: string): void => {
    scene.draw(key, "path", { class: `lab-aid ${name}`, d });
  };
  const word = (key: string, text: string, spots: Spot[]): void => {
    const spot = labels.place(text, 11.5, spots);
    if (!spot) return;
    const look = { class: "lab-label lab-aid-label", "font-size": 11.5 };
    const at = { "text-anchor": spot.anchor, transform: `translate(${spot.x} ${spot.y})` };
    scene.draw(key, "text", { ...look, ...at }, text);
  };
  const limit = axes.x(report.compulsory);
  return { scene, box, hidden, axes, labels, places, line, word, limit };
}

/** Where each element would move once. */
function drawLimit({ line, labels, axes, limit, box }: Landing, { gpu }: Situation) {
  const top = axes.y(gpu.peak_gflops);
  line("compulsory", "lab-limit", `M${limit} ${top}V${box.bottom}`);
  labels.blockLine(limit, top, limit, box.bottom, true);
}

function nameLimit({ word, limit, box }: Landing) {
  word("compulsory-label", "each element once", [
    { x: limit - 9, y: box.bottom - 10, anchor: "end" },
    { x: limit - 9, y: box.bottom - 34, anchor: "end" },
  ]);
}

function drawBound({ line, word, labels, axes, places, box }: Landing, { report }: Situation) {
  const y = axes.y(report.gflops);
  const from = places.find(({ level }) => level === report.limit)?.x ?? box.left;
  line("bound", "lab-bound", `M${from} ${y}H${box.right}`);
  if (report.limit === "peak") return;
  word("bound-label", `bound ${number(report.gflops)}`, both(box, y));
  labels.blockLine(from, y, box.right, y, true);
}

function drawGuess({ line, word, axes, box }: Landing, guess: number) {
  const y = within(axes.y(guess), box.top, box.bottom);
  line("guess", "lab-guessed", `M${box.left} ${y}H${box.right}`);
  word("guess-label", `your guess ${number(guess)}`, both(box, y));
}

function drawMarks({ scene, word, places }: Landing, report: TileReport) {
  for (const { level, x, y } of places) {
    const node = scene.draw(`mark-${level}`, "g", {
      class: `lab-spot lab-${HUES[level]}`,
      style: `transform:translate(${x}px,${y}px)`,
    });
    if (!node.firstChild) node.append(svg("circle", { r: 12 }), svg("path", { d: mark(level, 6) }));
    node.classList.toggle("lab-rules", level === report.limit);
  }
  for (const { level, x, y } of places) {
    word(`name-${level}`, level === "dram" ? "block tile" : "thread tile", [
      { x: x + 16, y: y + 4, anchor: "start" },
      { x: x - 16, y: y + 4, anchor: "end" },
      { x: x + 10, y: y + 22, anchor: "start" },
      { x, y: y - 17, anchor: "middle" },
    ]);
  }
}

/** Places for a label above or below a level line, right end first. */
function both(box: Box, y: number) {
  const spots: Spot[] = [];
  for (let x = box.right - 4; x > box.left + 60; x -= 12) {
    spots.push({ x, y: y - 7, anchor: "end" }, { x, y: y + 15, anchor: "end" });
  }
  return spots;
}

/**
 * The block tile of C with the strips of A and B that feed it, and one thread's share, to scale.
 */
function drawTile(
  scene: Scene,
  picture: SVGSVGElement,
  { tile, constants }: Situation,
  width: number,
) {
  const { bm, bn, bk, tm, tn } = tile;
  const [left, top, gap] = [44, 26, 8];
  const room = Math.min(width - 12, 340);
  const height = room - 26;
  const scale = Math.min((room - left - gap) / (bk + bn), (height - top - gap - 26) / (bk + bm));
  const label =
    `A block computes ${bm} by ${bn} elements of C from strips ${bk} deep; each thread computes ` +
    `${tm} by ${tn} of them.`;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
  const x0 = left + Math.max(0, (width - left - gap - scale * (bk + bn)) / 2);
  const [x1, y0] = [x0 + bk * scale + gap, top];
  const y1 = y0 + bk * scale + gap;
  const box = (key: string, name: string, x: number, y: number, w: number, h: number): void => {
    const sides = { width: Math.max(1, w * scale), height: Math.max(1, h * scale) };
    scene.draw(key, "rect", { class: name, x, y, ...sides });
  };
  box("a", "lab-strip", x0, y1, bk, bm);
  box("b", "lab-strip", x1, y0, bn, bk);
  box("c", "lab-block", x1, y1, bn, bm);
  scene.draw("threads", "path", { class: "lab-threads", d: threadLines(tile, x1, y1, scale) });
  // One thread, a little inside, so that what it reads of A and B is seen to cross the strips.
  const [i, j] = [tm * Math.floor(bm / tm / 3), tn * Math.floor(bn / tn / 3)];
  box("rows", "lab-read", x0, y1 + i * scale, bk, tm);
  box("columns", "lab-read", x1 + j * scale, y0, tn, bk);
  box("thread", "lab-thread", x1 + j * scale, y1 + i * scale, tn, tm);
  const text = (key: string, x: number, y: number, words: string, turn: number = 0): void => {
    const transform = `translate(${x} ${y}) rotate(${turn})`;
    scene.draw(key, "text", { class: "lab-tick", "text-anchor": "middle", transform }, words);
  };
  text("bn", x1 + (bn * scale) / 2, y0 - 9, dimension(constants, "BN", bn));
  text("bm", x0 - 9, y1 + (bm * scale) / 2, dimension(constants, "BM", bm), -90);
  text("bk", x0 + (bk * scale) / 2, y1 + bm * scale + 17, dimension(constants, "BK", bk));
  scene.finish();
}

/** Lines between the threads' tiles, where there is room for them. */
function threadLines({ bm, bn, tm, tn }: Tile, x: number, y: number, scale: number) {
  const lines = [];
  if (Math.min(tm, tn) * scale >= 3) {
    for (let j = tn; j < bn; j += tn) lines.push(`M${x + j * scale} ${y}v${bm * scale}`);
    for (let i = tm; i < bm; i += tm) lines.push(`M${x} ${y + i * scale}h${bn * scale}`);
  }
  return lines.join("") || "M0 0";
}

/** "BN 128"; TILE stands for what has no constant of its own. */
function dimension(constants: Constant[], name: string, value: number) {
  const has = (wanted: string) => constants.some((constant) => constant.name === wanted);
  return `${has("TILE") && !has(name) ? "TILE" : name} ${value}`;
}

function tileWords({ tile: { bm, bn, bk, tm, tn }, report }: Situation): (Node | string)[] {
  if (!report.usesShared) return ["One element of C: nothing is shared, nothing is reused."];
  const swatch = (hue: string, words: string): Node =>
    html("span", { class: `lab-swatch lab-${hue}` }, words);
  return [
    swatch("shared", `strips ${bm}×${bk} and ${bk}×${bn}`),
    ` in shared memory feed ${bm}×${bn} of C; `,
    swatch("register", `${tm}×${tn}`),
    " belong to one thread. To scale.",
  ];
}
