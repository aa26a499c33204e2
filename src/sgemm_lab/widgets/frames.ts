// A drawing that moves: a slider shows one of its frames.

import "./frames.css";
import { choiceSlider } from "./shared/controls.ts";
import { html, setAttributes } from "./shared/dom.ts";
import { keepDrawn, put, tool } from "./shared/model.ts";
import { range } from "./shared/scale.ts";

interface State {
  frames: { name: string; html: string; says: string }[];
  label: string;
  frame: number;
}

export function render({ model, el }: View<State>) {
  const slider = choiceSlider(model.get("label"), (frame) => put(model, "frame", frame));
  const pictures = model.get("frames").map((frame) => {
    const picture = html("div", { class: "lab-frame" });
    picture.innerHTML = frame.html; // drawn by the book's own code
    return picture;
  });
  const stage = html("div", { class: "lab-stage", role: "status" }, pictures);
  const root = tool(el, "lab-frames", slider.element, stage);

  function update() {
    const [frames, now] = [model.get("frames"), model.get("frame")];
    slider.show(now, range(0, frames.length - 1), frames[now].name);
    pictures.forEach((picture, i) => {
      setAttributes(picture, { "aria-hidden": i === now ? null : "true" });
      picture.classList.toggle("lab-shown", i === now);
    });
  }
  return keepDrawn(model, ["frames", "frame"], root, update);
}
