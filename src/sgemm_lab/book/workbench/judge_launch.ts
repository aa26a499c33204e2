// What a reader is told of a launch: errors where the file itself leads to them, and "would happen"
// where a finding rests on something that was assumed.

import type { Finding, LaunchFindings } from "./run_launch.ts";

export interface LaunchVerdict {
  severity: "error" | "warning" | "none";
  findings: Finding[];
}

/**
 * Kinds that follow from how the threads of one block share memory, whatever the arrays hold. Races
 * in global memory depend on the grid.
 */
const OF_THE_BLOCK = new Set(["race", "barrier", "in flight"]);

/**
 * Judge a launch.
 * @param assumed whether any of its values was assumed
 * @param other the findings at another size; null where none was assumed
 */
export function judgeLaunch(
  first: LaunchFindings,
  other: LaunchFindings | null,
  assumed: boolean,
): LaunchVerdict {
  const { hazards } = first;
  if (!hazards.length) {
    if (first.warnings.length) return { severity: "warning", findings: first.warnings };
    if (first.otherOrder.length) return { severity: "warning", findings: first.otherOrder };
    if (first.compared?.wrong) return { severity: assumed ? "warning" : "error", findings: [] };
    return { severity: "none", findings: other?.hazards ?? [] };
  }
  if (!assumed) return { severity: "error", findings: hazards };
  const again = (one: Finding) =>
    OF_THE_BLOCK.has(one.kind) &&
    !one.inGlobal &&
    other?.hazards.some(({ kind, lines }) => kind === one.kind && `${lines}` === `${one.lines}`);
  const certain = hazards.filter(again);
  if (certain.length) return { severity: "error", findings: certain };
  return { severity: "warning", findings: hazards };
}
