// One warp's request to global memory, painted over the 32-byte sectors it touches; its wavefronts.

import "./coalescing.css";
import { globalRequest, sharedWavefronts } from "../formulas/memory.ts";
import { sectorWords } from "../formulas/requests.ts";
import { SECTOR_BYTES, WARP, WORD_BYTES } from "../hardware.py";
import { comma, plural } from "../text.ts";
import { choiceSlider, controls, key, showFacts } from "./shared/controls.ts";
import { boxWithText, html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, tool } from "./shared/model.ts";
import type { PainterState } from "./shared/painter.ts";
import {
  chosenRequest,
  evenly,
  ownPattern,
  requestChooser,
  STRIDES,
  tokenText,
  WIDTHS,
  widthChoice,
  zigzag,
} from "./shared/painter.ts";
import { range } from "./shared/scale.ts";
import { fit, Scene } from "./shared/scene.ts";

type State = PainterState & { offset: number };

const STATE = ["requests", "chosen", "stride", "offset", "bits"] as const;
const LINE_BYTES = 128;
const SECTORS = LINE_BYTES / SECTOR_BYTES; // of a line
const WORDS = SECTOR_BYTES / WORD_BYTES; // of a sector
// Lines of 128 bytes in a picture, and in a narrow one, which folds each; more are given in words.
const [ROWS, FOLDED_ROWS] = [8, 5];
const TALL = 24; // px, of a sector
const LETTERS = 11; // px, of what stands on a word
const KEY: [string, string][] = [
  ["lab-asked", "asked for, by the lane of that number"],
  ["lab-many", "by several lanes: their numbers, or ×2"],
  ["lab-moved", "moved, but not asked for"],
  ["lab-still-there", "not moved"],
];

export function render({ model, el }: View<State>) {
  const chooser = requestChooser(model, () => ownSource(model));
  const stride = choiceSlider("Stride", (value) => own({ stride: value }));
  const offset = choiceSlider("Offset", (value) => own({ offset: value }));
  const width = widthChoice(own);
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"), html("p"));
  const facts = html("dl", { class: "lab-facts" });
  const root = tool(
    el,
    "lab-painter lab-coalescing",
    html("div", { class: "lab-bar" }, chooser.field),
    chooser.source,
    controls([stride, offset, width]),
    [picture, key(KEY), verdict, facts],
  );
  const scene = new Scene(picture);

  function own(change: Partial<State>) {
    const request = chosenRequest(model);
    ownPattern(model, request && { bits: request.bits, ...evenly(request) }, change);
  }

  function update() {
    const space = availableWidth(root); // asked before anything changes: cheap
    const now = painted(model);
    chooser.show();
    showControls(now);
    const report = globalRequest(now.addresses, now.bits / 8);
    const fewest = Math.ceil(report.used / SECTOR_BYTES);
    drawMemory(scene, picture, now, report.sectors, space);
    const words = sectorWords(now.addresses, now.bits / 8);
    const label = `Memory in lines of 128 bytes, sectors of 32. ${words.join(" ")}`;
    setAttributes(picture, { "aria-label": label });
    say(verdict.children, words);
    const { size } = report.sectors;
    const waves = sharedWavefronts(now.addresses, now.bits / 8, true); // the banks of L1 are the same
    const found: [string, string | number][] = [
      ["Wavefronts", waves.length],
      // Of a broadcast one is needed, though 4 of its 32 bytes are used.
      ["Sectors needed / moved", `${fewest} / ${size}`],
    ];
    showFacts(facts, found, size && fewest / size);
  }

  function showControls({ request, bits }: Painted) {
    const [by, from] = [model.get("stride"), model.get("offset")];
    const even = request ? evenly(request) : { stride: by, offset: from };
    const unit = (count: number) =>
      bits === 32 ? plural(count, "float") : `${count} × ${WIDTHS[bits]}`;
    root.classList.toggle("lab-uneven", !even);
    stride.show(even?.stride ?? by, STRIDES, even ? unit(even.stride) : "uneven");
    offset.show(even?.offset ?? from, range(0, 32), even ? unit(even.offset) : "uneven");
    width.show(bits);
  }

  return keepDrawn(model, STATE, root, update);
}

/** The reader's own pattern as a line of source. */
function ownSource(model: Model<State>) {
  const [by, from] = [model.get("stride"), model.get("offset")];
  const index = `${by === 1 ? "" : `${by} * `}lane${from ? ` + ${from}` : ""}`;
  const type = WIDTHS[model.get("bits")];
  const array = type === "float" ? "x" : `reinterpret_cast<const ${type}*>(x)`;
  return `const ${type} v = ${array}[${by ? index : from}];`;
}

type Painted = ReturnType<typeof painted>;

/** What is shown now: the request or null, the bits of a lane, the lanes' addresses. */
function painted(model: Model<State>) {
  const request = chosenRequest(model);
  const bits = request?.bits ?? model.get("bits");
  const [offset, stride] = [model.get("offset"), model.get("stride")];
  const own = range(0, WARP - 1).map((lane) => (offset + lane * stride) * (bits / 8));
  return { request, bits, addresses: request?.addresses ?? own };
}

/**
 * The lines to draw: those touched, in order, then the ones that follow in memory, so that the
 * picture never changes its height. `left` are touched lines for which there is no room.
 */
function linesToDraw(sectors: Set<number>, rows: number) {
  const lines = new Set([...sectors].map((sector) => Math.floor(sector / SECTORS)));
  const touched = [...lines].sort((a, b) => a - b);
  const drawn = touched.length > rows ? touched.slice(0, rows - 1) : [...touched];
  const left = touched.slice(drawn.length);
  while (!left.length && drawn.length < rows) drawn.push((drawn.at(-1) ?? -1) + 1);
  return { drawn, left };
}

