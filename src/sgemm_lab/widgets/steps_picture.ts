// The picture of a trace: A, B and C as they multiply, the shared tiles and one thread's registers
// in the corner that they leave free.

import type { TracedArray } from "../counting/step_trace.ts";
import { boxWithText, setAttributes, write } from "./shared/dom.ts";
import { textWidth } from "./shared/labels.ts";
import { fit, type Scene } from "./shared/scene.ts";
import { INDEX, layOut, NAMES, type Place, READABLE, titleOf } from "./steps_layout.ts";
import { isWrong, type Matrix, type Register } from "./steps_model.ts";
import { cellKey, placeName, type Seen, type Walkthrough } from "./steps_trace.ts";
import { registerName, valueName } from "./steps_words.ts";

const NARROW = 500; // px: on a phone letters are never smaller than that
const SMALLEST = 9; // px, of a letter elsewhere
const [TITLE, LETTERS] = [14, 11]; // px, of letters of titles, which are bold, and of indices

/** The key to the picture. */
export function keyOf({ trace, rooms, left, unsafe }: Walkthrough): [string, string][] {
  const fails = trace.blocks.some((steps) => steps.some(({ fault }) => fault));
  const entries: [string, string][] = [
    ["", "used in this step:"],
    ["lab-k-used lab-dram", "global memory"],
    ["lab-k-used lab-shared", "shared memory"],
    ["lab-k-used lab-register", "registers"],
    ["lab-k-other", "by other threads"],
    ["lab-k-held", `1/${trace.size[2]}: 1 of ${trace.size[2]} products is in the sum`],
  ];
  if (rooms.A || rooms.B) entries.push(["lab-k-flight", "loaded, not yet in shared memory"]);
  if (trace.arrays.some(({ shape, columns }) => columns < (shape.at(-1) ?? 0))) {
    entries.push(["", "of As, Bs and registers, only what this small C needs is drawn"]);
  }
  if (unsafe) entries.push(["lab-k-danger", "read without a barrier"]);
  if (left) entries.push(["lab-k-fault", "wrong"]);
  if (fails) entries.push(["lab-k-fault", "the launch fails"]);
  return entries;
}

/** The size of letters, in px, at which a text fits into a cell. */
const fontSize = ({ s }: Place, text: string) =>
  Math.min(12, (s - 3) / (0.6 * Math.max(2, text.length)));

export function drawSteps(
  scene: Scene,
  picture: SVGSVGElement,
  walkthrough: Walkthrough,
  seen: Seen,
  width: number,
) {
  new StepsPicture(scene, walkthrough, seen, width).draw(picture);
}

/** cell → all that its look was made of */
const known: WeakMap<Element, string> = new WeakMap();

class StepsPicture {
  layout = layOut(this.walkthrough, this.seen.thread, this.width);
  smallest = this.width < NARROW ? READABLE : SMALLEST;
  longest;
  places: Map<Place, string> = new Map();

  constructor(
    public scene: Scene,
    public walkthrough: Walkthrough,
    public seen: Seen,
    public width: number,
  ) {
    const { m, n, k } = walkthrough;
    // If one name has no room, no cell shows its name: those without one would look empty.
    const [a, b] = [`${m - 1},${k - 1}`, `${k - 1},${n - 1}`];
    this.longest = b.length > a.length ? b : a;
  }

  draw(picture: SVGSVGElement) {
    const { m, n, k } = this.walkthrough;
    fit(picture, this.width, this.layout.height);
    this.drawCopies(); // first: the lines run behind the cells
    this.drawOperand("A", m, k);
    this.drawOperand("B", k, n);
    this.drawResult();
    this.drawIndices();
    for (const tile of this.layout.tiles) this.drawTile(tile);
    this.drawPlanes();
    this.drawFault();
    this.drawRegisters();
    this.scene.finish();
  }

  title(id: string, { x, y, s }: Place, text: string, hue: string) {
    const look = { class: `lab-title lab-${hue}`, "data-cell": s };
    const raised = "ABC".includes(id) && this.layout.indexed ? INDEX : 0;
    // Above a narrow matrix at the edge it begins further left.
    const left = Math.max(0, Math.min(x, this.width - textWidth(text, TITLE)));
    this.scene.draw(`title-${id}`, "text", { ...look, x: left, y: y - 6 - raised }, text);
  }

