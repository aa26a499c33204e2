// What the scripts of a page lay ready for each other. Only the type checker reads this file.

/** A worker as its own script sees it. */
interface WorkerScope {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage: (message: object) => void;
}

/** What the scripts of a panel lay ready for it. */
interface Window {
  /** The engine, as the text of a worker. */
  labEngine: string;
  /** What checks CUDA files, as the text of a worker. */
  labChecker: string;
  /** PTX of a kernel and its variants, by name. */
  labPtx: Record<string, Record<string, string>>;
  /** The compiler: the text of its worker, where its package lies, how large that is. */
  labCompiler: { script: string; folder: string; megabytes: number } | null;
  /** Exercises of lines, by name. */
  labLines: Record<string, import("../../exercises/lines.ts").LinesExercise>;
  /** Brings the editor of such an exercise to life. */
  labLinesBench: (
    element: HTMLElement,
    name: string,
    callbacks: import("./lines.ts").Callbacks,
  ) => void;
  /** Puts CodeMirror in place of a text area. */
  labCodeField: typeof import("./codemirror.ts").codeField;
  /** Whether this device can compile what a reader writes, as far as the page knows. */
  labCompiles: boolean;
  /** Sphinx's search cuts what is searched for into words by this. */
  splitQuery: (query: string) => string[];
}
