// One warp's request to shared memory, painted over the 32 banks: the words that each wavefront
// brings.

import "./banks.css";
import type { Wavefront } from "../formulas/memory.ts";
import { sharedWavefronts } from "../formulas/memory.ts";
import { asked, bankWords, laidOut } from "../formulas/requests.ts";
import { BANKS, WARP, WAVEFRONT_BYTES, WORD_BYTES } from "../hardware.py";
import { comma, plural } from "../text.ts";
import { choiceSlider, segments, showFacts } from "./shared/controls.ts";
import { button, html, present, say, setAttributes, svg, write } from "./shared/dom.ts";
import { keepDrawn, put, redrawer, roomIn } from "./shared/model.ts";
import type { LaneSwitches, PainterState, Request } from "./shared/painter.ts";
import {
  chosenRequest,
  evenly,
  idleLanes,
  laneSwitches,
  lanesText,
  light,
  ownPattern,
  pointAtTokens,
  requestChooser,
  STRIDES,
  tokenText,
  WIDTHS,
  widthChoice,
  withoutOff,
  zigzag,
} from "./shared/painter.ts";
import { Player } from "./shared/player.ts";
import { range } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

type Op = "load" | "store";

interface OwnState {
  op: Op;
  padding: number;
  swizzle: boolean;
  wavefront: number;
}

type State = PainterState & OwnState;