  cell(
    id: string,
    box: Place,
    row: number,
    column: number,
    look: string,
    text: string,
    data: Attributes = {},
  ): void {
    const node = this.scene.draw(id, "g", {});
    // From one step to the next almost all cells stay as they are.
    const all = `${this.whereIs(box)} ${row} ${column} ${data["data-owner"]} ${look} ${text}`;
    if (known.get(node) === all) return;
    known.set(node, all);
    const transform = `translate(${box.x + column * box.s} ${box.y + row * box.s})`;
    setAttributes(node, { class: `lab-cell ${look}`, transform, ...data });
    const [frame, words] = boxWithText(node);
    const fits = this.fitting(box, text);
    const size = fontSize(box, fits);
    setAttributes(frame, { width: box.s, height: box.s });
    setAttributes(words, { x: box.s / 2, y: box.s / 2 + size * 0.36, "font-size": size });
    write(words, fits);
  }

  /** A place in letters, which cells by the hundred ask for. */
  whereIs(box: Place) {
    let known = this.places.get(box);
    if (known === undefined) {
      known = `${box.x} ${box.y} ${box.s}`;
      this.places.set(box, known);
    }
    return known;
  }

  /** A name that does not fit loses its letters and brackets, and then itself. */
  fitting(box: Place, text: string) {
    if (fontSize(box, text) >= READABLE) return text;
    const short = text.replace(/^[A-Z]\w*\[(.*)\]$/, "$1");
    const size = fontSize(box, short === text ? text : this.longest);
    return size >= this.smallest ? short : "";
  }

  /** Rows and columns of A, B and C by number, where cells are too small for the names. */
  drawIndices() {
    if (!this.layout.indexed) return;
    const { m, n, k } = this.walkthrough;
    const sides = [
      ["A", m, k],
      ["B", k, n],
      ["C", m, n],
    ] as const;
    for (const [name, rows, columns] of sides) {
      const { x, y, s } = this.layout.boxes[name];
      for (let row = 0; row < rows; row++) {
        this.index(`${name}-row${row}`, x - 3, y + (row + 0.5) * s + 4, "end", row);
      }
      // Where two numbers side by side would touch, every other one is left out.
      const apart = textWidth(`${columns - 1}`, LETTERS) + 3 > s ? 2 : 1;
      for (let column = 0; column < columns; column += apart) {
        this.index(`${name}-column${column}`, x + (column + 0.5) * s, y - 3, "middle", column);
      }
    }
  }

  index(id: string, x: number, y: number, anchor: string, text: number | string): void {
    const look = { class: "lab-index", "text-anchor": anchor };
    this.scene.draw(`index-${id}`, "text", { ...look, x, y }, `${text}`);
  }

  lit(key: string) {
    const does = this.seen.lit.get(key);
    return does ? ` lab-${does}` : "";
  }

