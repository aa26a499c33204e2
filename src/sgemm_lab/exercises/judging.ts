// How an answer is judged by data alone, in a page and for Python's exercises/model.py.

import { number, significant } from "../text.ts";
import { numberIn } from "./reading.ts";

interface Hint {
  says: string;
  near?: number;
  above?: number;
  below?: number;
  /** the page's own estimate: right, though the measurement differs */
  estimated?: boolean;
}

interface NumberData {
  kind: "number";
  expected: number;
  /** the share by which an answer may miss */
  tolerance: number;
  because: string;
  /** the first that fits is said */
  hints: Hint[];
  /** said to a wrong answer that no hint fits */
  otherwise: string;
  unit: string;
}

interface EstimateData {
  kind: "estimate";
  expected: number;
  tolerance: number;
  says: string;
  /** of an answer that is not the measured one, the first that fits is said */
  hints: Hint[];
  /** where the number comes from */
  source: string;
  unit: string;
  others?: OtherGpus;
}

interface ChoiceData {
  kind: "choice";
  expected: string;
  /** what is said to each word */
  feedback: Record<string, string>;
  source: string;
  unit: string;
  others?: OtherGpus;
}

/** What differs on other GPUs, by the GPU's name. */
interface OtherGpus {
  [gpu: string]: Partial<EstimateData | ChoiceData>;
}

export type JudgingData = NumberData | EstimateData | ChoiceData;

interface Verdict {
  /** null: there is nothing to judge */
  right: boolean | null;
  text: string;
}

const WANTED =
  "A number is wanted, such as 1024 or 2.5 (with a point), or a formula such as 2*32*1024.";

function spelled(value: number) {
  if (!Number.isFinite(value)) return "inf";
  // Near 1 a percent counts, as in the book's boxes.
  return Math.abs(value - 1) < 0.06 ? significant(value, 4) : number(value);
}

/** A measured number, with the digits of the sentences beside it: 2.003 is 2.00, 1.098 is 1.10. */
const measured = (value: number) => {
  const said = spelled(value);
  const isRounded = !Number.isInteger(value) && /^\d(\.\d)?$/.test(said);
  return isRounded ? value.toFixed(2) : said;
};

/** The number that the reader sees, so that its printed tolerance can be checked. */
const printed = (value: number) => Number(spelled(value).replaceAll(",", ""));

const near = (given: number, value: number, tolerance: number): boolean =>
  Math.abs(given - value) <= (tolerance + 1e-9) * Math.abs(value);

function fits(hint: Hint, given: number, tolerance: number): boolean {
  if (hint.near !== undefined) return near(given, hint.near, tolerance);
  return (hint.above ?? -Infinity) < given && given < (hint.below ?? Infinity);
}

function miss(given: number, value: number): string {
  if (spelled(given) === spelled(value)) return "exact";
  const ratio = given / value;
  const side = ratio > 1 ? "high" : "low";
  if (0.5 < ratio && ratio < 2) {
    return `${Math.floor(1000 * Math.abs(ratio - 1) + 0.5) / 10} % too ${side}`;
  }
  return `${spelled(ratio > 1 ? ratio : value / given)} times too ${side}`;
}

function judgeExact(data: NumberData, given: number): Verdict {
  if (near(given, data.expected, data.tolerance)) {
    return { right: true, text: `Right: ${spelled(data.expected)}. ${data.because}` };
  }
  const hint = data.hints.find((one) => fits(one, given, data.tolerance));
  const said = spelled(given);
  const wrong = said === spelled(data.expected) ? "Not exactly." : `${said} is not it.`;
  return { right: false, text: `${wrong} ${hint?.says ?? data.otherwise}` };
}

function judgeEstimate(data: EstimateData, given: number): Verdict {
  if (given <= 0) {
    return { right: null, text: `${spelled(given)} cannot be. Give a number above 0.` };
  }
  const value = printed(data.expected);
  const hits = near(given, value, data.tolerance);
  const hint = hits ? undefined : data.hints.find((one) => fits(one, given, data.tolerance));
  const right = hits || hint?.estimated === true;
  const you = right ? "Right: you" : "You";
  const said =
    hint?.estimated === true
      ? `Right: that is the estimate. Measured: ${measured(data.expected)}, because`
      : `${you} said ${spelled(given)}, it is ${measured(data.expected)}: ${miss(given, value)}.`;
  return { right, text: [said, hint?.says, data.says].filter(Boolean).join(" ") };
}

/** What judges an answer on a GPU. */
export function onGpu(data: JudgingData, gpu: string): JudgingData {
  if (data.kind === "number") return data;
  return { ...data, ...data.others?.[gpu] } as JudgingData;
}

/** Judge what the reader typed or chose. */
export function judge(data: JudgingData, answer: string): Verdict {
  if (data.kind === "choice") {
    if (!Object.hasOwn(data.feedback, answer)) return { right: null, text: "Choose one first." };
    return { right: answer === data.expected, text: data.feedback[answer] };
  }
  const given = numberIn(answer, data.unit);
  return given === null ? { right: null, text: WANTED } : judgeNumber(data, given);
}

/** Judge a finite number. */
export const judgeNumber = (data: NumberData | EstimateData, given: number): Verdict =>
  data.kind === "estimate" ? judgeEstimate(data, given) : judgeExact(data, given);

/** The answer that is shown to a reader who skips the question. */
export function skippedText(data: JudgingData) {
  if (data.kind === "choice") return data.feedback[data.expected].replace(/^Right: /, "It is ");
  const says = data.kind === "estimate" ? data.says : data.because;
  return `It is ${measured(data.expected)}. ${says}`.trimEnd();
}

/**
 * The numbers by which a text would give an answer away, on any GPU: with three digits or more, no
 * sizes.
 */
export function answerNumbers(data: JudgingData): string[] {
  const others = data.kind === "number" ? [] : Object.keys(data.others ?? {});
  const all = ["", ...others].flatMap((gpu) => numbersOn(onGpu(data, gpu)));
  return [...new Set(all)];
}

function numbersOn(data: JudgingData): string[] {
  const text = skippedText(data).replace(/`[^`]*`/g, ""); // a kernel's name has constants
  const said = text.match(/(?<![×\d.,])\d[\d,]*(\.\d+)?(?![\d,³×])/g) ?? [];
  const exact = data.kind === "choice" ? [] : [String(data.expected)];
  const shorter = [...said, ...exact].filter((one) => one.includes(".") && !one.includes(","));
  const forms = shorter.flatMap((one) => [2, 3].map((digits) => Number(one).toFixed(digits)));
  const percents = exact.map((one) => `${(100 * Math.abs(Number(one) - 1)).toFixed(1)}\\s?%`);
  const whole = exact.map((one) => Math.round(Number(one))).filter((one) => one >= 10);
  const all = [...said, ...forms];
  const telling = all.filter((one) => one.replace(/\D/g, "").length > 2 && Number(one) !== 1);
  const words = [...telling, ...percents, ...whole.map((one) => `${one} times`)];
  return words.map((one) => one.replaceAll(".", "\\."));
}
