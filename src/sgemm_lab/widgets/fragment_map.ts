// Which lane of a warp holds which element where tensor cores multiply: A left, B above, C between.

import "./fragment_map.css";
import { sentence } from "../formulas/sentences.ts";
import { WARP } from "../hardware.py";
import { choiceSlider, controls } from "./shared/controls.ts";
import { boxWithText, html, say, setAttributes, svg, write } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { lanesText } from "./shared/painter.ts";
import { range } from "./shared/scale.ts";
import { fit, Scene } from "./shared/scene.ts";

/** Who holds an element. */
type Holder = [lane: number, register: number];

type Matrix = "A" | "B" | "C";

type Fragments = { label: string; note: string } & Record<Matrix, Holder[][]>;

interface State {
  fragments: Fragments;
  lane: number;
}

/** Where a matrix stands. */
interface Frame {
  left: number;
  top: number;
}

const MATRICES = ["A", "B", "C"] as const;
const HUES = { A: "dram", B: "shared", C: "register" };
const [WIDEST, TALL] = [30, 20]; // px of an element
const [BETWEEN, ABOVE] = [24, 22]; // px between A and C, and between B and C

export function render({ model, el }: View<State>) {
  const lanes = choiceSlider("Lane", (lane) => put(model, "lane", lane));
  const about = html("p", { class: "lab-about" });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const root = tool(el, "lab-fragment-map", [controls([lanes]), about, picture, verdict]);
  const scene = new Scene(picture);

  picture.addEventListener("click", (event) => {
    const element = (event.target as Element).closest("[data-lane]");
    if (element) put(model, "lane", Number(element.getAttribute("data-lane")));
  });

  function update() {
    const [now, lane] = [model.get("fragments"), model.get("lane")];
    const layout = new Layout(now, availableWidth(root));
    lanes.show(lane, range(0, WARP - 1), `${lane}`);
    fit(picture, layout.width, layout.height);
    new Drawing(scene, now, lane, layout).draw();
    const words = laneWords(now, lane);
    say([about, ...verdict.children], [now.note, words]);
    setAttributes(picture, { "aria-label": `Who holds which element. ${words}` });
  }
  return keepDrawn(model, ["fragments", "lane"], root, update);
}

/** Row and column of what a lane holds of a matrix. */
function placesOf(now: Fragments, matrix: Matrix, lane: number) {
  return now[matrix].flatMap((held, row) =>
    held.flatMap(([who], column) => (who === lane ? [[row, column] as const] : [])),
  );
}

/** How much a lane holds, and which lanes hold what its sums need. */
function laneWords(now: Fragments, lane: number) {
  const [a, b, c] = MATRICES.map((matrix) => placesOf(now, matrix, lane).length);
  const needed = placesOf(now, "C", lane).flatMap(([row, column]) => [
    ...now.A[row],
    ...now.B.map((held) => held[column]),
  ]);
  const lanes = [...new Set(needed.map(([who]) => who))].sort((one, other) => one - other);
  return sentence("fragments.lane", { lane, a, b, c, others: lanesText(lanes) });
}

/** The lines between elements. */
function framesOf({ now, cell }: Layout, matrix: Matrix) {
  const [rows, columns] = [now[matrix].length, now[matrix][0].length];
  const [right, bottom] = [(columns * cell).toFixed(2), rows * TALL];
  return [
    ...range(0, rows).map((row) => `M0 ${row * TALL}H${right}`),
    ...range(0, columns).map((column) => `M${(column * cell).toFixed(2)} 0V${bottom}`),
  ].join("");
}

/** Where everything stands, in px. */
class Layout {
  cell;
  height;
  frames: Record<Matrix, Frame>;

  constructor(
    public now: Fragments,
    public width: number,
  ) {
    const [depth, columns, rows] = [now.B.length, now.C[0].length, now.C.length];
    this.cell = Math.min(WIDEST, (width - BETWEEN - 2) / (depth + columns));
    const right = (width + BETWEEN + this.cell * (depth - columns)) / 2;
    const [left, below] = [right - BETWEEN - depth * this.cell, 1 + depth * TALL + ABOVE];
    this.height = below + rows * TALL + ABOVE;
    this.frames = {
      A: { left, top: below },
      B: { left: right, top: 1 },
      C: { left: right, top: below },
    };
  }
}

/** Every element, with the lane that holds it. */
class Drawing {
  /** rows of A and columns of B that the lane's sums need */
  needed;
  /** outlines of what the lane holds */
  marked = { A: "", B: "", C: "" };