const STATE = [
  "requests",
  "chosen",
  "stride",
  "bits",
  "op",
  "padding",
  "swizzle",
  "off",
  "wavefront",
] as const;
const WORD_BITS = 8 * WORD_BYTES;
const [SMALLEST, LARGEST] = [5, 11]; // px, of a letter
const SHARED = "shared by several lanes: their numbers, or ×2";
const MARKS = 8; // patterns that tell wavefronts apart; more begin again, in other hues
const NARROWEST = 16; // px, of the parts that a word has which several wavefronts fetch
const TILE = 32; // floats in a row of the tile that the reader's own pattern reads
const PACE = 900; // ms per wavefront while playing
const [FEWEST_ROWS, FEWEST_FOLDED_ROWS] = [12, 10];
const GAP = 3; // px, where rows of memory are left out

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const controls = bankControls(model, redraw, own, point);
  const { chooser, lanes } = controls;
  const show = (wavefront: number) => {
    put(model, "wavefront", wavefront);
    redraw();
  };
  const player = new Player({
    at: () => model.get("wavefront"),
    last: () => now.wavefronts.length,
    show,
    redraw,
    pace: () => PACE,
    end: () => show(0), // all of them again
  });
  const play = button("Play", () => player.toggle());
  const scrub = choiceSlider("Wavefront", (value) => player.go(value));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const waves = html("div", { class: "lab-key lab-waves" });
  const about = html("p", { class: "lab-about" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"), html("p"));
  const facts = html("dl", { class: "lab-facts" });
  const head = html("span", {}, "The warp's 32 lanes");
  const root = html(
    "div",
    { class: "sgemm-lab lab-tool lab-painter lab-banks" },
    html("div", { class: "lab-bar" }, chooser.field),
    chooser.source,
    html("div", { class: "lab-controls" }, controls.elements),
    html("div", { class: "lab-bar lab-lane-bar" }, head, lanes.all),
    lanes.row,
    html("div", { class: "lab-steps" }, play, scrub.element),
    [picture, waves, about, verdict, facts],
  );
  el.append(root);
  const scene = new Scene(picture);
  let pointed: number | null = null;
  let now = paintedBanks(model); // what the last drawing showed

  function own(change: Partial<State>) {
    const request = chosenRequest(model);
    player.stop();
    model.set("wavefront", 0);
    ownPattern(model, request && ownStart(request), change);
    redraw();
  }

  function update() {
    const space = Math.max(270, roomIn(root)); // asked before anything changes: cheap
    now = paintedBanks(model);
    controls.show(now);
    showPlayer();
    drawBanks(scene, picture, now, space);
    showWaves(waves, now);
    const words = bankWords(now.addresses, now.bits / 8, now.isLoad);
    setAttributes(picture, { "aria-label": `Shared memory in 32 banks. ${words.join(" ")}` });
    say(verdict.children, words);
    const { entries, share } = factsOf(now);
    showFacts(facts, entries, share);
    point(pointed);
  }

  function showPlayer() {
    const { wavefronts, current } = now;
    const words = current ? `${current} of ${wavefronts.length}` : `all ${wavefronts.length}`;
    scrub.show(current, range(0, wavefronts.length), words);
    play.textContent = player.plays ? "Pause" : "Play";
    setAttributes(play, { "aria-label": `${play.textContent} the wavefronts` });
    play.disabled = wavefronts.length < 2;
    if (play.disabled && player.plays) player.stop();
  }

  function point(lane: number | null) {
    pointed = lane;
    light(root, lane);
    about.textContent = laneWords(now, lane);
  }

  pointAtTokens(picture, point);
  return keepDrawn(model, STATE, root, update, redraw, () => player.close());
}

/**
 * Everything that changes the request.
 * @param own changes the reader's own pattern
 */
function bankControls(
  model: Model<State>,
  redraw: () => void,
  own: (change: Partial<State>) => void,
  point: (lane: number | null) => void,
) {
  const fresh: Partial<State> = { off: [], padding: 0, swizzle: false, wavefront: 0 };
  const chooser = requestChooser(model, redraw, () => ownSource(model), fresh);
  const lanes = laneSwitches(model, redraw, point);
  const stride = choiceSlider("Stride", (value) => own({ stride: value }));
  const padding = choiceSlider("Padding", (value) => {
    put(model, "padding", value);
    redraw();
  });
  const swizzle = segments("Swizzle of columns", { off: "none", on: "col ^ row" }, (value) => {
    put(model, "swizzle", value === "on");
    redraw();
  });
  const width = widthChoice(own);
  const op = segments("The warp", { load: "loads", store: "stores" }, (value) =>
    own({ op: value }),
  );
  return {
    chooser,
    lanes,
    elements: [stride, padding, width, op, swizzle].map(({ element }) => element),
    show(now: Painted) {
      const { request, bits, isLoad } = now;
      const floats = bits / WORD_BITS;
      chooser.show();
      const even = request ? evenly(request) : { stride: model.get("stride") };
      const by = even?.stride ?? model.get("stride");
      const words = floats === 1 ? plural(by, "float") : `${by} × ${WIDTHS[bits]}`;
      stride.show(
        by,
        STRIDES.filter((one) => one <= 64),
        even ? words : "uneven",
      );
      width.show(bits);
      op.show(isLoad ? "load" : "store");
      padding.show(now.padding, range(0, 8 * floats, floats), plural(now.padding, "float"));
      swizzle.show(model.get("swizzle") ? "on" : "off");
      showLanes(lanes, now);
    },
  };
}

/** Each lane in the hue of its wavefront; while one wavefront is shown, the others are dim. */
function showLanes(lanes: LaneSwitches, { request, wavefronts, current, hue }: Painted) {
  /** lane → its wavefront */
  const waveOf: Map<number, number> = new Map();
  wavefronts.forEach(({ words }, wave) => {
    for (const lane of [...words.values()].flat()) waveOf.set(lane, wave);
  });
  const all = range(0, WARP - 1).map((lane) => waveOf.get(lane));
  const notes = all.map((wave) => (wave === undefined ? "" : `w${wave + 1}`));
  lanes.show(
    idleLanes(request),
    all.map((wave) => hue(wave ?? 0)),
    notes,
  );
  [...lanes.row.children].forEach((button, lane) => {
    button.classList.toggle("lab-dim", current > 0 && waveOf.get(lane) !== current - 1);
  });
}

/** What the reader's own pattern starts as where a kernel's request was shown. */
function ownStart(request: Request): Partial<State> {
  const even = evenly(request);
  return { bits: request.bits, op: request.op, ...(even && { stride: even.stride }) };
}

/** The reader's own pattern as a line of source. */
function ownSource(model: Model<State>) {
  const bits = model.get("bits");
  const [type, floats] = [WIDTHS[bits], bits / WORD_BITS];
  const padding = wholePadding(model.get("padding"), floats);
  const element = `tile[i / 32][${model.get("swizzle") ? "i % 32 ^ i / 32" : "i % 32"}]`;
  const place = type === "float" ? element : `*(${type}*)&${element}`;
  const does = model.get("op") === "load" ? `v = ${place};` : `${place} = v;`;
  const row = `float tile[][32${padding ? ` + ${padding}` : ""}]`;
  return `${does}  // ${row}, i = ${model.get("stride") * floats} * lane`;
}

/** Padding in whole elements of a lane. */
function wholePadding(padding: number, floats: number) {
  return padding - (padding % floats);
}

type Painted = ReturnType<typeof paintedBanks>;

/** What is shown now: the request or null, the lanes' addresses as laid out, the wavefronts. */
function paintedBanks(model: Model<State>) {
  const request = chosenRequest(model);
  const bits = request?.bits ?? model.get("bits");
  const bytes = bits / 8;
  const swizzle = model.get("swizzle");
  const padding = wholePadding(model.get("padding"), bits / WORD_BITS);
  const start = request?.start ?? 0;
  const columns = request ? (request.shape.at(-1) ?? 0) : TILE;
  const layout = { start, columns, padding, swizzle, bytes };
  const plain =
    request?.addresses ?? range(0, WARP - 1).map((lane) => lane * model.get("stride") * bytes);
  const moved = plain.map((address) => (address === null ? null : laidOut(address, layout)));
  const addresses = withoutOff(moved, model.get("off"));
  const isLoad = (request?.op ?? model.get("op")) === "load";
  const wavefronts = sharedWavefronts(addresses, bytes, isLoad);
  const current = Math.min(model.get("wavefront"), wavefronts.length);
  const hue = (wave: number) => (WARP * wave) / wavefronts.length;
  // Names of elements tell where they are without padding and swizzle.
  const named = model.get("padding") || swizzle ? null : request;
  return { request, named, bits, padding, addresses, isLoad, wavefronts, current, hue };
}

/** What is told about a lane, or about none. */
function laneWords({ named, bits, addresses, wavefronts }: Painted, lane: number | null) {
  if (lane === null) return "Point at a lane to find its word. Press it to switch it off.";
  const address = addresses[lane];
  if (address === null) return `Lane ${lane} takes no part in this request.`;
  const bank = (address / WORD_BYTES) % BANKS;
  const last = bank + bits / WORD_BITS - 1;
  const banks = last > bank ? `banks ${bank} to ${last}` : `bank ${bank}`;
  const what = `Lane ${lane} asks for ${asked(named, address, bits / 8)}, in ${banks}`;
  const turns = turnsOf(wavefronts).get(address / WORD_BYTES) ?? [];
  const mine = turns.find(({ lanes }) => lanes.includes(lane));
  const others = (mine?.lanes ?? []).filter((other) => other !== lane);
  const shared = others.length ? ` It shares the word with ${laneNames(others)}.` : "";
  const again = turns.filter((turn) => turn !== mine);
  const more = again.map(({ wave, lanes }) => ` ${laneNames(lanes, true)}: wavefront ${wave + 1}.`);
  const also = more.length ? " In other phases the same word is fetched anew:" : "";
  return `${what}: wavefront ${(mine?.wave ?? 0) + 1}.${shared}${also}${more.join("")}`;
}

/**
 * "lane 3", "lanes 0–15".
 * @param first whether the words begin a sentence
 */
function laneNames(lanes: number[], first: boolean = false) {
  return `${first ? "L" : "l"}ane${lanes.length === 1 ? "" : "s"} ${lanesText(lanes)}`;
}

/**
 * The signs of the wavefronts: a hue, a pattern and a number each. They depend on their count
 * alone.
 */
function showWaves(signs: HTMLElement, now: Painted) {
  const count = `${now.wavefronts.length}`;
  if (signs.dataset.count === count) return;
  signs.dataset.count = count;
  signs.replaceChildren(...waveEntries(now));
}

function waveEntries({ wavefronts, hue }: Painted) {
  const shown = wavefronts.slice(0, MARKS);
  const entries = shown.map((_, wave) => {
    const [wide, tall] = [22, 14];
    const frame = { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall };
    const look = { class: "lab-token", style: `--lane:${hue(wave)}`, "aria-hidden": true };
    const sample = svg(
      "svg",
      { ...look, ...frame },
      svg("rect", { width: wide, height: tall, rx: 3 }),
      svg("path", { class: "lab-mark", d: pattern(wave, 2, 4, wide - 4, 6) }),
    );
    return html("span", {}, sample, `w${wave + 1}`);
  });
  const rest = wavefronts.length - shown.length;
  const words = rest ? `and ${rest} more, in patterns that begin again` : "";
  const shared = html("span", {}, html("span", { class: "lab-swatch-box lab-many" }), SHARED);
  return present([
    html("span", {}, "Wavefronts:"),
    ...entries,
    words && html("span", {}, words),
    shared,
  ]);
}

/** The pattern of a wavefront as lines within a box: hue is not all that tells it. */
function pattern(wave: number, x: number, y: number, width: number, height: number) {
  const hatch = (step: number, from: number, to: number): string =>
    range(0, Math.floor((width - Math.max(from, to)) / step))
      .map((i) => `M${x + from + i * step} ${y + height}L${x + to + i * step} ${y}`)
      .join("");
  const middle = y + height / 2;
  const [low, high] = [y + 1, y + height - 1];
  return [
    "",
    `M${x} ${middle}h${width}`,
    hatch(4, 1, 1),
    hatch(5, 0, 3),
    hatch(5, 3, 0),
    `M${x} ${low}h${width}M${x} ${high}h${width}`,
    hatch(6, 0, 3) + hatch(6, 3, 0),
    `M${x} ${low}h${width}M${x} ${middle}h${width}M${x} ${high}h${width}${hatch(4, 1, 1)}`,
  ][wave % MARKS];
}

function factsOf({ bits, wavefronts }: Painted): {
  entries: [string, string | number][];
  share: number;
} {
  const phases = new Set(wavefronts.map(({ phase }) => phase)).size;
  const asked = wavefronts.reduce((sum, { words }) => sum + words.size, 0);
  const brought = (bits / WORD_BITS) * asked;
  const possible = BANKS * wavefronts.length;
  return {
    entries: [
      ["Requests", Math.min(1, phases)],
      ["Wavefronts", wavefronts.length],
      ["Without conflicts", phases],
      ["Words brought of words possible", `${comma(brought)} of ${comma(possible)}`],
    ],
    share: possible && brought / possible,
  };
}

type Layout = ReturnType<typeof layOut>;

/** Banks as columns, rows of memory as rows; a narrow picture puts banks 16 to 31 below. */
function layOut(addresses: Lanes, width: number) {
  const folds = width < 560 ? 2 : 1;
  const perFold = BANKS / folds;
  const left = folds === 1 ? 74 : 40;
  const [head, body] = [22, folds === 1 ? 352 : 230];
  const cell = (width - left - 2) / perFold;
  const rows = rowsOf(addresses, folds === 1 ? FEWEST_ROWS : FEWEST_FOLDED_ROWS);
  const breaks = rows.map((row, i) => i > 0 && row > rows[i - 1] + 1);
  const tall = (body - GAP * breaks.filter(Boolean).length) / rows.length;
  const tops: number[] = [];
  for (const broken of breaks) {
    const above = tops.at(-1);
    tops.push(above === undefined ? 0 : above + tall + (broken ? GAP : 0));
  }
  const place = (bank: number, i: number): [x: number, y: number] => [
    left + 1 + (bank % perFold) * cell,
    Math.floor(bank / perFold) * (head + body + 14) + head + tops[i],
  ];
  const height = folds * (head + body) + (folds - 1) * 14;
  return { folds, perFold, body, height, cell, rows, breaks, tall, tops, place };
}

/** The rows of memory that are touched, and as many behind them as fill the picture. */
function rowsOf(addresses: Lanes, fewest: number) {
  const touched = addresses.flatMap((address) =>
    address === null ? [] : [Math.floor(address / WAVEFRONT_BYTES)],
  );
  const rows = [...new Set(touched)].sort((a, b) => a - b);
  while (rows.length < fewest) rows.push((rows.at(-1) ?? -1) + 1);
  return rows;
}

function drawBanks(scene: Scene, picture: SVGSVGElement, now: Painted, width: number) {
  const layout = layOut(now.addresses, width);
  const { folds, height } = layout;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  for (let fold = 0; fold < folds; fold++) drawFold(scene, layout, fold);
  drawHeads(scene, layout, now);
  drawTokens(scene, layout, now);
  scene.finish();
}

/** The grid of one fold, the addresses of its rows, and breaks where rows are left out. */
function drawFold(
  scene: Scene,
  { folds, perFold, body, cell, rows, breaks, tall, tops, place }: Layout,
  fold: number,
) {
  const [x, y] = place(fold * perFold, 0);
  const wide = perFold * cell;
  const grid = range(0, perFold).map((i) => `M${x + i * cell} ${y}v${body}`);
  scene.draw(`grid${fold}`, "path", { class: "lab-grid", d: grid.join("") });
  const tick = { class: "lab-tick", x: x - 10, "text-anchor": "end" };
  scene.draw(`bank${fold}`, "text", { ...tick, y: y - 8 }, "bank");
  const lines = tops.map((top) => `M${x} ${y + top}h${wide}M${x} ${y + top + tall}h${wide}`);
  scene.draw(`rows${fold}`, "path", { class: "lab-grid", d: lines.join("") });
  rows.forEach((row, i) => {
    if (i % Math.ceil(15 / tall) === 0) {
      const byte = row * WAVEFRONT_BYTES;
      const text = folds === 1 ? `byte ${comma(byte)}` : `${byte}`;
      scene.draw(`row${fold}-${i}`, "text", { ...tick, y: y + tops[i] + tall / 2 + 4 }, text);
    }
    if (!breaks[i]) return;
    const d = zigzag(x, y + tops[i] - GAP / 2, wide);
    scene.draw(`break${fold}-${i}`, "path", { class: "lab-break", d });
  });
}

/** The numbers of the banks; those that the wavefront shown uses stand out. */
function drawHeads(scene: Scene, { cell, place }: Layout, { bits, wavefronts, current }: Painted) {
  const floats = bits / WORD_BITS;
  const shown = current ? [wavefronts[current - 1]] : wavefronts;
  const busy = new Set(
    shown.flatMap(({ words }) =>
      [...words.keys()].flatMap((word) => range(0, floats - 1).map((i) => (word + i) % BANKS)),
    ),
  );
  for (let bank = 0; bank < BANKS; bank++) {
    const [x, y] = place(bank, 0);
    const look = `lab-bank${busy.has(bank) ? " lab-busy" : ""}`;
    const at = { x: x + cell / 2, y: y - 8, "text-anchor": "middle" };
    scene.draw(`head${bank}`, "text", { class: look, ...at }, `${bank}`);
  }
}

/**
 * One token per word and wavefront that fetches it: where phases do not merge, a word that both ask
 * for comes twice, and its place is parted.
 */
function drawTokens(scene: Scene, { cell, rows, tall, place }: Layout, now: Painted) {
  const wide = (cell * now.bits) / WORD_BITS;
  for (const [word, turns] of turnsOf(now.wavefronts)) {
    const [x, y] = place(word % BANKS, rows.indexOf(Math.floor(word / BANKS)));
    const across = Math.min(turns.length, Math.max(1, Math.floor(wide / NARROWEST)));
    const [width, height] = [wide / across, tall / Math.ceil(turns.length / across)];
    turns.forEach((turn, i) => {
      const [left, top] = [x + (i % across) * width, y + Math.floor(i / across) * height];
      drawToken(scene, now, turn, word, { x: left, y: top, width, height });
    });
  }
}

function drawToken(
  scene: Scene,
  { current, hue }: Painted,
  { wave, lanes }: Turn,
  word: number,
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
) {
  const several = lanes.length > 1 ? " lab-several" : "";
  const node = scene.draw(`lane${lanes[0]}`, "g", {
    class: `lab-token${several}${current && wave !== current - 1 ? " lab-dim" : ""}`,
    "data-lane": lanes[0],
    "data-lanes": lanes.join(" "),
    "data-address": word * WORD_BYTES,
    "data-wavefront": wave + 1,
    style: `--lane:${hue(wave)};transform:translate(${x}px,${y}px)`,
  });
  if (!node.firstChild) {
    node.append(
      svg("rect", { rx: 3, y: 1, x: 1 }),
      svg("text", { "text-anchor": "middle" }),
      svg("path", { class: "lab-mark" }),
    );
  }
  const [box, name, mark] = node.children;
  const inner = Math.max(2, height - 2);
  const band = inner < 9 ? 0 : Math.min(6, inner * 0.3);
  setAttributes(box, { width: width - 2, height: inner });
  const d = band ? pattern(wave, 2, height - 1 - band, width - 4, band) : "";
  setAttributes(mark, { d });
  const text = tokenText(lanes, width, LARGEST);
  const free = band && d ? height - band : height;
  const size = Math.min(LARGEST, free - 2, (width - 3) / (0.75 * text.length));
  const style = `font-size:${size}px`;
  setAttributes(name, { x: width / 2, y: free / 2 + size * 0.36, style });
  write(name, size < SMALLEST ? "" : text);
}

interface Turn {
  wave: number;
  lanes: number[];
}

/** For each word the wavefronts that bring it, with the lanes that get it. */
function turnsOf(wavefronts: Wavefront[]) {
  const turns: Map<number, Turn[]> = new Map();
  wavefronts.forEach(({ words }, wave) => {
    for (const [word, lanes] of words) {
      turns.set(word, [...(turns.get(word) ?? []), { wave, lanes }]);
    }
  });
  return turns;
}
