// @ts-check
// The compiler behind a panel, in a worker of its own: it needs hundreds of megabytes, and compiles
// without a pause.

import { loadCompiler } from "../../clang/compiler.js";
import { importPackage } from "../../clang/site.js";

/**
 * What the page asks for: PTX of a source. `folder` is where the package of clang lies.
 * @typedef {{ id: number, source: string, folder: string }} CompileRequest
 *
 * What it hears: how many bytes have come, then what the compiler says.
 * @typedef {{ id: number, progress: true, done: number, total: number }} Loading
 * @typedef {{ id: number, compiled: import("../../clang/compiler.js").Compiled, version: string
 * }} CompileAnswer
 */

/**
 * Answer what the page asks.
 * @param {{ onmessage: ((event: MessageEvent) => void) | null,
 *   postMessage: (message: object) => void }} scope
 */
export function serve(scope) {
  /** @type {import("../../clang/compiler.js").Compile | null} */
  let compile = null;
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
