// The worker that checks pasted files: it compiles, follows programs and runs launches. What a reader
// pastes is only ever read here, never run as JavaScript.

import { LabError } from "../../errors.ts";
import { readStart } from "../../external_cuda/program/host_compiler.ts";
import { OF_CPP } from "../../external_cuda/program/host_text.ts";
import { TimeLimitError } from "../../simulator/divergence.ts";
import type { Progress } from "../panel/worker.ts";
import { SourceError } from "../source_error.ts";
import { compilerFrom } from "./compiling.ts";
import { checkAlone, type KernelRequest } from "./run_kernel.ts";
import { checkProgram, type ProgramFound, type ProgramRequest } from "./run_program.ts";

type Request = { id: number; folder: string } & (
  | ({ task: "program" } & ProgramRequest)
  | ({ task: "kernel" } & KernelRequest)
);

/** Seconds of one launch. */
const TIME_LIMIT = 20;
/** Between words that differ in numbers alone. */
const TELL_MS = 150;
/** After so long without a question the compiler reads what most files include. */
const IDLE_MS = 1000;
const TOO_LONG =
  `Stopped after ${TIME_LIMIT} seconds. Set smaller sizes below, or look for a loop without an ` +
  "end.";

/** Answer what the page asks. */
export function serve(scope: WorkerScope) {
  let idle = 0;
  scope.onmessage = async ({ data }) => {
    const { id } = data;
    clearTimeout(idle);
    let [told, last] = [0, ""];
    const tell: Tell = (words, found) => {
      const kind = words.replace(/\d+/g, "");
      if (!found && kind === last && performance.now() - told < TELL_MS) return;
      [told, last] = [performance.now(), kind];
      scope.postMessage({ id, progress: true, done: 0, total: 0, words, found } satisfies Told);
    };
    try {
      scope.postMessage({ id, found: await answer(data, tell) });
      const { clang } = await compilerFrom(data.folder, tell);
      // Whoever asks meanwhile waits: only for a file that gains by it.
      if (OF_CPP.test(data.text)) idle = setTimeout(() => readStart(clang), IDLE_MS);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      const line = error instanceof SourceError ? error.line : undefined;
      const fault = error instanceof TimeLimitError ? TOO_LONG : error.message;
      scope.postMessage({ id, fault, line });
    }
  };
}

type Tell = (words: string, found?: ProgramFound) => void;
type Told = Progress & { id: number; progress: true; found?: ProgramFound };

async function answer(request: Request, tell: Tell) {
  const compiler = await compilerFrom(request.folder, tell);
  return request.task === "kernel"
    ? checkAlone(request, compiler, TIME_LIMIT, tell)
    : checkProgram(request, compiler, TIME_LIMIT, tell);
}
