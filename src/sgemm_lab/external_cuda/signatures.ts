// The arguments of a matrix product, by the parameters' names and types: (M, N, K, alpha, A, B, beta,
// C), (A, B, C, M, K, N), (A, B, C, n), strides lda, ldb, ldc, (C, A, B, wA, wB), and what else names
// its parameters so.

import { bytesOf, isWhole } from "./elements.ts";
import NAMES from "./names.json";
import type { Field } from "./structs.ts";
import { inside, type Token } from "./tokens.ts";

const withPatterns = (all: string[][]) =>
  all.map(([role, text]): [string, RegExp] => [role, new RegExp(text)]);
const MATRICES = withPatterns(NAMES.matrices);
const SIZES = withPatterns(NAMES.sizes);
/** Fields of a struct that is a matrix: how many rows it has, and how many columns. */
const FIELDS = [
  /^(height|rows?|h|m|numrows|nrows)$/,
  /^(width|cols?|columns|w|n|stride|ld|pitch|ncols|numcols)$/,
];
const SIDES: Record<string, string> = { A: "MK", B: "KN", C: "MN" };
const LEADING: Record<string, string> = { A: "K", B: "N", C: "N" };
const PRODUCT = /gemm|mm|mul|mat|product|mma|hgem|tile|dot/i;
const SURELY = /gemm|mat.*mul|mul.*mat|matrix.?prod/i;
const OTHER = /vec|add|trans|softmax|relu|norm|reduc|scan|copy|attention|embed|gemv|conv/i;

/** A parameter's name without what says where it lies: "a" of "d_A" and "dev_a". */
export function plain(name: string) {
  return name
    .toLowerCase()
    .replace(/^_+|_+$/g, "")
    .replace(/^(?:d|dev|device|g|gpu|gm|p|ptr|in|h|matrix)_(?=\w)/, "")
    .replace(/_(?:d|dev|device|gpu|ptr|mat)$/, "")
    .replace(/^(?:d|dev)(?=[abc]$)/, "")
    .replace(/^([abcmnp])(?:d|dev|mat|s)$/, "$1")
    .replaceAll("_", "");
}

/** The arguments of a kernel that multiplies, as `--args` has them; null if it does not look so. */
export function productArguments(kernel: string, fields: Field[]) {
  const pointers = fields.filter(({ pointer }) => pointer);
  const sizes = fields.filter(isSize);
  const scalars = fields.filter((one) => !one.pointer && !isSize(one));
  const isUnlike = pointers.length !== 3 || !sizes.length || scalars.length > 2;
  if (isUnlike || scalars.some(({ element }) => !element)) return null;
  // Indices are no matrix.
  const isIndex = ({ element }: Field) => isWhole(element) && bytesOf(element) > 2;
  if (pointers.some(isIndex) && !pointers.every(({ element }) => isWhole(element))) return null;
  if (OTHER.test(kernel) && !/gemm|matmul/i.test(kernel)) return null;
  if (!PRODUCT.test(kernel) && named(pointers) < 2) return null;
  const roles = rolesOf(pointers);
  const texts = sizesOf(sizes);
  if (!texts || (sizes.length === 1 && !PRODUCT.test(kernel))) return null;
  const isBeta = ({ name }: Field) => plain(name).startsWith("bet");
  const betas = scalars.some(isBeta) ? scalars.filter(isBeta) : scalars.slice(1);
  const given = fields.map((one) => {
    if (one.pointer) return roles.shift();
    return isSize(one) ? texts.shift() : betas.includes(one) ? "0" : "1";
  });
  return given.join(" ");
}

export const isSize = ({ pointer, element }: Field) => !pointer && isWhole(element);

const nameOf = ({ of, name }: Field) => plain(of || name);

/** Whether names, not types alone, say that a kernel multiplies matrices. */
export const isNamedProduct = (kernel: string, fields: Field[], tokens: Token[]) =>
  SURELY.test(kernel) ||
  (named(fields.filter(({ pointer }) => pointer)) === MATRICES.length && hasRows(tokens));

/** Whether some subscript multiplies, as that of a matrix does, or follows another. */
function hasRows(tokens: Token[]) {
  return tokens.some(({ text }, at) => {
    if (text !== "[") return false;
    const isSecond = tokens[at - 1]?.text === "]";
    return isSecond || inside(tokens, at).some((one) => one.text === "*");
  });
}

/** How many of the three matrices the names of pointers may mean. */
function named(pointers: Field[]) {
  const names = pointers.map(nameOf);
  return MATRICES.filter(([, pattern]) => names.some((name) => pattern.test(name))).length;
}

/** Which matrix each of three pointers is: by its name, or else by what may be written. */
function rolesOf(pointers: Field[]) {
  const names = pointers.map(nameOf);
  const found = new Map<number, string>();
  for (const [role, pattern] of MATRICES) {
    const same = names.flatMap((name, place) => (pattern.test(name) ? place : []));
    if (same.length === 1) found.set(same[0], role);
  }
  if (found.size === 3) return names.map((_, place) => found.get(place));
  const written = pointers.flatMap(({ constant }, place) => (constant ? [] : place));
  const made = written.length === 1 ? written[0] : 2;
  const inputs = ["A", "B"];
  return names.map((_, place) => (place === made ? "C" : inputs.shift()));
}

function sizesOf(sizes: Field[]) {
  if (sizes.some(({ of }) => of)) return sizesOfFields(sizes);
  const names = sizes.map(({ name }) => plain(name));
  const matching = (name: string) => SIZES.filter(([, pattern]) => pattern.test(name));
  if (sizes.length === 1) {
    const one = matching(names[0]).find(([size]) => size === "M" || size === "K");
    return [one?.[0] ?? "N"];
  }
  const texts = names.map((name) => matching(name)[0]?.[0]).map((size) => LEADING[size] ?? size);
  if (texts.every(Boolean)) return texts;
  return sizes.length === 3 ? ["M", "N", "K"] : null;
}

/** Sizes that are fields: of `struct Matrix { int width, height; float* elements; }`. */
function sizesOfFields(sizes: Field[]) {
  const texts = sizes.map(({ of, name }) => {
    const role = MATRICES.find(([, pattern]) => pattern.test(plain(of)))?.[0];
    const field = plain(name.split(".").at(-1) ?? "");
    const side = FIELDS.findIndex((pattern) => pattern.test(field));
    return role === undefined || side < 0 ? null : SIDES[role][side];
  });
  return texts.every((text) => text !== null) ? texts : null;
}

/** An argument that a reader may start from: an array of n elements, or a number. */
export function suggestion(one: Field, number: number) {
  // As --args takes it: a field's name has a point, and M, N and K are the size.
  const name = one.name.replace(/\W+/g, "_").replace(/^_+|_+$/g, "") || `p${number}`;
  if (one.image) return `${name}:${one.image}:64:64:float`;
  if (one.pointer) {
    return `${name}:${one.constant ? "in" : "inout"}:4096${one.element ? "" : ":float"}`;
  }
  if (!isSize(one)) return "1.0";
  return /^[MNK]$/.test(name) ? "4096" : `${name}=4096`;
}
