// Which lane of a warp holds which element where tensor cores multiply: A left, B above, C between.

import "./fragment_map.css";
import { sentence } from "../formulas/sentences.ts";
import { WARP } from "../hardware.py";
import { choiceSlider } from "./shared/controls.ts";
import { button, html, say, setAttributes, svg, write } from "./shared/dom.ts";
import { availableWidth, keepDrawn, redrawer, tool } from "./shared/model.ts";
import { lanesText } from "./shared/painter.ts";
import { range, within } from "./shared/scale.ts";
import { Scene } from "./shared/scene.ts";

/** Who holds an element. */
type Holder = [lane: number, register: number];

type Matrix = "A" | "B" | "C";

type Fragments = { label: string; note: string } & Record<Matrix, Holder[][]>;

interface State {
  fragments: Fragments;
  lane: number;
  element: string;
  step: number;
}

/** An element of a matrix. */
interface Entry {
  matrix: Matrix;
  row: number;
  column: number;
}

/** What is shown: the state, or what the pointer is over. */
interface Shown {
  now: Fragments;
  lane: number;
  element: Entry | null;
  step: number;
}

/** Where a matrix stands. */
interface Frame {
  left: number;
  top: number;
}

const STATE = ["fragments", "lane", "element", "step"] as const;
const MATRICES = ["A", "B", "C"] as const;
const HUES = { A: "dram", B: "shared", C: "register" };
const [WIDEST, TALL] = [30, 20]; // px of an element
const [BETWEEN, ABOVE] = [24, 22]; // px between A and C, and between B and C
const ARROWS: Record<string, [down: number, right: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const set = (change: Partial<State>) => {
    for (const [name, value] of Object.entries(change)) {
      model.set(name as keyof State, value);
    }
    model.save_changes();
  };
  const lanes = choiceSlider("Lane", (lane) => set({ lane, element: "", step: 0 }));
  const about = html("p", { class: "lab-about" });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const matrices = html(
    "div",
    {
      class: "lab-matrices",
      tabindex: 0,
      role: "application",
      "aria-label": "Elements of A, B and C; arrow keys walk from one to the next",
    },
    picture,
  );
  const step = button("", () => set({ step: stepAfter(model) }));
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"), html("p"));
  const controls = html("div", { class: "lab-controls" }, lanes.element);
  const root = tool(el, "lab-fragment-map", [
    controls,
    about,
    matrices,
    html("div", { class: "lab-bar" }, step),
    verdict,
  ]);
  const scene = new Scene(picture);
  let hovered: Entry | null = null;
  let layout: Layout;

  function hover(element: Entry | null) {
    if (hovered === element || (hovered && element && nameOf(hovered) === nameOf(element))) return;
    hovered = element;
    setAttributes(verdict, { "aria-live": "off" }); // a mouse would make it talk without end
    redraw();
  }

  function select(element: Entry | null) {
    setAttributes(verdict, { "aria-live": "polite" });
    hovered = null;
    if (!element) return set({ element: "", step: 0 });
    const [lane] = holderOf(shownNow(model, null).now, element);
    set({ element: nameOf(element), lane, step: 0 });
  }

  followPointer(picture, (x, y) => layout.at(x, y), hover, select);
  followKeys(matrices, () => shownNow(model, null), select);

  function update() {
    const width = availableWidth(root); // asked before anything changes: cheap
    const shown = shownNow(model, hovered);
    const { now, lane } = shown;
    lanes.show(lane, range(0, WARP - 1), `${lane}`);
    say([about], [now.note]);
    layout = new Layout(now, width);
    setAttributes(picture, { viewBox: `0 0 ${layout.width} ${layout.height}` });
    setAttributes(picture, { height: layout.height });
    new Drawing(scene, shown, layout).draw();
    say([step], [stepName(model)]);
    const words = wordsOf(shown);
    say(verdict.children, words);
    setAttributes(picture, { "aria-label": `Who holds which element. ${words.join(" ")}` });
  }
  return keepDrawn(model, STATE, root, update, { redraw });
}

function shownNow(model: Model<State>, hovered: Entry | null): Shown {
  const now = model.get("fragments");
  if (hovered) return { now, lane: holderOf(now, hovered)[0], element: hovered, step: 0 };
  const element = elementOf(model.get("element"));
  return { now, lane: model.get("lane"), element, step: model.get("step") };
}

function stepAfter(model: Model<State>) {
  const { now, step } = shownNow(model, null);
  return step < now.B.length ? step + 1 : 0;
}

function stepName(model: Model<State>) {
  const { now, step } = shownNow(model, null);
  if (step === now.B.length) return "Back to the lane";
  return step ? "Next product" : "Multiply, step by step";
}

