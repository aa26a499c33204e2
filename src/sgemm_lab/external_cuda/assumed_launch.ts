// Arguments and launches of a kernel that no program launches, and for which the reader gives neither:
// what the file's launch says as it stands, then what is usual: a size for each integer that looks like
// one, arrays of the sizes' product, one thread per element. Each attempt is described in sentences; the
// caller takes the first without an access outside its arrays.

import { MAX_THREADS } from "../simulator/limits.py";
import type { Element } from "./elements.ts";
import { isBool, isWhole, limitsOf } from "./elements.ts";
import type { Single, Value } from "./host_values.ts";
import { HostReader, known } from "./host_values.ts";
import type { ImageUse } from "./images.ts";
import { assumedImage } from "./images.ts";
import type { FoundLaunch } from "./kernels.ts";
import type { GivenNumber, Opened } from "./open_kernel.ts";
import { hostShape, isName } from "./open_kernel.ts";
import { isSize, productArguments } from "./signatures.ts";
import type { Field, Slot } from "./structs.ts";
import { usualOf } from "./template_arguments.ts";
import type { Token } from "./tokens.ts";
import { textsOf } from "./tokens.ts";

/** What the compiler made of a kernel. */
export interface Compiled {
  parameters: { name: string; type: string }[];
  images: ImageUse[];
  /** threads of a block as `__launch_bounds__` has them */
  mostThreads: number[];
  /** whether a thread asks for its place along y */
  usesY: boolean;
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
/** Factor by which arrays grow after an access outside those of the first attempt. */
const ROOMY = 256;
/** Most sizes whose product is taken as the length of an array; launches of the file tried. */
const MOST_SIDES = 4;
const MOST_LAUNCHES = 3;
/** For a single size, for each of two or three, of more, and for matrices. */
const SIZES: Record<number, number> = { 1: 4096, 2: 64, 3: 32 };
const [MANY, OF_PRODUCT] = [16, 128];
const LEAST = 8;
/** Names of integers that are no sizes, and their values. */
const USUAL: [RegExp, number][] = [
  [/^(offset|start|begin|base|shift|seed|idx|index|pos|first|lo|low|id|tid|rank|flag|mode)$/, 0],
  [/^(n?iters?|iterations|n?steps|niter|reps?|repeat|loops?|times|num_iters?)$/, 2],
  [/^(radius|r|ksize|filter_?size|kernel_?size|mask_?(?:size|width|dim)|filter_?width)$/, 3],
  [/^(alpha|one)$/, 1],
];
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
  /** an unknown grid is a single block */
  oneBlock?: boolean;
  /** how often an unknown block is halved along each axis */
  narrowed?: number;
}

const PLANS: Plan[] = [
  {},
  { zeros: true },
  { shrunk: 1, roomy: true },
  { shrunk: 2, roomy: true, zeros: true },
  { roomy: true, zeros: true, oneBlock: true },
  { shrunk: 4, roomy: true, zeros: true, oneBlock: true },
];
/** For kernels whose shared arrays are too small for the usual block. */
const NARROWER: Plan[] = [1, 2, 3].map((narrowed) => ({ ...PLANS[2], zeros: true, narrowed }));

/** An argument: its text for `--args`, and the elements of an array or the value of a number. */
export interface Argument {
  field: Field;
  text: string;
  count: number | null;
  value: number | null;
  /** whether the file tells it */
  told: boolean;
}

/** A launch to try. */
export interface Attempt extends GivenLaunch {
  args: Argument[];
  /** what was assumed of arguments and launch, or which line tells it, in sentences */
  argued: string;
  assumed: string;
  /** the file gives grid, block and every number, and no array can hold indices */
  numbersTold: boolean;
  /** the file gives the grid, the block, or both */
  gridTold: boolean;
  blockTold: boolean;
  launched: boolean;
  /** the block was shrunk to stay inside the kernel's arrays */
  narrowed: boolean;
  /** assumed sizes that the launch depends on, by name */
  sizes: Map<string, number>;
  /** the file's launch */
  launch: FoundLaunch | null;
}

