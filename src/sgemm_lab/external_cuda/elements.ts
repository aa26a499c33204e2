// Element types of a kernel's arrays.

import { LabError } from "../errors.ts";
import type { CudaFile } from "./cuda_file.ts";
import TYPES from "./elements.json";
import { matching, textsOf } from "./tokens.ts";

/** An element type. */
export interface Element {
  /** "float", "half", "bfloat16", "int", … without the width of a vector */
  name: string;
  /** as NumPy names what is in memory, such as "f4" */
  stored: string;
  /** numbers of a vector type, such as 4 for float4 */
  lanes: number;
}

const STORED: Record<string, string> = TYPES.stored;
const SAME: Record<string, string> = TYPES.same;
const PAIRS: Record<string, string> = TYPES.pairs;
const VECTORS: Record<string, string> = TYPES.vectors;
const VECTOR = /^(u?)(float|double|int|char|short|longlong|long)([1234])$/;
/** Most aliases that are followed to a type. */
const MOST_STEPS = 8;

/** The element type of a C++ type, such as "float4"; null if unknown. */
export function elementOf(type: string): Element | null {
  const text = type.replace(/^std::/, "");
  if (Object.hasOwn(PAIRS, text)) return named(PAIRS[text], 2);
  const name = Object.hasOwn(SAME, text) ? SAME[text] : text;
  if (Object.hasOwn(STORED, name)) return named(name, 1);
  const [, sign, base, lanes] = VECTOR.exec(text) ?? [];
  if (!base) return null;
  return named(sign ? `unsigned ${VECTORS[base]}` : VECTORS[base], Number(lanes));
}

const named = (name: string, lanes: number) => ({ name, stored: STORED[name], lanes });

/** Follow typedefs, `using`, macros and the values of a template to the element of a type. */
export function resolve(type: string, file: CudaFile, values: Map<string, string>) {
  const known = new Map([...file.aliases, ...Object.entries(file.defines), ...values]);
  let text = type;
  for (let step = 0; step < MOST_STEPS; step++) {
    const found = elementOf(text);
    const next = known.get(text);
    if (found || next === undefined) return found;
    text = next;
  }
  return null;
}

export const FLOAT: Element = { name: "float", stored: "f4", lanes: 1 };

/** The element type called so, such as "half". Throws a LabError where there is none. */
export function namedElement(text: string) {
  const found = elementOf(text);
  if (found) return found;
  throw new LabError(`'${text}' is no type of numbers. Write float, half, bfloat16, int, …`);
}

/** Bytes of one number. */
export const bytesOf = ({ stored }: Element) => Number(stored[1] ?? 1);

/** Bytes of an element as `--args` counts them; four where it is not known. */
export const width = (element: Element | null) => (element ? bytesOf(element) * element.lanes : 4);

export const isWhole = (element: Element | null): element is Element =>
  element !== null && element.name !== "bfloat16" && !element.stored.startsWith("f");

export const isBool = (element: Element | null) => element?.stored === "?";

/** The least and the largest number of an integer type. */
export function limitsOf(element: Element) {
  if (isBool(element)) return [0, 1];
  const bits = 8 * bytesOf(element);
  return element.stored.startsWith("u")
    ? [0, 2 ** bits - 1]
    : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}

const VARIABLE_MARKS = /^__(constant|device|managed)__$/;
const QUALIFIERS =
  /^(__(constant|device|managed|align)__|static|const|extern|volatile|alignas|inline|\(|\))$/;

/** Where a `__constant__` or `__device__` variable is declared, and whether with a value; null if nowhere. */
export function declarationOfVariable(name: string, file: CudaFile) {
  const found = file.declarations.find(
    ({ tokens, names }) =>
      names.includes(name) && tokens.some(({ text }) => VARIABLE_MARKS.test(text)),
  );
  if (!found) return null;
  const { tokens } = found;
  const at = tokens.findIndex(({ text }) => text === name);
  let after = at + 1;
  while (tokens[after]?.text === "[") after = matching(tokens, after) + 1;
  const isSet = /^[={(]$/.test(tokens[after]?.text ?? "");
  return { before: textsOf(tokens.slice(0, at)), line: file.lineOf(found, tokens[at]), isSet };
}

/** What such a variable holds, by its declaration; null if no numbers. */
export function elementOfVariable(name: string, file: CudaFile, values: Map<string, string>) {
  const { before } = declarationOfVariable(name, file) ?? { before: ["*"] };
  if (before.includes("*")) return null;
  let depth = 0;
  const words = before.filter((text) => {
    depth += Number(text === "(") - Number(text === ")");
    return !depth && !QUALIFIERS.test(text);
  });
  // Several of one declaration: "float a, b[4];".
  const [first, ...more] = words.join(" ").split(",");
  const type = more.length ? first.trim().replace(/ \w+( \[.*)?( =.*)?$/, "") : first;
  return resolve(type, file, values);
}
