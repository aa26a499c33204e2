// What a program prints where it has compared its results and they are wrong.

const FAILED = /\b(fail(ed|ure)?|mismatch(es)?|incorrect|wrong|different|not ok|bad result)\b/i;
const PASSED = /\b(pass(ed)?|ok|success\w*|correct|same|match(es)?)\b/i;
const NONE = /\b(0|no|none)\b/i;
const COUNTED =
  /(?:(?<![\d.e-])(\d+) )?\b(?:bad|errors?|mismatch(?:es)?|wrong|failures?|differences?)\b(?:([:= ]+)(\d+)(?![\d.e]))?/gi;
const NUMBER = "(-?\\d+(?:\\.\\d*)?(?:e[-+]?\\d+)?)";
const EXPECTED = new RegExp(
  `${NUMBER}[^\\d\\n]*?\\b(?:expect(?:ed|s)?|want(?:ed)?|should be|reference|ref|cpu)\\b[:= ]*${NUMBER}`,
  "i",
);
const TOTAL = / *(?:\/|\bof\b) *\d+/g;
const NUMBER_FIRST = new RegExp(`^[^\\w.-]+${NUMBER}`, "i");
const NUMBERS = new RegExp(NUMBER, "gi");
const TOLERANCE = 1e-3;

const isApart = (got: number, right: number) =>
  Math.abs(got - right) > TOLERANCE * Math.max(1, Math.abs(right));

/** The first line that says so; it is certain but for two floats, which may be off for a reason. */
export function complaint(output: string) {
  for (const line of output.split("\n")) {
    const text = line.trim();
    if (PASSED.test(line) && !FAILED.test(line)) continue;
    const plain = line.replace(TOTAL, "");
    const counts = [...plain.matchAll(COUNTED)].flatMap(([, before, sign, after]) =>
      countOf(before, sign, after),
    );
    if (counts.some(Boolean)) return { text, isCertain: true };
    if (counts.length) continue;
    if (FAILED.test(line) && !NONE.test(line)) return { text, isCertain: true };
    const found = EXPECTED.exec(plain);
    if (!found) continue;
    const [all, one, other] = found;
    const right = Number(other);
    // Of "mean 3 var 1 (cpu 3 1)" the first of several is compared with any before.
    const isOneOf = NUMBER_FIRST.test(plain.slice(found.index + all.length));
    const before = (isOneOf && plain.slice(0, found.index).match(NUMBERS)) || [one];
    if (before.every((got) => isApart(Number(got), right))) {
      return { text, isCertain: Number.isInteger(right) && !one.includes(".") };
    }
  }
  return null;
}

/** The last line that says that results are right. */
export const praise = (output: string) => output.split("\n").findLast((line) => PASSED.test(line));

/** The number that belongs to a word: in "4 bad=0" what is behind it; in "629 bad 0" it may be either. */
function countOf(before: string | undefined, sign: string | undefined, after: string | undefined) {
  if (before === undefined && after === undefined) return [];
  if (before === undefined || (after !== undefined && sign?.trim())) return [Number(after)];
  return [Math.min(Number(before), Number(after ?? before))];
}
