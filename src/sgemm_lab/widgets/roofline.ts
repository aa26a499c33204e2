// The roofline: roofs of one GPU, one memory level at a time, kernels as points and as bars, a probe
// that reads the roofs at any intensity.

import "./roofline.css";
import { roofAt } from "../formulas/roofs.ts";
import type { Content, State } from "./roofline_model.ts";
import { contentOf, nameOf } from "./roofline_model.ts";
import type { Drawn } from "./roofline_picture.ts";
import { drawRoofline, glide, LAYERS, placeOf } from "./roofline_picture.ts";
import { barRows, keyEntries, pointText, probeText, probeValue } from "./roofline_words.ts";
import { gpuChooser, segments, steadyVerdict } from "./shared/controls.ts";
import { html, setAttributes, svg } from "./shared/dom.ts";
import { HUES } from "./shared/levels.ts";
import { availableWidth, keepDrawn, listen, put, tool } from "./shared/model.ts";
import { rowPicker } from "./shared/row_picker.ts";
import { within } from "./shared/scale.ts";
import { layersOf, nearest } from "./shared/scene.ts";

const STATE = ["gpus", "gpu", "points", "level"] as const;

export function render({ model, el }: View<State>) {
  const roofline = new Roofline(model, el);
  const stop = listen(model, ["selected"], () => roofline.point());
  return keepDrawn(model, STATE, roofline.root, () => roofline.update(), { stop });
}

class Roofline {
  chooser;
  level;
  bars = html("div", { class: "lab-bars", role: "list", "aria-label": "Speed and bound" });
  key = html("div", { class: "lab-key" });
  picture = svg("svg", { class: "lab-chart", role: "group" });
  readout = steadyVerdict();
  root;
  layers;
  handle = probeHandle();
  /** shows what is under the pointer, or else has focus; cheap, runs on every move */
  point;
  /** what the last drawing left */
  last: Drawn | undefined;
  /** FLOP/B read by the probe */
  probe = 1;
  /** whether the probe is read, not a point */
  probing = false;

  constructor(
    public model: Model<State>,
    el: HTMLElement,
  ) {
    this.chooser = gpuChooser(model);
    this.level = levelChooser(model);
    const bar = html("div", { class: "lab-bar" }, this.level.element, this.chooser.field);
    const parts = [bar, this.picture, this.key, this.bars];
    const told = [this.readout.element, this.readout.measure];
    this.root = tool(el, "lab-roofline", parts, told);
    this.layers = layersOf(this.picture, ...LAYERS);
    this.picture.append(this.handle);
    this.followProbe();
    this.point = rowPicker({
      ...{ model, root: this.root, picture: this.picture, row: "lab-point" },
      readout: this.readout,
      words: (name) => this.words(name),
      near: (event) => this.near(event),
    });
  }

  update() {
    const content = contentOf(this.model);
    const { gpu, level, visible } = content;
    this.chooser.show();
    this.level.show(content);
    this.bars.replaceChildren(...barRows(content));
    this.bars.hidden = !this.bars.firstChild;
    this.key.replaceChildren(...keyEntries(content));
    const room = availableWidth(this.root);
    if (this.last && this.last.content.gpu.id !== gpu.id) glide(this.picture);
    this.last = drawRoofline(this.picture, this.layers, content, room);
    this.readout.reserve(`${room} ${gpu.id} ${level.id}`, () => [
      probeText(content, this.probe),
      ...visible.map((point) => pointText(content, point)),
    ]);
    this.point();
  }

  /** What the last drawing left for the pointer to use. */
  get drawn() {
    return this.last as Drawn;
  }

  /** The name of the point near a pointer. */
  near(event: MouseEvent) {
    const { axes, content } = this.drawn;
    const marks = content.visible.map((point) => {
      const [x, y] = placeOf(axes, point);
      return { name: nameOf(point), x, y };
    });
    return nearest(marks, this.picture, event)?.name ?? null;
  }

  /** About a point, or about the probe, with the highlights for it. */
  words(name: string | undefined) {
    const { content, axes } = this.drawn;
    const active = content.visible.find((point) => !this.probing && nameOf(point) === name);
    this.probe = within(this.probe, axes.x.low, axes.x.high);
    this.picture.classList.toggle("lab-has-active", active !== undefined);
    for (const node of this.picture.querySelectorAll("[data-kernel]")) {
      node.classList.toggle("lab-active", node.getAttribute("data-kernel") === active?.kernel);
    }
    this.drawProbe(active?.intensity ?? (this.probing ? this.probe : undefined));
    return active ? pointText(content, active) : probeText(content, this.probe);
  }

  /** The probe: a vertical line that reads the roof at one intensity. */
  drawProbe(intensity: number | undefined) {
    const { axes, box, content } = this.drawn;
    const { id } = content.level;
    const { probe } = this.layers;
    if (intensity !== undefined) {
      const x = axes.x(intensity);
      const cy = axes.y(roofAt(content.gpu, id, intensity).gflops);
      probe.draw("line", "path", { class: "lab-cross", d: `M${x} ${box.top}V${box.bottom}` });
      probe.draw("dot", "circle", { class: `lab-dot lab-${HUES[id]}`, r: 4, cx: x, cy });
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

  /** Where no point is near, a pointer moves the probe; by keyboard its handle does. */
  followProbe() {
    const { picture, handle, readout } = this;
    const move = (event: PointerEvent) => {
      this.probing = this.near(event) === null;
      if (!this.probing) return;
      const { left } = picture.getBoundingClientRect();
      this.probe = this.drawn.axes.x.invert(event.clientX - left);
      readout.element.setAttribute("aria-live", "off"); // a mouse would make it talk without end
      this.point();
    };
    picture.addEventListener("pointermove", move);
    picture.addEventListener("pointerdown", move);
    picture.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType !== "touch") this.probing = false; // a lifted finger still wants to read
    });
    for (const kind of ["focus", "blur"]) {
      handle.addEventListener(kind, () => {
        this.probing = handle.matches(":focus-visible");
        this.point();
      });
    }
    handle.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !this.moveProbe(event.key)) return;
      event.preventDefault();
      event.stopPropagation(); // JupyterLab and the book's page turn use arrow keys too
      this.probing = true;
      readout.element.setAttribute("aria-live", "polite");
      this.point();
    });
  }

  /** @returns whether the key moves the probe */
  moveProbe(key: string): boolean {
    const { low, high } = this.drawn.axes.x;
    const factor = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[key];
    if (factor) this.probe *= 10 ** (factor / 20);
    else if (key === "PageUp" || key === "PageDown") this.probe *= key === "PageUp" ? 2 : 0.5;
    else if (key === "Home" || key === "End") this.probe = key === "Home" ? low : high;
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

/** The choice of one level. */
function levelChooser(model: Model<State>) {
  const element = html("div", { class: "lab-levels" });
  let buttons: ReturnType<typeof segments> | undefined;
  return {
    element,
    show({ levels, level }: Content) {
      const names = levels.map(({ id, label }) => [id, label]);
      if (element.dataset.names !== String(names)) {
        element.dataset.names = String(names);
        const choose = (id: string) => put(model, "level", id);
        buttons = segments("Level of memory", Object.fromEntries(names), choose);
        element.replaceChildren(buttons.element);
      }
      buttons?.show(level.id);
    },
  };
}
