// Numbers and counts as the book writes them: text.py in TypeScript; a test compares them.

/** Significant digits, rounded half up as by Intl, which is slow to start. */
export function significant(value: number, maximumSignificantDigits: number) {
  const [mantissa, exponent] = Math.abs(value).toExponential().split("e");
  const rounded = Math.round(Number(`${mantissa}e${maximumSignificantDigits - 1}`));
  const size = Number(`${rounded}e${Number(exponent) - maximumSignificantDigits + 1}`);
  const text = `${Math.sign(value) * size}`;
  return text.includes("e") ? value.toLocaleString("en-US", { maximumSignificantDigits }) : text;
}

/** A number to three digits: 63,700 and 15.2 and 0.25. */
export function number(value: number) {
  return Math.abs(value) < 100 ? significant(value, 3) : comma(value);
}

/** A whole number with its thousands apart: 1,024. */
export function comma(value: number) {
  const text = `${Math.sign(value) * Math.round(Math.abs(value))}`.replace("Infinity", "∞");
  return text.includes("e") ? value.toLocaleString("en-US") : text.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A share such as 0.123 as "12 %", small ones with two digits. */
export function percent(share: number) {
  return `${Math.abs(share) >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))} %`;
}

/** With at most one digit behind the point; halves go up. */
export function tenths(value: number) {
  return Math.floor(value * 10 + 0.5) / 10;
}

/** A share such as 0.125 as "12.5 %". */
export function tenthsPercent(share: number) {
  return `${tenths(share * 100)} %`;
}

/** A count with its word: "1 wavefront", "2 wavefronts". */
export function plural(count: number, word: string) {
  return `${comma(count)} ${word}${count === 1 ? "" : "s"}`;
}

/** How many times as much, to two digits. */
export function ratio(times: number) {
  return number(Number(times.toPrecision(2)));
}

/**
 * A thread in its block, or a block in its grid: "(3, 0)", with x first, as (tx, ty). "3" where
 * there is but one row, and three numbers only where there are several layers.
 */
export function placeName(index: number[], sides: number[]) {
  const axes = Math.max(1, sides.findLastIndex((side) => side > 1) + 1);
  return axes === 1 ? `${index[0]}` : `(${index.slice(0, axes).join(", ")})`;
}

/** A size: 4096³ for a cube, 1000×999×37 otherwise. */
export function sizeText(size: number[]) {
  return new Set(size).size === 1 ? `${size[0]}³` : size.join("×");
}

/** An error to three digits, such as "2.44·10⁻⁷". */
export function errorText(error: number) {
  const [digits, power] = error.toExponential(2).split("e");
  return `${digits}·${powerOfTen(Number(power))}`;
}

/** 10⁻⁷ for -7. */
function powerOfTen(power: number) {
  const raised = [...`${Math.abs(power)}`].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);
  return `10${power < 0 ? "⁻" : ""}${raised.join("")}`;
}

const FORMATS: Record<string, (value: number, words: string) => string> = {
  comma,
  number,
  percent,
  share: tenthsPercent,
  ratio,
  tenths: (value) => `${tenths(value)}`,
  nine: (value) =>
    `${Number(value.toPrecision(9))}`.replace("Infinity", "inf").replace("NaN", "nan"),
  plural,
  one: (value, words) => words.split("|")[value === 1 ? 0 : 1],
};

/** What fills in the template of a name, from a file that Python reads too. */
export const sentencesOf =
  <Key extends string>(templates: Record<Key, string>) =>
  (key: Key, values: Record<string, unknown> = {}) =>
    filled(templates[key], values);

/**
 * A sentence that Python prints too: a template with `values` in its places. text.py says what a
 * template may hold, and a test that both fill it alike.
 */
export function filled(template: string, values: Record<string, unknown>) {
  return template.replace(/\{(\w+)(?::(\w+)(?: ([^}]*))?)?\}/g, (_, name, format, words) =>
    format ? FORMATS[format](Number(values[name]), words) : `${values[name]}`,
  );
}
