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
const TOLERANCE = 1e-3;

/** The first line that says so; it is certain but for two floats, which may be off for a reason. */
export function complaint(output: string) {
  for (const line of output.split("\n")) {
    const text = line.trim();
    if (PASSED.test(line) && !FAILED.test(line)) continue;
    const counts = [...line.replace(TOTAL, "").matchAll(COUNTED)].flatMap(
      ([, before, sign, after]) => countOf(before, sign, after),
    );
    if (counts.some(Boolean)) return { text, isCertain: true };
    if (counts.length) continue;
    if (FAILED.test(line) && !NONE.test(line)) return { text, isCertain: true };
    const [, one, other] = EXPECTED.exec(line.replace(TOTAL, "")) ?? [];
    if (one === undefined) continue;
    const [got, right] = [Number(one), Number(other)];
    if (Math.abs(got - right) > TOLERANCE * Math.max(1, Math.abs(right))) {
      return { text, isCertain: Number.isInteger(right) && !one.includes(".") };
    }
  }
  return null;
}

/** The number that belongs to a word: in "4 bad=0" what is behind it; in "629 bad 0" it may be either. */
function countOf(before: string | undefined, sign: string | undefined, after: string | undefined) {
  if (before === undefined && after === undefined) return [];
  if (before === undefined || (after !== undefined && sign?.trim())) return [Number(after)];
  return [Math.min(Number(before), Number(after ?? before))];
}
