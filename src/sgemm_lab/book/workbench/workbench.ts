// The workbench of "Your own kernel": any CUDA file, compiled and checked in the page.

import { LabError } from "../../errors.ts";
import { linesOf } from "../../kernel.ts";
import { comma } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { compiled, megabytesToLoad, SourceError, stopCompiling } from "../panel/compiled.ts";
import { Editor } from "../panel/editor.ts";
import { HEADS, say, TOLD, withoutFile } from "../panel/results.ts";
import { keepEdit, keptEdit, linkedEdit } from "../panel/saved_edits.ts";
import { newEngine } from "../panel/worker.ts";
import type { CudaFile, KernelSource } from "./cuda_file.ts";
import { readCudaFile } from "./cuda_file.ts";
import { judgeLaunch } from "./judge_launch.ts";
import type { LaunchPlan, Setting } from "./launch.ts";
import { assumptions, planLaunch, resolve, TOO_LARGE } from "./launch.ts";
import type { Compared, Finding, LaunchFindings } from "./run_launch.ts";

const NAME = "your-own-kernel";
const WAIT_MS = 400;
/** An assumed size is tried a second time, this much smaller: no multiple of a tile. */
const RAGGED = 3;
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
  #file: CudaFile | null = null;
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
    const text = (await linkedEdit(NAME)) ?? (this.editor.untouched ? keptEdit(NAME) : null);
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
    this.#file = readCudaFile(this.editor.text);
    const { kernels } = this.#file;
    const edits = new Map(this.#sections.map((one) => [one.kernel.name, one.edits]));
    const file = this.#file;
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

  get #readText() {
    return this.#file?.text;
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

/** One kernel of the file: its launch, which can be edited, and what was found. */
class KernelSection {
  element = html("section", { class: "lab-launch" });
  state: "none" | "error" | "warning" | "failed" | "" = "";
  #plan: LaunchPlan;
  #verdict = html("div", { class: "lab-bench-verdict", role: "status" });
  #counts = html("div", { "data-lab": "counts" });
  #summary = html("summary");

  constructor(
    public file: CudaFile,
    public kernel: KernelSource,
    public edits: Map<string, string>,
  ) {
    this.#plan = planLaunch(file, kernel, edits);
    this.#draw();
  }

  #draw() {
    const { template, sizes, grid, block, shared, args, expected } = this.#plan;
    const named = new Set(sizes.map(({ label }) => label));
    const values = args.map(({ setting }) => setting).filter(({ text }) => !named.has(text));
    const settings = [expected, ...sizes, template, grid, block, ...values, shared];
    const fields = settings.filter((one) => one !== null).map((one) => this.#field(one));
    this.#describe();
    this.element.replaceChildren(
      html(
        "p",
        { class: "lab-launch-name" },
        html("code", {}, this.kernel.name),
        ` line ${this.kernel.line}`,
      ),
      html("details", {}, this.#summary, html("div", { class: "lab-launch-fields" }, ...fields)),
      this.#verdict,
      this.#counts,
    );
  }

  #field({ key, label, text, origin, assumed }: Setting) {
    const input = html("input", {
      type: "text",
      value: text,
      spellcheck: "false",
      autocomplete: "off",
    });
    input.addEventListener("change", () => {
      this.edits.set(key, input.value);
      const open = this.element.querySelector("details")?.open;
      this.#plan = planLaunch(this.file, this.kernel, this.edits);
      this.#draw();
      const details = this.element.querySelector("details");
      if (details && open) details.open = true;
    });
    const source = html("small", { "data-assumed": assumed ? "true" : null }, origin);
    return html("label", {}, html("span", {}, label), input, source);
  }

  #describe() {
    let says: string;
    try {
      const { grid, block } = resolve(this.file, this.#plan);
      says = `grid ${grid.join(" × ")}, block ${block.join(" × ")}`;
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      says = error.message;
    }
    const assumed = assumptions(this.#plan).length ? ", partly assumed" : "";
    const shrunk = this.#plan.sizes
      .filter(({ origin }) => origin.includes(TOO_LARGE))
      .map(({ label, text, origin }) => `${label} = ${text} (${origin})`);
    this.#summary.textContent = `Launch: ${says}${assumed}${shrunk.map((one) => `; ${one}`).join("")}`;
  }

  /** @returns the lines that its findings name */
  async run(
    engine: ReturnType<typeof newEngine>,
    source: string[],
    loading: (words: string) => void,
  ): Promise<number[]> {
    this.#counts.replaceChildren();
    this.state = "failed";
    try {
      const launch = resolve(this.file, this.#plan);
      const { ptx, by } = await compiled(this.#device(), (done, total) => {
        const [have, all] = [done, total].map((bytes) => Math.round(bytes / 1e6));
        loading(`Loading the compiler: ${have} of ${all} MB`);
      });
      const entry = entryOf(ptx, this.kernel.name);
      say(this.#verdict, "busy", "Running on your processor …");
      const ask = async (one: typeof launch) =>
        (await engine.ask<{ found: LaunchFindings }>({ task: "launch", ptx, entry, launch: one }))
          .found;
      const first = await ask(launch);
      const assumed = assumptions(this.#plan);
      const ragged = assumed.length ? this.#ragged() : null;
      const other = ragged && (await ask(resolve(this.file, ragged)));
      return this.#tell(first, other, ragged, source, by);
    } catch (error) {
      if (error instanceof SourceError) {
        const where = error.line ? ` at line ${error.line}` : "";
        say(this.#verdict, "wrong", `Does not compile${where}`, error.message);
        return error.line ? [error.line] : [];
      }
      if (!(error instanceof LabError)) throw error;
      say(this.#verdict, "wrong", "Not run", error.message);
      return [];
    }
  }

  /** The text to compile; a template is instantiated by a host function that names it. */
  #device() {
    const { name } = this.kernel;
    const part = this.file.devicePart(name);
    const values = this.#plan.template?.text;
    if (values === undefined) return part;
    return `${part}\ninline void lab_instances() { auto kernel = &${name}<${values}>; (void)kernel; }\n`;
  }

  /** The plan at assumed sizes that no tile divides; null if no size was assumed. */
  #ragged() {
    const edits = new Map(this.edits);
    edits.delete("expected"); // it may name sizes by their numbers
    for (const { key, text, assumed } of this.#plan.sizes) {
      if (assumed) edits.set(key, `${Math.max(1, Number(text) - RAGGED)}`);
    }
    const assumesSizes = this.#plan.sizes.some(({ assumed }) => assumed);
    return assumesSizes ? planLaunch(this.file, this.kernel, edits) : null;
  }

  #tell(
    first: LaunchFindings,
    other: LaunchFindings | null,
    ragged: LaunchPlan | null,
    source: string[],
    by: string,
  ) {
    const assumed = assumptions(this.#plan);
    const { severity, findings } = judgeLaunch(first, other, assumed.length > 0);
    this.state = severity;
    const note = (text: string) => html("p", { class: "lab-bench-by" }, text);
    const assumption = assumed.length
      ? [note(`Assumed: ${assumed.join("; ")}. Set them under Launch.`)]
      : [];
    const told = findings.map((one) => findingOf(one, source));
    const lines = findings.flatMap((one) => one.lines);
    const { compared } = first;
    if (!findings.length && compared?.wrong) told.push(html("p", {}, differenceOf(compared)));
    const kind = findings.length ? (HEADS[findings[0].kind] ?? "Wrong") : "Wrong result";
    if (severity === "error") {
      say(this.#verdict, "wrong", kind, ...told, ...assumption, note(by));
    } else if (severity === "warning") {
      const head = `Would happen with this launch: ${kind.toLowerCase()}`;
      say(this.#verdict, "none", head, ...told, ...assumption, note(by));
    } else {
      const at = ragged?.sizes.map(({ label, text }) => `${label} = ${text}`).join(", ");
      const also = findings.length
        ? [html("p", {}, `At ${at}, where tiles are not full:`), ...told]
        : [];
      const tried = at && !findings.length ? ` Also tried at ${at}.` : "";
      const writes = first.outputs.map(
        ({ name, first: values, length }) =>
          `${name} = ${values.map((one) => Number(one.toPrecision(6))).join(", ")}${length > values.length ? ", …" : ""}`,
      );
      const results = compared
        ? `All ${comma(compared.length)} elements of ${compared.name} are as expected.`
        : "Results are not compared: say under Launch what is expected.";
      say(
        this.#verdict,
        "right",
        compared ? "Right" : "No race, overrun or unwritten read found",
        html("p", {}, `${results}${tried}`),
        html("p", {}, "On small whole numbers that this page draws, not on the file’s own data:"),
        html("pre", { tabindex: 0 }, writes.join("\n")),
        ...also,
        ...assumption,
        note(by),
      );
    }
    this.#count(first, source);
    return severity === "error" ? lines : [];
  }

  /** Counts by line, with a sentence where lanes share a bank. */
  #count({ lines, conflicts }: LaunchFindings, source: string[]) {
    const rows = [...lines.keys()]
      .filter((line) => line > 0 && line <= source.length)
      .sort((a, b) => a - b)
      .flatMap((line) => {
        const counts = lines.get(line) ?? {};
        const found = TOLD.filter(([key]) => counts[key]);
        const code = source[line - 1].replace(/\/\/.*$/, "").trim();
        const conflict = conflicts.get(line);
        return found.map(([key, words], at) =>
          html(
            "tr",
            { class: at ? "is-more" : "" },
            html("td", {}, at ? "" : html("code", {}, html("i", {}, `${line}`), ` ${code}`)),
            html(
              "td",
              {},
              words,
              conflict &&
                key.startsWith("shared_") &&
                html("small", { class: "lab-conflict" }, conflict),
            ),
            html("td", {}, comma(counts[key])),
          ),
        );
      });
    const head = ["line", "counted", "count"].map((text) => html("th", { scope: "col" }, text));
    const table = html(
      "table",
      {},
      html("thead", {}, html("tr", {}, head)),
      html("tbody", {}, rows),
    );
    const worst = [...conflicts].map(([line, text]) => html("p", {}, `Line ${line}. ${text}`));
    this.#counts.replaceChildren(
      ...worst,
      html(
        "details",
        {},
        html("summary", {}, "Memory requests by line"),
        html("div", { class: "lab-bench-counts" }, table),
      ),
    );
  }
}

/** Whether a text has less than half of its lines from another one. */
function isOther(first: string, text: string) {
  const lines = text.split("\n").filter((line) => line.trim());
  const known = new Set(first.split("\n"));
  return lines.filter((line) => known.has(line)).length < lines.length / 2;
}

function differenceOf({ name, wrong, length, at, got, expected }: Compared) {
  const first = `${name}[${at}] is ${got}, expected is ${expected}`;
  return `${comma(wrong)} of ${comma(length)} elements of ${name} differ from what is expected: ${first}.`;
}

function findingOf({ message, lines }: Finding, source: string[]) {
  const named = lines
    .filter((line) => line <= source.length)
    .map((line) => html("span", {}, html("i", {}, `${line}`), `${source[line - 1].trim()}\n`));
  return html(
    "div",
    {},
    html("p", {}, withoutFile(message)),
    named.length ? html("pre", { tabindex: 0 }, ...named) : "",
  );
}

/** The name that a kernel has in PTX: as it is for extern "C", else mangled. */
function entryOf(ptx: string, name: string) {
  const entries = [...ptx.matchAll(/\.entry\s+([\w$]+)/g)].map(([, entry]) => entry);
  const found = entries.find((entry) => entry === name || entry.includes(`${name.length}${name}`));
  if (!found) throw new LabError(`The compiler made no kernel “${name}” of this file.`);
  return found;
}
