import { setAttributes, svg, write } from "./dom.ts";

/**
 * Keeps the shapes of one picture by name from one drawing to the next, so that focus survives a
 * redraw and a shape that moved can glide to its new place. One that is left out for a while is
 * detached, not deleted: to create it anew takes longer.
 */
export class Scene {
  nodes: Map<string | number, SVGElement> = new Map();
  /** drawn since the last picture */
  seen: Set<string | number> = new Set();
  /** in the picture */
  shown: Set<string | number> = new Set();

  constructor(public root: SVGElement) {}

  /** Create or update the shape called `key` and return it. Later calls draw on top. */
  draw<T extends keyof SVGElementTagNameMap>(
    key: string | number,
    tag: T,
    attributes: Attributes,
    text?: string,
  ): SVGElementTagNameMap[T] {
    let node = this.nodes.get(key);
    if (!node) {
      node = svg(tag);
      this.nodes.set(key, node);
    }
    setAttributes(node, attributes);
    if (text !== undefined) write(node, text);
    this.seen.add(key);
    return node as SVGElementTagNameMap[T];
  }

  text(
    key: string,
    name: string,
    x: number,
    y: number,
    words: string,
    anchor: "start" | "middle" | "end" = "middle",
  ) {
    this.draw(key, "text", { class: name, x, y, "text-anchor": anchor }, words);
  }

  /** Take out what was not drawn since the last call and restore the order of drawing. */
  finish() {
    for (const key of this.shown) {
      if (!this.seen.has(key)) this.nodes.get(key)?.remove();
    }
    let place = this.root.firstChild;
    for (const key of this.seen) {
      const node = this.nodes.get(key) as SVGElement;
      // Moving a node would drop its focus, so only misplaced ones are moved.
      if (node === place) place = place.nextSibling;
      else this.root.insertBefore(node, place);
    }
    [this.shown, this.seen] = [this.seen, this.shown];
    this.seen.clear();
  }
}

/** Give a picture its size, in px. */
export function fit(picture: SVGSVGElement, width: number, height: number) {
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
}

/** Scenes in groups of a picture, later ones on top. */
export function layersOf<Name extends string>(picture: SVGSVGElement, ...names: Name[]) {
  const layers = names.map((name) => {
    const group = svg("g", { class: `lab-layer-${name}` });
    picture.append(group);
    return [name, new Scene(group)];
  });
  return Object.fromEntries(layers) as Record<Name, Scene>;
}

const REACH = 26; // px within which the pointer takes hold of a mark

/** The mark nearest to a pointer and within reach. */
export function nearest<Mark extends { x: number; y: number }>(
  marks: Mark[],
  picture: SVGSVGElement,
  event: MouseEvent,
) {
  const { left, top } = picture.getBoundingClientRect();
  let [best, least] = [undefined as Mark | undefined, REACH];
  for (const mark of marks) {
    const distance = Math.hypot(mark.x - event.clientX + left, mark.y - event.clientY + top);
    if (distance < least) [best, least] = [mark, distance];
  }
  return best;
}

/** Call `react` with the pixel under a pointer that is down. */
export function scrubByPointer(picture: SVGSVGElement, react: (x: number) => void) {
  const at = (event: PointerEvent) => react(event.clientX - picture.getBoundingClientRect().left);
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    at(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (picture.hasPointerCapture(event.pointerId)) at(event);
  });
}

/** The outline of a frame filled with slanted lines: nothing is done there. */
export function slanted(left: number, right: number, y: number, height: number) {
  const lines = [`M${left} ${y}H${right}V${y + height}H${left}Z`];
  for (let at = left - height + 6; at < right; at += 7) {
    const [from, to] = [Math.max(0, left - at), Math.min(height, right - at)];
    if (to > from) lines.push(`M${at + from} ${y + height - from}L${at + to} ${y + height - to}`);
  }
  return lines.join("");
}
