// A kernel that no program launches here: its launch, which is read from the file or assumed, and which
// the reader can change, and what was found.

import { LabError } from "../../errors.ts";
import type { CudaFile } from "../../external_cuda/cuda_file.ts";
import type { FoundFunction } from "../../external_cuda/kernels.ts";
import { html } from "../../widgets/shared/dom.ts";
import { note } from "../panel/results.ts";
import { StoppedError } from "../panel/worker.ts";
import { SourceError } from "../source_error.ts";
import { assumptions, type LaunchPlan, planLaunch, resolve, type Setting } from "./launch.ts";
import type { KernelFound, KernelRequest } from "./run_kernel.ts";
import { Section } from "./section.ts";

const NOT_COMPARED =
  "Results are not compared: say under Launch what is expected, or add a function to the file, named " +
  "after the kernel with _cpu at the end.";

export class AssumedSection extends Section {
  #plan: LaunchPlan | string;
  #summary = html("summary");
  #fold = html("details", {}, this.#summary);

  /** @param why it is assumed, in a sentence */
  constructor(
    public file: CudaFile,
    kernel: FoundFunction,
    public edits: Map<string, string>,
    public changed: () => void,
    why = "",
  ) {
    super(kernel, file.lineOf(kernel.declaration));
    if (why) this.element.append(note(why));
    this.element.append(this.#fold, this.verdict, this.counts, this.run);
    this.#plan = this.#planned();
    this.#draw();
  }

  /** What the worker is asked. */
  get request(): KernelRequest {
    return { text: this.file.files[0].text, kernel: this.kernel.name, edits: this.edits };
  }

  /** The plan of its launch, or why it cannot be run. */
  #planned() {
    try {
      return planLaunch(this.file, this.kernel, this.edits);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      return error.message;
    }
  }

  #draw() {
    const fields = typeof this.#plan === "string" ? [] : this.#fields(this.#plan);
    this.#describe();
    this.#fold.replaceChildren(
      this.#summary,
      html("div", { class: "lab-launch-fields" }, ...fields),
    );
  }

  #fields({ template, sizes, grid, block, shared, args, expected }: LaunchPlan) {
    const named = new Set(sizes.map(({ label }) => label));
    const values = args.map(({ setting }) => setting).filter(({ text }) => !named.has(text));
    const settings = [expected, ...sizes, template, grid, block, ...values, shared];
    return settings.filter((one) => one !== null).map((one) => this.#field(one));
  }

  #field({ key, label, text, origin, assumed }: Setting) {
    const take = (written: string) => {
      this.edits.set(key, written);
      this.#plan = this.#planned();
      this.#draw();
    };
    const source = html("small", { "data-assumed": assumed ? "true" : null }, origin);
    return this.field(label, text, source, take, this.changed);
  }

  #describe() {
    const plan = this.#plan;
    if (typeof plan === "string") {
      this.#summary.textContent = `Launch: ${plan}`;
      return;
    }
    let says: string;
    try {
      const { grid, block } = resolve(plan);
      says = `grid ${grid.join(" × ")}, block ${block.join(" × ")}`;
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      says = error.message;
    }
    const assumed = assumptions(plan).length ? ", partly assumed" : "";
    this.#summary.textContent = `Launch: ${says}${assumed}`;
  }

  /** Throws a StoppedError where the reader ends it. */
  async check(ask: () => Promise<KernelFound>, source: string[]) {
    this.counts.replaceChildren();
    this.run.hidden = true;
    try {
      if (typeof this.#plan === "string") throw new LabError(this.#plan);
      const { report, counts, by } = await ask();
      this.say(report, counts, source);
      const assumed = assumptions(this.#plan).join("; ");
      if (assumed) this.verdict.append(note(`Assumed: ${assumed}. Set them under Launch.`));
      if (report.verdict === "no fault found") this.verdict.append(note(NOT_COMPARED));
      this.verdict.append(note(by));
    } catch (error) {
      if (!(error instanceof LabError) || error instanceof StoppedError) throw error;
      const line = error instanceof SourceError ? error.line : 0;
      const head = error instanceof SourceError ? "Does not compile" : "Not run";
      this.notRun(line ? `${head} at line ${line}` : head, error.message, line);
    }
  }
}
