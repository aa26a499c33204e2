// @ts-check

/** @typedef {[x: number, y: number, r: number, thin?: boolean]} Disc */

const ruler = /** @type {CanvasRenderingContext2D} */ (
  document.createElement("canvas").getContext("2d")
);

/** @type {Map<number, Map<string, number>>} size → text → its width: most are asked for again */
const widths = new Map();

/**
 * The width of a text in px, at a size in px.
 * @param {string} text
 * @param {number} size
 */
export function textWidth(text, size) {
  const known = widths.get(size) ?? new Map();
  widths.set(size, known);
  const width = known.get(text);
  if (width !== undefined) return width;
  ruler.font = `${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;
  const measured = ruler.measureText(text).width;
  known.set(text, measured);
  return measured;
}

/**
 * Finds room for labels. Whatever must stay readable (marks, lines, labels already placed) is kept
 * as small discs; a label is a row of discs along its baseline and fits where no two discs meet.
 */
export class Labels {
  /**
   * @param {number} left
   * @param {number} top
   * @param {number} right
   * @param {number} bottom
   */
  constructor(left, top, right, bottom) {
    this.left = left;
    this.top = top;
    this.right = right;
    this.bottom = bottom;
    /**
     * Discs by the cells of a grid that they touch, so that only near ones are compared.
     * @type {Map<number, Disc[]>}
     */
    this.grid = new Map();
  }

  /**
   * Keep a disc free of labels.
   * @param {number} x
   * @param {number} y
   * @param {number} r
   * @param {boolean} [thin]
   */
  block(x, y, r, thin = false) {
    for (const cell of this.cells(x, y, r)) {
      const there = this.grid.get(cell);
      if (there) there.push([x, y, r, thin]);
      else this.grid.set(cell, [[x, y, r, thin]]);
    }
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} r
   */
  cells(x, y, r) {
    const found = [];
    for (let i = Math.floor((x - r) / 16); i <= (x + r) / 16; i++) {
      for (let j = Math.floor((y - r) / 16); j <= (y + r) / 16; j++) found.push(1000 * i + j);
    }
    return found;
  }

  /**
   * A `thin` line may be written across where there is no better place.
   * @param {number} x1
   * @param {number} y1
   * @param {number} x2
   * @param {number} y2
   * @param {boolean} [thin]
   */
  blockLine(x1, y1, x2, y2, thin = false) {
    const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 5) || 1;
    for (let i = 0; i <= steps; i++) {
      this.block(x1 + ((x2 - x1) * i) / steps, y1 + ((y2 - y1) * i) / steps, 1, thin);
    }
  }

  /**
   * Take the first free candidate and return it, or null.
   * @param {string} text
   * @param {number} size
   * @param {Spot[]} candidates
   */
  place(text, size, candidates) {
    const width = textWidth(text, size);
    const rows = candidates.map((candidate) => this.discsOf(candidate, width, size));
    for (const acrossThin of [false, true]) {
      const found = rows.findIndex((row) => row.every((disc) => this.free(disc, acrossThin)));
      if (found < 0) continue;
      for (const disc of rows[found]) this.block(...disc);
      return candidates[found];
    }
    return null;
  }

  /**
   * @param {Spot} spot
   * @param {number} width
   * @param {number} size
   * @returns {Disc[]}
   */
  discsOf({ x, y, anchor = "start", angle = 0 }, width, size) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const start = { start: 0, middle: -width / 2, end: -width }[anchor];
    const rise = -size * 0.36; // from the baseline to the middle of the letters
    const r = size * 0.5;
    const count = Math.max(2, Math.ceil(width / r));
    return Array.from({ length: count + 1 }, (_, i) => {
      const along = start + (width * i) / count;
      return [x + along * cos - rise * sin, y + along * sin + rise * cos, r];
    });
  }

  /**
   * @param {Disc} disc
   * @param {boolean} acrossThin
   */
  free([x, y, r], acrossThin) {
    if (x < this.left || x > this.right || y < this.top || y > this.bottom) return false;
    return this.cells(x, y, r).every((cell) =>
      (this.grid.get(cell) ?? []).every(
        ([u, v, q, thin]) => (acrossThin && thin) || (x - u) ** 2 + (y - v) ** 2 > (r + q) ** 2,
      ),
    );
  }
}

/**
 * Places further off from a point, ring by ring: for a name that finds no room beside it.
 * @param {number} x
 * @param {number} y
 * @returns {Spot[]}
 */
export function spotsAround(x, y) {
  const turns = Array.from({ length: 24 }, (_, i) => (i * Math.PI) / 12 + Math.PI / 4);
  return [40, 54, 70, 90, 115, 145, 180, 220].flatMap((radius) =>
    turns.map((angle) => {
      const [dx, dy] = [radius * Math.cos(angle), radius * Math.sin(angle)];
      const side = dx > 0 ? "start" : "end";
      return { x: x + dx, y: y + dy, anchor: Math.abs(dx) < 0.6 * radius ? "middle" : side };
    }),
  );
}

/**
 * Places for a name around a point, the best first.
 * @param {number} x
 * @param {number} y
 * @returns {Spot[]}
 */
export function spotsBeside(x, y) {
  return [
    { x: x + 12, y: y + 4, anchor: "start" },
    { x: x - 12, y: y + 4, anchor: "end" },
    { x, y: y + 25, anchor: "middle" },
    { x, y: y - 14, anchor: "middle" },
    { x: x + 8, y: y + 21, anchor: "start" },
    { x: x - 8, y: y + 21, anchor: "end" },
    { x: x + 8, y: y - 12, anchor: "start" },
    { x: x - 8, y: y - 12, anchor: "end" },
    { x: x + 4, y: y + 38, anchor: "middle" },
    { x: x + 4, y: y - 28, anchor: "middle" },
    { x: x + 16, y: y - 28, anchor: "end" },
  ];
}
