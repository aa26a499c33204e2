// @ts-check
// The picture of a walk: A, B and C as they multiply, the shared tiles and one thread's registers
// in the corner that they leave free.

import { setAttributes, svg } from "./shared/dom.js";
import { textWidth } from "./shared/labels.js";
import { cellKey, isUnsafe, placeName, sumOf } from "./walk.js";
import { valueName } from "./walk_words.js";

/**
 * @typedef {import("./shared/scene.js").Scene} Scene
 * @typedef {import("./walk.js").Tour} Tour
 * @typedef {import("./walk.js").Seen} Seen
 * @typedef {import("./walk.js").Step} Step
 * @typedef {import("./walk.js").Walk} Walk
 * @typedef {import("./walk.js").WalkedArray} WalkedArray
 * @typedef {import("./walk.js").Matrix} Matrix
 * @typedef {"names" | "values"} Cells what cells show
 *
 * Where an array stands; `s` is the side of a cell.
 * @typedef {{ x: number, y: number, s: number }} Place
 */

const SMALLEST = 6; // px, of a letter
const READABLE = 9.5; // px, from which a whole name is written
const [GAP, HEAD] = [16, 22]; // px between arrays, and above one for its title

/**
 * The key to the picture. Registers have the names that the source gives them.
 * @param {Walk} walk
 * @returns {[string, string][]}
 */
export function keyOf({ source, blocks }) {
  /** @param {string} name */
  const named = (name) => source.some((line) => new RegExp(`\\b${name}\\b`).test(line));
  const sum = named("acc") ? "sum in a register: acc" : "sum in a register";
  const fragments = "registers: fragA down, fragB across, acc inside";
  const fails = blocks.some((steps) => steps.some(({ fault }) => fault));
  return [
    ["lab-k-read", "read now"],
    ["lab-k-write", "written now"],
    ["lab-k-other", "by other threads"],
    ["lab-k-held", named("fragA") && named("fragB") ? fragments : sum],
    ["lab-k-danger", "read without a barrier"],
    .../** @type {[string, string][]} */ (fails ? [["lab-k-fault", "the launch fails"]] : []),
  ];
}

/**
 * One bar per step, in the hue of its memory; barriers as walls.
 * @param {Scene} scene
 * @param {SVGSVGElement} ribbon
 * @param {Tour} tour
 * @param {number} step
 * @param {number} width
 */
export function drawRibbon(scene, ribbon, tour, step, width) {
  const height = 26;
  setAttributes(ribbon, { viewBox: `0 0 ${width} ${height}`, height });
  const each = width / tour.steps.length;
  tour.steps.forEach((one, i) => {
    const { store, fault } = one;
    const hue = one.array.space === "shared" ? "shared" : "dram";
    const looks = [
      `lab-bar-step lab-${hue}`,
      isUnsafe(one) && "lab-racing",
      fault && "lab-fault",
      i === step - 1 && "lab-here",
      i < step - 1 && "lab-past",
    ];
    const [y, tall] = fault ? [0, height] : store ? [4, 18] : [10, 12];
    scene.draw(`step${i}`, "rect", {
      class: looks.filter(Boolean).join(" "),
      x: i * each + Math.min(0.5, each / 8),
      y,
      width: Math.max(0.5, each - Math.min(1, each / 4)),
      height: tall,
    });
  });
  for (const { first } of tour.stages.slice(1)) {
    const d = `M${(first - 1) * each} 0V${height}`;
    scene.draw(`wall${first}`, "path", { class: "lab-wall", d });
  }
  scene.finish();
}

/**
 * The corner above A is k cells high. Tiles and registers stand there, side by side or one above
 * the other, whichever leaves larger cells; where they would be tiny they stand below instead.
 * @param {Tour} tour
 * @param {WalkedArray[]} tiles
 * @param {number} s side of a cell of A, B and C
 * @param {number} width
 */
