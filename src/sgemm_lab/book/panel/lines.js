// @ts-check
// An exercise of lines in the page: the reader's lines are composed into the kernel, compiled, run
// and judged. exercises.js has the box around them, says the verdict and keeps it.

import { LabError } from "../../errors.js";
import { judged } from "../../exercises/lines.js";
import { sizeText } from "../../text.js";
import {
  compiled,
  megabytesToLoad,
  missing,
  SourceError,
  shipped,
  stopCompiling,
} from "./compiled.js";
import { Editor } from "./editor.js";
import { Engines } from "./engines.js";
import { script } from "./worker.js";

/** @typedef {import("../../exercises/lines.js").Judgement} Judgement */
/** @typedef {import("../../exercises/lines.js").LinesExercise} LinesExercise */
/** @typedef {import("../../exercises/lines.js").Tools} Tools */

const OWN_LINE = /\byour line (\d+)/g;
const BUSY = "Running on your processor …";

/**
 * What the box of an exercise hears.
 * @typedef {object} Heard
 * @property {(text: string) => void} edited
 * @property {(text: string) => void} busy says what goes on
 * @property {(answer: string, judgement: Judgement) => void} judged
 * @property {(why: string, final: boolean) => void} notRun why there is no verdict; `final` where
 *   there can be none on this device
 */

/** Let exercises.js call for it: a page that is opened as a file loads no modules. */
export function offer() {
  window.labLinesBench = (element, name, heard) => new Bench(element, name, heard).start();
}

class Bench {
  #engines = new Engines();
  #running = false;

  /**
   * @param {HTMLElement} element
   * @param {string} name of the exercise
   * @param {Heard} heard
   */
  constructor(element, name, heard) {
    /** @type {(name: string) => any} */
    const part = (name) => element.querySelector(`[data-lab="${name}"]`);
    this.element = element;
    this.name = name;
    this.heard = heard;
    this.run = /** @type {HTMLButtonElement} */ (part("run"));
    this.reset = /** @type {HTMLButtonElement} */ (part("reset"));
    this.editor = new Editor(element, 0, {
      edited: () => this.#edited(),
      run: () => this.#clicked(),
    });
  }

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
    this.heard.edited(this.editor.text);
  }

  /** @param {string} verdict names lines of the reader */
  #draw(verdict) {
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
      this.heard.busy(BUSY);
      await script(`exercise-${this.name}.js`);
      const exercise = window.labLines[this.name];
      const judgement = await judged(exercise, answer, this.#tools(exercise));
      text = judgement.text;
      this.heard.judged(answer, judgement);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.heard.notRun(error.message, missing() === error.message);
    } finally {
      this.#busy(false);
      this.#draw(text);
    }
  }

  /**
   * @param {LinesExercise} exercise
   * @returns {Tools}
   */
  #tools({ kernel, sources }) {
    /** @type {(done: number, total: number) => void} */
    const loading = (done, total) => {
      const [have, all] = [done, total].map((bytes) => Math.round(bytes / 1e6));
      this.heard.busy(`Loading the compiler: ${have} of ${all} MB. Once a visit.`);
    };
    return {
      compiled: async (source) => {
        const known = await shipped(kernel, sources[kernel], source);
        if (known) return known;
        try {
          return await compiled(source, loading);
        } catch (error) {
          if (!(error instanceof SourceError)) throw error;
          return { refused: error.message, line: error.line };
        }
      },
      compiledLike: async (name, source, like) => {
        const known = await shipped(name, source, source);
        return known?.by === like.by ? known : compiled(source, loading);
      },
      checked: async (reader, sizes) => {
        const results = await this.#engines.inTurn(
          sizes,
          (size) => ({ task: "checkLines", reader, size }),
          (size, number) =>
            this.heard.busy(`${BUSY} Size ${number} of ${sizes.length}: ${sizeText(size)}.`),
        );
        return results.find((result) => "refused" in result) ?? results;
      },
      said: async (asks, reader, books) => {
        this.heard.busy(`${BUSY} It is right. Now what it asks of memory.`);
        return (await this.#engines.ask({ task: "ask", asks, reader, books })).said;
      },
    };
  }

  /** @param {boolean} running */
  #busy(running) {
    this.#running = running;
    this.run.textContent = running ? "Stop" : "Run";
    this.editor.readOnly = running;
    this.reset.disabled = running || this.editor.untouched;
  }
}