/** A kernel of which the launch is not known. */
export interface Unknown {
  opened: Opened;
  slots: Slot[];
  compiled: Compiled;
  known: GivenLaunch;
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
  const { launches, values } = unknown.opened;
  const own = [...values.values()];
  const hosts = launches.filter((one) => mayBeOf(one, own)).slice(0, MOST_LAUNCHES);
  const made = (launch: FoundLaunch | null, plan: Plan, isTold = false) =>
    new Assuming(unknown, launch, plan, isTold, most, edits).found();
  for (const plan of PLANS) {
    for (const host of hosts) {
      // The numbers of the launch; where they are too large others in their place.
      const found = [true, false].map((isTold) => made(host, plan, isTold));
      const fitting = found.find((one) => one && isSmall(one, most));
      if (fitting) yield fitting;
    }
  }
  for (const plan of [...PLANS, ...(blockIsFree(unknown) ? NARROWER : [])]) {
    const found = made(null, plan);
    if (found) yield found;
  }
}

/** Whether a launch may be of this instance of a template, judged by its values. */
function mayBeOf({ template }: FoundLaunch, own: string[]) {
  return template.every((tokens, at) => {
    const [value, isNumber] = [own[at], tokens[0].kind === "number"];
    const isOther = value !== undefined && textsOf(tokens).join("") !== value;
    return !(isOther && isNumber && /^\d+$/.test(value));
  });
}

function isSmall({ grid, block, args }: Attempt, most: Most) {
  const sides = [...grid, ...block].filter((side) => /^\d+$/.test(side)).map(Number);
  const counts = args.map(({ count }) => count ?? 0);
  return product(sides) <= most.threads && Math.max(0, ...counts) <= most.elements;
}

const product = (numbers: number[]) => numbers.reduce((all, one) => all * one, 1);

function blockIsFree(unknown: Unknown) {
  const { known, compiled } = unknown;
  return !known.block.length && !compiled.mostThreads.length && !hostBlocks(unknown.opened).length;
}

/** The blocks of the file's own launches that can be worked out. */
function hostBlocks(opened: Opened, given: GivenNumber[] = []) {
  const blocks = opened.launches.map((launch) => hostShape(opened, launch, given).block);
  return blocks.filter((block) => {
    const threads = product(block);
    return block.length && threads >= 1 && threads <= MAX_THREADS;
  });
}

/**
 * The block of an unknown launch, halved as often as `narrowed` says.
 * @param given the numbers that the kernel is given
 */
export function assumedBlock(
  { opened, compiled }: Pick<Unknown, "opened" | "compiled">,
  narrowed = 0,
  given: GivenNumber[] = [],
) {
  // Cooperative groups number threads along all axes, though most blocks have one.
  const isPlane = compiled.usesY && opened.file.files.some(({ text }) => DOWN.test(text));
  const usual = (isPlane ? [16, 16] : [256]).map((side) => side >> narrowed);
  const [own] = hostBlocks(opened, given);
  return own ?? (compiled.mostThreads.length ? compiled.mostThreads : usual);
}

/** Builds one attempt. */
class Assuming {
  #guessed = false;
  #roomy = false;
  /** value of each of several sizes; 0 if there are fewer than two */
  #size = 0;
  #fields: Field[];
  #sizes = new Map<string, number>();

  constructor(
    public unknown: Unknown,
    public launch: FoundLaunch | null,
    public plan: Plan,
    /** whether the launch's own numbers are taken */
    public isTold: boolean,
    public most: Most,
    public edits: Map<string, number>,
  ) {
    this.#fields = unknown.slots.flatMap(({ fields }) => fields);
  }

