// The form with which a reader runs kernels on their own GPU. It stays hidden until Python has
// answered, so on a page without a kernel there is none.

import { sizeText } from "../text.ts";
import { button, html, setAttributes } from "./shared/dom.ts";

export type Size = [m: number, n: number, k: number];

interface Named {
  name: string;
  title: string;
}

interface FormState {
  kernels: Named[];
  sizes: Size[];
  size: Size;
  selected: string;
}

interface Message {
  kind: "run";
  kernel: string;
  size: Size;
}

const ALL = ""; // of the kernels: all of them, one after another

export function ladderForm(model: Model<FormState>) {
  const form = new LadderForm(model);
  const receive = (message: { kind: string; text: string }) => form.receive(message);
  model.on("msg:custom", receive);
  model.send?.({ kind: "hello" });
  return { element: form.element, stop: () => model.off("msg:custom", receive) };
}

class LadderForm {
  kernel;
  size;
  run;
  halt;
  told;
  problem;
  progress;
  element;
  /** to Python, that wait for their turn */
  queue: Message[] = [];
  asked;
  current;

  constructor(public model: Model<FormState>) {
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

  busy(on: boolean) {
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

  /** What Python says. */
  receive({ kind, text }: { kind: string; text: string }) {
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

function field(words: string, control: HTMLElement) {
  return html("label", { class: "lab-field" }, html("span", {}, words), control);
}
