// One kernel of a CUDA file in the page: its launch, which the reader can edit, and what was found.

import { LabError } from "../../errors.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import type { FoundFunction } from "../../external_cuda/kernels.ts";
import { lastName } from "../../external_cuda/kernels.ts";
import { openKernel } from "../../external_cuda/open_kernel.ts";
import { referencesOf } from "../../external_cuda/references.ts";
import type { Finding, Verdict } from "../../external_cuda/severity.ts";
import { comma } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { compiled, SourceError } from "../panel/compiled.ts";
import { HEADS, say, TOLD, withoutFile } from "../panel/results.ts";
import type { LaunchPlan, Setting } from "./launch.ts";
import { assumptions, deviceText, planLaunch, resolve, TOO_LARGE } from "./launch.ts";
import type { LaunchFindings, LaunchRequest, SentKernel } from "./run_launch.ts";

/** An assumed size is tried a second time, this much smaller: no multiple of a tile. */
const RAGGED = 3;

type Judged = LaunchFindings["compared"];

const STATES: Record<Verdict, "error" | "warning" | "none"> = {
  ...{ wrong: "error", "would be wrong": "warning", right: "none" },
  ...{ "no fault found": "none", "not run": "none" },
};

/** An engine that runs launches. */
interface Asks {
  ask<Answer>(request: Record<string, unknown>): Promise<Answer>;
}

/** One kernel of the file: its launch, which can be edited, and what was found. */
export class KernelSection {
  element = html("section", { class: "lab-launch" });
  state: "none" | "error" | "warning" | "failed" | "" = "";
  #plan: LaunchPlan | string;
  #verdict = html("div", { class: "lab-bench-verdict", role: "status" });
  #counts = html("div", { "data-lab": "counts" });
  #summary = html("summary");

