// Launches by functions of the host that are called with arguments that are made up: with other sizes,
// longer arrays and zeros for indices, as in assumed_launch.ts.

import { MAX_THREADS } from "../simulator/limits.py";
import { isArray } from "./arguments.ts";
import { MOST, type Most } from "./assumed_launch.ts";
import { type HostLaunch, sourcesOf, trimmed } from "./host_launch.ts";
import { type Prepared, product } from "./launch.ts";
import { stepOf } from "./open_kernel.ts";
import { type MadePlan, prepareMade } from "./recorded_launch.ts";
import { isNamedStride } from "./usual_numbers.ts";

const PLANS: (MadePlan & { shrunk: number })[] = [
  { shrunk: 0, isRoomy: false, isZero: false },
  { shrunk: 0, isRoomy: false, isZero: true },
  { shrunk: 1, isRoomy: true, isZero: false },
  { shrunk: 2, isRoomy: true, isZero: true },
  { shrunk: 4, isRoomy: true, isZero: true },
];
const LEAST = 8;
/** Most sizes of a function that are made as large as a block. */
const MOST_RAISED = 2;
/** Sizes by their names, and others to try. */
export type Sizes = [name: string, size: number][];
export type Change = (sizes: Sizes) => Sizes;

/** The launches of a kernel by host code, the most likely first; none where no function of it is called. */
export function* madeLaunches(
  unknown: Prepared,
  most: Most = MOST,
  change: Change = (sizes) => sizes,
): Generator<{ prepared: Prepared; isZero: boolean; shrunk: number }> {
  const made = unknown.host?.made;
  if (!made) return;
  // A row that is shorter than its block leaves threads without work.
  const [threads, ...others] = trimmed(unknown.host?.call.block ?? []);
  const least = made.sizes.size <= MOST_RAISED && !others.length ? threads : 1;
  const step = stepOf(unknown.opened.file);
  const found = made.sizes.size > 1 ? [...sourcesOf(made)] : [];
  const strides = found.flatMap(([name, source]) => (isNamedStride({ name }) ? source : []));
  for (const { shrunk, ...plan } of PLANS) {
    if (shrunk && !made.sizes.size) continue;
    const sizes = change(
      [...made.sizes].map((name) => {
        const size = Math.max(made.numbers.get(name) ?? 1, least) >> (2 * shrunk);
        return [name, step * Math.ceil(Math.max(LEAST, size) / step)];
      }),
    );
    const longest = Math.max(...sizes.map(([, size]) => size));
    const numbers = new Map(
      sizes.map(([name, size]) => [name, strides.includes(name) ? longest : size]),
    );
    const isOwn = [...numbers].every(([name, size]) => made.numbers.get(name) === size);
    const host = isOwn ? (unknown.host ?? null) : made.again(numbers);
    const prepared = host && prepareMade(unknown, host, plan);
    if (prepared && isSmall(prepared, host, most)) yield { prepared, isZero: plan.isZero, shrunk };
  }
}

function isSmall({ given }: Prepared, { call: { grid, block } }: HostLaunch, most: Most) {
  const counts = given.filter(isArray).map(({ size }) => Number(size));
  const threads = product(block);
  return (
    threads >= 1 &&
    threads <= MAX_THREADS &&
    product([...grid, threads]) <= most.threads &&
    Math.max(0, ...counts) <= most.elements
  );
}
