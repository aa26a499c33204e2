// An exercise of lines in the page: the reader's lines are composed into the kernel, compiled, run
// and judged. exercises.ts has the box around them, says the verdict and keeps it.

import type { CheckResult } from "../../checking/judge.ts";
import { LabError } from "../../errors.ts";
import type { Refused } from "../../exercises/checked.ts";
import { type Judgement, judged, type LinesExercise, type Tools } from "../../exercises/lines.ts";
import { sizeText } from "../../text.ts";
import { part } from "../page_elements.ts";
import { SourceError } from "../source_error.ts";
import { compiled, megabytesToLoad, missing, shipped, stopCompiling } from "./compiled.ts";
import { Editor } from "./editor.ts";
import { Engines } from "./engines.ts";
import { script } from "./worker.ts";

const OWN_LINE = /\byour line (\d+)/g;
const BUSY = "Running on your processor …";

/** Called while the lines of an exercise are edited and judged. */
export interface Callbacks {
  edited: (text: string) => void;
  /** says what goes on */
  busy: (text: string) => void;
  judged: (answer: string, judgement: Judgement) => void;
  /** why there is no verdict; `final` where there can be none on this device */
  notRun: (why: string, final: boolean) => void;
}

/** Let exercises.ts call for it: a page that is opened as a file loads no modules. */
export function offer() {
  window.labLinesBench = (element, name, callbacks) => new Bench(element, name, callbacks).start();
}

class Bench {
  #engines = new Engines();
  #running = false;

  run = part<HTMLButtonElement>(this.element, "run");
  reset = part<HTMLButtonElement>(this.element, "reset");
  editor = new Editor(this.element, 0, {
    edited: () => this.#edited(),
    run: () => this.#clicked(),
  });

  /** @param name of the exercise */
  constructor(
    public element: HTMLElement,
    public name: string,
    public callbacks: Callbacks,
  ) {}

  start() {
    this.run.addEventListener("click", () => this.#clicked());
    this.reset.addEventListener("click", () => {
      this.editor.text = this.editor.first;
      this.#edited();
      this.editor.focus();
    });
    this.#draw("");
    this.#nameRun();
    this.element.dataset.ready = "true";
  }

  #edited() {
    this.#draw("");
    this.callbacks.edited(this.editor.text);
  }

  /** @param verdict names lines of the reader */
  #draw(verdict: string) {
    this.editor.draw(new Set([...verdict.matchAll(OWN_LINE)].map((match) => Number(match[1]))));
    this.reset.disabled = this.#running || this.editor.untouched;
  }

  /** Let the button say what it would load. */
  async #nameRun() {
    const megabytes = await megabytesToLoad();
    if (!this.#running) this.run.textContent = megabytes ? `Run (loads ${megabytes} MB)` : "Run";
  }

  async #clicked() {
    if (this.#running) {
      this.#engines.stop();
      stopCompiling();
      return;
    }
    this.#busy(true);
    const answer = this.editor.text;
    let text = "";
    try {
      this.callbacks.busy(BUSY);
      await script(`exercise-${this.name}.js`);
      const exercise = window.labLines[this.name];
      const judgement = await judged(exercise, answer, this.#tools(exercise));
      text = judgement.text;
      this.callbacks.judged(answer, judgement);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.callbacks.notRun(error.message, missing() === error.message);
    } finally {
      this.#busy(false);
      this.#draw(text);
    }
  }

  #tools({ kernel, sources }: LinesExercise): Tools {
    const tell = (words: string) => this.callbacks.busy(`${words}. Once a visit.`);
    return {
      compiled: async (source) => {
        const known = await shipped(kernel, sources[kernel], source);
        if (known) return known;
        try {
          return await compiled(source, tell);
        } catch (error) {
          if (!(error instanceof SourceError)) throw error;
          return { refused: error.message, line: error.line };
        }
      },
      compiledLike: async (name, source, like) => {
        const known = await shipped(name, source, source);
        return known?.by === like.by ? known : compiled(source, tell);
      },
      checked: async (reader, sizes, onlyWholeNumbers) => {
        const results = await this.#engines.inTurn<CheckResult | Refused>(
          sizes,
          (size) => ({ task: "checkLines", reader, size, onlyWholeNumbers }),
          (size, number) =>
            this.callbacks.busy(`${BUSY} Size ${number} of ${sizes.length}: ${sizeText(size)}.`),
        );
        return results.find((result) => "refused" in result) ?? (results as CheckResult[]);
      },
      said: async (criteria, reader, books) => {
        this.callbacks.busy(`${BUSY} It is right. Now what it asks of memory.`);
        const request = { task: "ask", criteria, reader, books };
        type Answer = { said: { right: boolean; says: string } };
        return (await this.#engines.ask<Answer>(request)).said;
      },
    };
  }

  #busy(running: boolean) {
    this.#running = running;
    this.run.textContent = running ? "Stop" : "Run";
    this.editor.readOnly = running;
    this.reset.disabled = running || this.editor.untouched;
  }
}
