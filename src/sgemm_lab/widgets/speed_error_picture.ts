// The picture of speed over error: axes, a line at the error of cuBLAS in FP32, marks and names.

import { LOST } from "../formulas/error_points.py";
import { errorOf, speedOf, type Way } from "../formulas/error_points.ts";
import { powerOfTen } from "../text.ts";
import { type Axes, drawAxes } from "./shared/axes.ts";
import { setAttributes, svg } from "./shared/dom.ts";
import { Labels, spotsNextTo, textWidth } from "./shared/labels.ts";
import { mark } from "./shared/levels.ts";
import { within } from "./shared/scale.ts";
import type { Scene } from "./shared/scene.ts";

export type DrawnWay = Way & { label: string; kind: string; chain: string };

export interface Point {
  way: DrawnWay;
  title: string;
  x: number;
  y: number;
  lost: boolean;
}

/** What to draw: indices of ways, those that could stand here, which size, inputs and K. */
interface Content {
  shown: number[];
  wanted: DrawnWay[];
  place: [size: number, inputs: number, k: number];
  width: number;
}

interface Frame {
  axes: Axes;
  box: Box;
  lane: number;
  labels: Labels;
}

export const LAYERS = ["axes", "line", "joins", "points", "names"] as const;

const SIZE = 12.5; // px, of a name
const BOLD = 1.07; // times as wide as plain letters
const LANE = 68; // px, for those that lose values

/** How an arithmetic and a kind of way look: a class of hue, and an outline. */
export const LOOKS = {
  hues: {
    fp32: "dram",
    "3xtf32": "three",
    "3xfp16": "register",
    tf32: "l2",
    fp16: "shared",
  } as Record<string, string>,
  marks: { kernel: "dram", library: "l2", strassen: "shared" } as Record<string, string>,
};

/** Draw it, and return where each way stands. */
export function drawErrors(
  picture: SVGSVGElement,
  layers: Record<(typeof LAYERS)[number], Scene>,
  ways: DrawnWay[],
  content: Content,
): Point[] {
  const { shown, wanted, place, width } = content;
  const height = Math.round(within(width * 0.62, 360, 460));
  const label = `Speed over error, ${shown.length} marks`;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
  const lane = wanted.some(loses) ? LANE : 0;
  const box = { left: 44, top: 26, right: width - 12 - lane, bottom: height - 50 };
  const limits = limitsOf(wanted);
  const decades = Math.log10(limits.x[1] / limits.x[0]);
  const every = (box.right - box.left) / decades < 36 ? 2 : 1; // how many decades have a number
  const tick = (value: number) => {
    const power = Math.round(Math.log10(value));
    return power % every ? "" : powerOfTen(power);
  };
  const names = { x: "error: ‖C − A·B‖ over ‖A·B‖", y: "TFLOP/s", tick };
  const axes = drawAxes(layers.axes, box, limits, names);
  const labels = new Labels(box.left + 2, box.top - 8, width - 2, box.bottom - 2);
  const frame = { axes, box, lane, labels };
  drawLane(layers.axes, frame);
  layers.axes.finish();
  const points = shown.map((i) => pointOf(ways[i], place, frame));
  drawLine(layers.line, points, frame);
  joinChains(layers.joins, points, labels);
  drawMarks(layers.points, points, labels);
  writeNames(layers.names, points, labels, { size: place[0], right: box.right });
  return points;
}

function loses(way: Way) {
  return [...way.timed, ...way.errors.flat()].includes(LOST);
}

/** Limits that hold every speed and error of some ways: nothing moves but what differs. */
function limitsOf(ways: Way[]) {
  const errors = ways
    .flatMap((way) => [...way.timed, ...way.errors.flat()])
    .filter((error) => error !== null && error !== LOST)
    .map(Number);
  const speeds = ways.flatMap((way) => way.tflops.filter((one) => one !== null)).map(Number);
  const span = (some: number[], below: number, above: number): [number, number] => [
    Math.min(...some) / below,
    Math.max(...some) * above,
  ];
  return { x: span([...errors, 1e-6], 2, 2), y: span([...speeds, 50], 1.6, 1.6) };
}

/** A lane beside the axes for those without an error, because C holds NaN or infinity. */
function drawLane(scene: Scene, { box, lane, labels }: Frame) {
  if (!lane) return;
  const [left, middle] = [box.right + 6, box.right + 6 + lane / 2];
  const frame = { x: left, y: box.top, width: lane, height: box.bottom - box.top, rx: 6 };
  scene.draw("lane", "rect", { class: "lab-lane", ...frame });
  const at = { x: middle, y: box.top - 10, class: "lab-unit", "text-anchor": "middle" };
  scene.draw("lane-name", "text", at, "lost values");
  labels.blockLine(left, box.top - 14, box.right + lane, box.top - 14);
}