function cornerOf(tour, tiles, s, width) {
  const { n, k, most: side } = tour; // side: room for the registers of any thread
  const rows = Math.max(0, ...tiles.map((tile) => tile.rows));
  const columns = tiles.reduce((sum, tile) => sum + tile.columns, 0);
  const gaps = GAP * Math.max(0, tiles.length - 1);
  /** @type {(wide: number, tall: number, most: number) => { beside: boolean, c: number }} */
  const fit = (wide, tall, most) => {
    const across = (wide - gaps - GAP) / (columns + side + 1);
    const beside = Math.min(most, across, (tall - HEAD) / Math.max(rows, side + 1));
    const down = (tall - 2 * HEAD - GAP) / (rows + side + 1);
    const above = Math.min(most, (wide - gaps) / Math.max(columns, side + 1), down);
    return above > beside ? { beside: false, c: above } : { beside: true, c: beside };
  };
  const extra = Math.max(0, width - GAP - (k + n) * s);
  const corner = fit(k * s + extra - GAP, k * s + HEAD, 52);
  const inside = corner.c >= Math.min(20, 0.9 * s);
  const { beside, c } = inside ? corner : fit(width, 2 * width, 28);
  const apart = beside && tiles.length ? GAP : 0;
  const wide = columns * c + gaps + apart + (beside ? (side + 1) * c : 0);
  const one = Math.max(rows, side + 1) * c;
  const tall = beside ? one : (rows + side + 1) * c + HEAD + GAP;
  return { inside, beside, c, extra, rows, wide, tall };
}

/** @typedef {ReturnType<typeof layOut>} Layout */

/**
 * Where everything stands.
 * @param {Tour} tour
 * @param {Seen} seen
 * @param {number} width
 */
function layOut(tour, seen, width) {
  const { m, n, k, walk } = tour;
  const tiles = walk.arrays.filter((array) => array.space === "shared");
  const s = Math.min(40, (width - GAP) / (k + n), 560 / (k + m));
  const corner = cornerOf(tour, tiles, s, width);
  const { inside, beside, c, extra } = corner;
  const left = inside ? extra : extra / 2;
  const [middle, below] = [left + k * s + GAP, 2 * HEAD + k * s + 4];
  /** @type {Record<string, Place>} */
  const boxes = {
    B: { x: middle, y: HEAD, s },
    A: { x: left, y: below, s },
    C: { x: middle, y: below, s },
  };
  const bottom = below + m * s + 4;
  const free = (k * s + extra - GAP - corner.wide) / 2;
  const start = inside ? Math.max(0, free) : 0;
  const high = Math.max(HEAD, (k * s + HEAD - corner.tall) / 2 + HEAD / 2);
  const y = inside ? high : bottom + GAP + HEAD;
  let x = start;
  for (const tile of tiles) {
    boxes[tile.name] = { x, y, s: c };
    x += tile.columns * c + GAP;
  }
  const under = { x: start, y: y + corner.rows * c + HEAD + GAP };
  const registers = { ...(beside ? { x, y } : under), s: c, ...shareOf(tour, seen.thread) };
  const height = inside ? bottom : y + corner.tall + 4;
  return { boxes, registers, tiles, height, room: inside ? middle - GAP : width };
}

/**
 * The rows and columns of C that a thread computes, in order.
 * @param {Tour} tour
 * @param {number} thread
 */
function shareOf(tour, thread) {
  const mine = [...tour.owner]
    .filter(([, owner]) => owner === thread)
    .map(([place]) => place.split(":").slice(1).map(Number));
  /** @param {number} axis */
  const sides = (axis) => [...new Set(mine.map((place) => place[axis]))].sort((a, b) => a - b);
  return { rows: sides(0), columns: sides(1) };
}

/**
 * The size of letters, in px, at which a text fits into a cell.
 * @param {Place} place
 * @param {string} text
 */
const fontSize = ({ s }, text) => Math.min(12, (s - 3) / (0.6 * Math.max(2, text.length)));

/**
 * @param {Scene} scene
 * @param {SVGSVGElement} picture
 * @param {Tour} tour
 * @param {Seen} seen
 * @param {Cells} cells
 * @param {number} width
 */
export function drawWalk(scene, picture, tour, seen, cells, width) {
  new WalkPicture(scene, tour, seen, cells, width).draw(picture);
}

/** @type {WeakMap<Element, string>} cell → all that its look was made of */
const known = new WeakMap();

class WalkPicture {
  /**
   * @param {Scene} scene
   * @param {Tour} tour
   * @param {Seen} seen
   * @param {Cells} cells
   * @param {number} width
   */
  constructor(scene, tour, seen, cells, width) {
    const { m, n, k } = tour;
    this.scene = scene;
    this.tour = tour;
    this.seen = seen;
    this.named = cells === "names";
    this.width = width;
    this.layout = layOut(tour, seen, width);
    // If one name has no room, no cell shows its name: those without one would look empty.
    const [a, b] = [`${m - 1},${k - 1}`, `${k - 1},${n - 1}`];
    this.longest = b.length > a.length ? b : a;
  }

