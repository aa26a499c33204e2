// After a run: the way to a step-through of the code that ran, with tiles small enough to be drawn.

import { LabError } from "../../errors.ts";
import type { Size } from "../../kernel.ts";
import { parseKernel, valuesOf, withConstants } from "../../kernel.ts";
import { sizeText } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import type { Compiled } from "./compiled.ts";
import { SourceError } from "./compiled.ts";
import { script, sheet } from "./worker.ts";

/** Tile constants that make a kernel small, and the size to step through. */
export interface StepExample {
  constants: Record<string, number>;
  size: Size;
}

/** `compile` makes PTX of a source and tells how far it is, `ask` asks the engine. */
interface Makers {
  compile: (source: string, tell: (words: string) => void) => Promise<Compiled>;
  ask: (request: Record<string, unknown>) => Promise<{ state: Record<string, unknown> }>;
}

const COMPUTING = "Every step is computed …";

/** The part of a panel under the counts. */
export class StepThrough {
  /** Ends what was drawn. */
  #stop = () => {};

  constructor(
    public into: HTMLElement,
    public toy: StepExample,
  ) {}

  clear() {
    this.#stop();
    this.#stop = () => {};
    this.into.replaceChildren();
  }

  /** Offer the step-through. */
  offer(act: () => void) {
    this.clear();
    const button = html("button", { type: "button", "data-lab": "step" }, "Step through it");
    button.addEventListener("click", act);
    this.into.append(html("p", { class: "lab-bench-go" }, button));
  }

  /** Compute and draw it. Where that cannot be, a sentence says why. */
  async show(source: string, { compile, ask }: Makers) {
    this.#say(COMPUTING);
    try {
      const { kernel, words } = this.#small(source);
      const { ptx } = await compile(kernel.source, (told) => this.#say(told));
      this.#say(COMPUTING);
      const [{ state }] = await Promise.all([
        ask({ task: "trace", source: kernel.source, ptx, size: this.toy.size }),
        script("panel-steps.js"),
        sheet("panel-steps.css"),
      ]);
      this.clear();
      const el = html("div", {});
      const head = html("p", { tabindex: -1 }, words);
      this.into.append(head, el);
      head.focus({ preventScroll: true }); // where the button was
      this.#stop = window.labSteps(el, state);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      const broken = error instanceof SourceError;
      const head = broken ? "does not compile with small tiles" : "cannot be stepped through";
      const where = broken && error.line ? `Line ${error.line}: ` : "";
      this.#say(`This code ${head}. ${where}${error.message}`);
    }
  }

  /**
   * The reader's kernel with small tiles, as far as it has the constants, and what is shown of it.
   */
  #small(source: string) {
    const mine = parseKernel("your copy", source);
    const known = valuesOf(mine);
    const wanted = Object.entries(this.toy.constants);
    const constants = wanted.filter(([name]) => Object.hasOwn(known, name));
    const kernel = withConstants(mine, Object.fromEntries(constants));
    const tiles = constants.map(([name, value]) => `${name} = ${value}`).join(", ");
    const small = tiles ? `, with ${tiles}, so that every element can be drawn` : "";
    return { kernel, words: `Your copy at ${sizeText(this.toy.size)}${small}.` };
  }

  #say(words: string) {
    this.clear();
    this.into.append(html("p", { role: "status" }, words));
  }
}
