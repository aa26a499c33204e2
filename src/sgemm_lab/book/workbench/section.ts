// One kernel of a CUDA file in the page: what is said of it.

import type { FoundFunction } from "../../external_cuda/kernels.ts";
import type { LaunchCounts } from "../../external_cuda/program_launches.ts";
import type { KernelReport } from "../../external_cuda/report.ts";
import { html } from "../../widgets/shared/dom.ts";
import { say } from "../panel/results.ts";
import { countsOf, findingOf, headOf, linesOf, STATES, type State } from "./findings.ts";

const CLEAN = "No race, overrun or unwritten read found";

export abstract class Section {
  element = html("section", { class: "lab-launch" });
  state: State | "" = "";
  /** the verdict in half a sentence */
  headline = "";
  /** the lines that an error names */
  named: number[] = [];
  verdict = html("div", { class: "lab-bench-verdict", role: "status" });
  counts = html("div", { "data-lab": "counts" });
  #said = html("ul");
  /** what was run */
  protected run = html(
    "details",
    { hidden: true },
    html("summary", {}, "What was run"),
    this.#said,
  );

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
    this.headline = lowered(head);
    say(this.verdict, "wrong", head, why);
  }

  /** Say what was found, the graver findings first: the first is the headline, errors are marked. */
  protected say(report: KernelReport, counts: LaunchCounts | undefined, source: string[]) {
    this.state = STATES[report.verdict];
    const worst = report.findings.filter(({ severity }) => severity === this.state);
    const others = report.findings.filter((one) => !worst.includes(one));
    this.named = this.state === "error" ? worst.flatMap(linesOf) : [];
    const isRight = report.verdict === "right";
    if (worst.length) {
      const lines = linesOf(worst[0]);
      const at = lines.length ? `, line${lines.length > 1 ? "s" : ""} ${lines.join(" and ")}` : "";
      const head = headOf(worst[0]);
      this.headline = `${lowered(head)}${at}`;
      if (this.state === "error") say(this.verdict, "wrong", head);
      else say(this.verdict, "none", `Perhaps: ${lowered(head)}`);
    } else if (this.state === "failed") say(this.verdict, "none", "Not run");
    else {
      this.headline = isRight ? "right" : "no fault found";
      say(this.verdict, "right", isRight ? "Right" : CLEAN);
    }
    this.verdict.append(...[...worst, ...others].map((one) => findingOf(one, source)));
    this.run.hidden = false;
    this.#said.replaceChildren(...report.said.filter(Boolean).map((text) => html("li", {}, text)));
    this.counts.replaceChildren(
      ...(counts ? countsOf(counts.lines, counts.conflicts, source) : []),
    );
  }
}

const lowered = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
