// @ts-check
import { setAttributes, svg, write } from "./dom.js";

/**
 * Keeps the shapes of one picture by name from one drawing to the next, so that focus survives a
 * redraw and a shape that moved can glide to its new place. One that is left out for a while is kept
 * beside the picture: to make it anew takes longer.
 */
export class Scene {
  /** @param {SVGElement} root */
  constructor(root) {
    this.root = root;
    /** @type {Map<string | number, SVGElement>} */
    this.nodes = new Map();
    /** @type {Set<string | number>} drawn since the last picture */
    this.seen = new Set();
    /** @type {Set<string | number>} in the picture */
    this.shown = new Set();
  }

  /**
   * Create or update the shape called `key` and return it. Later calls draw on top.
   * @template {keyof SVGElementTagNameMap} T
   * @param {string | number} key
   * @param {T} tag
   * @param {Attributes} attributes
   * @param {string} [text]
   * @returns {SVGElementTagNameMap[T]}
   */
  draw(key, tag, attributes, text) {
    let node = this.nodes.get(key);
    if (!node) {
      node = svg(tag);
      this.nodes.set(key, node);
    }
    setAttributes(node, attributes);
    if (text !== undefined) write(node, text);
    this.seen.add(key);
    return /** @type {SVGElementTagNameMap[T]} */ (node);
  }

  /** Take out what was not drawn since the last call and restore the order of drawing. */
  finish() {
    for (const key of this.shown) {
      if (!this.seen.has(key)) this.nodes.get(key)?.remove();
    }
    let place = this.root.firstChild;
    for (const key of this.seen) {
      const node = /** @type {SVGElement} */ (this.nodes.get(key));
      // Moving a node would drop its focus, so only misplaced ones are moved.
      if (node === place) place = place.nextSibling;
      else this.root.insertBefore(node, place);
    }
    [this.shown, this.seen] = [this.seen, this.shown];
    this.seen.clear();
  }
}

/**
 * Call `react` with the pixel under a pointer that is down.
 * @param {SVGSVGElement} picture
 * @param {(x: number) => void} react
 */
export function scrubByPointer(picture, react) {
  /** @param {PointerEvent} event */
  const at = (event) => react(event.clientX - picture.getBoundingClientRect().left);
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    at(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (picture.hasPointerCapture(event.pointerId)) at(event);
  });
}

/**
 * The outline of a frame filled with slanted lines: nothing is done there.
 * @param {number} left
 * @param {number} right
 * @param {number} y
 * @param {number} height
 */
export function slanted(left, right, y, height) {
  const lines = [`M${left} ${y}H${right}V${y + height}H${left}Z`];
  for (let at = left - height + 6; at < right; at += 7) {
    const [from, to] = [Math.max(0, left - at), Math.min(height, right - at)];
    if (to > from) lines.push(`M${at + from} ${y + height - from}L${at + to} ${y + height - to}`);
  }
  return lines.join("");
}
