// @ts-check
// Numbers and counts as the book writes them: text.py in JavaScript, held equal to it by a test.

const wholeNumbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const threeDigits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

/**
 * A number to three digits: 63,700 and 15.2 and 0.25.
 * @param {number} value
 */
export function number(value) {
  return (Math.abs(value) >= 100 ? wholeNumbers : threeDigits).format(value);
}

/**
 * A whole number with its thousands apart: 1,024.
 * @param {number} value
 */
export function comma(value) {
  return wholeNumbers.format(value);
}

/**
 * A share such as 0.123 as "12 %", small ones with two digits.
 * @param {number} share
 */
export function percent(share) {
  return `${Math.abs(share) >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))} %`;
}

/**
 * With at most one digit behind the point; halves go up.
 * @param {number} value
 */
export function tenths(value) {
  return Math.floor(value * 10 + 0.5) / 10;
}

/**
 * A share such as 0.125 as "12.5 %".
 * @param {number} share
 */
export function tenthsPercent(share) {
  return `${tenths(share * 100)} %`;
}

/**
 * A count with its word: "1 wavefront", "2 wavefronts".
 * @param {number} count
 * @param {string} word
 */
export function plural(count, word) {
  return `${comma(count)} ${word}${count === 1 ? "" : "s"}`;
}

/**
 * How many times as much, to two digits.
 * @param {number} times
 */
export function ratio(times) {
  return number(Number(times.toPrecision(2)));
}

/**
 * A thread in its block, or a block in its grid: "(3, 0)", with x first, as (tx, ty). "3" where
 * there is but one row, and three numbers only where there are several layers.
 * @param {number[]} index
 * @param {number[]} sides
 */
export function placeName(index, sides) {
  const axes = Math.max(1, sides.findLastIndex((side) => side > 1) + 1);
  return axes === 1 ? `${index[0]}` : `(${index.slice(0, axes).join(", ")})`;
}

/**
 * A size: 4096³ for a cube, 1000×999×37 otherwise.
 * @param {number[]} size
 */
export function sizeText(size) {
  return new Set(size).size === 1 ? `${size[0]}³` : size.join("×");
}
