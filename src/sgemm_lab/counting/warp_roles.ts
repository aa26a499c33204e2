// Warp roles: which warps of a block execute the same instructions. In a warp-specialised kernel some
// warps copy and others multiply, each at its own pace. A picture of such a launch has a lane for
// each role.

import { WARP } from "../hardware.py";
import type { Trace } from "../simulator/trace.ts";

/** The number of the role of each warp. */
export function roleOf(roles: number[][]) {
  return new Map(roles.flatMap((warps, i) => warps.map((warp) => [warp, i])));
}

/** The warps that do the same: those who share a line that reads, writes or multiplies. */
export function rolesIn({ columns, products }: Trace) {
  const ofLine: Map<number, Set<number>> = new Map();
  /** of each warp, the first step */
  const starts: Map<number, number> = new Map();
  for (const { line, thread, step } of [columns, products]) {
    for (const [i, number] of line.entries()) {
      const warp = Math.floor(thread[i] / WARP);
      ofLine.set(number, (ofLine.get(number) ?? new Set()).add(warp));
      starts.set(warp, Math.min(step[i], starts.get(warp) ?? step[i]));
    }
  }
  let roles: Set<number>[] = [];
  for (const those of ofLine.values()) {
    const shares = (role: Set<number>) => [...role].some((warp) => those.has(warp));
    const joined = new Set([...those, ...roles.filter(shares).flatMap((role) => [...role])]);
    roles = [...roles.filter((role) => !shares(role)), joined];
  }
  const start = (role: number[]) => Math.min(...role.map((warp) => starts.get(warp) ?? 0));
  return roles
    .map((role) => [...role].sort((a, b) => a - b))
    .sort((one, other) => start(one) - start(other));
}