  constructor(
    public file: CudaFile,
    public kernel: FoundFunction,
    public edits: Map<string, string>,
  ) {
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
    this.element.replaceChildren(
      html(
        "p",
        { class: "lab-launch-name" },
        html("code", {}, this.kernel.name),
        ` line ${this.file.lineOf(this.kernel.declaration)}`,
      ),
      html("details", {}, this.#summary, html("div", { class: "lab-launch-fields" }, ...fields)),
      this.#verdict,
      this.#counts,
    );
  }

  #fields({ template, sizes, grid, block, shared, args, expected }: LaunchPlan) {
    const named = new Set(sizes.map(({ label }) => label));
    const values = args.map(({ setting }) => setting).filter(({ text }) => !named.has(text));
    const settings = [expected, ...sizes, template, grid, block, ...values, shared];
    return settings.filter((one) => one !== null).map((one) => this.#field(one));
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
      this.#plan = this.#planned(this.edits);
      this.#draw();
      const details = this.element.querySelector("details");
      if (details && open) details.open = true;
    });
    const source = html("small", { "data-assumed": assumed ? "true" : null }, origin);
    return html("label", {}, html("span", {}, label), input, source);
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
    const shrunk = plan.sizes
      .filter(({ origin }) => origin.includes(TOO_LARGE))
      .map(({ label, text, origin }) => `${label} = ${text} (${origin})`);
    this.#summary.textContent = `Launch: ${says}${assumed}${shrunk.map((one) => `; ${one}`).join("")}`;
  }

  /** @returns the lines that its findings name */
  async run(engine: Asks, source: string[], loading: (words: string) => void): Promise<number[]> {
    this.#counts.replaceChildren();
    this.state = "failed";
    try {
      const plan = this.#plan;
      if (typeof plan === "string") throw new LabError(plan);
      const launch = resolve(plan);
      const { ptx, by } = await compiled(deviceText(plan.opened), (done, total) => {
        const [have, all] = [done, total].map((bytes) => Math.round(bytes / 1e6));
        loading(`Loading the compiler: ${have} of ${all} MB`);
      });
      const references = plan.expected.text.trim() ? [] : await this.#references(plan);
      say(this.#verdict, "busy", "Running on your processor …");
      const assumed = assumptions(plan);
      const ask = async (one: typeof launch) => {
        const kernel = this.#sent(this.file, plan.opened.name, ptx, this.kernel.name, one);
        const request: LaunchRequest = {
          ...{ kernel, assumed: assumed.length > 0, sizes: one.sizes, expected: one.expected },
          ...{ templateAssumed: plan.template?.assumed ?? false, references },
        };
        return (await engine.ask<{ found: LaunchFindings }>({ task: "launch", ...request })).found;
      };
      const first = await ask(launch);
      const ragged = this.#ragged(plan);
      const other = ragged && (await ask(resolve(ragged)));
      return this.#tell(first, other, assumed, ragged, source, by);
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

  #sent(
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

  /** What else in the file computes what this kernel should, compiled. */
  async #references({ opened, args }: LaunchPlan): Promise<LaunchRequest["references"]> {
    const [found] = referencesOf(
      opened,
      args.map(({ argument }) => argument.field),
    );
    if (!found) return [];
    const kernels: (SentKernel | string)[] = [];
    for (const { text, entry, grid, block } of found.texts) {
      try {
        const file = new CudaFile([{ name: this.file.files[0].name, text }]);
        const own = openKernel(file, entry);
        const { ptx } = await compiled(deviceText(own), () => {});
        const told =
          grid && block
            ? { grid: [`${grid}`], block: [`${block}`], sharedBytes: "0" }
            : resolve(planLaunch(file, own.kernel, new Map()));
        kernels.push(this.#sent(file, own.name, ptx, entry, told));
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
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
    const note = (text: string) => html("p", { class: "lab-bench-by" }, text);
    const assumption = assumed.length
      ? [note(`Assumed: ${assumed.join("; ")}. Set them under Launch.`)]
      : [];
    const told = hazards.map((one) => findingOf(one, source));
    if (!told.length && compared?.wrong) told.push(html("p", {}, differenceOf(compared)));
    const kind = hazards.length ? (HEADS[hazards[0].kind] ?? "Wrong") : "Wrong result";
    if (state === "error") {
      say(this.#verdict, "wrong", kind, ...told, ...assumption, note(by));
    } else if (state === "warning") {
      const head = `Would happen with this launch: ${kind.toLowerCase()}`;
      say(this.#verdict, "none", head, ...told, ...assumption, note(by));
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
      say(
        this.#verdict,
        "right",
        compared ? "Right" : "No race, overrun or unwritten read found",
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
    this.#count(first, source);
    return state === "error" ? hazards.flatMap(linesOf) : [];
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

function differenceOf({ name, by, wrong, elements, at, got, expected }: NonNullable<Judged>) {
  const first = `${name}[${at}] is ${got}, expected is ${expected}`;
  return `${comma(wrong)} of ${comma(elements)} elements of ${name} differ from ${by}: ${first}.`;
}

/** The lines that a finding names, in order. */
const linesOf = ({ line, otherLine }: Finding) =>
  [...new Set([line, otherLine ?? 0])].filter(Boolean).sort((one, other) => one - other);

function findingOf(finding: Finding, source: string[]) {
  const named = linesOf(finding)
    .filter((line) => line <= source.length)
    .map((line) => html("span", {}, html("i", {}, `${line}`), `${source[line - 1].trim()}\n`));
  return html(
    "div",
    {},
    html("p", {}, withoutFile(finding.message)),
    named.length ? html("pre", { tabindex: 0 }, ...named) : "",
  );
}

/** The name that a kernel has in PTX: as it is for extern "C", else mangled. */
function entryOf(ptx: string, name: string) {
  const own = lastName(name);
  const entries = [...ptx.matchAll(/\.entry\s+([\w$]+)/g)].map(([, entry]) => entry);
  const found = entries.find((entry) => entry === own || entry.includes(`${own.length}${own}`));
  if (!found) throw new LabError(`The compiler made no kernel “${name}” of this file.`);
  return found;
}
