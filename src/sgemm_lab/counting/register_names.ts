// What a kernel's source calls the registers that the step-through draws.

/**
 * A variable that holds what comes from global memory on its way to shared memory. `vector`: a
 * float4, whose elements are .x .y .z .w.
 */
export interface Fetched {
  name: string;
  vector: boolean;
}

/**
 * Names as the source has them, with its own indices: "acc[i][j]", "fragA[i]", "a". null where a
 * fetched value has no name.
 */
export interface RegisterNames {
  sum: string;
  a: string;
  b: string;
  fetched_a: Fetched | null;
  fetched_b: Fetched | null;
}

const SUM = /(?<sum>[A-Za-z_]\w*(?:\[[^\]]*\])*)\s*\+=\s*(?<product>[^;]+);/;
const SHARED = /(?:__shared__[^;]*?\b|\bauto& )(\w+)(?:\[| = \*reinterpret_cast)/g;
const DEEPER: Record<string, number> = { "[": 1, "(": 1, "]": -1, ")": -1 };

/**
 * The names of a kernel whose products are made at a line. Where that line is not a sum and a
 * product, such as `acc += a * b;`, the sum is called "sum" and the factors "a" and "b".
 */
export function registerNames(source: string[], line: string): RegisterNames {
  const found = SUM.exec(line)?.groups;
  const factors = found ? factorsOf(found.product) : [];
  const names = factors.length === 2 ? factors : ["a", "b"];
  if (/\bB/.test(names[0]) && /\bA/.test(names[1])) names.reverse();
  return {
    sum: found?.sum ?? "sum",
    a: names[0],
    b: names[1],
    fetched_a: fetchedOf(source, "A"),
    fetched_b: fetchedOf(source, "B"),
  };
}

/** Split a product at the signs that stand outside of brackets. */
function factorsOf(product: string) {
  const factors = [""];
  let depth = 0;
  for (const sign of product) {
    depth += DEEPER[sign] ?? 0;
    if (sign === "*" && !depth) factors.push("");
    else factors[factors.length - 1] += sign;
  }
  return factors.map((factor) => factor.trim());
}

function fetchedOf(source: string[], matrix: "A" | "B"): Fetched | null {
  const code = source.map((line) => line.split("//")[0]);
  const fetch = new RegExp(`(?:^|[\\s(])(\\w+)(?:\\[\\w+\\])?\\s*=[^=;][^;]*\\b${matrix}\\w*\\[`);
  // Shared arrays, such as As, begin like the matrix.
  const shared = code.flatMap((line) => [...line.matchAll(SHARED)].map(([, name]) => name));
  for (const line of code) {
    const bare = shared.reduce(
      (text, name) => text.replace(new RegExp(`\\b${name}\\[`, "g"), "["),
      line,
    );
    const name = fetch.exec(bare)?.[1];
    if (name) {
      const vector = new RegExp(`\\bfloat4\\s+(?:\\w+(?:\\[\\w+\\])?\\s*,\\s*)*${name}\\b`);
      return { name, vector: code.some((text) => vector.test(text)) };
    }
  }
  return null;
}
