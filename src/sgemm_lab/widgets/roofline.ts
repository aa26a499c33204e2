// The roofline: roofs of one GPU, one memory level at a time, kernels as points and as bars, a probe
// that reads the roofs at any intensity.

import "./roofline.css";
import { roofAt } from "../formulas/roofs.ts";
import type { Content, PlacedPoint, State } from "./roofline_model.ts";
import { contentOf, follow } from "./roofline_model.ts";
import type { Drawn } from "./roofline_picture.ts";
import { drawRoofline, glide, LAYERS } from "./roofline_picture.ts";
import { barRows, keyEntries, pointText, probeText, probeValue } from "./roofline_words.ts";
import { gpuChooser, segments } from "./shared/controls.ts";
import { html, setAttributes, svg } from "./shared/dom.ts";
import { HUES } from "./shared/levels.ts";
import { availableWidth, keepDrawn, listen, put, tool } from "./shared/model.ts";
import { within } from "./shared/scale.ts";
import { layersOf, nearest } from "./shared/scene.ts";

const STATE = ["gpus", "gpu", "points", "level"] as const;

export function render({ model, el }: View<State>) {
  const roofline = new Roofline(model, el);
  roofline.followPointer();
  roofline.followFocus();
  roofline.followKeys();
  const stop = listen(model, ["selected"], () => roofline.point());
  return keepDrawn(model, STATE, roofline.root, () => roofline.update(), { stop });
}

class Roofline {
  chooser;
  level;
  bars;
  key;
  picture;
  readout;
  measure;
  root;
  layers;
  handle;
  /** what the last drawing left */
  last: Drawn | undefined;
  hovered;
  probe;
  probing = false;

  constructor(
    public model: Model<State>,
    el: HTMLElement,
  ) {
    this.chooser = gpuChooser(model);
    this.chooser.field.addEventListener("change", () => follow(model));
    this.level = levelChooser(model);
    this.bars = html("div", { class: "lab-bars", role: "list", "aria-label": "Speed and bound" });
    this.key = html("div", { class: "lab-key" });
    this.picture = svg("svg", { class: "lab-chart", role: "group" });
    this.readout = html("div", { class: "lab-readout", role: "status" });
    const hidden = { class: "lab-readout lab-measure", "aria-hidden": "true" };
    this.measure = html("div", hidden);
    const rest = html("div", { class: "lab-bar" }, this.chooser.field, this.level.all);
    const more = html("details", { class: "lab-more" }, html("summary", {}, "More"), rest);
    const parts = [this.level.element, more, this.picture, this.key, this.bars];
    const told = [this.readout, this.measure];
    this.root = tool(el, "lab-roofline", parts, told);
    this.layers = layersOf(this.picture, ...LAYERS);
    this.handle = probeHandle();
    this.picture.append(this.handle);
    this.last = undefined;
    this.hovered = -1; // index of the point under the pointer; `selected` is the one with focus
    this.probe = 1; // FLOP/B read by the probe
  }

  update() {
    const content = contentOf(this.model);
    const { gpu, visible } = content;
    this.chooser.show();
    this.level.show(content);
    this.bars.replaceChildren(...barRows(content));
    this.bars.hidden = !this.bars.firstChild;
    this.key.replaceChildren(...keyEntries(content));
    const room = availableWidth(this.root);
    if (this.last && this.last.content.gpu.id !== gpu.id) glide(this.picture);
    this.last = drawRoofline(this.picture, this.layers, content, room);
    this.reserveReadout([
      probeText(content, this.probe),
      ...visible.map((point) => pointText(content, point)),
    ]);
    this.point();
  }

  /** What the last drawing left for the pointer to use. */
  get drawn() {
    return this.last as Drawn;
  }

  get visible() {
    return this.drawn.content.visible;
  }

  get selected() {
    return this.visible.find(({ index }) => index === this.model.get("selected"));
  }

  /** The point whose numbers are shown: under the pointer, or else with focus. */
  get active() {
    const hovered = this.visible.find(({ index }) => index === this.hovered);
    return hovered ?? (this.probing ? undefined : this.selected);
  }