  constructor(
    public scene: Scene,
    public now: Fragments,
    public lane: number,
    public layout: Layout,
  ) {
    const sums = placesOf(now, "C", lane);
    this.needed = {
      rows: new Set(sums.map(([row]) => row)),
      columns: new Set(sums.map(([, column]) => column)),
    };
  }

  draw() {
    for (const matrix of MATRICES) this.drawMatrix(matrix);
    for (const matrix of MATRICES) {
      // Over all registers, or those that come later would cover half of a line.
      const look = `lab-marked lab-${HUES[matrix]}`;
      this.scene.draw(`marked ${matrix}`, "path", { class: look, d: this.marked[matrix] });
    }
    this.drawNumbers();
    this.scene.finish();
  }

  drawMatrix(matrix: Matrix) {
    const { scene, layout, now } = this;
    const { left, top } = layout.frames[matrix];
    now[matrix].forEach((held, row) => {
      held.forEach((holder, column) => {
        this.drawElement(matrix, row, column, holder);
      });
    });
    const place = { transform: `translate(${left.toFixed(2)},${top})` };
    const d = framesOf(layout, matrix);
    scene.draw(`frames ${matrix}`, "path", { class: `lab-frame lab-${HUES[matrix]}`, ...place, d });
  }

  /** An element with the lane that holds it; with the register where that lane is shown. */
  drawElement(matrix: Matrix, row: number, column: number, [lane, register]: Holder) {
    const { cell, frames } = this.layout;
    const { left, top } = frames[matrix];
    const mine = lane === this.lane;
    const look = mine ? "lab-mine" : this.needs(matrix, row, column) ? "lab-needed" : "";
    const [x, y] = [(left + column * cell).toFixed(2), top + row * TALL];
    const width = cell.toFixed(2);
    if (mine) this.marked[matrix] += `M${x} ${y}h${width}v${TALL}h-${width}Z`;
    const node = this.scene.draw(`${matrix}${row},${column}`, "g", {
      class: `lab-${HUES[matrix]}`,
      "data-lane": lane,
      transform: `translate(${x},${y})`,
    });
    const [rect, name] = boxWithText(node);
    setAttributes(rect, { class: `lab-element ${look}`, width, height: TALL });
    const at = { x: (cell / 2).toFixed(2), y: TALL / 2 + 4 };
    setAttributes(name, { class: `lab-lane-name ${look}`, ...at });
    write(name, mine ? `${matrix.toLowerCase()}${register}` : `${lane}`);
  }

  needs(matrix: Matrix, row: number, column: number) {
    const { rows, columns } = this.needed;
    return matrix === "A" ? rows.has(row) : matrix === "B" && columns.has(column);
  }

  /** Names of the matrices, rows of A and C between them, and columns of B and C. */
  drawNumbers() {
    const { now, layout } = this;
    const { A, B, C } = layout.frames;
    now.C.forEach((_, row) => {
      this.number(`row${row}`, C.left - BETWEEN / 2, C.top + row * TALL + TALL / 2 + 4, row);
    });
    now.C[0].forEach((_, column) => {
      this.number(
        `column${column}`,
        C.left + (column + 0.5) * layout.cell,
        C.top - ABOVE / 2 + 4,
        column,
      );
    });
    now.B.forEach((_, k) => {
      this.number(`across${k}`, A.left + (k + 0.5) * layout.cell, C.top - ABOVE / 2 + 4, k);
      this.number(`down${k}`, C.left - BETWEEN / 2, B.top + k * TALL + TALL / 2 + 4, k);
    });
    const middle = A.left + (now.B.length * layout.cell) / 2;
    this.name("A", middle, C.top - ABOVE - 6, "A: row, k");
    const below = C.top + now.C.length * TALL + ABOVE - 5;
    this.name("C", C.left + (now.C[0].length * layout.cell) / 2, below, "C: row, column");
    this.name("B", C.left - BETWEEN - 6, B.top + TALL, "B: k, column", "end");
  }

  number(key: string, x: number, y: number, value: number): void {
    this.scene.text(key, "lab-tick", x, y, `${value}`);
  }

  name(matrix: Matrix, x: number, y: number, words: string, anchor?: "end"): void {
    this.scene.text(`name ${matrix}`, `lab-matrix lab-${HUES[matrix]}`, x, y, words, anchor);
  }
}
