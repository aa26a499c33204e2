// @ts-check
// The form with which a reader runs kernels on their own GPU. It stays hidden until Python has
// answered, so on a page without a kernel there is none.

import { sizeText } from "../text.js";
import { button, html, setAttributes } from "./shared/dom.js";

/**
 * @typedef {[m: number, n: number, k: number]} Size
 * @typedef {{ name: string, title: string }} Named
 * @typedef {{ kernels: Named[], sizes: Size[], size: Size, selected: string }} FormState
 * @typedef {{ kind: "run", kernel: string, size: Size }} Message
 */

const ALL = ""; // of the kernels: all of them, one after another

/** @param {Model<FormState>} model */
export function ladderForm(model) {
  const form = new LadderForm(model);
  /** @param {{ kind: string, text: string }} message */
  const receive = (message) => form.receive(message);
  model.on("msg:custom", receive);
  model.send?.({ kind: "hello" });
  return { element: form.element, stop: () => model.off("msg:custom", receive) };
}

class LadderForm {
  /** @param {Model<FormState>} model */
  constructor(model) {
    this.model = model;
    this.kernel = html("select", { class: "lab-select" });
    this.size = html("select", { class: "lab-select" });
    this.run = html("button", { type: "submit", class: "lab-button" }, "Run");
    this.halt = button("Stop", () => this.stop());
    this.told = html("p", { class: "lab-told", role: "status" });
    this.problem = html("p", { class: "lab-complaint", role: "alert" });
    this.progress = html("progress", { class: "lab-progress", "aria-label": "Progress" });
    this.element = html(
      "form",
      { class: "lab-form", "aria-label": "Run on your GPU", hidden: "" },
      html("p", { class: "lab-form-head" }, "Run on your GPU"),
      html("div", { class: "lab-bar" }, field("Kernel", this.kernel), field("Size", this.size), [
        this.run,
        this.halt,
      ]),
      [this.progress, this.told, this.problem],
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.start();
    });
    /** @type {Message[]} to Python, that wait for their turn */
    this.queue = [];
    this.asked = 0; // how many messages were sent, with the one under way
    this.current = ""; // title of the kernel under way
  }

  fill() {
    const rungs = this.model.get("kernels");
    const options = [
      html("option", { value: ALL }, "all, one after another"),
      ...rungs.map(({ name, title }) => html("option", { value: name }, title)),
    ];
    this.kernel.replaceChildren(...options);
    this.kernel.value = this.model.get("selected") || rungs[0].name;
    const texts = this.model.get("sizes").map(sizeText);
    this.size.replaceChildren(...texts.map((text, i) => html("option", { value: i }, text)));
    this.size.value = String(texts.indexOf(sizeText(this.model.get("size"))));
  }

  /** @param {boolean} on */
  busy(on) {
    for (const control of [this.run, this.kernel, this.size]) control.disabled = on;
    this.halt.hidden = !on;
    this.progress.hidden = !on;
    if (this.asked) {
      const max = this.asked + this.queue.length;
      setAttributes(this.progress, { max, value: this.asked - 1 });
    } else this.progress.removeAttribute("value"); // another view of this ladder runs
  }

  start() {
    this.problem.textContent = "";
    const kernels = this.model.get("kernels").map(({ name }) => name);
    const names = this.kernel.value === ALL ? kernels : [this.kernel.value];
    const size = this.model.get("sizes")[Number(this.size.value)];
    this.queue = names.map((kernel) => ({ kind: "run", kernel, size }));
    this.next();
  }

  stop() {
    this.queue = [];
    this.halt.hidden = true;
    this.told.textContent = `${this.told.textContent}. It stops after this kernel.`;
  }

  next() {
    const message = this.queue.shift();
    if (message) {
      this.asked += 1;
      const kernel = this.model.get("kernels").find(({ name }) => name === message.kernel);
      this.current = kernel?.title ?? message.kernel;
      this.told.textContent = `${this.current}: waiting for Python`;
      this.model.send(message);
    } else {
      if (this.asked) this.told.textContent = "Done.";
      this.asked = 0;
    }
    this.busy(Boolean(message));
  }

  /**
   * What Python says.
   * @param {{ kind: string, text: string }} message
   */
  receive({ kind, text }) {
    if (kind === "ready" && this.element.hidden) {
      this.fill();
      this.busy(false);
      this.element.hidden = false;
    } else if (kind === "progress") {
      this.told.textContent = this.current ? `${this.current}: ${text}` : text;
      this.busy(true);
    } else if (kind === "problem") {
      const before = this.problem.textContent;
      this.problem.textContent = [before, text].filter(Boolean).join(" ");
      this.next();
    } else if (kind === "done") this.next();
  }
}

/**
 * @param {string} words
 * @param {HTMLElement} control
 */
function field(words, control) {
  return html("label", { class: "lab-field" }, html("span", {}, words), control);
}