  /** Show the readout and the highlights for what is active now; cheap, runs on every move. */
  point() {
    const { content, axes } = this.drawn;
    const { active, picture } = this;
    this.probe = within(this.probe, axes.x.low, axes.x.high);
    const text = active ? pointText(content, active) : probeText(content, this.probe);
    this.readout.replaceChildren(...text);
    picture.classList.toggle("lab-has-active", active !== undefined);
    for (const node of picture.querySelectorAll("[data-kernel]")) {
      node.classList.toggle("lab-active", node.getAttribute("data-kernel") === active?.kernel);
    }
    // One stop for Tab, where the reader last was; arrow keys do the rest.
    const stop = this.selected ?? this.visible[0];
    for (const node of this.layers.points.root.children) {
      const index = Number(node.getAttribute("data-index"));
      node.classList.toggle("lab-current", index === active?.index);
      node.setAttribute("tabindex", index === stop?.index ? "0" : "-1");
    }
    this.drawProbe(active);
  }

  /** Keep room for the longest readouts, so that nothing below the widget ever moves. */
  reserveReadout(readouts: (Node | string)[][]) {
    const texts = readouts.map((readout) => html("div", {}, readout));
    const lengths = new Map(texts.map((text) => [text, text.textContent?.length ?? 0]));
    texts.sort((a, b) => (lengths.get(b) ?? 0) - (lengths.get(a) ?? 0));
    const longest = texts.slice(0, 4);
    this.measure.replaceChildren(...longest);
    const tallest = Math.max(...longest.map((text) => text.offsetHeight)) + 11;
    this.measure.replaceChildren();
    this.readout.style.minHeight = `${tallest}px`;
  }

  /** The probe: a vertical line that reads all roofs at one intensity. */
  drawProbe(active: PlacedPoint | undefined) {
    const { axes, box, content } = this.drawn;
    const { gpu, offered } = content;
    const { probe } = this.layers;
    const x = axes.x(active ? active.intensity : this.probe);
    if (active || this.probing) {
      probe.draw("line", "path", { class: "lab-cross", d: `M${x} ${box.top}V${box.bottom}` });
      for (const { id } of offered.filter((level) => !active || level.id === active.level)) {
        const cy = axes.y(roofAt(gpu, id, axes.x.invert(x)).gflops);
        probe.draw(`dot-${id}`, "circle", { class: `lab-dot lab-${HUES[id]}`, r: 4, cx: x, cy });
      }
    }
    probe.finish();
    setAttributes(this.handle, {
      transform: `translate(${axes.x(this.probe)} ${box.bottom})`,
      "aria-valuemin": Number(axes.x.low.toPrecision(2)),
      "aria-valuemax": Number(axes.x.high.toPrecision(2)),
      "aria-valuenow": Number(this.probe.toPrecision(3)),
      "aria-valuetext": probeValue(content, this.probe),
    });
  }

  select(index: number) {
    if (this.model.get("selected") === index) return;
    put(this.model, "selected", index);
    this.point();
  }

  focusPoint(index: number) {
    this.layers.points.nodes.get(index)?.focus({ preventScroll: true });
  }

