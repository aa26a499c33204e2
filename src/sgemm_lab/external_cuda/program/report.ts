// What a file's own main showed, in the report on a kernel.

import { plural } from "../../text.ts";
import { plainName } from "../kernels.ts";
import type { KernelReport } from "../report.ts";
import { type Finding, verdictOf } from "../severity.ts";
import type { Followed } from "./program.ts";

/** Why a kernel runs with an assumed launch. */
export const notFollowed = (kernel: string, why: string) =>
  `The file's host code was not followed to a launch of ${kernel}: ${why.replace(/\.$/, "")}.`;

/**
 * Add what the file's own main showed of a kernel; what is of no kernel goes to the last. Of two
 * findings of a line the graver is kept.
 * @param doubted what is said of a kernel that may be meant otherwise; not where its program ends well, or
 *   launches it in a way that is not followed
 */
export function withProgram(
  report: KernelReport,
  program: Followed,
  isLast: boolean,
  doubted: string,
): KernelReport {
  const name = plainName(report.kernel);
  const times = program.launched[name] ?? 0;
  const found = [
    ...(program.findings[name] ?? []),
    ...(isLast ? (program.findings[""] ?? []) : []),
  ];
  if (!times && !found.length) {
    const isCalled = program.called.some((one) => plainName(one) === name);
    if (!program.stopped || isCalled) return report;
    // Its own launch, which is not known, may be right where those that were tried are not.
    const findings = report.findings.filter(({ message }) => message !== doubted);
    const isCleared = findings.length < report.findings.length;
    return {
      ...{ ...report, findings, said: [...report.said, notFollowed(name, program.stopped)] },
      verdict: isCleared ? verdictOf(findings, "no fault found") : report.verdict,
    };
  }
  const isError = ({ severity }: Finding) => severity === "error";
  const endsWell = !program.stopped && !found.some(isError);
  const place = ({ kind, file, line }: Finding) => `${kind} ${file} ${line}`;
  const kept = new Map(found.map((one) => [place(one), one]));
  for (const one of report.findings) {
    const known = kept.get(place(one));
    if (endsWell && one.message === doubted) continue;
    if (!known || (isError(one) && !isError(known))) kept.set(place(one), one);
  }
  const findings = [...kept.values()];
  const clean = report.verdict === "right" ? "right" : "no fault found";
  const missed = program.missed[name] ?? [];
  const said = [
    times
      ? `The file's main was followed on its own data: it launches ${name} ${plural(times, "time")}.`
      : notFollowed(name, program.stopped),
    program.words && `Its arguments are assumed: ${program.words}.`,
    program.sizes,
    times > 0 &&
      program.stopped &&
      `It was followed up to here: ${program.stopped.replace(/\.$/, "")}.`,
    missed.length && `It did not come to ${missed.map((line) => `line ${line}`).join(", ")}.`,
    isLast && program.status !== null && `It ended with status ${program.status}.`,
    isLast && program.printed.length && `The last it printed: ${program.printed.join(" / ")}`,
  ].filter(Boolean);
  return {
    ...{ ...report, findings, verdict: verdictOf(findings, clean) },
    said: [...report.said, said.join(" ")],
  };
}
