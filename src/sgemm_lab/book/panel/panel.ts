// The panel under a listing: the reader's copy of a kernel, run and judged in the page.

import { QUICK_SIZES } from "../../checking/judge.py";
import { LabError } from "../../errors.ts";
import { ENTRY, linesOf, type Size } from "../../kernel.ts";
import type { Sheet } from "../../models/bound.ts";
import { sizeText } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { part } from "../page_elements.ts";
import { SourceError } from "../source_error.ts";
import { FileCheck, stopChecking } from "../workbench/file_check.ts";
import {
  compiled,
  megabytesToLoad,
  missing,
  sameCode,
  shipped,
  stopCompiling,
} from "./compiled.ts";
import { Editor } from "./editor.ts";
import type { Counted, Verdict } from "./engine.ts";
import { Engines } from "./engines.ts";
import { differences } from "./marks.ts";
import { say, sayVerdict, showCounts } from "./results.ts";
import { keepEdit, linkedEdit, savedEdit } from "./saved_edits.ts";

const KEEP_AFTER_MS = 400;
const FOREIGN = "This code came with the link";

/** Bring all panels of the page to life. */
export function setUpAll() {
  const found: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="panel"]');
  for (const element of found) new Panel(element).start();
}

class Panel {
  #engines = new Engines();
  /** lines of the file that a verdict names */
  #named: Set<number> = new Set();
  /** what was run last */
  #ran: { source: string; ptx: string } | null = null;
  #running = false;
  #keeping = 0;

  run = part<HTMLButtonElement>(this.element, "run");
  reset = part<HTMLButtonElement>(this.element, "reset");
  size = part<HTMLSelectElement>(this.element, "size");
  verdict = part(this.element, "verdict");
  notRun = location.protocol === "file:" ? missing() : (this.verdict.lastChild?.textContent ?? "");
  counts = part(this.element, "counts");
  kernel: { name: string; head: string; gpu: Sheet } = JSON.parse(
    part(this.element, "kernel").textContent ?? "",
  );
  above = linesOf(this.kernel.head).length;
  editor = new Editor(this.element, this.above, {
    edited: () => this.#edited(),
    run: () => this.#clicked(),
  });
  bookText = this.editor.first;

  constructor(public element: HTMLElement) {}

