// What the widgets' modules pass to each other. Only the type checker reads this file.

/** The text of a C++ header. */
declare module "*.h" {
  const text: string;
  export default text;
}

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

interface LogScale {
  (value: number): number;
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
  peaks: Peak[];
  levels: Roof[];
}

/** The address of each lane's first byte; null where the lane is inactive. */
type Lanes = (number | null)[];
