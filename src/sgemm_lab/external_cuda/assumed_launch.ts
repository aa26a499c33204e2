// Arguments and launches of a kernel that no host code launches, and for which the reader gives
// neither: a size for each integer that looks like one, arrays of the sizes' product, one thread per
// element. Each attempt is described in sentences; the caller takes the first without an access outside
// its arrays.

import { MAX_THREADS } from "../simulator/limits.py";
import { type Element, isWhole, limitsOf } from "./elements.ts";
import { type HostLaunch, trimmed } from "./host_launch.ts";
import { assumedImage, type ImageUse } from "./images.ts";
import { type Opened, stepOf, toldBlock } from "./open_kernel.ts";
import { isSize, productArguments } from "./signatures.ts";
import { bytesOfType, type Field, type Slot } from "./structs.ts";
import { isStride, numberFor, sizeOf, sizesAmong } from "./usual_numbers.ts";

/** What the compiler made of a kernel. */
export interface Compiled {
  parameters: { name: string; type: string }[];
  images: ImageUse[];
  /** threads of a block as `__launch_bounds__` has them */
  mostThreads: number[];
  /** whether a thread asks for its place along y */
  usesY: boolean;
  specials?: Set<string>;
}

/** A number of an argument. */
interface Single {
  number: number;
  whole: boolean;
}

/** What is given of a launch, as text; empty where it is not. */
export interface GivenLaunch {
  grid: string[];
  block: string[];
  sharedBytes: string;
}

/** Threads of a launch and elements of an array that are few enough to run. */
export interface Most {
  threads: number;
  elements: number;
}

/** About a second. */
export const MOST: Most = { threads: 2 ** 18, elements: 2 ** 20 };
export const SIZES_ASSUMED =
  "Sizes of arrays are assumed, so an index beyond the true ones is not seen.";
/** Factor by which arrays grow after an access outside those of the first attempt. */
export const roomOf = (fields: Field[]) => (fields.some(isSize) ? 256 : 4096);
/** Most sizes whose product is taken as the length of an array. */
const MOST_SIDES = 4;
/** Each size of a product, and the least of any. */
const OF_PRODUCT = 128;
const LEAST = 8;
/** Sizes along which the blocks of further axes share the work. */
const PARTS = /slice|split|batch|part|chunk|depth/i;
/** How source asks for a thread's place along y. */
const DOWN = /(?<!%)\b(?:threadIdx|tid|thread_index\(\))\s*\.\s*y\b/;

/** What an attempt assumes. */
interface Plan {
  /** how often sizes are divided by 4 */
  shrunk?: number;
  /** arrays of unknown size are enlarged */
  roomy?: boolean;
  /** integer arrays hold zeros, as they may be indices */
  zeros?: boolean;
  /** an unknown grid is a single block, or has blocks along the axes of its block alone */
  oneBlock?: boolean;
  isFlat?: boolean;
  /** how often an unknown block is halved along each axis */
  narrowed?: number;
}

const PLANS: Plan[] = [
  {},
  { isFlat: true },
  { zeros: true },
  { shrunk: 1, roomy: true },
  { shrunk: 2, roomy: true, zeros: true },
  { roomy: true, zeros: true, oneBlock: true },
  { shrunk: 4, roomy: true, zeros: true, oneBlock: true },
];
/** For kernels whose shared arrays are too small for the usual block. */
const NARROWER: Plan[] = [PLANS[2], PLANS[4]].flatMap((plan) =>
  [1, 2, 3].map((narrowed) => ({ ...plan, narrowed })),
);

/** An argument: its text for `--args`, and the elements of an array or the value of a number. */
export interface Argument {
  field: Field;
  text: string;
  count: number | null;
  value: number | null;
}

/** A launch to try. */
export interface Attempt extends GivenLaunch {
  args: Argument[];
  /** what was assumed of arguments and launch, in sentences */
  argued: string;
  assumed: string;
  /** the block was shrunk to stay inside the kernel's arrays */
  isNarrowed: boolean;
  /** integers hold zeros */
  isZero: boolean;
  /** how often sizes are divided by 4 */
  shrunk: number;
  /** assumed sizes that the launch depends on, by name */
  sizes: Map<string, number>;
}

/** A kernel of which the launch is not known. */
export interface Unknown {
  opened: Opened;
  slots: Slot[];
  compiled: Compiled;
  known: GivenLaunch;
  /** a launch by the file's host code: its block is taken */
  host?: HostLaunch;
}

/** Distinct launches of a kernel, the most likely first. */
export function* attempts(unknown: Unknown, most = MOST, edits = new Map<string, number>()) {
  const seen = new Set<string>();
  for (const found of every(unknown, most, edits)) {
    const { args, grid, block, sharedBytes } = found;
    const key = JSON.stringify([args.map(({ text }) => text), grid, block, sharedBytes]);
    if (!seen.has(key)) yield found;
    seen.add(key);
  }
}

