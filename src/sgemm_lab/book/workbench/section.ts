// One kernel of a CUDA file in the page: what is said of it.

import type { FoundFunction } from "../../external_cuda/kernels.ts";
import type { Finding } from "../../external_cuda/severity.ts";
import { html } from "../../widgets/shared/dom.ts";
import { say } from "../panel/results.ts";
import type { State } from "./findings.ts";
import { headOf, linesOf } from "./findings.ts";

export abstract class Section {
  element = html("section", { class: "lab-launch" });
  state: State | "" = "";
  /** the verdict in half a sentence */
  headline = "";
  /** the lines that an error names */
  named: number[] = [];
  verdict = html("div", { class: "lab-bench-verdict", role: "status" });
  counts = html("div", { "data-lab": "counts" });

  constructor(
    public kernel: FoundFunction,
    line: number,
  ) {
    const name = html("code", {}, kernel.name);
    this.element.append(html("p", { class: "lab-launch-name" }, name, ` line ${line}`));
  }

  /**
   * A field of its launch.
   * @param take hears of what the reader writes
   * @param run hears that it is to be run
   */
  protected field(
    label: string,
    value: string,
    origin: HTMLElement,
    take: (text: string) => void,
    run: () => void,
  ) {
    const input = html("input", { type: "text", value, spellcheck: "false", autocomplete: "off" });
    input.addEventListener("change", () => take(input.value));
    input.addEventListener("keydown", ({ key }) => {
      if (key !== "Enter") return;
      take(input.value);
      run();
    });
    return html("label", {}, html("span", {}, label), " ", input, " ", origin);
  }

  /** Say that it was not run, and why. */
  notRun(head: string, why: string, line = 0) {
    this.state = "failed";
    this.named = line ? [line] : [];
    this.headline = `${head.charAt(0).toLowerCase()}${head.slice(1)}`;
    say(this.verdict, "wrong", head, why);
  }

  /** Take over the graver findings: the first is the headline, errors are marked. */
  protected headOf(findings: Finding[]) {
    const [first] = findings;
    if (!first) return;
    const lines = linesOf(first);
    const at = lines.length ? `, line${lines.length > 1 ? "s" : ""} ${lines.join(" and ")}` : "";
    const head = headOf(first);
    this.headline = `${head.charAt(0).toLowerCase()}${head.slice(1)}${at}`;
    if (this.state === "error") this.named = findings.flatMap(linesOf);
  }
}
