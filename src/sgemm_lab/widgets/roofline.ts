// The roofline: roofs of one GPU, one memory level at a time, kernels as points and as bars.

import "./roofline.css";
import { type Content, contentOf, nameOf, type State } from "./roofline_model.ts";
import { type Drawn, drawRoofline, glide, LAYERS, placeOf } from "./roofline_picture.ts";
import { barRows, keyEntries, pointText, roofText } from "./roofline_words.ts";
import { gpuChooser, segments, steadyVerdict } from "./shared/controls.ts";
import { html, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, listen, put, tool } from "./shared/model.ts";
import { rowPicker } from "./shared/row_picker.ts";
import { layersOf, nearest } from "./shared/scene.ts";

const STATE = ["gpus", "gpu", "points", "level"] as const;

export function render({ model, el }: View<State>) {
  const chooser = gpuChooser(model);
  const levels = levelChooser(model);
  const bars = html("div", { class: "lab-bars", role: "list", "aria-label": "Speed and bound" });
  const key = html("div", { class: "lab-key" });
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const readout = steadyVerdict();
  const bar = html("div", { class: "lab-bar" }, levels.element, chooser.field);
  const told = [readout.element, readout.measure];
  const root = tool(el, "lab-roofline", [bar, picture, key, bars], told);
  const layers = layersOf(picture, ...LAYERS);
  let last: Drawn | undefined;
  const point = rowPicker({ model, root, picture, row: "lab-point", readout, words, near });

  function update() {
    const content = contentOf(model);
    const { gpu, level, visible } = content;
    chooser.show();
    levels.show(content);
    bars.replaceChildren(...barRows(content));
    bars.hidden = !bars.firstChild;
    key.replaceChildren(...keyEntries(content));
    const room = availableWidth(root);
    if (last && last.content.gpu.id !== gpu.id) glide(picture);
    last = drawRoofline(picture, layers, content, room);
    readout.reserve(`${room} ${gpu.id} ${level.id}`, () => [
      roofText(content),
      ...visible.map((one) => pointText(content, one)),
    ]);
    point();
  }

  /** The name of the point near a pointer. */
  function near(event: MouseEvent) {
    const { axes, content } = last as Drawn;
    const marks = content.visible.map((one) => {
      const [x, y] = placeOf(axes, one);
      return { name: nameOf(one), x, y };
    });
    return nearest(marks, picture, event)?.name ?? null;
  }

  /** About a point, with its kernel highlighted, or about the roof. */
  function words(name: string | undefined) {
    const { content } = last as Drawn;
    const active = content.visible.find((one) => nameOf(one) === name);
    picture.classList.toggle("lab-has-active", active !== undefined);
    for (const node of picture.querySelectorAll("[data-kernel]")) {
      node.classList.toggle("lab-active", node.getAttribute("data-kernel") === active?.kernel);
    }
    return active ? pointText(content, active) : roofText(content);
  }

  return keepDrawn(model, STATE, root, update, { stop: listen(model, ["selected"], point) });
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
