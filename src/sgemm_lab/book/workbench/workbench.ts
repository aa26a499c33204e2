// The workbench of "Your own kernel": any CUDA file, compiled and checked in the page.

import { LabError } from "../../errors.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import { ownKernels } from "../../external_cuda/kernels.ts";
import { linesOf } from "../../kernel.ts";
import { comma } from "../../text.ts";
import { megabytesToLoad, stopCompiling } from "../panel/compiled.ts";
import { Editor } from "../panel/editor.ts";
import { say } from "../panel/results.ts";
import { keepEdit, linkedEdit, savedEdit } from "../panel/saved_edits.ts";
import { newEngine } from "../panel/worker.ts";
import { KernelSection } from "./kernel_section.ts";

const NAME = "your-own-kernel";
const WAIT_MS = 400;
const MOST_CHARACTERS = 200_000;

interface Example {
  name: string;
  source: string;
  /** the text that its fault replaces, and the fault */
  fault: [string, string];
}

/** Bring the page's workbench to life. */
export function setUpAll() {
  for (const one of document.querySelectorAll<HTMLElement>('[data-lab="workbench"]')) {
    new Workbench(one).start();
  }
}

class Workbench {
  #engine = newEngine();
  #readText = "";
  #sections: KernelSection[] = [];
  #running = false;
  #waiting = 0;

  run;
  example;
  faulty;
  open;
  status;
  list;
  editor;
  examples: Example[];

  constructor(public element: HTMLElement) {
    const part = (name: string) => element.querySelector(`[data-lab="${name}"]`) as HTMLElement;
    this.run = part("run") as HTMLButtonElement;
    this.example = part("example") as HTMLSelectElement;
    this.faulty = part("faulty") as HTMLInputElement;
    this.open = part("open") as HTMLInputElement;
    this.status = part("verdict");
    this.list = part("launches");
    this.examples = JSON.parse(part("examples").textContent ?? "");
    this.editor = new Editor(element, 0, {
      edited: () => this.#edited(),
      run: () => this.#clicked(),
    });
  }

  async start() {
    const text = (await linkedEdit(NAME)) ?? (this.editor.untouched ? savedEdit(NAME) : null);
    if (text !== null) this.#takeOwn(text);
    else this.#read();
    this.run.addEventListener("click", () => this.#clicked());
    for (const one of [this.example, this.faulty]) {
      one.addEventListener("change", () => this.#takeExample());
    }
    this.open.addEventListener("change", () => this.#takeFile(this.open.files?.[0]));
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.#takeFile(event.dataTransfer.files[0]);
    });
    this.#nameRun();
    this.element.dataset.ready = "true";
    if (this.element.dataset.pressed === "run") this.run.click();
  }

  #takeExample() {
    const example = this.examples[this.example.selectedIndex];
    if (!example) return;
    const { source, fault } = example;
    this.editor.first = source;
    this.#take(this.faulty.checked ? source.replace(...fault) : source);
  }

  async #takeFile(file: File | undefined) {
    if (!file || this.#running) return;
    if (file.size > MOST_CHARACTERS) {
      say(
        this.status,
        "wrong",
        "Not opened",
        `${file.name} has ${comma(file.size)} bytes; the page takes ${comma(MOST_CHARACTERS)}.`,
      );
      return;
    }
    this.#takeOwn(await file.text());
  }

  /** Take a text in which no line counts as changed. */
  #takeOwn(text: string) {
    this.editor.first = text;
    this.example.selectedIndex = this.examples.length;
    this.#take(text);
  }

  #take(text: string) {
    this.editor.text = text;
    this.#edited();
  }

  #edited() {
    this.#engine.stop();
    this.editor.draw(new Set());
    clearTimeout(this.#waiting);
    this.#waiting = window.setTimeout(() => {
      this.#read();
      const { text } = this.editor;
      if (isOther(this.editor.first, text)) {
        this.editor.first = text;
        this.editor.draw(new Set());
        this.example.selectedIndex = this.examples.length;
      }
      keepEdit(NAME, this.examples.some(({ source }) => source === text) ? null : text);
    }, WAIT_MS);
  }

  /** Read the file, and list its kernels with their launches. */
  #read() {
    const { text } = this.editor;
    this.#readText = text;
    const edits = new Map(this.#sections.map((one) => [one.kernel.name, one.edits]));
    let file: CudaFile;
    try {
      file = new CudaFile([{ name: "The file", text }]);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#sections = [];
      this.list.replaceChildren();
      say(this.status, "none", "Not read", error.message);
      return;
    }
    const kernels = ownKernels(file);
    this.#sections = kernels.map((kernel) => {
      return new KernelSection(file, kernel, edits.get(kernel.name) ?? new Map());
    });
    this.list.replaceChildren(...this.#sections.map(({ element }) => element));
    const names = kernels.map(({ name }) => name).join(", ");
    if (!kernels.length)
      say(this.status, "none", "No kernel found", "A kernel begins with __global__ void.");
    else
      say(
        this.status,
        "none",
        `Not run yet: ${names}`,
        "Run compiles each kernel and runs it on your processor.",
      );
  }

  async #nameRun() {
    const megabytes = await megabytesToLoad();
    if (!this.#running) this.run.textContent = megabytes ? `Load ${megabytes} MB and run` : "Run";
  }

  async #clicked() {
    if (this.#running) {
      this.#engine.stop();
      stopCompiling();
      return;
    }
    clearTimeout(this.#waiting);
    if (this.editor.text !== this.#readText) this.#read();
    if (!this.#sections.length) return;
    this.#busy(true);
    this.status.scrollIntoView({ block: "nearest" });
    const named = new Set<number>();
    try {
      for (const [at, section] of this.#sections.entries()) {
        const of = this.#sections.length > 1 ? `${at + 1} of ${this.#sections.length}: ` : "";
        say(this.status, "busy", `Running ${of}${section.kernel.name} …`);
        for (const line of await section.run(this.#engine, linesOf(this.editor.text), (words) => {
          say(this.status, "busy", words, "Once a visit.");
        }))
          named.add(line);
      }
      this.#sum();
      const worst = this.#sections.find(({ state }) => state === "error") ?? this.#sections[0];
      worst?.element.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      say(this.status, "wrong", "Not run", error.message);
    } finally {
      this.editor.draw(named);
      this.#busy(false);
    }
  }

  #sum() {
    const states = this.#sections.map(({ state }) => state);
    const count = (state: string) => states.filter((one) => one === state).length;
    const all = states.length === 1 ? this.#sections[0].kernel.name : `${states.length} kernels`;
    const parts = [
      [count("error"), "with an error"],
      [count("warning"), "with a finding that depends on what was assumed"],
      [count("none"), "without a fault found"],
      [count("failed"), "not run"],
    ] as [number, string][];
    const says = parts
      .filter(([number]) => number)
      .map(([number, words]) => (states.length === 1 ? words : `${number} ${words}`));
    const state = count("error") ? "wrong" : count("none") === states.length ? "right" : "none";
    say(this.status, state, `${all}: ${says.join(", ")}`);
  }

  #busy(running: boolean) {
    this.#running = running;
    this.run.textContent = running ? "Stop" : "Run";
    this.editor.readOnly = running;
    for (const one of [this.example, this.faulty, this.open]) one.disabled = running;
  }
}

/** Whether a text has less than half of its lines from another one. */
function isOther(first: string, text: string) {
  const lines = text.split("\n").filter((line) => line.trim());
  const known = new Set(first.split("\n"));
  return lines.filter((line) => known.has(line)).length < lines.length / 2;
}
