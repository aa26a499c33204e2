// The picture of a roofline: roofs, points and what ties them together.

import { type Content, nameOf, type Point } from "./roofline_model.ts";
import { drawRoofs, labelRoofs, ROOF_AXES } from "./roofline_roofs.ts";
import { type Axes, drawAxes } from "./shared/axes.ts";
import { setAttributes, svg } from "./shared/dom.ts";
import { Labels, spotsAround, spotsNextTo, textWidth } from "./shared/labels.ts";
import { HUES, LEVEL_NAMES, mark } from "./shared/levels.ts";
import { within } from "./shared/scale.ts";
import type { Scene } from "./shared/scene.ts";

export const LAYERS = ["roofs", "links", "points", "labels"] as const;

type Layers = Record<(typeof LAYERS)[number], Scene>;

/** What a drawing leaves for the pointer to use. */
export interface Drawn {
  axes: Axes;
  box: Box;
  layers: Layers;
  labels: Labels;
  content: Content;
}

const SIZE = 12.5; // px, of a name
const BOLD = 1.07; // times as wide as plain letters

export function drawRoofline(
  picture: SVGSVGElement,
  layers: Layers,
  content: Content,
  room: number,
): Drawn {
  const { gpu, level, visible, limits } = content;
  const width = Math.max(280, room);
  const height = Math.round(within(width * 0.64, 380, 500));
  const label = `Roofline of ${gpu.name}, ${visible.length} points`;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height, "aria-label": label });
  const box = { left: 60, top: 26, right: width - 14, bottom: height - 50 };
  const axes = drawAxes(layers.roofs, box, limits, ROOF_AXES);
  const labels = new Labels(box.left + 2, box.top - 4, box.right, box.bottom - 2);
  const drawn = { axes, box, layers, labels, content };
  const roofs = drawRoofs(layers.roofs, axes, gpu, level.id, labels);
  layers.roofs.finish();
  leadAlong(drawn);
  leadToMeasured(drawn);
  drawPoints(drawn);
  const main = roofs.filter((roof) => roof.main);
  labelRoofs(layers.labels, axes, main, labels);
  labelKernels(drawn);
  layers.links.finish();
  const others = roofs.filter((roof) => !roof.main);
  labelRoofs(layers.labels, axes, others, labels);
  layers.labels.finish();
  return drawn;
}

/** Where a point stands, in px. */
export function placeOf(axes: Axes, { intensity, gflops }: Point): [x: number, y: number] {
  return [axes.x(intensity), axes.y(gflops)];
}

/** Lead along a path from kernel to kernel. */
function leadAlong({ axes, layers, labels, content: { steps } }: Drawn) {
  steps.forEach((to, i) => {
    if (!i) return;
    const [from, there] = [placeOf(axes, steps[i - 1]), placeOf(axes, to)];
    const d = arrow(from, there, 7);
    if (!d) return;
    layers.links.draw(`step-${to.kernel}`, "path", { class: `lab-step lab-${HUES[to.level]}`, d });
    labels.blockLine(...from, ...there, true);
  });
}

/** Lead from what was predicted to what was measured. */
function leadToMeasured({ axes, layers, labels, content: { visible } }: Drawn) {
  for (const from of visible.filter(({ kind }) => kind === "predicted")) {
    const to = visible.find(({ kind, kernel }) => kind === "measured" && kernel === from.kernel);
    const d = to && arrow(placeOf(axes, from), placeOf(axes, to));
    if (!d) continue;
    const look = { class: "lab-arrow", "data-kernel": from.kernel, d };
    layers.links.draw(`${from.kernel}-arrow`, "path", look);
    labels.blockLine(...placeOf(axes, from), ...placeOf(axes, to), true);
  }
}

function drawPoints({ axes, layers, labels, content: { visible } }: Drawn) {
  for (const point of visible) {
    const [x, y] = placeOf(axes, point);
    const node = layers.points.draw(nameOf(point), "g", {
      class: `lab-point lab-${point.kind} lab-${HUES[point.level]}`,
      role: "img",
      "data-name": nameOf(point),
      "data-kernel": point.kernel,
      "aria-label": `${point.kernel}, ${LEVEL_NAMES[point.level]}, ${point.kind}`,
      style: `transform:translate(${x.toFixed(1)}px,${y.toFixed(1)}px)`,
    });
    if (!node.firstChild) node.append(svg("circle", { class: "lab-ring", r: 13 }), svg("path"));
    setAttributes(node.children[1], { d: mark(point.mark, 6) });
    labels.block(x, y, 9);
  }
  layers.points.finish();
}

/** Name the points, of each kernel the measured one first. */
function labelKernels(drawn: Drawn) {
  const { visible } = drawn.content;
  for (const kernel of new Set(visible.map((point) => point.kernel))) {
    const mine = visible.filter((point) => point.kernel === kernel);
    for (const point of mine.sort((a, b) => (a.kind < b.kind ? -1 : 1))) {
      const both = mine.length > 1 && point.kind === "predicted";
      name(drawn, point, both ? `${kernel}, predicted` : kernel);
    }
  }
}

/** Write a name beside a point; where there is no room, further off with a line to it. */
function name({ axes, box, layers, labels }: Drawn, point: Point, words: string) {
  const [x, y] = placeOf(axes, point);
  const far = spotsAround(x, y);
  const key = nameOf(point);
  const spot = labels.place(words, SIZE * BOLD, [...spotsNextTo(x, y), ...far]);
  if (!spot) return;
  const { kernel } = point;
  if (far.includes(spot)) {
    const width = textWidth(words, SIZE * BOLD);
    const end = {
      start: spot.x - 3,
      middle: within(x, spot.x - width / 2, spot.x + width / 2),
      end: spot.x + 3,
    };
    const to = end[spot.anchor ?? "start"];
    const rise = spot.y - 4 + (spot.anchor === "middle" ? (spot.y > y ? -9 : 7) : 0);
    const d = `M${x} ${y}L${within(to, box.left, box.right)} ${rise}`;
    layers.links.draw(`leader-${key}`, "path", { class: "lab-leader", "data-kernel": kernel, d });
  }
  const look = { class: "lab-label lab-name", "data-kernel": kernel, "font-size": SIZE };
  const at = { "text-anchor": spot.anchor, transform: `translate(${spot.x} ${spot.y})` };
  layers.labels.draw(key, "text", { ...look, ...at }, words);
}

/** A thin arrow that ends `clear` of both marks; null where they are too close for one. */
function arrow(
  [x1, y1]: [x: number, y: number],
  [x2, y2]: [x: number, y: number],
  clear: number = 11,
) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 2 * clear + 8) return null;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [tx, ty] = [x2 - clear * ux, y2 - clear * uy];
  const barb = (side: number) =>
    `${tx - 7 * ux + side * 3.5 * uy} ${ty - 7 * uy - side * 3.5 * ux}`;
  return `M${x1 + clear * ux} ${y1 + clear * uy}L${tx} ${ty}M${barb(1)}L${tx} ${ty}L${barb(-1)}`;
}

/** Let shapes glide to their new places once; CSS does it only where motion is welcome. */
export function glide(picture: SVGSVGElement) {
  picture.classList.add("lab-glide");
  setTimeout(() => picture.classList.remove("lab-glide"), 500);
}