  /** @param {SVGSVGElement} picture */
  draw(picture) {
    const { m, n, k } = this.tour;
    const { height } = this.layout;
    setAttributes(picture, { viewBox: `0 0 ${this.width} ${height}`, height });
    this.drawCopies(); // first: the lines run behind the cells
    this.drawOperand("A", m, k);
    this.drawOperand("B", k, n);
    this.drawResult();
    for (const tile of this.layout.tiles) this.drawTile(tile);
    this.drawPlanes();
    this.drawFault();
    this.drawRegisters();
    this.scene.finish();
  }

  /**
   * @param {string} id
   * @param {Place} place
   * @param {string} text
   * @param {string} hue
   */
  title(id, { x, y, s }, text, hue) {
    const look = { class: `lab-title lab-${hue}`, "data-cell": s };
    this.scene.draw(`title-${id}`, "text", { ...look, x, y: y - 6 }, text);
  }

  /** @type {(id: string, box: Place, row: number, column: number, look: string, text: string, data?: Attributes) => void} */
  cell(id, box, row, column, look, text, data = {}) {
    const node = this.scene.draw(id, "g", {});
    // From one step to the next almost all cells stay as they are.
    const all = [box.x, box.y, box.s, row, column, look, text, data["data-owner"]].join();
    if (known.get(node) === all) return;
    known.set(node, all);
    const transform = `translate(${box.x + column * box.s} ${box.y + row * box.s})`;
    setAttributes(node, { class: `lab-cell ${look}`, transform, ...data });
    if (!node.firstChild) node.append(svg("rect", {}), svg("text", { "text-anchor": "middle" }));
    const [frame, words] = node.children;
    const fits = this.fitting(box, text);
    const size = fontSize(box, fits);
    setAttributes(frame, { width: box.s, height: box.s });
    setAttributes(words, { x: box.s / 2, y: box.s / 2 + size * 0.36, "font-size": size });
    if (words.textContent !== fits) words.textContent = fits;
  }

  /**
   * A name that does not fit loses its letters and brackets, and then itself.
   * @param {Place} box
   * @param {string} text
   */
  fitting(box, text) {
    if (fontSize(box, text) >= READABLE) return text;
    const short = text.replace(/^[A-Z]\w*\[(.*)\]$/, "$1");
    const size = fontSize(box, short === text ? text : this.longest);
    return size >= SMALLEST ? short : "";
  }

  /** @param {string} key */
  lit(key) {
    const does = this.seen.lit.get(key);
    return does ? ` lab-${does}` : "";
  }

  /**
   * The value of an element of A or B.
   * @param {Matrix} matrix
   * @param {number} index
   */
  valueOf(matrix, index) {
    const { walk } = this.tour;
    return `${(matrix === "A" ? walk.a : walk.b)[index]}`;
  }

