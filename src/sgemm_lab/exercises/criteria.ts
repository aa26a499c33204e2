// What an exercise of lines asks of a correct kernel: the data come from criteria.py, the figures are
// counted here.

import { LabError } from "../errors.ts";
import { launchShape, parseKernel, type Size, valuesOf } from "../kernel.ts";
import { filled } from "../text.ts";
import { declaredBytes } from "./checked.ts";
import { countsOf } from "./quantities.ts";

/** What the compiler gives to a thread, where it says so. */
export interface OfThread {
  registers?: number;
  spill_bytes?: number;
}

/** A kernel's source, and what a compiler made of it. */
export interface Sent {
  source: string;
  ptx: string;
  ofThread?: OfThread;
}

interface Counted {
  kind: "counted";
  count: string;
  size: Size;
  per: string;
  times: number;
  of: string;
}

interface Compiled {
  kind: "compiled";
  what: "shared_bytes" | keyof OfThread;
  each: number;
  plus: number;
  of: string;
}

interface LeastInPtx {
  kind: "least in PTX";
  pattern: string;
  of?: undefined;
}

interface Constant {
  kind: "constant";
  name: string;
  plus: number;
  of?: undefined;
}

type Figure = Counted | Compiled | LeastInPtx | Constant;

interface Case {
  right: boolean;
  says: string;
  figure: string;
  above: number | string | null;
  below: number | string | null;
}

export interface Criteria {
  figures: Record<string, Figure>;
  cases: Case[];
}

const BLOCK = "block";
const TIME_LIMIT = 60;
const NAMED = /\{(\w+)/g;

/**
 * What is said of a kernel: the sentence of the case that fits. Throws a LabError where a figure
 * cannot be had.
 * @param reader the reader's kernel
 * @param books those that it is compared with
 */
export function said(criteria: Criteria, reader: Sent, books: Record<string, Sent>) {
  const known: Map<string, number | null> = new Map();
  function figure(name: string): number | null {
    if (!known.has(name)) {
      const asked = criteria.figures[name];
      known.set(name, measured(asked, asked.of ? books[asked.of] : reader));
    }
    return known.get(name) ?? null;
  }
  function fits(one: Case) {
    const value = one.figure ? figure(one.figure) : 0;
    if (value === null) return false;
    const bound = (given: number | string): number | null =>
      typeof given === "string" ? figure(given) : given;
    if (one.above !== null && !(value > (bound(one.above) ?? Number.NaN))) return false;
    return one.below === null || value < (bound(one.below) ?? Number.NaN);
  }
  const found = criteria.cases.find(fits);
  if (!found) throw new Error("No case fits, though the last one must.");
  const names = [...found.says.matchAll(NAMED)].map(([, name]) => name);
  const values = Object.fromEntries(names.map((name) => [name, figure(name)]));
  return { right: found.right, says: filled(found.says, values) };
}

/** A figure of a kernel; null where it is not known here. */
function measured(figure: Figure, subject: Sent): number | null {
  if (figure.kind === "counted") return counted(figure, subject);
  if (figure.kind === "compiled") return compiled(figure, subject);
  if (figure.kind === "constant") {
    const value = valuesOf(parseKernel("mine", subject.source))[figure.name];
    if (value === undefined) {
      throw new LabError(
        `C is right, but this exercise asks for the constant ${figure.name}, and the kernel has none.`,
      );
    }
    return value + figure.plus;
  }
  const found = [...subject.ptx.matchAll(new RegExp(figure.pattern, "g"))];
  return found.length ? Math.min(...found.map((match) => Number(match[1]))) : -1;
}

function counted({ count, size, per, times }: Counted, { source, ptx }: Sent): number {
  const kernel = parseKernel("mine", source);
  const { total } = countsOf(kernel, ptx, size, TIME_LIMIT);
  const value = times * total[count];
  if (!per) return value;
  if (per === BLOCK) {
    const [x, y] = launchShape(kernel, size).grid;
    return value / (x * y);
  }
  if (!total[per]) {
    const [words, unit] = [count, per].map((name) => name.replaceAll("_", " "));
    throw new LabError(
      `C is right, but this exercise asks for ${words} per ${unit}, and there are no ${unit}.`,
    );
  }
  return value / total[per];
}

function compiled({ what, each, plus }: Compiled, { ptx, ofThread }: Sent): number | null {
  const value = what === "shared_bytes" ? declaredBytes(ptx) : ofThread?.[what];
  return value === undefined ? null : Math.floor(value / each) + plus;
}
