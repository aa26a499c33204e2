// Instructions at which a launch ends with an error.

import { LabError } from "../errors.ts";
import { operations } from "./operations.ts";
import { sentence } from "./sentences.ts";

/** A thread came to an instruction that ends the launch. The message says where. */
class TrapError extends LabError {}

export const TRAPS = operations([
  [
    "trap",
    (_, { location: place }) =>
      () => {
        throw new TrapError(sentence("run.trap", { place }));
      },
  ],
  [
    "trap\\.depth(?<deepest>\\d+)",
    (_, __, { deepest }) =>
      () => {
        throw new TrapError(sentence("run.recursion", { deepest }));
      },
  ],
]);
