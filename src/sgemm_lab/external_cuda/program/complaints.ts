// What a program prints where it has compared its results and they are wrong.

const FAILED = /\b(fail(ed|ure)?|mismatch(es)?|incorrect|wrong|different|not ok|bad result)\b/i;
const PASSED = /\b(pass(ed)?|ok|success\w*|correct|same|match(es)?)\b/i;
const NONE = /\b(0|no|none)\b/i;
const COUNTED =
  /(?<![\d.e-])(\d+) (?:bad|errors?|mismatch(?:es)?|wrong|failures?|differences?)\b|(?:bad|errors?|mismatch(?:es)?|wrong|failures?)[:= ]+(\d+)(?![\d.e])/i;
const NUMBER = "(-?\\d+(?:\\.\\d*)?(?:e[-+]?\\d+)?)";
const EXPECTED = new RegExp(
  `${NUMBER}[^\\d\\n]*?\\b(?:expect(?:ed|s)?|want(?:ed)?|should be|reference|ref|cpu)\\b[:= ]*${NUMBER}`,
  "i",
);
const TOLERANCE = 1e-3;

/** The first line that says so; it is certain but for two floats, which may be off for a reason. */
export function complaint(output: string) {
  for (const line of output.split("\n")) {
    const text = line.trim();
    if (PASSED.test(line) && !FAILED.test(line)) continue;
    const [, before, after] = COUNTED.exec(line) ?? [];
    const count = before ?? after;
    if (count !== undefined) {
      if (Number(count) > 0) return { text, isCertain: true };
      continue;
    }
    if (FAILED.test(line) && !NONE.test(line)) return { text, isCertain: true };
    const [, one, other] = EXPECTED.exec(line) ?? [];
    if (one === undefined) continue;
    const [got, right] = [Number(one), Number(other)];
    if (Math.abs(got - right) > TOLERANCE * Math.max(1, Math.abs(right))) {
      return { text, isCertain: Number.isInteger(right) && !one.includes(".") };
    }
  }
  return null;
}