type Layout = ReturnType<typeof layOut>;

/** Where memory stands: lines of four sectors. A narrow picture folds each line once. */
function layOut(sectors: Set<number>, width: number) {
  const folds = width < 560 ? 2 : 1;
  const perRow = LINE_BYTES / WORD_BYTES / folds;
  const rows = folds === 1 ? ROWS : FOLDED_ROWS;
  const [labelWidth, labelHeight] = folds === 1 ? [78, 0] : [0, 17];
  const [gap, between, top] = [6, folds === 1 ? 10 : 8, 8];
  const cell = (width - labelWidth - gap * (perRow / WORDS - 1) - 2) / perRow;
  const lineHeight = labelHeight + folds * (TALL + 3) - 3;
  const { drawn, left } = linesToDraw(sectors, rows);
  const rowOf = new Map(drawn.map((line, row) => [line, row]));
  const yOf = (row: number) => top + row * (lineHeight + between);
  const place = (line: number, word: number): [x: number, y: number] => {
    const column = word % perRow;
    const y = yOf(rowOf.get(line) ?? 0) + labelHeight;
    return [
      labelWidth + 1 + column * cell + gap * Math.floor(column / WORDS),
      y + Math.floor(word / perRow) * (TALL + 3),
    ];
  };
  const height = top + rows * (lineHeight + between);
  return {
    ...{ width, height, folds, rows, labelWidth, labelHeight, between, cell },
    ...{ drawn, left, rowOf, yOf, place },
  };
}

function drawMemory(
  scene: Scene,
  picture: SVGSVGElement,
  { addresses, bits }: Painted,
  sectors: Set<number>,
  width: number,
) {
  const layout = layOut(sectors, width);
  fit(picture, width, layout.height);
  layout.drawn.forEach((line, row) => {
    drawLine(scene, layout, line, row, sectors);
  });
  drawTokens(scene, layout, addresses, bits / 8);
  if (layout.left.length) sayMore(scene, layout, sectors);
  scene.finish();
}

/**
 * One line of memory: its address, its sectors, and a break where it does not follow the last one.
 */
function drawLine(scene: Scene, layout: Layout, line: number, row: number, sectors: Set<number>) {
  const { folds, labelWidth, between, cell, drawn, width, yOf, place } = layout;
  const y = yOf(row);
  const sideBySide = { x: labelWidth - 12, y: y + 16, "text-anchor": "end" };
  const above = { x: 0, y: y + 12, "text-anchor": "start" };
  const at = folds === 1 ? sideBySide : above;
  const words = `byte ${comma(line * LINE_BYTES)}`;
  scene.draw(`name${row}`, "text", { class: "lab-tick", ...at }, words);
  if (row && line > drawn[row - 1] + 1) {
    const d = zigzag(labelWidth + 1, y - between / 2, width - labelWidth - 2);
    scene.draw(`break${row}`, "path", { class: "lab-break", d });
  }
  for (let i = 0; i < SECTORS; i++) {
    const [x, top] = place(line, WORDS * i);
    const look = sectors.has(SECTORS * line + i) ? "lab-moved" : "lab-still-there";
    const box = { x, y: top, width: WORDS * cell, height: TALL, rx: 4 };
    scene.draw(`sector${row}-${i}`, "rect", { class: `lab-sector ${look}`, ...box });
    const ticks = range(1, WORDS - 1).map((word) => `M${x + word * cell} ${top + 5}v${TALL - 10}`);
    scene.draw(`words${row}-${i}`, "path", { class: "lab-words", d: ticks.join("") });
  }
}

/** A token for each address that is asked for, with its lane or how many lanes. */
function drawTokens(scene: Scene, { cell, rowOf, place }: Layout, addresses: Lanes, bytes: number) {
  const askers: Map<number, number[]> = new Map();
  addresses.forEach((address, lane) => {
    if (address !== null) askers.set(address, [...(askers.get(address) ?? []), lane]);
  });
  for (const [address, who] of askers) {
    const line = Math.floor(address / LINE_BYTES);
    if (!rowOf.has(line)) continue;
    const [x, y] = place(line, (address % LINE_BYTES) / WORD_BYTES);
    const node = scene.draw(`lane${who[0]}`, "g", {
      class: `lab-token${who.length > 1 ? " lab-many" : ""}`,
      style: `--lane:${who[0]};transform:translate(${x}px,${y}px)`,
    });
    const [box, name] = boxWithText(node, { rx: 3, y: 1.5, x: 1 });
    const wide = (cell * bytes) / WORD_BYTES;
    setAttributes(box, { width: wide - 2, height: TALL - 3 });
    setAttributes(name, { x: wide / 2, y: TALL / 2 + 4 });
    name.textContent = tokenText(who, wide, LETTERS);
  }
}

/** Say how many touched lines there was no room for. */
function sayMore(
  scene: Scene,
  { left, rows, labelWidth, labelHeight, yOf }: Layout,
  sectors: Set<number>,
) {
  const shares = left.map(
    (line) => range(0, SECTORS - 1).filter((i) => sectors.has(SECTORS * line + i)).length,
  );
  const same = new Set(shares).size === 1;
  const total = shares.reduce((sum, share) => sum + share);
  const touched = same ? `${plural(shares[0], "sector")} of each` : `${total} sectors in all`;
  const at = { x: labelWidth + 1, y: yOf(rows - 1) + labelHeight + 17 };
  const words = `… and ${plural(left.length, "more line")}, ${touched}`;
  scene.draw("more", "text", { class: "lab-more", ...at }, words);
}
