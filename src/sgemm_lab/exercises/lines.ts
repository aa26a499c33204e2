// Exercises in which the reader writes lines of a kernel. Python and the page say how a source is
// compiled and where a kernel is run.

import { type CheckResult, firstFault } from "../checking/judge.ts";
import { LabError } from "../errors.ts";
import { bodyStart, linesOf, parseKernel, type Size } from "../kernel.ts";
import type { Refused } from "./checked.ts";
import type { Criteria, OfThread, Sent } from "./criteria.ts";

/**
 * An exercise as Python writes it: the book's kernel, the lines of it that the reader's replace,
 * and the sources of all book kernels that are compared, by name.
 */
export interface LinesExercise {
  kernel: string;
  place: string;
  sizes: Size[];
  onlyWholeNumbers: boolean;
  asks: Criteria;
  compared: string[];
  sources: Record<string, string>;
}

/** What a compiler made of a source. */
interface Compiled {
  ptx: string;
  by: string;
  ofThread?: OfThread;
}

/**
 * What judging needs: PTX of the reader's source; PTX of a book kernel, by the compiler that made
 * the reader's; checks up to the first size that is not right; what is asked of a kernel that is
 * right.
 */
export interface Tools {
  compiled: (source: string) => Promise<Compiled | Refused>;
  compiledLike: (name: string, source: string, like: Compiled) => Promise<Compiled>;
  checked: (
    kernel: Sent,
    sizes: Size[],
    onlyWholeNumbers: boolean,
  ) => Promise<CheckResult[] | Refused>;
  said: (
    criteria: Criteria,
    reader: Sent,
    books: Record<string, Sent>,
  ) => Promise<{ right: boolean; says: string }>;
}

export interface Judgement {
  right: boolean;
  text: string;
  by: string;
}

const LINE = /(?:\bat |\b\w+\.cu, )line (\d+)\b/g;
const TITLE = "// title:";

/** The reader's kernel, and which of its lines are the reader's own. */
export class Written {
  /** @param first 1-based number of the reader's first line in the source */
  constructor(
    public source: string,
    public first: number,
    public last: number,
  ) {}

  /** What the reader calls a line: its number in their text, or what it says. */
  line(number: number) {
    if (this.first <= number && number <= this.last) {
      return `your line ${number - this.first + 1}`;
    }
    const text = linesOf(this.source)[number - 1] ?? "";
    return `the line \`${text.split("  //")[0].trim()}\``;
  }

  /** What the checker said, with the reader's line numbers. */
  inReaderLines(message: string) {
    return message.replace(LINE, (_, number) => `in ${this.line(Number(number))}`);
  }

  /** The compiler's first words, with the reader's line numbers. */
  refusal({ line, refused }: Refused) {
    // The sentence of a static_assert speaks for itself.
    const own = line > 0 && !this.source.includes(refused);
    const bare = refused.replace(/\.$/, "");
    return `It does not compile. ${own ? `In ${this.line(line)}: ${bare}.` : refused}`;
  }
}

/** The kernel that an answer makes. Throws a LabError where it is none. */
export function written(exercise: LinesExercise, answer: string) {
  const text = answer.replace(/^\n+/, "").trimEnd();
  if (!text) throw new LabError("There are no lines. Write some.");
  const book = exercise.sources[exercise.kernel];
  let [source, first] = ["", 1];
  if (text.includes("__global__")) {
    const hasHead = text.startsWith("//") && text.includes(TITLE);
    const head = hasHead ? [] : linesOf(book).slice(0, bodyStart(book));
    source = [...head, text].join("\n");
    first = head.length + 1;
  } else {
    const at = book.indexOf(exercise.place);
    const before = book.slice(0, at);
    source = `${before}${text}${book.slice(at + exercise.place.length)}`;
    first = linesOf(before).length + 1;
  }
  const whole = `${source.trimEnd()}\n`;
  parseKernel("mine", whole);
  return new Written(whole, first, first + text.split("\n").length - 1);
}

/** Judge an answer. Throws a LabError where it is no kernel, or cannot be judged. */
export async function judged(
  exercise: LinesExercise,
  answer: string,
  tools: Tools,
): Promise<Judgement> {
  const mine = written(exercise, answer);
  const made = await tools.compiled(mine.source);
  if ("refused" in made) return { right: false, text: mine.refusal(made), by: "" };
  const { by, ptx, ofThread } = made;
  const reader = { source: mine.source, ptx, ofThread };
  const results = await tools.checked(reader, exercise.sizes, exercise.onlyWholeNumbers);
  if ("refused" in results) return { right: false, text: mine.refusal(results), by };
  const fault = firstFault(results);
  if (fault !== null) return { right: false, text: mine.inReaderLines(fault), by };
  const books: Record<string, Sent> = {};
  for (const name of exercise.compared) {
    const source = exercise.sources[name];
    books[name] = { source, ...(await tools.compiledLike(name, source, made)) };
  }
  const { right, says } = await tools.said(exercise.asks, reader, books);
  return { right, text: right ? `Right: ${says}` : says, by };
}