  followPointer() {
    const { picture } = this;
    picture.addEventListener("pointermove", (event) => this.hover(event));
    picture.addEventListener("pointerdown", (event) => {
      this.hover(event);
      if (this.hovered >= 0) this.focusPoint(this.hovered);
      else this.select(-1);
      event.preventDefault(); // the browser would move the focus away again
    });
    picture.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "touch") return; // a lifted finger still wants to read
      this.hovered = -1;
      this.probing = false;
      this.point();
    });
  }

  hover(event: PointerEvent) {
    const { axes } = this.drawn;
    const marks = this.visible.map(({ index, intensity, gflops }) => {
      return { index, x: axes.x(intensity), y: axes.y(gflops) };
    });
    const found = nearest(marks, this.picture, event);
    this.hovered = found ? found.index : -1;
    this.probing = !found;
    const { left } = this.picture.getBoundingClientRect();
    if (!found) this.probe = axes.x.invert(event.clientX - left);
    this.readout.setAttribute("aria-live", "off"); // a mouse would make it talk without end
    this.point();
  }

  followFocus() {
    const { root, picture, handle } = this;
    // On the root, because Chromium makes an <svg> that listens for focus a stop of its own.
    root.addEventListener("focusin", (event) => {
      const target = event.target as Element;
      if (!picture.contains(target)) return;
      this.readout.setAttribute("aria-live", "polite");
      this.probing = target === handle && handle.matches(":focus-visible");
      const index = target.closest(".lab-point")?.getAttribute("data-index");
      this.select(typeof index === "string" ? Number(index) : -1);
      this.point();
    });
    root.addEventListener("focusout", (event) => {
      if (!picture.contains(event.target as Element)) return;
      this.probing = false;
      this.point();
    });
  }

  followKeys() {
    this.picture.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const forward = ["ArrowRight", "ArrowUp"].includes(event.key);
      const back = ["ArrowLeft", "ArrowDown"].includes(event.key);
      const move = Number(forward) - Number(back);
      const onProbe = event.target === this.handle;
      if (!(onProbe ? this.keyOnProbe(event.key, move) : this.keyOnPoint(event.key, move))) return;
      this.hovered = -1;
      event.preventDefault();
      event.stopPropagation(); // JupyterLab and the book's page turn use arrow keys too
      this.point();
    });
  }

  /** @returns whether the key does anything */
  keyOnProbe(name: string, move: number): boolean {
    const { low, high } = this.drawn.axes.x;
    if (move) this.probe *= 10 ** (move / 20);
    else if (name === "PageUp" || name === "PageDown") this.probe *= name === "PageUp" ? 2 : 0.5;
    else if (name === "Home" || name === "End") this.probe = name === "Home" ? low : high;
    else return false;
    this.probing = true;
    return true;
  }

  /** @returns whether the key does anything */
  keyOnPoint(name: string, move: number): boolean {
    const { visible } = this;
    const place = visible.findIndex(({ index }) => index === this.model.get("selected"));
    const last = visible.length - 1;
    if (name === "Enter" && visible[place]?.href) this.readout.querySelector("a")?.click();
    else if (name === "Escape") this.select(-1);
    else if (name === "Home") this.focusPoint(visible[0].index);
    else if (name === "End") this.focusPoint(visible[last].index);
    else if (move) this.focusPoint(visible[within(place + move, 0, last)].index);
    else return false;
    return true;
  }
}

function probeHandle() {
  const attributes = {
    class: "lab-handle",
    role: "slider",
    tabindex: 0,
    "aria-label": "Arithmetic intensity of the probe",
    "aria-orientation": "horizontal",
  };
  return svg(
    "g",
    attributes,
    svg("rect", { x: -20, y: -6, width: 40, height: 32, class: "lab-hit" }),
    svg("circle", { class: "lab-ring", cy: 4, r: 11 }),
    svg("path", { d: "M0 -2L6 9H-6Z" }),
  );
}

/** The choice of one level, and a switch that shows all at once. */
function levelChooser(model: Model<State>) {
  const choose = (level: string) => put(model, "level", level);
  const element = html("div", { class: "lab-levels" });
  const all = html("button", { type: "button", class: "lab-chip" }, "all levels at once");
  let last = ""; // the level to come back to
  all.addEventListener("click", () => choose(model.get("level") ? "" : last));
  let buttons: ReturnType<typeof segments> | undefined;
  return {
    element,
    all,
    show({ levels, level }: Content) {
      const names = levels.map(({ id, label }) => [id, label]);
      if (element.dataset.names !== String(names)) {
        element.dataset.names = String(names);
        buttons = segments("Level of memory", Object.fromEntries(names), choose);
        element.replaceChildren(buttons.element);
      }
      last = level?.id ?? (last || levels[0].id);
      buttons?.show(level?.id ?? "");
      all.setAttribute("aria-pressed", String(!level));
    },
  };
}