  found(): Attempt | null {
    const { unknown, plan, launch, most } = this;
    const told = this.#toldNumbers();
    const numbers = this.#numbers(told);
    const shape = launch && this.#shape(launch, numbers);
    if (launch && !shape) return null;
    let grid = shape?.grid ?? [];
    const gridTold = grid.length > 0;
    const block = shape?.block.length ? shape.block : assumedBlock(unknown, plan.narrowed);
    const sides = [...numbers.values()].flatMap(({ number, whole }) =>
      whole && number > 0 ? number : [],
    );
    const largest = sides.sort((one, other) => other - one).slice(0, MOST_SIDES);
    const wanted = Math.max(product(largest), product([...grid, ...block]));
    const elements = Math.min(wanted, most.elements);
    const args = this.#args(numbers, told, elements);
    if (!grid.length) {
      const counts = args.map(({ count }) => count ?? 0);
      const longest = counts.some(Boolean) ? Math.max(...counts) : 1;
      const square = isFlat(block) ? 0 : this.#size ** 2;
      grid = plan.oneBlock
        ? [1]
        : covering(Math.min(square || Math.min(elements, longest), most.threads), block);
    }
    if (Math.min(...grid, ...block) < 1 || product(block) > MAX_THREADS) return null;
    const pointed = this.#fields.filter(({ pointer }) => pointer).map(({ element }) => element);
    // A struct may hold pointers, and integers may be indices.
    const launched = launch !== null && gridTold && Boolean(shape?.block.length);
    const indices = pointed.some(isWhole) && !plan.zeros;
    const isUnknown = this.#guessed || indices || pointed.includes(null);
    const texts = (given: string[], own: number[]) => (given.length ? given : own.map(String));
    const used = texts(unknown.known.grid, grid);
    const threads = texts(unknown.known.block, block);
    return {
      args,
      grid: used,
      block: threads,
      sharedBytes:
        unknown.known.sharedBytes === "0" ? `${shape?.shared ?? 0}` : unknown.known.sharedBytes,
      argued: this.#argued(args),
      assumed: this.#assumed(used, threads, gridTold || Boolean(shape?.block.length)),
      numbersTold: launched && !isUnknown,
      gridTold,
      blockTold: Boolean(shape?.block.length),
      launched,
      narrowed: Boolean(plan.narrowed),
      sizes: this.#sizes,
      launch,
    };
  }

