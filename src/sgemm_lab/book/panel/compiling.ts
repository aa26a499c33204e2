// The compiler behind a panel, in a worker of its own: it needs hundreds of megabytes, and compiles
// without a pause.

import { type Compile, loadCompiler } from "../../clang/compiler.ts";
import { importPackage } from "../../clang/site.ts";

/** Answer what the page asks. */
export function serve(scope: WorkerScope) {
  let compile: Compile | null = null;
  let version = "";
  scope.onmessage = async ({ data }) => {
    const { id, source, folder } = data;
    try {
      if (!compile) {
        const clang = await importPackage(folder, (done, total) =>
          scope.postMessage({ id, progress: true, done, total }),
        );
        version = clang.version;
        compile = await loadCompiler(clang);
      }
    } catch (error) {
      scope.postMessage({ id, fault: `The compiler could not be loaded: ${error}` });
      return;
    }
    scope.postMessage({ id, compiled: compile(source), version });
  };
}
