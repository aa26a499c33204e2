// One kernel of a CUDA file in the page: its launch, which the reader can edit, and what was found.

import { LabError } from "../../errors.ts";
import { comma } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { compiled, SourceError } from "../panel/compiled.ts";
import { HEADS, say, TOLD, withoutFile } from "../panel/results.ts";
import type { CudaFile, KernelSource } from "./cuda_file.ts";
import { judgeLaunch } from "./judge_launch.ts";
import type { LaunchPlan, Setting } from "./launch.ts";
import { assumptions, planLaunch, resolve, TOO_LARGE } from "./launch.ts";
import { referenceOf, referencePart, WRAPPER } from "./references.ts";
import type { Compared, Finding, LaunchFindings, ReferenceLaunch } from "./run_launch.ts";

/** An assumed size is tried a second time, this much smaller: no multiple of a tile. */
const RAGGED = 3;

/** An engine that runs launches. */
interface Asks {
  ask<Answer>(request: Record<string, unknown>): Promise<Answer>;
}

/** One kernel of the file: its launch, which can be edited, and what was found. */
export class KernelSection {
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
  async run(engine: Asks, source: string[], loading: (words: string) => void): Promise<number[]> {
    this.#counts.replaceChildren();
    this.state = "failed";
    try {
      const launch = resolve(this.file, this.#plan);
      const { ptx, by } = await compiled(this.#device(), (done, total) => {
        const [have, all] = [done, total].map((bytes) => Math.round(bytes / 1e6));
        loading(`Loading the compiler: ${have} of ${all} MB`);
      });
      const entry = entryOf(ptx, this.kernel.name);
      const reference = this.#plan.expected.text.trim() ? null : await this.#reference();
      say(this.#verdict, "busy", "Running on your processor …");
      const ask = async (one: typeof launch) => {
        const request = { task: "launch", ptx, entry, launch: one, reference };
        return (await engine.ask<{ found: LaunchFindings }>(request)).found;
      };
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

  /** What else in the file computes what this kernel should; null if nothing does that compiles. */
  async #reference(): Promise<ReferenceLaunch | null> {
    const found = referenceOf(this.file, this.kernel);
    if (!found) return null;
    const { name, line } = found.function;
    const one = { grid: [1], block: [1], sharedBytes: 0 };
    try {
      const { ptx } = await compiled(referencePart(this.file, found), () => {});
      const launch = found.isKernel
        ? resolve(this.file, planLaunch(this.file, found.function, new Map()))
        : one;
      const { grid, block, sharedBytes } = launch;
      const entry = entryOf(ptx, found.isKernel ? name : WRAPPER);
      const says = `those of ${name} (line ${line})`;
      return { ptx, entry, grid, block, sharedBytes, places: found.places, says };
    } catch (error) {
      if (error instanceof LabError) return null;
      throw error;
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
        ? `All ${comma(compared.length)} elements of ${compared.name} equal ${compared.by}.`
        : "Results are not compared: say under Launch what is expected, or add a function to the file with the kernel’s name and _cpu behind it.";
      const orders = first.orders.length
        ? [html("p", {}, `Warps and blocks also ran ${first.orders.join(", ")}.`)]
        : [];
      say(
        this.#verdict,
        "right",
        compared ? "Right" : "No race, overrun or unwritten read found",
        html("p", {}, `${results}${tried}`),
        ...first.information.map((one) => findingOf(one, source)),
        ...orders,
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

function differenceOf({ name, by, wrong, length, at, got, expected }: Compared) {
  const first = `${name}[${at}] is ${got}, expected is ${expected}`;
  return `${comma(wrong)} of ${comma(length)} elements of ${name} differ from ${by}: ${first}.`;
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