  #reader(launch: FoundLaunch, names: Map<string, Value>) {
    const { file, values } = this.unknown.opened;
    return new HostReader(file, launch, names, new Map([...usualOf(launch.function), ...values]));
  }

  /** Each parameter's argument in the launch; empty if there is none. */
  #arguments(launch: FoundLaunch): Token[][] {
    return this.unknown.slots.flatMap(({ fields, structBytes }, at) =>
      fields.map(() => (structBytes ? [] : (launch.arguments[at] ?? []))),
    );
  }

  /** Numbers that the launch itself says, by parameter. */
  #toldNumbers() {
    const numbers = new Map<number, Single>();
    const { launch } = this;
    if (!launch || !this.isTold) return numbers;
    const reader = this.#reader(launch, new Map());
    for (const [at, tokens] of this.#arguments(launch).entries()) {
      const field = this.#fields[at];
      if (!tokens.length || field.image || field.pointer) continue;
      const found = reader.number(tokens);
      if (found && fits(found.number, field)) numbers.set(at, found);
    }
    return numbers;
  }

  /** Values of the parameters that are numbers. */
  #numbers(told: Map<number, Single>) {
    const { opened, slots } = this.unknown;
    const fields = slots.flatMap((slot) => slot.fields);
    const sizes = fields.filter((one, at) => !told.has(at) && isSize(one) && usual(one) === null);
    const isProduct = productArguments(opened.kernel.name, fields, false) !== null;
    const first = isProduct ? OF_PRODUCT : (SIZES[sizes.length] ?? MANY);
    const size = Math.max(LEAST, first >> (2 * (this.plan.shrunk ?? 0)));
    this.#size = sizes.length > 1 ? size : 0;
    const found = new Map<number, Single>();
    for (const [at, one] of fields.entries()) {
      if (one.pointer || one.image) continue;
      const given = told.get(at);
      this.#guessed ||= !given;
      const edit = this.edits.get(one.name);
      if (given) found.set(at, given);
      else if (!isSize(one)) {
        const number = /eps/i.test(one.name) ? 1e-5 : 1;
        found.set(at, { number, whole: false });
      } else {
        const number = edit ?? within(usual(one) ?? size, one.element);
        found.set(at, { number, whole: true });
        if (sizes.includes(one)) this.#sizes.set(one.name, number);
      }
    }
    return found;
  }

  /** Grid, block and shared bytes of the file's launch; empty if unknown. */
  #shape(launch: FoundLaunch, numbers: Map<number, Single>) {
    const names = new Map<string, Value>();
    for (const [at, tokens] of this.#arguments(launch).entries()) {
      const number = numbers.get(at);
      if (number && isName(tokens)) names.set(tokens[0].text, number);
    }
    const [ofGrid, ofBlock, ofShared] = launch.shape;
    if (!ofBlock) return null;
    const reader = this.#reader(launch, names);
    const own = known(() => reader.sidesOf(ofBlock)) ?? [];
    const threads = product(own);
    const block = threads >= 1 && threads <= MAX_THREADS ? own : [];
    const grid = known(() => reader.sidesOf(ofGrid)) ?? [];
    if (!grid.length && !block.length) return null;
    const shared = ofShared ? reader.number(ofShared)?.number : 0;
    return { grid, block, shared: Math.trunc(shared ?? 0) };
  }

  #args(numbers: Map<number, Single>, told: Map<number, Single>, most: number): Argument[] {
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
        return {
          field,
          text: `${name}:${image.text}`,
          count: image.count,
          value: null,
          told: false,
        };
      }
      if (field.pointer) return this.#array(field, name, most);
      const value = numbers.get(at) ?? { number: 0, whole: true };
      const isNamed = value.whole && !/^[MNK]$/.test(name);
      const text = (isNamed ? `${name}=` : "") + textOf(value);
      return { field, text, count: null, value: value.number, told: told.has(at) };
    });
  }

  #array(field: Field, name: string, most: number): Argument {
    const { element } = field;
    const { plan } = this;
    this.#roomy = true;
    const size = Math.min(this.most.elements, most * (plan.roomy ? ROOMY : 1));
    const count = Math.max(1, Math.floor(size / (element?.lanes ?? 1)));
    const isZero = isWhole(element) && plan.zeros;
    const use = isZero ? "zero" : field.constant ? "in" : "inout";
    const text = `${name}:${use}:${count}${element ? "" : ":float"}`;
    return { field, text, count, value: null, told: false };
  }

  #argued(args: Argument[]) {
    if (!args.length) return "";
    const text = args.map((one) => one.text).join(" ");
    const isTold = this.launch && !this.#guessed && !this.#roomy;
    const said = isTold
      ? `Arguments, told by line ${this.launch?.line}: ${text}.`
      : `Arguments, assumed: ${text}. Say --args where they are others.`;
    if (!this.#roomy) return said;
    return `${said} Sizes of arrays are assumed, so an index beyond the true ones is not seen.`;
  }

  #assumed(grid: string[], block: string[], isTold: boolean) {
    const told = isTold ? `told by line ${this.launch?.line}` : "assumed";
    const [blocks, threads] = [grid, block].map((sides) => sides.join(" × "));
    const said = `Launch, ${told}: a grid of ${blocks} blocks of ${threads} threads.`;
    return isTold ? said : `${said} Say --grid and --block where it is another.`;
  }
}

function usual({ name, element }: Field) {
  if (isBool(element)) return 1;
  const plain = (name.split(".").at(-1) ?? "").toLowerCase().replace(/^_+|_+$/g, "");
  return USUAL.find(([pattern]) => pattern.test(plain))?.[1] ?? null;
}

const within = (value: number, element: Element | null) =>
  isWhole(element) ? Math.min(value, limitsOf(element)[1]) : value;

/** Whether a parameter can hold a number of the host code. */
function fits(value: number, field: Field) {
  if (!isSize(field) || !isWhole(field.element)) return true;
  if (!Number.isInteger(value)) return false;
  const [least, most] = limitsOf(field.element);
  return isBool(field.element) || (least <= value && value <= most);
}

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
