// Tools that every widget shares: elements, numbers, log scales, labels that keep out of each
// other's way, and redrawing at the right moment. A fragment: see module() in base.py.

const SVG_NS = "http://www.w3.org/2000/svg";
const HUES = { dram: "dram", l2: "l2", l1: "shared", shared: "shared", register: "register" };

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
}

/** An HTML element; children may be nodes or strings, falsy ones are left out. */
function html(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  node.append(...children.flat().filter(Boolean));
  return node;
}

/** An element inside an <svg>. */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NS, tag);
  setAttributes(node, attributes);
  node.append(...children.filter(Boolean));
  return node;
}

/**
 * Keeps the shapes of one picture by name from one drawing to the next, so that focus survives a
 * redraw and a shape that moved can glide to its new place.
 */
class Scene {
  constructor(root) {
    this.root = root;
    this.nodes = new Map();
    this.seen = new Set();
  }

  /** Create or update the shape called `key` and return it. Later calls draw on top. */
  draw(key, tag, attributes, text) {
    let node = this.nodes.get(key);
    if (!node) this.nodes.set(key, (node = svg(tag)));
    setAttributes(node, attributes);
    if (text !== undefined && node.textContent !== text) node.textContent = text;
    this.seen.add(key);
    return node;
  }

  /** Remove what was not drawn since the last call and restore the order of drawing. */
  finish() {
    for (const [key, node] of this.nodes) {
      if (this.seen.has(key)) continue;
      node.remove();
      this.nodes.delete(key);
    }
    let place = this.root.firstChild;
    for (const key of this.seen) {
      const node = this.nodes.get(key);
      // Moving a node would drop its focus, so only misplaced ones are moved.
      if (node === place) place = place.nextSibling;
      else this.root.insertBefore(node, place);
    }
    this.seen.clear();
  }
}

const wholeNumbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const threeDigits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

/** A number as the book writes it: 63,700 and 15.2 and 0.25. */
function number(value) {
  return (value >= 100 ? wholeNumbers : threeDigits).format(value);
}

function percent(share) {
  return `${share >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))} %`;
}

/** A log scale from values [low, high] to pixels [from, to], with its inverse and its decades. */
function logScale(low, high, from, to) {
  const origin = Math.log10(low);
  const perDecade = (to - from) / (Math.log10(high) - origin);
  const scale = (value) => from + (Math.log10(value) - origin) * perDecade;
  scale.invert = (pixel) => 10 ** (origin + (pixel - from) / perDecade);
  scale.low = low;
  scale.high = high;
  scale.decades = [];
  for (let e = Math.ceil(origin - 1e-9); 10 ** e <= high * 1.0001; e++) scale.decades.push(10 ** e);
  return scale;
}

const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, size) {
  ruler.font = `${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;
  return ruler.measureText(text).width;
}

/**
 * Finds room for labels. Whatever must stay readable (marks, lines, labels already placed) is kept
 * as small discs; a label is a row of discs along its baseline and fits where no two discs meet.
 */
class Labels {
  constructor(left, top, right, bottom) {
    // Discs by the cells of a grid that they touch, so that only near ones are compared.
    Object.assign(this, { left, top, right, bottom, grid: new Map() });
  }

  block(x, y, r, thin = false) {
    for (const cell of this.cells(x, y, r)) {
      if (!this.grid.has(cell)) this.grid.set(cell, []);
      this.grid.get(cell).push([x, y, r, thin]);
    }
  }

  cells(x, y, r) {
    const found = [];
    for (let i = Math.floor((x - r) / 16); i <= (x + r) / 16; i++) {
      for (let j = Math.floor((y - r) / 16); j <= (y + r) / 16; j++) found.push(1000 * i + j);
    }
    return found;
  }

  /** A `thin` line may be written across where there is no better place. */
  blockLine(x1, y1, x2, y2, thin = false) {
    const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 5) || 1;
    for (let i = 0; i <= steps; i++) {
      this.block(x1 + ((x2 - x1) * i) / steps, y1 + ((y2 - y1) * i) / steps, 1, thin);
    }
  }

  /** Take the first free candidate {x, y, anchor, angle} and return it, or null. */
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

  free([x, y, r], acrossThin) {
    if (x < this.left || x > this.right || y < this.top || y > this.bottom) return false;
    return this.cells(x, y, r).every((cell) => (this.grid.get(cell) ?? []).every(
      ([u, v, q, thin]) => (acrossThin && thin) || (x - u) ** 2 + (y - v) ** 2 > (r + q) ** 2,
    ));
  }
}

/** Call `update` once however many changes come before the browser draws again. */
function redrawer(update) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      update();
    });
  };
}

/** Call `react` on a change of any of `names` in the model. Returns a function that stops it. */
function listen(model, names, react) {
  for (const name of names) model.on(`change:${name}`, react);
  return () => {
    for (const name of names) model.off?.(`change:${name}`, react);
  };
}

/** Call `react` when the width of `root` changes. Returns a function that stops it. */
function onResize(root, react) {
  let width = root.clientWidth;
  // A frame later, because a redraw may change the height that is being observed.
  const observer = new ResizeObserver(() =>
    requestAnimationFrame(() => {
      if (root.clientWidth === width) return;
      width = root.clientWidth;
      react();
    }),
  );
  observer.observe(root);
  return () => observer.disconnect();
}

/** The width that a picture in `root` has, in px; a guess where the page has not placed it yet. */
function roomIn(root) {
  return root.clientWidth ? root.clientWidth - 28 : 660; // less the padding of .sgemm-lab
}

/** Set one key of the model and tell Python, where there is one. */
function put(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/** A choice among GPUs, or nothing where there is only one. */
function gpuChooser(model) {
  const select = html("select", { class: "lab-select" });
  for (const gpu of model.get("gpus")) select.append(html("option", { value: gpu.id }, gpu.name));
  select.addEventListener("change", () => put(model, "gpu", select.value));
  const field = html("label", { class: "lab-field" }, html("span", {}, "GPU"), select);
  field.hidden = model.get("gpus").length < 2;
  return { field, show: () => (select.value = model.get("gpu")) };
}
