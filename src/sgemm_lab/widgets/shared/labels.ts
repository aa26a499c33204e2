type Disc = [x: number, y: number, r: number, thin?: boolean];

let ruler: CanvasRenderingContext2D | undefined;

/** size → text → its width: most are asked for again */
const widths: Map<number, Map<string, number>> = new Map();

/** The width of a text in px, at a size in px. */
export function textWidth(text: string, size: number) {
  const known = widths.get(size) ?? new Map();
  widths.set(size, known);
  const width = known.get(text);
  if (width !== undefined) return width;
  ruler ??= document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
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
  /** Discs by the cells of a grid that they touch, so that only near ones are compared. */
  grid: Map<number, Disc[]> = new Map();

  constructor(
    public left: number,
    public top: number,
    public right: number,
    public bottom: number,
  ) {}

  /** Keep a disc free of labels. */
  block(x: number, y: number, r: number, thin: boolean = false) {
    for (const cell of this.cells(x, y, r)) {
      const there = this.grid.get(cell);
      if (there) there.push([x, y, r, thin]);
      else this.grid.set(cell, [[x, y, r, thin]]);
    }
  }

  cells(x: number, y: number, r: number) {
    const found = [];
    for (let i = Math.floor((x - r) / 16); i <= (x + r) / 16; i++) {
      for (let j = Math.floor((y - r) / 16); j <= (y + r) / 16; j++) found.push(1000 * i + j);
    }
    return found;
  }

  /** A `thin` line may be written across where there is no better place. */
  blockLine(x1: number, y1: number, x2: number, y2: number, thin: boolean = false) {
    const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 5) || 1;
    for (let i = 0; i <= steps; i++) {
      this.block(x1 + ((x2 - x1) * i) / steps, y1 + ((y2 - y1) * i) / steps, 1, thin);
    }
  }

  /** Take the first free candidate and return it, or null. */
  place(text: string, size: number, candidates: Spot[]) {
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

  discsOf({ x, y, anchor = "start", angle = 0 }: Spot, width: number, size: number): Disc[] {
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

  free([x, y, r]: Disc, acrossThin: boolean) {
    if (x < this.left || x > this.right || y < this.top || y > this.bottom) return false;
    return this.cells(x, y, r).every((cell) =>
      (this.grid.get(cell) ?? []).every(
        ([u, v, q, thin]) => (acrossThin && thin) || (x - u) ** 2 + (y - v) ** 2 > (r + q) ** 2,
      ),
    );
  }
}

/** Places further off from a point, ring by ring: for a name that finds no room beside it. */
export function spotsAround(x: number, y: number): Spot[] {
  const turns = Array.from({ length: 24 }, (_, i) => (i * Math.PI) / 12 + Math.PI / 4);
  return [40, 54, 70, 90, 115, 145, 180, 220].flatMap((radius) =>
    turns.map((angle) => {
      const [dx, dy] = [radius * Math.cos(angle), radius * Math.sin(angle)];
      const side = dx > 0 ? "start" : "end";
      return { x: x + dx, y: y + dy, anchor: Math.abs(dx) < 0.6 * radius ? "middle" : side };
    }),
  );
}

/** Places for a name around a point, the best first. */
export function spotsNextTo(x: number, y: number): Spot[] {
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
