// Likely causes of a wrong product; each is verified before it is reported.

import { orNull } from "../errors.ts";
import type { Size } from "../kernel.ts";
import { comma } from "../text.ts";
import { textsOf } from "./arguments.ts";
import type { Arrays, Prepared, Ran, Settings } from "./launch.ts";
import { factorsOf, hasBeta, numbersOf, run, turned, valuesOf } from "./launch.ts";
import { productIn, wrongElements } from "./products.ts";

/** How long a launch with other arguments may take, in seconds. */
const TRY_SECONDS = 3;

/** Why C (M×N) is wrong, where a usual cause explains all of it; "" where none does. */
export function likelyCause(
  prepared: Prepared,
  size: Size,
  arrays: Arrays,
  { after, untouched }: Ran,
  settings: Settings,
) {
  const got = after.get("C")?.numbers ?? new Float64Array(0);
  const wrong = wrongElements(prepared, got, productIn(prepared, arrays));
  const begun = numbersOf(arrays, "C");
  // C may begin with NaN; one that the kernel computes has other bits.
  const kept = untouched("C").map((same, at) => Number(same || got[at] === begun[at]));
  return (
    ofGrid(wrong, kept, size) ||
    ofFactors(prepared, arrays, got) ||
    ofLayout(prepared, arrays, got) ||
    ofStart(prepared, size, arrays, settings) ||
    (kept.every(Boolean)
      ? "Nothing was written to C. Look at the grid and at the order of the arguments."
      : "")
  );
}

/** All that was written is right, and it is the upper left of C. */
function ofGrid(wrong: Uint8Array, kept: Uint8Array, [m, n]: Size) {
  if (wrong.some((one, at) => one !== kept[at]) || kept.every(Boolean)) return "";
  const written = [...kept.keys()].filter((at) => !kept[at]);
  const rows = new Set(written.map((at) => Math.floor(at / n))).size;
  const columns = new Set(written.map((at) => at % n)).size;
  const leads = written.every((at) => at < rows * n && at % n < columns);
  if (leads && rows * columns === written.length) {
    return (
      `Only the first ${rows} rows and ${columns} columns of ${m} × ${n} were written, and those ` +
      "are right: the grid is too small, or x and y are exchanged in it."
    );
  }
  return (
    `${comma(kept.length - written.length)} elements were never written; all others are right. Look ` +
    "at the grid, and at the condition before the store."
  );
}

const isRight = (prepared: Prepared, got: Float64Array, right: Float64Array) =>
  !wrongElements(prepared, got, right).some(Boolean);

/** C is right without alpha or beta. */
function ofFactors(prepared: Prepared, arrays: Arrays, got: Float64Array) {
  const [alpha, beta] = factorsOf(prepared);
  const tried: [string, number[]][] = [
    ["beta", [alpha, 0]],
    ["alpha", [1, beta]],
    ["alpha and beta", [1, 0]],
  ];
  const found = tried.find(([, factors]) =>
    isRight(prepared, got, productIn(prepared, arrays, factors)),
  );
  return found ? `C is right without ${found[0]}: C = alpha·A·B + beta·C is asked for.` : "";
}

/** C is right if some matrices lie by columns. */
function ofLayout(prepared: Prepared, arrays: Arrays, got: Float64Array) {
  const [alpha, beta] = factorsOf(prepared);
  if (beta) return "";
  for (const names of ["ABC", "A", "B", "C", "AB", "AC", "BC"]) {
    const values = new Map(arrays.values);
    for (const name of names) {
      const { sides, numbers } = valuesOf(arrays, name);
      values.set(name, { sides, numbers: turned(numbers, sides[1]) });
    }
    const made = names.includes("C") ? turned(got, valuesOf(arrays, "C").sides[1]) : got;
    if (!isRight(prepared, made, productIn(prepared, { ...arrays, values }, [alpha, 0]))) continue;
    const given = prepared.given.map((one) =>
      one.kind === "matrix" && names.includes(one.name)
        ? { ...one, byColumns: !one.byColumns }
        : one,
    );
    const lie = names.length === 1 ? "lies" : "lie";
    return `C is right if ${[...names].join(" and ")} ${lie} by columns: --args '${textsOf(given)}'.`;
  }
  return "";
}

/** C is right where it starts with zeros. */
function ofStart(prepared: Prepared, size: Size, arrays: Arrays, settings: Settings) {
  if (hasBeta(prepared)) return "";
  const given = prepared.given.map((one) =>
    one.kind === "matrix" && one.name === "C" ? { ...one, zero: true } : one,
  );
  const [other, start] = [{ ...prepared, given }, withZeros(arrays)];
  const quick = {
    ...{ ...settings, checkHazards: false, countRequests: false, progress: null },
    timeLimit: Math.min(TRY_SECONDS, settings.timeLimit),
  };
  const got = orNull(() => run(other, size, start, quick).after.get("C")?.numbers);
  if (!got || !isRight(other, got, productIn(other, start))) return "";
  return (
    "C is right if the kernel adds to what C holds, so C must start with zeros: " +
    `--args '${textsOf(given)}'.`
  );
}

function withZeros({ values, unwritten }: Arrays): Arrays {
  const { sides, numbers } = valuesOf({ values, unwritten }, "C");
  const zeros = { sides, numbers: new Float64Array(numbers.length) };
  return {
    values: new Map([...values, ["C", zeros]]),
    unwritten: unwritten.filter((name) => name !== "C"),
  };
}