function nameOf({ matrix, row, column }: Entry) {
  return `${matrix}${row},${column}`;
}

function elementOf(name: string): Entry | null {
  if (!name) return null;
  const [row, column] = name.slice(1).split(",").map(Number);
  return { matrix: name[0] as Matrix, row, column };
}

function holderOf(now: Fragments, { matrix, row, column }: Entry) {
  return now[matrix][row][column];
}

/** What a lane holds of a matrix. */
function placesOf(now: Fragments, matrix: Matrix, lane: number): Entry[] {
  return now[matrix].flatMap((held, row) =>
    held.flatMap(([who], column) => (who === lane ? [{ matrix, row, column }] : [])),
  );
}

/** The lanes among holders, in order, each once. */
function lanesAmong(holders: Holder[]) {
  return [...new Set(holders.map(([lane]) => lane))].sort((a, b) => a - b);
}

/** The sum whose products are stepped through: the one pointed at, or the lane's first. */
function sumShown({ now, lane, element }: Shown) {
  return element?.matrix === "C" ? element : placesOf(now, "C", lane)[0];
}

function wordsOf(shown: Shown) {
  return shown.step ? stepWords(shown) : [pointWords(shown), laneWords(shown)];
}

function laneWords({ now, lane }: Shown) {
  const [a, b, c] = MATRICES.map((matrix) => placesOf(now, matrix, lane).length);
  const needed = placesOf(now, "C", lane).flatMap(({ row, column }) => [
    ...now.A[row],
    ...now.B.map((held) => held[column]),
  ]);
  return sentence("fragments.lane", { lane, a, b, c, others: lanesText(lanesAmong(needed)) });
}

function pointWords({ now, element }: Shown) {
  if (!element) return sentence("fragments.choose");
  const { matrix, row, column } = element;
  const [lane, number] = holderOf(now, element);
  const register = registerName(matrix, number);
  return sentence("fragments.whole", { matrix, row, column, lane, register });
}

function registerName(matrix: Matrix, number: number) {
  return `${matrix.toLowerCase()}${number}`;
}

function stepWords(shown: Shown) {
  const { now, step } = shown;
  const { row, column } = sumShown(shown);
  const [depth, k] = [now.B.length, step - 1];
  const ofB = now.B.map((held) => held[column]);
  const first = sentence("fragments.product", {
    step,
    depth,
    row,
    column,
    k,
    of_a: now.A[row][k][0],
    of_b: ofB[k][0],
    of_c: now.C[row][column][0],
  });
  if (step < depth) return [first, sentence("fragments.more")];
  const [a, b] = [now.A[row], ofB].map((held) => lanesText(lanesAmong(held)));
  return [first, sentence("fragments.done", { a, b, sums: now.C.length * now.C[0].length })];
}

/** Call `hover` with what a mouse is over, and `select` with what is clicked or tapped. */
function followPointer(
  picture: SVGSVGElement,
  at: (x: number, y: number) => Entry | null,
  hover: (element: Entry | null) => void,
  select: (element: Entry | null) => void,
) {
  const under = (event: MouseEvent) => {
    const box = picture.getBoundingClientRect();
    return at(event.clientX - box.left, event.clientY - box.top);
  };
  picture.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "touch") hover(under(event));
  });
  picture.addEventListener("pointerleave", () => hover(null));
  picture.addEventListener("click", (event) => select(under(event)));
}

/** Arrow keys walk over the elements as they lie: from A right into C, from B down into C. */
function followKeys(
  matrices: HTMLElement,
  shown: () => Shown,
  select: (element: Entry | null) => void,
) {
  matrices.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const arrow = ARROWS[event.key];
    if (!arrow && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation(); // JupyterLab and the book's page turn use arrow keys too
    const { now, element, lane } = shown();
    if (!arrow) select(null);
    else select(element ? neighbour(now, element, arrow) : placesOf(now, "C", lane)[0]);
  });
}