/** Where a way stands: at its error, or in the lane. */
function pointOf(
  way: DrawnWay,
  place: [size: number, inputs: number, k: number],
  { axes, box, lane }: Frame,
): Point {
  const error = errorOf(way, ...place);
  const lost = error === LOST;
  const x = lost ? box.right + 6 + lane / 2 : axes.x(Number(error));
  return { way, title: way.title, x, y: axes.y(speedOf(way, place[0])), lost };
}

/** The line that says what no worse than cuBLAS is: all on its left. */
function drawLine(scene: Scene, points: Point[], { box, labels }: Frame) {
  const library = points.find(({ way, lost }) => way.library && !lost);
  if (library) {
    const { top, bottom } = box;
    const node = scene.draw("line", "g", {
      class: "lab-library-line",
      style: `transform:translate(${library.x.toFixed(1)}px,0px)`,
    });
    if (!node.firstChild) node.append(svg("path"), svg("text"), svg("text"));
    const [path, name, side] = node.children;
    setAttributes(path, { d: `M0 ${top}V${bottom}` });
    name.textContent = "cuBLAS FP32's error";
    const wide = textWidth(name.textContent, 12) * BOLD;
    const room = library.x + wide + 8 < box.right;
    setAttributes(name, { x: 0, y: top - 10, "text-anchor": room ? "start" : "end" });
    side.textContent = library.x - box.left > 90 ? "← no worse" : "";
    setAttributes(side, { x: -7, y: top + 14, "text-anchor": "end" });
    labels.blockLine(library.x, top, library.x, bottom, true);
    labels.blockLine(library.x - 82, top + 10, library.x - 7, top + 10);
  }
  scene.finish();
}

/** Lead along the levels of each of Strassen's products. */
function joinChains(scene: Scene, points: Point[], labels: Labels) {
  for (const chain of new Set(points.map(({ way }) => way.chain).filter(Boolean))) {
    const mine = points.filter(({ way, lost }) => way.chain === chain && !lost);
    if (mine.length < 2) continue;
    const d = `M${mine.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
    scene.draw(chain, "path", { class: `lab-join ${hueOf(mine[0])}`, d });
    mine.slice(1).forEach(({ x, y }, i) => {
      labels.blockLine(mine[i].x, mine[i].y, x, y, true);
    });
  }
  scene.finish();
}

function drawMarks(scene: Scene, points: Point[], labels: Labels) {
  for (const point of points) {
    const { way, title, x, y, lost } = point;
    const node = scene.draw(title, "g", {
      class: `lab-way lab-${way.kind} ${hueOf(point)}${lost ? " lab-lost" : ""}`,
      role: "img",
      "data-name": title,
      "aria-label": lost ? `${title}, lost values` : title,
      style: `transform:translate(${x.toFixed(1)}px,${y.toFixed(1)}px)`,
    });
    if (!node.firstChild) node.append(svg("circle", { class: "lab-ring", r: 11 }), svg("path"));
    setAttributes(node.children[1], { d: mark(LOOKS.marks[way.kind], 5) });
    labels.block(x, y, 5);
  }
  scene.finish();
}

/** Name the marks where there is room: cuBLAS first, then what is shown first, then the fastest. */
function writeNames(
  scene: Scene,
  points: Point[],
  labels: Labels,
  { size, right }: { size: number; right: number },
) {
  const rank = ({ way }: Point) => Number(way.library) + Number(way.first[size]);
  const order = [...points].sort((a, b) => rank(b) - rank(a) || a.y - b.y);
  for (const point of order) {
    const { way, title, x, y, lost } = point;
    const width = textWidth(way.label, SIZE * BOLD);
    const past = { start: width, middle: width / 2, end: 0 };
    const all = spotsNextTo(x, y);
    const near = rank(point) ? all : all.slice(0, 2); // a crowd is named beside its marks alone
    /** a level is one digit */
    const spots: Spot[] = way.chain ? [{ x, y: y - 11, anchor: "middle" }, ...near] : near;
    const clear = spots.filter((one) => lost || one.x + past[one.anchor ?? "start"] < right);
    const spot = labels.place(way.label, SIZE * BOLD, clear);
    if (!spot) continue;
    const look = { class: `lab-label lab-name ${hueOf(point)}`, "font-size": SIZE };
    const style = `transform:translate(${spot.x.toFixed(1)}px,${spot.y.toFixed(1)}px)`;
    scene.draw(title, "text", { ...look, "text-anchor": spot.anchor, style }, way.label);
  }
  scene.finish();
}

function hueOf({ way }: Point) {
  return `lab-${LOOKS.hues[way.arithmetic]}`;
}
