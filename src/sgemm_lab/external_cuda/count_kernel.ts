// Simulate and count one launch of a kernel of a CUDA file, and say what is right and wrong.

import type { Size } from "../kernel.ts";
import { countAssumed, launchOf } from "./assumed_launch_search.ts";
import type { HostLaunch } from "./host_launch.ts";
import { arraysAt } from "./initial_values.ts";
import { type Kernel, prepare, type Settings, UnknownLaunchError } from "./launch.ts";
import { countPrepared, type Done, type Expectations } from "./one_launch.ts";
import { countRecorded } from "./recorded_launch.ts";

/**
 * Run a kernel with its launch, or an assumed one. Throws a LabError where it cannot be run.
 * @param contents what some arrays hold instead of small whole numbers
 * @param recorded its launch by the file's own program
 */
export function countKernel(
  kernel: Kernel,
  size: Size,
  expectations: Expectations,
  settings: Settings,
  contents: Map<string, Float64Array>,
  recorded: { launch: HostLaunch; isSketch: boolean } | null,
): Done {
  const own = recorded ? { ...kernel, host: recorded.launch } : kernel;
  const isOwn = recorded && !recorded.launch.made && kernel.args === null;
  try {
    const prepared = isOwn ? prepare(own) : launchOf(() => prepare(own), settings);
    const { values, unwritten } = arraysAt(prepared, size);
    for (const [name, numbers] of contents) {
      values.set(name, { sides: values.get(name)?.sides ?? [numbers.length], numbers });
    }
    const arrays = { values, unwritten };
    return countPrepared(prepared, size, expectations, settings, arrays);
  } catch (unknown) {
    if (!(unknown instanceof UnknownLaunchError)) throw unknown;
    if (recorded && isOwn) {
      const { launch, isSketch } = recorded;
      const done = countRecorded(kernel, launch, isSketch, size, expectations, settings);
      if (done) return done;
    }
    return countAssumed(unknown, size, expectations, settings);
  }
}