  drawOperand(matrix: Matrix, rows: number, columns: number) {
    const box = this.layout.boxes[matrix];
    this.title(matrix, box, `${matrix}, ${rows}×${columns}`, "dram");
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const key = cellKey(matrix, row, column);
        const text = `${matrix}[${row},${column}]`;
        this.cell(key, box, row, column, `lab-dram${this.lit(key)}`, text);
      }
    }
  }

  drawResult() {
    const { m, n } = this.walkthrough;
    this.title("C", this.layout.boxes.C, `C, ${m}×${n}`, "dram");
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) this.drawSum(row, column);
    }
  }

  /** An element of C: its sum under way, or stored. */
  drawSum(row: number, column: number) {
    const { walkthrough, seen } = this;
    const key = cellKey("C", row, column);
    const owner = walkthrough.owner.get(key);
    const sum = seen.sums.get(key);
    const count = sum?.count ?? 0;
    const done = seen.stored.has(key);
    const state = done ? "lab-dram lab-done" : count ? "lab-register lab-held" : "lab-dram";
    const mine = owner === seen.thread ? " lab-mine" : "";
    const foreign = owner === undefined ? " lab-foreign" : "";
    const wrong = sum?.wrong ? " lab-wrong" : "";
    const look = `${state}${mine}${this.lit(key)}${foreign}${wrong}`;
    const text = done ? `C[${row},${column}]` : this.progress(count);
    const data = owner === undefined ? {} : { "data-owner": owner };
    this.cell(key, this.layout.boxes.C, row, column, look, text, data);
  }

  /** "3/8": products made so far, of all. */
  progress(count: number) {
    return count ? `${count}/${this.walkthrough.k}` : "";
  }

  drawTile(tile: TracedArray) {
    const { walkthrough, seen } = this;
    const { name, rows, columns } = tile;
    const box = this.layout.boxes[name];
    this.title(name, box, titleOf(tile), "shared");
    const dangers = new Set(seen.racing.map(({ key }) => key));
    const reads = seen.now?.store ? [] : seen.acting;
    const wrong = new Set(reads.filter(isWrong).map(({ key: at }) => at));
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const key = cellKey(name, row, column);
        // Where a step reads what nobody has written, the cell is not left empty.
        const value = seen.shared.get(key)?.value ?? (wrong.has(key) ? null : undefined);
        const full = seen.shared.has(key) ? " lab-full" : "";
        const danger = dangers.has(key) ? " lab-danger-cell" : "";
        const bad = wrong.has(key) ? " lab-wrong" : "";
        const look = `lab-shared${full}${this.lit(key)}${danger}${bad}`;
        const words = valueName(walkthrough, value);
        this.cell(key, box, row, column, look, words, { "data-array": name });
      }
    }
  }

  /**
   * What the chosen thread has: elements on their way to shared memory, the operands, A down and B
   * across, and its sums where they meet.
   */
  drawRegisters() {
    const { walkthrough, seen, layout } = this;
    const { registers: box, titled, rows, columns } = layout;
    const { sum, a, b } = walkthrough.trace.names;
    const thread = `thread ${placeName(seen.thread, walkthrough.trace.block)}`;
    const room = (titled.x < layout.boxes.B.x ? layout.room : this.width) - titled.x;
    const name = [`Registers of ${thread}`, `Thread ${thread.slice(7)}`].find(
      (one, i) => i || textWidth(one, 14) < room,
    );
    const words = rows.length ? `${name}` : `${name}: no sum`;
    this.title("registers", { ...titled, s: box.s }, words, "register");
    for (const matrix of ["A", "B"] as const) this.drawFlying(matrix);
    const held = seen.held.get(seen.thread);
    rows.forEach((row, i) => {
      this.name(`a${i}`, box, i + 1, registerName(a, i, 0));
      this.drawOperandOf("A", i, held?.operands.A.get(row));
    });
    if (rows.length) this.name("b", box, 0, b);
    columns.forEach((column, j) => {
      if (columns.length > 1) {
        this.index(`j${j}`, box.x + (j + 1.5) * box.s, box.y - 4, "middle", `j=${j}`);
      }
      this.drawOperandOf("B", j, held?.operands.B.get(column));
    });
    rows.forEach((row, i) => {
      columns.forEach((column, j) => {
        const key = cellKey("C", row, column);
        const made = seen.sums.get(key);
        const text = this.progress(made?.count ?? 0);
        const lit = seen.now?.array.space === "register" ? this.lit(key) : "";
        const look = `lab-register${made ? " lab-held" : ""}${lit}${made?.wrong ? " lab-wrong" : ""}`;
        this.register(`acc-${i}-${j}`, box, i + 1, j + 1, look, text);
      });
    });
    if (rows.length) this.nameSums(sum);
  }

  register(id: string, box: Place, row: number, column: number, look: string, text: string): void {
    this.cell(id, box, row, column, look, text, { "data-register": id });
  }

  /** Below the sums. */
  nameSums(sum: string) {
    const { registers: box, rows, columns } = this.layout;
    const [x, y] = [box.x + (1 + columns.length / 2) * box.s, box.y + (rows.length + 1) * box.s];
    const look = { class: "lab-name", "text-anchor": "middle" };
    this.scene.draw("name-sum", "text", { ...look, x, y: y + NAMES }, sum);
  }

  /** A name left of a row of registers. */
  name(id: string, { x, y, s }: Place, row: number, name: string) {
    // The operand of B has the free cell above that of A, too.
    const right = id === "b" ? x + s - 5 : x - 5;
    const short = name.length <= 12 ? name : id === "b" ? "B" : `A, i=${row - 1}`;
    const look = { class: "lab-name", "text-anchor": "end" };
    this.scene.draw(`name-${id}`, "text", { ...look, x: right, y: y + (row + 0.5) * s + 4 }, short);
  }

  /** Room for what is on its way from global to shared memory. */
  drawFlying(matrix: Matrix) {
    const { walkthrough, seen } = this;
    const box = this.layout.flying[matrix];
    const room = walkthrough.rooms[matrix];
    if (!box || !room) return;
    const fetched =
      matrix === "A" ? walkthrough.trace.names.fetched_a : walkthrough.trace.names.fetched_b;
    const flying = seen.held.get(seen.thread)?.flying[matrix] ?? [];
    this.name(`flying-${matrix}`, box, 0, fetched ? fetched.name : `from ${matrix}`);
    for (let i = 0; i < room; i++) {
      const one = flying[i];
      const text = one ? valueName(walkthrough, one.value) : "";
      const lit = one && (this.justRead(one) || this.leaving(one)) ? " lab-read" : "";
      const look = `lab-register${one ? " lab-full lab-flight" : ""}${lit}`;
      this.register(`fly-${matrix}-${i}`, box, 0, i, look, text);
      if (!fetched?.vector) continue;
      const [x, y] = [box.x + (i + 0.5) * box.s, box.y - 4];
      this.index(`fly-${matrix}-${i}`, x, y, "middle", `.${"xyzw"[i % 4]}`);
    }
  }

  /** The register of an operand: A stands down the side, B along the top. */
  drawOperandOf(matrix: Matrix, at: number, operand: Register | undefined) {
    const lit = operand && this.justRead(operand) ? " lab-read" : "";
    const wrong = operand && operand.value !== operand.meant ? " lab-wrong" : "";
    const look = `lab-register${operand ? " lab-full" : ""}${lit}${wrong}`;
    const [down, across] = matrix === "A" ? [at + 1, 0] : [0, at + 1];
    const text = operand ? valueName(this.walkthrough, operand.value) : "";
    this.register(`reg-${matrix}-${at}`, this.layout.registers, down, across, look, text);
  }

  /**
   * Whether the last step put a value into the chosen thread's registers, or took it out of them.
   */
  justRead(register: Register) {
    const { now, thread } = this.seen;
    if (!now || (now.store && now.array.space !== "register")) return false;
    const mine = now.entries.filter((entry) => entry.thread === thread);
    return mine.some(({ factors, meant }) =>
      (factors ? [factors.A.meant, factors.B.meant] : [meant]).includes(register.meant),
    );
  }

  /** Whether the last step stored what the chosen thread's register holds into shared memory. */
  leaving(register: Register) {
    const { now, thread } = this.seen;
    if (!now?.store || now.array.space !== "shared") return false;
    return now.entries.some((one) => one.thread === thread && one.meant === register.meant);
  }

  /** Of an array with several planes, such as As[2][4][68], a line between two. */
  drawPlanes() {
    const { boxes, tiles } = this.layout;
    for (const { name, shape, rows, columns } of tiles.filter((tile) => tile.shape.length > 2)) {
      const { x, y, s } = boxes[name];
      const each = shape[shape.length - 2];
      for (let row = each; row < rows; row += each) {
        const d = `M${x - 4} ${y + row * s}h${columns * s + 8}`;
        this.scene.draw(`plane-${name}-${row}`, "path", { class: "lab-plane lab-shared", d });
      }
    }
  }

  /** A frame around the array of an access that fails, with a cross: it may lie outside. */
  drawFault() {
    const { now } = this.seen;
    if (!now?.fault) return;
    const { name, rows, columns } = now.array;
    const { x, y, s } = this.layout.boxes[name];
    const [wide, tall] = [columns * s + 6, rows * s + 6];
    const frame = `M${x - 3} ${y - 3}h${wide}v${tall}h${-wide}z`;
    this.scene.draw("fault", "path", { class: "lab-fault-frame", d: frame });
    const [right, top] = [x + columns * s - 3, y - 9]; // beside the title
    const cross = `M${right - 5} ${top - 5}l10 10m0 -10l-10 10`;
    this.scene.draw("fault-cross", "path", { class: "lab-fault-cross", d: cross });
  }

  /** Lines to where the last step put copies: from registers, or of other threads from A and B. */
  drawCopies() {
    const { now, acting, held, thread } = this.seen;
    const { boxes, flying } = this.layout;
    const mine = held.get(thread)?.flying;
    if (!now?.store || now.array.space !== "shared" || acting.length > 32) return;
    const middle = ({ x, y, s }: Place, row: number, column: number): string =>
      `${x + (column + 0.5) * s} ${y + (row + 0.5) * s}`;
    acting.forEach(({ thread: other, value, meant, row, column }, i) => {
      const from = this.walkthrough.origin.get(value);
      if (!from) return;
      const to = boxes[now.array.name];
      const box = flying[from.matrix];
      const own = other === thread && mine?.[from.matrix].some((one) => one?.meant === meant);
      // Registers are left at a corner, so that no line crosses the labels between their rows.
      const start =
        own && box
          ? `${box.x} ${box.y + (to.y + row * to.s > box.y ? box.s : 0)}`
          : middle(boxes[from.matrix], from.row, from.column);
      const d = `M${start}L${middle(to, row, column)}`;
      this.scene.draw(`copy${i}`, "path", { class: "lab-copy lab-shared", d });
    });
  }
}
