// What the widgets' modules pass to each other. Only the type checker reads this file.

/** What a widget draws from: anywidget's model where there is a kernel, the page's own elsewhere. */
interface Model<S> {
  get<K extends keyof S & string>(name: K): S[K];
  set<K extends keyof S & string>(name: K, value: S[K]): void;
  // biome-ignore lint/suspicious/noExplicitAny: each event brings values of its own
  on(names: string, callback: (...values: any[]) => void): void;
  // biome-ignore lint/suspicious/noExplicitAny: each event brings values of its own
  off(names: string, callback?: (...values: any[]) => void): void;
  save_changes(): void;
  send(message: unknown): void;
}

/** What anywidget gives to a widget's `render`. */
interface View<S> {
  model: Model<S>;
  el: HTMLElement;
}

type Attributes = Record<string, string | number | boolean | null | undefined>;
type Child = Node | string | false | null | undefined | 0;
type Theme = [name: string, words: string];

interface LogScale {
  (value: number): number;
  invert(pixel: number): number;
  low: number;
  high: number;
  decades: number[];
}

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A place for a label. */
interface Spot {
  x: number;
  y: number;
  anchor?: "start" | "middle" | "end";
  angle?: number;
}

type LevelId = "dram" | "l2" | "l1" | "shared" | "register";

/** A bandwidth of one memory level of a GPU, as data.py checks it. */
interface Roof {
  id: LevelId;
  label: string;
  gbs: number;
  measured: boolean;
  source: string;
}

/** A rate of the arithmetic. */
interface Peak {
  gflops: number;
  measured: boolean;
  source: string;
}

/** A GPU with its roofs, as data.py checks it. */
interface RoofedGpu {
  id: string;
  name: string;
  peak_gflops: number;
  peak_source: string;
  peaks: Peak[];
  levels: Roof[];
  max_threads_per_block: number;
  shared_per_block_bytes?: number;
}

interface MatrixSize {
  m: number;
  n: number;
  k: number;
}

/** The address of each lane's first byte; null where the lane is inactive. */
type Lanes = (number | null)[];

/** What the scripts of a panel lay ready for it. */
interface Window {
  /** The engine, as the text of a worker. */
  labEngine: string;
  /** PTX of a kernel and its variants, by name. */
  labPtx: Record<string, Record<string, string>>;
  /** Draws a step-through; gives what ends it. */
  labSteps: (el: HTMLElement, state: Record<string, unknown>) => () => void;
  /** The compiler: the text of its worker, where its package lies, how large that is. */
  labCompiler: { script: string; folder: string; megabytes: number } | null;
  /** Exercises of lines, by name. */
  labLines: Record<string, import("../../exercises/lines.js").LinesExercise>;
  /** Brings the editor of such an exercise to life. */
  labLinesBench: (
    element: HTMLElement,
    name: string,
    heard: import("../../book/panel/lines.js").Heard,
  ) => void;
  /** Puts CodeMirror in place of a text area; not there in a site that was built without it. */
  labCodeField?: (
    into: HTMLElement,
    area: HTMLTextAreaElement,
    above: number,
    heard: import("../../book/panel/editor.js").Heard,
  ) => import("../../book/panel/editor.js").Field;
  /** Comes true when all widgets of the page are drawn; not there on a page without any. */
  labWidgetsDrawn?: Promise<boolean>;
  /** Whether this device can compile what a reader writes, as far as the page knows. */
  labCompiles: boolean;
}