  async start() {
    const { name } = this.kernel;
    const linked = await linkedEdit(name);
    if (linked !== null && linked !== savedEdit(name) && linked !== this.bookText) {
      this.#take(linked);
      say(this.verdict, "none", FOREIGN, "Nothing has run. Read what is marked, then press Run.");
      const fold = this.element.closest("details");
      if (fold) fold.open = true;
      this.element.scrollIntoView();
    } else if (this.editor.untouched) {
      this.#take(savedEdit(name) ?? this.bookText);
    } else this.#edited(); // the reader was faster than the script
    this.run.addEventListener("click", () => this.#clicked());
    this.reset.addEventListener("click", () => this.#take(this.bookText));
    this.size.addEventListener("change", () => this.#recount());
    this.element.dataset.ready = "true";
    // What was pressed while the script came.
    const { pressed } = this.element.dataset;
    if (pressed === "run") this.run.click();
    if (pressed === "reset") this.reset.click();
  }

  /** The whole file, head comment included. */
  get source() {
    return `${this.kernel.head}${this.editor.text.trimEnd()}\n`;
  }

  get bookSource() {
    return `${this.kernel.head}${this.bookText.trimEnd()}\n`;
  }

  #take(text: string) {
    this.editor.text = text;
    this.#edited();
  }

  #edited() {
    this.#named = new Set();
    this.#ran = null;
    this.#engines.stop();
    this.counts.replaceChildren();
    this.editor.draw(this.#named);
    const same = this.editor.untouched;
    this.reset.disabled = same;
    say(this.verdict, "none", same ? "Not run yet" : "Edited, and not run yet", this.notRun);
    clearTimeout(this.#keeping);
    const keep = () => keepEdit(this.kernel.name, same ? null : this.editor.text);
    this.#keeping = setTimeout(keep, KEEP_AFTER_MS);
    this.#nameRun();
  }

  /** Let the button say what it would load. */
  async #nameRun() {
    const { source } = this;
    const own =
      this.reset.disabled ||
      (await shipped(this.kernel.name, this.bookSource, source).catch(() => null));
    const megabytes = own ? 0 : await megabytesToLoad();
    if (this.#running || source !== this.source) return;
    this.run.textContent = megabytes ? `Load ${megabytes} MB and run` : "Run";
  }

  async #clicked() {
    if (this.#running) {
      this.#engines.stop();
      stopCompiling();
      stopChecking();
      return;
    }
    this.#busy(true);
    try {
      await this.#runIt();
    } catch (error) {
      if (error instanceof SourceError) this.#sayBroken(error);
      else say(this.verdict, "wrong", "Not run", String((error as Error).message));
      if (!(error instanceof LabError)) throw error;
    } finally {
      this.#busy(false);
    }
  }

  async #runIt() {
    const { source } = this;
    say(this.verdict, "busy", "Running on your processor …");
    if (await this.#runOthers(source)) return;
    const known = await shipped(this.kernel.name, this.bookSource, source);
    const tell = (words: string) => say(this.verdict, "busy", words, "Once a visit.");
    const { ptx, by } = known ?? (await compiled(source, tell));
    const results = await this.#engines.inTurn(
      QUICK_SIZES,
      (size) => ({ task: "check", source, ptx, size }),
      (size, number) => {
        const where = `Size ${number} of ${QUICK_SIZES.length}: ${sizeText(size)}.`;
        say(this.verdict, "busy", "Running on your processor …", where);
      },
    );
    const { verdict } = await this.#engines.ask<{ verdict: Verdict }>({ task: "verdict", results });
    this.#named = new Set(verdict.lines);
    this.editor.draw(this.#named);
    sayVerdict(this.verdict, verdict, linesOf(source), by);
    this.#ran = { source, ptx };
    await this.#count();
  }

  /** Check kernels that are not the chapter's product, as any CUDA file; false if it is there. */
  async #runOthers(source: string) {
    const check = readable(source, () => this.#clicked());
    const kernels = check?.kernels ?? [];
    if (!check || !kernels.length || kernels.some(({ name }) => name === ENTRY)) return false;
    this.counts.replaceChildren(check.element);
    const lines = await check.run(this.verdict, (words) => say(this.verdict, "busy", words));
    this.#named = new Set(lines);
    this.editor.draw(this.#named);
    const why = `No kernel is called ${ENTRY}, so each was checked by itself: see below.`;
    this.verdict.append(html("p", {}, why));
    return true;
  }

  #sayBroken({ line, message }: SourceError) {
    const lines = line ? [line] : [];
    const head = { right: false, kind: "broken", size: null, says: message, lines };
    this.#named = new Set(lines);
    this.editor.draw(this.#named);
    sayVerdict(this.verdict, head, linesOf(this.source), "");
  }

  async #recount() {
    if (!this.#ran || this.#running) return;
    this.#busy(true);
    try {
      await this.#count();
    } finally {
      this.#busy(false);
    }
  }

  async #count() {
    if (!this.#ran) return;
    const { source, ptx } = this.#ran;
    const { name, gpu } = this.kernel;
    const size = this.size.value.split(",").map(Number) as Size;
    try {
      const ask = (sent: { source: string; ptx?: string }) =>
        this.#engines.ask<{ counted: Counted }>({ task: "count", ...sent, size, gpu });
      const { counted: mine } = await ask({ source, ptx });
      let book = null;
      if (!sameCode(source, this.bookSource)) {
        const own = await shipped(name, this.bookSource, this.bookSource);
        book = (await ask({ source: this.bookSource, ptx: own?.ptx })).counted;
      }
      const bookSource = linesOf(this.bookSource);
      const { twins } = differences(bookSource, linesOf(source));
      const twin = (line: number) => (twins.has(line - 1) ? Number(twins.get(line - 1)) + 1 : null);
      const found = { size: sizeText(size), source: linesOf(source), mine, bookSource, book, twin };
      showCounts(this.counts, { ...found, gpu: gpu.name });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.counts.textContent = `Not counted: ${error.message}`;
    }
  }

  #busy(running: boolean) {
    this.#running = running;
    this.run.textContent = running ? "Stop" : "Run";
    this.editor.readOnly = running;
    this.size.disabled = running;
    this.reset.disabled = running || this.editor.untouched;
  }
}

/** A file whose brackets match; else null, and the compiler says so. */
function readable(source: string, changed: () => void) {
  try {
    return new FileCheck(source, changed);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    return null;
  }
}
