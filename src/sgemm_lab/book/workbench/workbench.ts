// The workbench of "Your own kernel": any CUDA file, compiled and checked in the page.

import { LabError } from "../../errors.ts";
import { comma } from "../../text.ts";
import { part } from "../page_elements.ts";
import { Editor } from "../panel/editor.ts";
import { say } from "../panel/results.ts";
import { keepEdit, linkedEdit, savedEdit } from "../panel/saved_edits.ts";
import { SourceError } from "../source_error.ts";
import { FileCheck, megabytesToCheck, stopChecking } from "./file_check.ts";

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
  #readText = "";
  #check: FileCheck | null = null;
  #running = false;
  #waiting = 0;

  run = part<HTMLButtonElement>(this.element, "run");
  example = part<HTMLSelectElement>(this.element, "example");
  faulty = part<HTMLInputElement>(this.element, "faulty");
  open = part<HTMLInputElement>(this.element, "open");
  status = part(this.element, "verdict");
  list = part(this.element, "launches");
  editor = new Editor(this.element, 0, {
    edited: () => this.#edited(),
    run: () => this.#clicked(),
  });
  examples: Example[] = JSON.parse(part(this.element, "examples").textContent ?? "");

  constructor(public element: HTMLElement) {}

  async start() {
    const text = (await linkedEdit(NAME)) ?? (this.editor.untouched ? savedEdit(NAME) : null);
    if (text !== null) this.#takeOwn(text);
    else if (this.editor.untouched && this.#isChosen()) this.#takeExample();
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

  /** Whether the reader chose an example before the script came. */
  #isChosen() {
    return this.example.selectedIndex > 0 || this.faulty.checked;
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
      const [size, most] = [file.size, MOST_CHARACTERS].map(comma);
      const why = `${file.name} has ${size} bytes; the page takes ${most}.`;
      say(this.status, "wrong", "Not opened", why);
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

  /** Read the file; where it has no main, list its kernels with their launches. */
  #read() {
    const { text } = this.editor;
    this.#readText = text;
    try {
      const changed = () => this.#running || this.#clicked();
      this.#check = new FileCheck(text, changed, this.#check);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#check = null;
      this.list.replaceChildren();
      say(this.status, "none", "Not read", error.message);
      return;
    }
    const { kernels, element, isFollowed } = this.#check;
    this.list.replaceChildren(element);
    const names = kernels.map(({ name }) => name).join(", ");
    const runs = isFollowed
      ? "Run follows the file’s main: each launch runs on the arguments and data that it gives."
      : "Run takes each kernel by itself: the file has no main, so launches and data are assumed.";
    if (!kernels.length) {
      say(this.status, "none", "No kernel found", "A kernel begins with __global__ void.");
    } else say(this.status, "none", `Not run yet: ${names}`, runs);
  }

  async #nameRun() {
    const megabytes = await megabytesToCheck();
    if (!this.#running) this.run.textContent = megabytes ? `Load ${megabytes} MB and run` : "Run";
  }

  async #clicked() {
    if (this.#running) {
      stopChecking();
      return;
    }
    clearTimeout(this.#waiting);
    if (this.editor.text !== this.#readText) this.#read();
    const check = this.#check;
    if (!check?.kernels.length) return;
    this.#busy(true);
    this.status.scrollIntoView({ block: "nearest" });
    let named: number[] = [];
    let [words, seconds] = ["Starting", 0];
    const show = () => say(this.status, "busy", `${words} (${seconds} s)`);
    const clock = setInterval(() => {
      seconds++;
      show();
    }, 1000);
    try {
      named = await check.run(this.status, (now) => {
        words = now;
        show();
      });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      const line = error instanceof SourceError ? error.line : 0;
      if (line) named = [line];
      const head = error instanceof SourceError ? "Does not compile" : "Not run";
      say(this.status, "wrong", line ? `${head}: line ${line}` : head, error.message);
    } finally {
      clearInterval(clock);
      this.editor.draw(new Set(named));
      this.#busy(false);
    }
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