function* every(unknown: Unknown, most: Most, edits: Map<string, number>): Generator<Attempt> {
  for (const plan of [...PLANS, ...(blockIsFree(unknown, unknown.known.block) ? NARROWER : [])]) {
    const found = new Assuming(unknown, plan, most, edits).found();
    if (found) yield found;
  }
}

const product = (numbers: number[]) => numbers.reduce((all, one) => all * one, 1);

/** Whether nothing says what the block is. */
export const blockIsFree = ({ opened, compiled, host }: BlockTold, known: string[]) =>
  !(known.length || compiled.mostThreads.length || host || toldBlock(opened));

type BlockTold = Pick<Unknown, "opened" | "compiled" | "host">;

/** The block of an unknown launch, halved as often as `narrowed` says. */
export function assumedBlock({ opened, compiled, host }: BlockTold, narrowed = 0) {
  const told = host ? trimmed(host.call.block) : toldBlock(opened);
  if (told) return told;
  // Cooperative groups number threads along all axes, though most blocks have one.
  const isPlane = compiled.usesY && opened.file.files.some(({ text }) => DOWN.test(text));
  const usual = (isPlane ? [16, 16] : [256]).map((side) => side >> narrowed);
  const [threads = 0, ...others] = compiled.mostThreads;
  const side = 2 ** Math.ceil(Math.log2(threads) / 2);
  if (isPlane && threads % side === 0 && Math.max(...others, 1) === 1)
    return [side, threads / side];
  return threads ? compiled.mostThreads : usual;
}

/** Builds one attempt. */
class Assuming {
  #roomy = false;
  #sizes = new Map<string, number>();
  /** value of each of several sizes; 0 if there are fewer than two */
  #size = 0;
  #fields: Field[];

  constructor(
    public unknown: Unknown,
    public plan: Plan,
    public most: Most,
    public edits: Map<string, number>,
  ) {
    this.#fields = unknown.slots.flatMap(({ fields }) => fields);
  }

  found(): Attempt | null {
    const { unknown, plan, most } = this;
    const numbers = this.#numbers();
    const block = assumedBlock(unknown, plan.narrowed);
    const isStrideAt = (at: number) => isStride(this.#fields[at], this.#fields);
    const wholes = [...numbers].filter(([, { number, whole }]) => whole && number > 0);
    const sides = wholes.flatMap(([at, { number }]) => (isStrideAt(at) ? [] : number));
    const strides = wholes.flatMap(([at, { number }]) => (isStrideAt(at) ? number : []));
    // A row is as long as a stride that is a side: the longest, so that rows of either fit.
    const row = Math.max(0, ...strides.filter((one) => sides.includes(one)));
    const rows = sides.map((side) => Math.max(side, row));
    const elements = Math.min(elementsOf(rows, block), most.elements);
    const args = this.#args(numbers, elements);
    const counts = args.map(({ count }) => count ?? 0);
    const longest = counts.some(Boolean) ? Math.max(...counts) : 1;
    const square = isFlat(block) ? 0 : this.#size ** 2;
    const grid = plan.oneBlock
      ? [1]
      : covering(Math.min(square || Math.min(elements, longest), most.threads), block);
    this.#addAxes(grid);
    if (Math.min(...grid, ...block) < 1 || product(block) > MAX_THREADS) return null;
    const texts = (given: string[], own: number[]) => (given.length ? given : own.map(String));
    const used = texts(unknown.known.grid, grid);
    const threads = texts(unknown.known.block, block);
    return {
      args,
      grid: used,
      block: threads,
      sharedBytes: unknown.known.sharedBytes,
      argued: this.#argued(args),
      assumed:
        `Launch, assumed: a grid of ${used.join(" × ")} blocks of ${threads.join(" × ")} threads. ` +
        "Say --grid and --block where it is another.",
      isNarrowed: Boolean(plan.narrowed),
      isZero: Boolean(plan.zeros),
      ...{ shrunk: plan.shrunk ?? 0, sizes: this.#sizes },
    };
  }

  /** As many blocks along further axes that the kernel asks for as a size is named so; at least two. */
  #addAxes(grid: number[]) {
    if (this.plan.oneBlock || this.plan.isFlat) return;
    const parts = [...this.#sizes].flatMap(([name, size]) => (PARTS.test(name) ? size : []));
    for (const [axis, letter] of [..."xyz"].entries()) {
      if (axis < grid.length || !this.unknown.compiled.specials?.has(`%ctaid.${letter}`)) continue;
      grid.push(...Array<number>(axis - grid.length).fill(1), parts.shift() ?? 2);
    }
  }

  /** Values of the parameters that are numbers. */
  #numbers() {
    const { opened } = this.unknown;
    const fields = this.#fields;
    const sizes = sizesAmong(fields);
    const isProduct = productArguments(opened.kernel.name, fields) !== null;
    const first = isProduct ? OF_PRODUCT : sizeOf(sizes.length);
    const step = stepOf(opened.file);
    const least = Math.max(LEAST, first >> (2 * (this.plan.shrunk ?? 0)));
    const size = Math.ceil(least / step) * step;
    this.#size = sizes.length > 1 ? size : 0;
    const found = new Map<number, Single>();
    for (const [at, one] of fields.entries()) {
      if (one.pointer || one.image) continue;
      const number = within(numberFor(one, fields, this.edits, size), one.element);
      found.set(at, { number, whole: isSize(one) });
      if (sizes.includes(one)) this.#sizes.set(one.name, number);
    }
    return found;
  }

  #args(numbers: Map<number, Single>, most: number): Argument[] {
    const names = new Set<string>();
    const wholes = new Map<string, number>();
    for (const [at, { number, whole }] of numbers) {
      if (whole) wholes.set(this.#fields[at].name.split(".").at(-1) ?? "", number);
    }
    const { slots, compiled, opened } = this.unknown;
    const own = slots.flatMap(({ fields }, at) => fields.map(() => compiled.parameters[at].name));
    return this.#fields.map((field, at) => {
      const name = nameOf(field, at, names);
      names.add(name);
      if (field.image) {
        this.#roomy = true;
        const image = assumedImage(opened.file, compiled.images, own[at], field, wholes, most);
        return { field, text: `${name}:${image.text}`, count: image.count, value: null };
      }
      if (field.pointer) return this.#array(field, name, most);
      const value = numbers.get(at) ?? { number: 0, whole: true };
      const isNamed = value.whole && !/^[MNK]$/.test(name);
      const text = (isNamed ? `${name}=` : "") + textOf(value);
      return { field, text, count: null, value: value.number };
    });
  }

  #array(field: Field, name: string, most: number): Argument {
    const { element } = field;
    const { plan } = this;
    this.#roomy = true;
    const size = most * (plan.roomy ? roomOf(this.#fields) : 1);
    const count = countOf(field, size, this.unknown.opened, this.most);
    const isOpen = plan.zeros && (isWhole(element) || !(element || field.constant));
    const isZero = isOpen || (!field.constant && isCounter(field, this.unknown.opened));
    const use = isZero ? "zero" : field.constant ? "in" : "inout";
    const text = `${name}:${use}:${count}${element ? "" : ":float"}`;
    return { field, text, count, value: null };
  }

  #argued(args: Argument[]) {
    if (!args.length) return "";
    const text = args.map((one) => one.text).join(" ");
    const said = `Arguments, assumed: ${text}. Say --args where they are others.`;
    return this.#roomy ? `${said} ${SIZES_ASSUMED}` : said;
  }
}

