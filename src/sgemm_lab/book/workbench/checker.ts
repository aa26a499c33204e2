// The worker that checks pasted files: it compiles, follows programs and runs launches. What a reader
// pastes is only ever read here, never run as JavaScript.

import { LabError } from "../../errors.ts";
import { TimeLimitError } from "../../simulator/divergence.ts";
import type { Progress } from "../panel/worker.ts";
import { SourceError } from "../source_error.ts";
import { compiledBy, compilerFrom } from "./compiler.ts";
import type { LaunchRequest } from "./run_launch.ts";
import { runLaunch } from "./run_launch.ts";
import type { ProgramRequest } from "./run_program.ts";
import { checkProgram } from "./run_program.ts";

type Request =
  | ({ id: number; task: "program"; folder: string } & ProgramRequest)
  | { id: number; task: "compile"; folder: string; source: string }
  | ({ id: number; task: "launch" } & LaunchRequest);

/** Seconds of one launch. */
const TIME_LIMIT = 20;
const TELL_MS = 150;

/** Answer what the page asks. */
export function serve(scope: WorkerScope) {
  scope.onmessage = async ({ data }) => {
    const { id } = data;
    let told = 0;
    const tell = (words: string) => {
      if (performance.now() - told < TELL_MS) return;
      told = performance.now();
      scope.postMessage({ id, progress: true, done: 0, total: 0, words } satisfies Told);
    };
    try {
      scope.postMessage({ id, found: await answer(data, tell) });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      const line = error instanceof SourceError ? error.line : undefined;
      scope.postMessage({ id, fault: error.message, line });
    }
  };
}

type Told = Progress & { id: number; progress: true };

async function answer(request: Request, tell: (words: string) => void) {
  if (request.task === "launch") return launched(request, tell);
  const compiler = await compilerFrom(request.folder, tell);
  if (request.task === "compile") return compiledBy(compiler, request.source);
  const compiled = (text: string) => compiledBy(compiler, text);
  return checkProgram(request, { clang: compiler.clang, compiled }, TIME_LIMIT, tell);
}

function launched(request: LaunchRequest, tell: (words: string) => void) {
  try {
    return runLaunch(request, TIME_LIMIT, (done, all) =>
      tell(`Running ${request.kernel.entry}: ${Math.round((100 * done) / all)} % of its blocks`),
    );
  } catch (error) {
    if (!(error instanceof TimeLimitError)) throw error;
    throw new LabError(
      `Stopped after ${TIME_LIMIT} seconds. Set smaller sizes below, or look for a loop without an end.`,
    );
  }
}
