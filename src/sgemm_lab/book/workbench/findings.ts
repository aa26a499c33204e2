// What was found of a kernel, drawn: findings with their lines, and counts by line.

import type { Finding, Verdict } from "../../external_cuda/severity.ts";
import { comma } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { HEADS, TOLD, withoutFile } from "../panel/results.ts";

/** How a kernel stands: a fault, one that depends on what was assumed, none, or not run. */
export type State = "error" | "warning" | "none" | "failed";

export const STATES: Record<Verdict, State> = {
  ...{ wrong: "error", "would be wrong": "warning", right: "none" },
  ...{ "no fault found": "none", "not run": "failed" },
};

/** What a kind of finding is called. */
export const headOf = ({ kind }: Pick<Finding, "kind">) => HEADS[kind] ?? "The result is wrong";

/** The lines that a finding names, in order. */
export const linesOf = ({ line, otherLine }: Finding) =>
  [...new Set([line, otherLine ?? 0])].filter(Boolean).sort((one, other) => one - other);

export function findingOf(finding: Finding, source: string[]) {
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

export const note = (text: string) => html("p", { class: "lab-bench-by" }, text);

/** Counts by line under a fold, with a sentence where lanes share a bank. */
export function countsOf(
  lines: Map<number, Record<string, number>>,
  conflicts: Map<number, string>,
  source: string[],
): Node[] {
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
  if (!rows.length) return [];
  const head = ["line", "counted", "count"].map((text) => html("th", { scope: "col" }, text));
  const table = html("table", {}, html("thead", {}, html("tr", {}, head)), html("tbody", {}, rows));
  const worst = [...conflicts].map(([line, text]) => html("p", {}, `Line ${line}. ${text}`));
  const counted = html("div", { class: "lab-bench-counts" }, table);
  const fold = html("details", {}, html("summary", {}, "Memory requests by line"), counted);
  return [...worst, fold];
}
