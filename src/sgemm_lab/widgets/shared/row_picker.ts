// Picks one row of a picture by pointer, finger or keyboard, and tells about it in words.

import { setAttributes } from "./dom.ts";
import { put } from "./model.ts";
import { within } from "./scale.ts";

const STEPS: Record<string, number> = {
  ArrowDown: 1,
  ArrowRight: 1,
  ArrowUp: -1,
  ArrowLeft: -1,
  Home: -Infinity,
  End: Infinity,
};

interface Picked {
  /** the row with focus is its `selected` */
  model: Model<{ selected: string }>;
  /** of the widget */
  root: HTMLElement;
  picture: SVGSVGElement;
  /** the class of the elements that are rows, each with its name in data-name, in the order of the arrow keys */
  row: string;
  /** shows words */
  readout: { element: HTMLElement; show: (text: (Node | string)[]) => void };
  /** about a row, or about none */
  words: (name: string | undefined) => (Node | string)[];
  /** the row nearest to a pointer, where rows are marks that may lie on each other */
  near?: (event: MouseEvent) => string | null;
  /** for a row that is chosen once more, or with Enter */
  open?: () => void;
}

/**
 * A row under the pointer goes before the one with focus. Returns a function to call after each
 * drawing and when `selected` has changed; it is cheap.
 */
export function rowPicker(picked: Picked) {
  const picker = new RowPicker(picked);
  picker.followPointer();
  picker.followFocus();
  return () => picker.point();
}

class RowPicker {
  /** the name of the row under the pointer */
  hovered: string | null = null;

  constructor(public picked: Picked) {}

  rows() {
    const { picture, row } = this.picked;
    return [...picture.querySelectorAll<SVGElement>(`.${row}`)];
  }

  /** The name of the row where an event happened. */
  rowOf(event: Event) {
    const { near, row } = this.picked;
    if (near && event instanceof MouseEvent) return near(event);
    return (event.target as Element).closest?.<SVGElement>(`.${row}`)?.dataset.name ?? null;
  }

  get selected() {
    return this.picked.model.get("selected");
  }

  point() {
    const { readout, words } = this.picked;
    const shown = this.rows();
    const find = (name: string | null) => shown.find((node) => node.dataset.name === name);
    const active = find(this.hovered) ?? find(this.selected);
    readout.show(words(active?.dataset.name));
    // One stop for Tab, arrow keys do the rest.
    const stop = find(this.selected) ?? shown[0];
    for (const node of shown) {
      node.classList.toggle("lab-current", node === active);
      setAttributes(node, { tabindex: node === stop ? 0 : -1 });
    }
  }

  select(name: string) {
    if (this.selected !== name) put(this.picked.model, "selected", name);
    this.point();
  }

  followPointer() {
    const { picture, readout, open } = this.picked;
    picture.addEventListener("pointermove", (event) => {
      if (this.rowOf(event) === this.hovered) return;
      this.hovered = this.rowOf(event);
      readout.element.setAttribute("aria-live", "off"); // a mouse would make it talk without end
      this.point();
    });
    picture.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "touch") return; // a lifted finger still wants to read
      this.hovered = null;
      this.point();
    });
    /** what was read when the pointer went down: a finger reads first */
    let known: string | null = null;
    picture.addEventListener("pointerdown", (event) => {
      known = event.pointerType === "touch" ? this.selected : this.rowOf(event);
    });
    picture.addEventListener("click", (event) => {
      const name = this.rowOf(event);
      this.select(name ?? "");
      if (name && known === name) open?.();
    });
  }

  followFocus() {
    const { root, picture, readout } = this.picked;
    // On the root, because Chromium makes an <svg> that listens for focus a stop of its own.
    root.addEventListener("focusin", (event) => {
      const target = event.target as Element;
      const name = picture.contains(target) && this.rowOf(event);
      if (!name || !target.matches(":focus-visible")) return;
      readout.element.setAttribute("aria-live", "polite");
      this.select(name);
    });
    picture.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (!(event.key in STEPS) && !["Enter", "Escape"].includes(event.key)) return;
      this.hovered = null;
      this.press(event);
      event.preventDefault();
      event.stopPropagation(); // JupyterLab and the book's page turn use arrow keys too
    });
  }

  press(event: KeyboardEvent) {
    const name = this.rowOf(event);
    if (event.key === "Enter") {
      this.select(name ?? "");
      this.picked.open?.();
    } else if (event.key === "Escape") this.select("");
    else {
      const all = this.rows();
      const target = all.findIndex((node) => node.dataset.name === name) + STEPS[event.key];
      all[within(target, 0, all.length - 1)].focus();
      this.point();
    }
  }
}
