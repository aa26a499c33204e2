// What was found of a kernel, drawn: findings with their lines, and counts by line.

import type { Finding, Verdict } from "../../external_cuda/severity.ts";
import { html } from "../../widgets/shared/dom.ts";
import { countTable, HEADS, namedLines, rowsOf, withoutFile } from "../panel/results.ts";

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
  const words = html("p", {}, withoutFile(finding.message));
  return html("div", {}, words, ...namedLines(linesOf(finding), source));
}

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
      const conflict = conflicts.get(line) ?? "";
      const about = (key: string) =>
        key.startsWith("shared_") && conflict && html("small", { class: "lab-conflict" }, conflict);
      return rowsOf(`${line}`, source[line - 1], lines.get(line) ?? {}, null, about);
    });
  if (!rows.length) return [];
  const worst = [...conflicts].map(([line, text]) => html("p", {}, `Line ${line}. ${text}`));
  const counted = countTable(["line", "counted", "count"], rows);
  const fold = html("details", {}, html("summary", {}, "Memory requests by line"), counted);
  return [...worst, fold];
}
