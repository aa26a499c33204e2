// A kernel that no program launches here: its launch, which is read from the file or assumed, and which
// the reader can change, and what was found.

import { LabError } from "../../errors.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import type { FoundFunction } from "../../external_cuda/kernels.ts";
import { openKernel } from "../../external_cuda/open_kernel.ts";
import { referencesOf } from "../../external_cuda/references.ts";
import { comma } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { note, say } from "../panel/results.ts";
import { StoppedError } from "../panel/worker.ts";
import { SourceError } from "../source_error.ts";
import { deviceText, entryOf } from "./compiling.ts";
import { countsOf, findingOf, headOf, STATES } from "./findings.ts";
import type { LaunchPlan, Setting } from "./launch.ts";
import { assumptions, planLaunch, resolve } from "./launch.ts";
import type { LaunchFindings, LaunchRequest, SentKernel } from "./run_launch.ts";
import { Section } from "./section.ts";

/** An assumed size is tried a second time, this much smaller: no multiple of a tile. */
const RAGGED = 3;
const CLEAN = "No race, overrun or unwritten read found";

type Judged = LaunchFindings["compared"];

/** What checks files: it compiles a text, and runs a launch. */
export interface Checker {
  compile: (text: string) => Promise<{ ptx: string; by: string }>;
  launch: (request: LaunchRequest) => Promise<LaunchFindings>;
}

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
    this.element.append(this.#fold, this.verdict, this.counts);
    this.#plan = this.#planned(edits);
    this.#draw();
  }

  /** The plan of its launch, or why it cannot be run. */
  #planned(edits: Map<string, string>) {
    try {
      return planLaunch(this.file, this.kernel, edits);
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
      this.#plan = this.#planned(this.edits);
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
  async run(checker: Checker, source: string[], tell: (words: string) => void) {
    this.counts.replaceChildren();
    try {
      const plan = this.#plan;
      if (typeof plan === "string") throw new LabError(plan);
      const launch = resolve(plan);
      const { ptx, by } = await checker.compile(deviceText(plan.opened));
      const references = plan.expected.text.trim() ? [] : await this.#references(plan, checker);
      tell(`Running ${this.kernel.name} …`);
      const assumed = assumptions(plan);
      const ask = async (one: typeof launch) => {
        const kernel = sentKernel(this.file, plan.opened.name, ptx, this.kernel.name, one);
        const request: LaunchRequest = {
          ...{ kernel, assumed: assumed.length > 0, sizes: one.sizes, expected: one.expected },
          ...{ templateAssumed: plan.template?.assumed ?? false, references },
        };
        return await checker.launch(request);
      };
      const first = await ask(launch);
      const ragged = this.#ragged(plan);
      const other = ragged && (await ask(resolve(ragged)));
      this.#tell(first, other, assumed, ragged, source, by);
    } catch (error) {
      if (!(error instanceof LabError) || error instanceof StoppedError) throw error;
      const line = error instanceof SourceError ? error.line : 0;
      const head = error instanceof SourceError ? "Does not compile" : "Not run";
      this.notRun(line ? `${head} at line ${line}` : head, error.message, line);
    }
  }

  /** What else in the file computes what this kernel should, compiled. */
  async #references({ opened, args }: LaunchPlan, checker: Checker) {
    const fields = args.map(({ argument }) => argument.field);
    const [found] = referencesOf(opened, fields);
    if (!found) return [];
    const kernels: (SentKernel | string)[] = [];
    for (const { text, entry, grid, block } of found.texts) {
      try {
        const other = new CudaFile([{ name: this.file.files[0].name, text }]);
        const own = openKernel(other, entry);
        const { ptx } = await checker.compile(deviceText(own));
        const told =
          grid && block
            ? { grid: [`${grid}`], block: [`${block}`], sharedBytes: "0" }
            : resolve(planLaunch(other, own.kernel, new Map()));
        kernels.push(sentKernel(other, own.name, ptx, entry, told));
      } catch (error) {
        if (!(error instanceof LabError) || error instanceof StoppedError) throw error;
        kernels.push(error.message);
      }
    }
    return [{ ...found, compiled: kernels }];
  }

  /** The plan at assumed sizes that no tile divides; null if no size was assumed. */
  #ragged({ sizes }: LaunchPlan) {
    const edits = new Map(this.edits);
    edits.delete("expected"); // it may name sizes by their numbers
    for (const { key, text, assumed } of sizes) {
      if (assumed) edits.set(key, `${Math.max(1, Number(text) - RAGGED)}`);
    }
    return sizes.some(({ assumed }) => assumed) ? planLaunch(this.file, this.kernel, edits) : null;
  }

  #tell(
    first: LaunchFindings,
    other: LaunchFindings | null,
    assumed: string[],
    ragged: LaunchPlan | null,
    source: string[],
    by: string,
  ) {
    const { compared, report } = first;
    const isWrong = (compared?.wrong ?? 0) > 0;
    const worst = isWrong && report.verdict !== "wrong" ? compared : null;
    const state = worst && !assumed.length ? "error" : worst ? "warning" : STATES[report.verdict];
    this.state = state;
    const hazards = report.findings.filter(({ severity }) => severity === state);
    this.headOf(hazards);
    const assumption = assumed.length
      ? [note(`Assumed: ${assumed.join("; ")}. Set them under Launch.`)]
      : [];
    const told = hazards.map((one) => findingOf(one, source));
    if (!told.length && compared?.wrong) told.push(html("p", {}, differenceOf(compared)));
    const kind = hazards.length ? headOf(hazards[0]) : "The result is wrong";
    if (!hazards.length && isWrong) this.headline = kind.toLowerCase();
    if (state === "error") {
      say(this.verdict, "wrong", kind, ...told, ...assumption, note(by));
    } else if (state === "warning") {
      const head = `Would happen with this launch: ${kind.toLowerCase()}`;
      say(this.verdict, "none", head, ...told, ...assumption, note(by));
    } else {
      const at = ragged?.sizes.map(({ label, text }) => `${label} = ${text}`).join(", ");
      const edges =
        other?.report.findings.filter(({ severity }) => severity !== "information") ?? [];
      const also = edges.length ? [html("p", {}, `At ${at}, where tiles are not full:`)] : [];
      also.push(...edges.map((one) => findingOf(one, source)));
      const tried = at && !edges.length ? ` Also tried at ${at}.` : "";
      const writes = first.outputs.map(
        ({ name, first: values, length }) =>
          `${name} = ${values.map((one) => Number(one.toPrecision(6))).join(", ")}${length > values.length ? ", …" : ""}`,
      );
      const results = compared
        ? `All ${comma(compared.elements)} elements of ${compared.name} equal ${compared.by}.`
        : "Results are not compared: say under Launch what is expected, or add a function to the file, named after the kernel with _cpu at the end.";
      this.headline = compared ? "right" : "no fault found";
      say(
        this.verdict,
        "right",
        compared ? "Right" : CLEAN,
        html("p", {}, `${results}${tried}`),
        ...report.findings.map((one) => findingOf(one, source)),
        ...(first.isOrdered ? [html("p", {}, "Blocks and warps also ran in other orders.")] : []),
        html("p", {}, "On small whole numbers that this page draws, not on the file’s own data:"),
        html("pre", { tabindex: 0 }, writes.join("\n")),
        ...also,
        ...assumption,
        note(by),
      );
    }
    this.counts.replaceChildren(...countsOf(first.lines, first.conflicts, source));
  }
}

function differenceOf({ name, by, wrong, elements, at, got, expected }: NonNullable<Judged>) {
  const first = `${name}[${at}] is ${got}, expected is ${expected}`;
  return `${comma(wrong)} of ${comma(elements)} elements of ${name} differ from ${by}: ${first}.`;
}

function sentKernel(
  file: CudaFile,
  entry: string,
  ptx: string,
  name: string,
  launch: Pick<SentKernel, "grid" | "block" | "sharedBytes"> & { args?: string },
): SentKernel {
  const { grid, block, sharedBytes, args = null } = launch;
  const { text } = file.files[0];
  return { text, entry, ptx, symbol: entryOf(ptx, name), grid, block, sharedBytes, args };
}