/** The next element in a direction. Rows of A and C are the same, and so are columns of B and C. */
function neighbour(
  now: Fragments,
  { matrix, row, column }: Entry,
  [down, right]: [down: number, right: number],
): Entry {
  const depth = now.B.length;
  // Counted from the corner of B and A, which is empty.
  const y = (matrix === "B" ? row : row + depth) + down;
  const x = (matrix === "A" ? column : column + depth) + right;
  const [lastY, lastX] = [depth + now.C.length - 1, depth + now.C[0].length - 1];
  const [least, left] = [matrix === "A" ? depth : 0, matrix === "B" ? depth : 0];
  const [toY, toX] = [within(y, least, lastY), within(x, left, lastX)];
  if (toY < depth) return { matrix: "B", row: toY, column: toX - depth };
  if (toX < depth) return { matrix: "A", row: toY - depth, column: toX };
  return { matrix: "C", row: toY - depth, column: toX - depth };
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

  /** The element at a place of the picture. */
  at(x: number, y: number): Entry | null {
    for (const matrix of MATRICES) {
      const { left, top } = this.frames[matrix];
      const [row, column] = [Math.floor((y - top) / TALL), Math.floor((x - left) / this.cell)];
      if (this.now[matrix][row]?.[column]) return { matrix, row, column };
    }
    return null;
  }
}

/** Every element, with the lane that holds it. */
class Drawing {
  sum;
  /** outlines of what the lane holds, or of what is multiplied */
  marked: Record<Matrix, string>;

  constructor(
    public scene: Scene,
    public shown: Shown,
    public layout: Layout,
  ) {
    this.sum = sumShown(shown);
    this.marked = { A: "", B: "", C: "" };
  }

  draw() {
    for (const matrix of MATRICES) this.drawMatrix(matrix);
    for (const matrix of MATRICES) {
      // Over all registers, or those that come later would cover half of a line.
      const look = `lab-marked lab-${HUES[matrix]}`;
      this.scene.draw(`marked ${matrix}`, "path", { class: look, d: this.marked[matrix] });
    }
    this.drawNumbers();
    this.drawPointed();
    this.scene.finish();
  }

  drawMatrix(matrix: Matrix) {
    const { scene, layout, shown } = this;
    const { left, top } = layout.frames[matrix];
    shown.now[matrix].forEach((held, row) => {
      held.forEach(([lane, number], column) => {
        this.drawElement({ matrix, row, column }, lane, number);
      });
    });
    const place = { transform: `translate(${left.toFixed(2)},${top})` };
    const d = framesOf(layout, matrix);
    scene.draw(`frames ${matrix}`, "path", { class: `lab-frame lab-${HUES[matrix]}`, ...place, d });
  }

  /** An element with the lane that holds it; with the register where that lane is shown. */
  drawElement(element: Entry, lane: number, number: number) {
    const { layout, shown } = this;
    const { matrix, row, column } = element;
    const { left, top } = layout.frames[matrix];
    const look = this.look(matrix, row, column, lane);
    const [x, y] = [(left + column * layout.cell).toFixed(2), top + row * TALL];
    const width = layout.cell.toFixed(2);
    if (look === "lab-mine" || look === "lab-now") {
      this.marked[matrix] += `M${x} ${y}h${width}v${TALL}h-${width}Z`;
    }
    const node = this.scene.draw(nameOf(element), "g", {
      class: `lab-${HUES[matrix]}`,
      transform: `translate(${x},${y})`,
    });
    if (!node.firstChild) node.append(svg("rect"), svg("text", { "text-anchor": "middle" }));
    const [rect, name] = node.children;
    setAttributes(rect, { class: `lab-element ${look}`, width, height: TALL });
    const at = { x: (layout.cell / 2).toFixed(2), y: TALL / 2 + 4 };
    setAttributes(name, { class: `lab-lane-name ${look}`, ...at });
    const mine = !shown.step && lane === shown.lane;
    write(name, mine ? registerName(matrix, number) : `${lane}`);
  }

  /** How an element looks: held by the lane, or a part of the product stepped to. */
  look(matrix: Matrix, row: number, column: number, lane: number): string {
    const { step } = this.shown;
    if (!step) return lane === this.shown.lane ? "lab-mine" : "";
    const { sum } = this;
    if (matrix === "A" ? row !== sum.row : column !== sum.column) return "";
    if (matrix === "C") return row === sum.row ? "lab-now" : "";
    const k = matrix === "A" ? column : row;
    return k === step - 1 ? "lab-now" : k < step ? "lab-done" : "";
  }

  /** Names of the matrices, rows of A and C between them, and columns of B and C. */
  drawNumbers() {
    const { shown, layout } = this;
    const { A, B, C } = layout.frames;
    const { now } = shown;
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

  /** A frame around the element pointed at. */
  drawPointed() {
    const { element, step } = this.shown;
    if (!element || step) return;
    const { cell, frames } = this.layout;
    const { left, top } = frames[element.matrix];
    const [x, y] = [left + element.column * cell, top + element.row * TALL];
    const box = { x: x.toFixed(2), y, width: cell.toFixed(2), height: TALL };
    this.scene.draw("pointed", "rect", { class: "lab-pointed", ...box });
  }
}
