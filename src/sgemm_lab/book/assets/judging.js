// @ts-check
// How an answer is judged by data alone: exercises/judging.py in JavaScript, held equal to it by a
// test. A plain script, because a page that is opened as a file may load no module.

/**
 * @typedef {{says: string, near?: number, above?: number, below?: number, right?: boolean}} Hint
 *
 * @typedef {object} NumberData
 * @property {"number"} kind
 * @property {number} expected
 * @property {number} tolerance the share by which an answer may miss
 * @property {string} because
 * @property {Hint[]} hints the first that fits is said
 * @property {string} otherwise said to a wrong answer that no hint fits
 * @property {string} unit
 *
 * @typedef {object} EstimateData
 * @property {"estimate"} kind
 * @property {number} expected
 * @property {number} tolerance
 * @property {string} says
 * @property {Hint[]} hints of an answer that is not the measured one, the first that fits is said
 * @property {string} source where the number comes from
 * @property {string} unit
 *
 * @typedef {object} ChoiceData
 * @property {"choice"} kind
 * @property {string} expected
 * @property {Record<string, string>} told what is said to each word
 * @property {string} source
 * @property {string} unit
 *
 * @typedef {NumberData | EstimateData | ChoiceData} JudgingData
 *
 * @typedef {{right: boolean | null, text: string}} Verdict null: there is nothing to judge
 */

// biome-ignore lint/correctness/noUnusedVariables: the next script uses it
const labJudging = (() => {
  const wholeNumbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const threeDigits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
  const WANTED =
    "A number is wanted, such as 1024 or 2.5 (with a point), or a formula such as 2*32*1024.";

  /** @param {number} value */
  function spelled(value) {
    if (!Number.isFinite(value)) return "inf";
    return (Math.abs(value) >= 100 ? wholeNumbers : threeDigits).format(value);
  }

  /** @type {(given: number, value: number, tolerance: number) => boolean} */
  const near = (given, value, tolerance) =>
    Math.abs(given - value) <= tolerance * Math.max(Math.abs(given), Math.abs(value));

  /** @type {(hint: Hint, given: number, tolerance: number) => boolean} */
  function fits(hint, given, tolerance) {
    if (hint.near !== undefined) return near(given, hint.near, tolerance);
    return (hint.above ?? -Infinity) < given && given < (hint.below ?? Infinity);
  }

  /** @type {(given: number, value: number) => string} */
  function miss(given, value) {
    if (spelled(given) === spelled(value)) return "exact";
    const ratio = given / value;
    const side = ratio > 1 ? "high" : "low";
    if (0.5 < ratio && ratio < 2) {
      return `${Math.floor(1000 * Math.abs(ratio - 1) + 0.5) / 10} % too ${side}`;
    }
    return `${spelled(ratio > 1 ? ratio : value / given)} times too ${side}`;
  }

  /** @type {(data: NumberData, given: number) => Verdict} */
  function judgeExact(data, given) {
    if (near(given, data.expected, data.tolerance)) {
      return { right: true, text: `Right: ${spelled(data.expected)}. ${data.because}` };
    }
    const hint = data.hints.find((one) => fits(one, given, data.tolerance));
    const said = spelled(given);
    const wrong = said === spelled(data.expected) ? "Not exactly." : `${said} is not it.`;
    return { right: false, text: `${wrong} ${hint?.says ?? data.otherwise}` };
  }

  /** @type {(data: EstimateData, given: number) => Verdict} */
  function judgeEstimate(data, given) {
    if (given <= 0) {
      return { right: null, text: `${spelled(given)} cannot be. Give a number above 0.` };
    }
    const measured = near(given, data.expected, data.tolerance);
    const fitting = data.hints.find((one) => fits(one, given, data.tolerance));
    const hint = measured ? undefined : fitting;
    const right = measured || hint?.right === true;
    const you = right ? "Right: you" : "You";
    const said = `${you} said ${spelled(given)}, it is ${spelled(data.expected)}`;
    const told = `${said}: ${miss(given, data.expected)}.`;
    return { right, text: [told, hint?.says, data.says].filter(Boolean).join(" ") };
  }

  /**
   * Judge what the reader typed or chose.
   * @param {JudgingData} data
   * @param {string} answer
   * @returns {Verdict}
   */
  function judge(data, answer) {
    if (data.kind === "choice") {
      if (!Object.hasOwn(data.told, answer)) return { right: null, text: "Choose one first." };
      return { right: answer === data.expected, text: data.told[answer] };
    }
    const given = labReading.numberIn(answer, data.unit);
    if (given === null) return { right: null, text: WANTED };
    return data.kind === "estimate" ? judgeEstimate(data, given) : judgeExact(data, given);
  }

  /**
   * What a reader who passes is told.
   * @param {JudgingData} data
   */
  function untold(data) {
    if (data.kind === "choice") return data.told[data.expected].replace(/^Right: /, "It is ");
    const says = data.kind === "estimate" ? data.says : data.because;
    return `It is ${spelled(data.expected)}. ${says}`.trimEnd();
  }

  return { judge, untold };
})();