  /**
   * @param {Matrix} matrix
   * @param {number} rows
   * @param {number} columns
   */
  drawOperand(matrix, rows, columns) {
    const box = this.layout.boxes[matrix];
    this.title(matrix, box, `${matrix}, ${rows}×${columns}`, "dram");
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const key = cellKey(matrix, row, column);
        const value = this.valueOf(matrix, row * columns + column);
        const text = this.named ? `${matrix}[${row},${column}]` : value;
        this.cell(key, box, row, column, `lab-dram${this.lit(key)}`, text);
      }
    }
  }

  drawResult() {
    const { m, n } = this.tour;
    this.title("C", this.layout.boxes.C, `C, ${m}×${n}`, "dram");
    for (let row = 0; row < m; row++) {
      for (let column = 0; column < n; column++) this.drawSum(row, column);
    }
  }

  /**
   * An element of C: its sum under way, or stored.
   * @param {number} row
   * @param {number} column
   */
  drawSum(row, column) {
    const { tour, seen } = this;
    const key = cellKey("C", row, column);
    const owner = tour.owner.get(key);
    const held = owner === undefined ? undefined : seen.held.get(owner);
    const { count, sum } = sumOf(tour, held, row, column);
    const done = seen.stored.has(key);
    const state = done ? "lab-dram lab-done" : count ? "lab-register lab-held" : "lab-dram";
    const mine = owner === seen.thread ? " lab-mine" : "";
    const foreign = owner === undefined ? " lab-foreign" : "";
    const look = `${state}${mine}${this.lit(key)}${foreign}`;
    const name = done ? `C[${row},${column}]` : this.progress(count);
    const text = this.named ? name : count || done ? `${sum}` : "";
    const data = owner === undefined ? {} : { "data-owner": owner };
    this.cell(key, this.layout.boxes.C, row, column, look, text, data);
  }

  /**
   * "3/8": products made so far, of all.
   * @param {number} count
   */
  progress(count) {
    return count ? `${count}/${this.tour.k}` : "";
  }

  /** @param {WalkedArray} tile */
  drawTile({ name, shape, rows, columns }) {
    const { tour, seen } = this;
    const box = this.layout.boxes[name];
    this.title(name, box, `${name}${shape.map((side) => `[${side}]`).join("")}`, "shared");
    const dangers = new Set(seen.racing.map(({ key }) => key));
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const key = cellKey(name, row, column);
        const value = seen.shared.get(key);
        const full = seen.shared.has(key) ? " lab-full" : "";
        const danger = dangers.has(key) ? " lab-danger-cell" : "";
        const look = `lab-shared${full}${this.lit(key)}${danger}`;
        const text = value === null ? "?" : `${value ?? ""}`;
        const words = this.named ? valueName(tour, value) : text;
        this.cell(key, box, row, column, look, words, { "data-array": name });
      }
    }
  }

  /** What the chosen thread multiplies now, A down and B across, and its sums where they meet. */
  drawRegisters() {
    const { tour, seen } = this;
    const box = this.layout.registers;
    const held = seen.held.get(seen.thread);
    this.nameRegisters();
    box.rows.forEach((row, i) => {
      this.drawFragment("A", i, row, held?.k.A ?? -1);
    });
    box.columns.forEach((column, j) => {
      this.drawFragment("B", j, held?.k.B ?? -1, column);
    });
    box.rows.forEach((row, i) => {
      box.columns.forEach((column, j) => {
        const { count, sum } = sumOf(tour, held, row, column);
        const text = this.named || !count ? this.progress(count) : `${sum}`;
        const look = `lab-register${count ? " lab-held" : ""}`;
        this.cell(`acc-${i}-${j}`, box, i + 1, j + 1, look, text);
      });
    });
  }

  nameRegisters() {
    const { registers, room } = this.layout;
    const place = placeName(this.seen.thread, this.tour.walk.block);
    const names = [`Registers of thread ${place}`, `Thread ${place}`];
    const name = names.find((one) => textWidth(one, 14) < room - registers.x) ?? place;
    const words = registers.rows.length ? name : `${name}: none of C`;
    this.title("registers", registers, words, "register");
  }

  /**
   * The register of an operand: A stands down the side, B along the top.
   * @param {Matrix} matrix
   * @param {number} at
   * @param {number} row
   * @param {number} column
   */
  drawFragment(matrix, at, row, column) {
    const { tour, seen } = this;
    const index = row * (matrix === "A" ? tour.k : tour.n) + column;
    const held = seen.held.get(seen.thread);
    const has = row >= 0 && column >= 0 && held?.[matrix].has(index);
    const name = `${matrix}[${row},${column}]`;
    const text = this.named ? name : this.valueOf(matrix, index);
    const lit = has && this.justRead(name) ? " lab-read" : "";
    const look = `lab-register${has ? " lab-full" : ""}${lit}`;
    const [down, across] = matrix === "A" ? [at + 1, 0] : [0, at + 1];
    const box = this.layout.registers;
    this.cell(`reg-${matrix}-${at}`, box, down, across, look, has ? text : "");
  }

  /**
   * Whether the last step put an element into the chosen thread's registers.
   * @param {string} name
   */
  justRead(name) {
    const { now, thread } = this.seen;
    if (!now || now.store) return false;
    const mine = now.entries.filter((entry) => entry.thread === thread);
    return mine.some(({ value }) => valueName(this.tour, value) === name);
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

  /** Lines from A and B to where the last step put copies of them. */
  drawCopies() {
    const { now, acting } = this.seen;
    const { boxes } = this.layout;
    if (!now?.store || now.array.space !== "shared" || acting.length > 32) return;
    /** @type {(place: Place, row: number, column: number) => string} */
    const middle = ({ x, y, s }, row, column) => `${x + (column + 0.5) * s} ${y + (row + 0.5) * s}`;
    acting.forEach(({ value, row, column }, i) => {
      const from = this.tour.origin.get(value);
      if (!from) return;
      const start = middle(boxes[from.matrix], from.row, from.column);
      const d = `M${start}L${middle(boxes[now.array.name], row, column)}`;
      this.scene.draw(`copy${i}`, "path", { class: "lab-copy lab-shared", d });
    });
  }
}