/** Whether a kernel counts in an array by atomics, which starts from 0. */
const isCounter = ({ name }: Field, { file }: Opened) =>
  new RegExp(`atomic(?:Add|Inc)\\w*\\(&?(?:\\w+\\W{1,2})?${name.split(".").at(-1)}\\b`).test(
    file.files[0].text,
  );

/** As many elements, or words of structs, as an array of some elements may have. */
export function countOf(
  { element, type }: Field,
  size: number,
  { file, values }: Opened,
  most = MOST,
) {
  if (element) return Math.max(1, Math.min(size, Math.floor(most.elements / element.lanes)));
  return Math.min(most.elements, size * Math.ceil((bytesOfType(type, file, values) ?? 1) / 4));
}

/** The elements of an array of unknown size: as many as sizes and threads say. */
export function elementsOf(sizes: number[], threads: number[]) {
  const largest = [...sizes].sort((one, other) => other - one).slice(0, MOST_SIDES);
  return Math.max(product(largest), product(threads));
}

const within = (value: number, element: Element | null) =>
  isWhole(element) ? Math.min(value, limitsOf(element)[1]) : value;

/** A unique name that `--args` accepts. */
function nameOf({ name, pointer }: Field, at: number, names: Set<string>) {
  const text = name.replace(/\W+/g, "_").replace(/^_+|_+$/g, "") || `p${at + 1}`;
  let found = pointer && /^[ABC]$/.test(text) ? text.toLowerCase() : text;
  while (names.has(found)) found += "_";
  return found;
}

/** A number as Python writes it. */
function textOf({ number, whole }: Single) {
  if (whole) return `${number}`;
  if (Number.isInteger(number)) return `${number}.0`;
  const isSmall = Math.abs(number) < 1e-4;
  return isSmall ? number.toExponential().replace(/e([-+])(\d)$/, "e$10$2") : `${number}`;
}

const isFlat = (block: number[]) => block.filter((side) => side > 1).length <= 1;

/** The grid with one thread per element. */
export function covering(elements: number, block: number[]) {
  if (isFlat(block)) return [Math.ceil(elements / product(block))];
  const side = Math.floor(Math.sqrt(elements - 1)) + 1;
  return block.slice(0, 2).map((threads) => Math.ceil(side / threads));
}
