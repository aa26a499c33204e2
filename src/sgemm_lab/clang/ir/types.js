// Types of LLVM IR, with the sizes that nvptx64 gives them.

/**
 * `of` are the elements of a vector or array (one), or the fields of a structure.
 *
 * @typedef {{
 *   kind: "int" | "float" | "ptr" | "vector" | "array" | "struct" | "void" | "other",
 *   bits: number,
 *   space: number,
 *   count: number,
 *   packed: boolean,
 *   of: IrType[],
 * }} IrType
 */

/** The address spaces of nvptx64. */
export const SPACES = ["generic", "global", "other", "shared", "const", "local"];

/** @type {(kind: IrType["kind"], fields?: Partial<IrType>) => IrType} */
function make(kind, fields) {
  return { kind, bits: 0, space: 0, count: 0, packed: false, of: [], ...fields };
}

/** @type {(bits: number) => IrType} */
export function intType(bits) {
  return make("int", { bits });
}

/** @type {(bits: number) => IrType} */
export function floatType(bits) {
  return make("float", { bits });
}

/** @type {(space: number) => IrType} */
export function pointerType(space) {
  return make("ptr", { bits: 64, space });
}

/** @type {(kind: "vector" | "array", count: number, element: IrType) => IrType} */
export function sequenceType(kind, count, element) {
  return make(kind, { count, of: [element] });
}

/** @type {(of: IrType[], packed: boolean) => IrType} */
export function structType(of, packed) {
  return make("struct", { of, packed });
}

/** @type {() => IrType} */
export function voidType() {
  return make("void");
}

/** A type that no value of a kernel has, such as a label.
 * @type {() => IrType} */
export function otherType() {
  return make("other");
}

/** The scalars that a value of a type consists of, in order.
 * @type {(type: IrType) => IrType[]} */
export function leaves(type) {
  if (type.kind === "struct") return type.of.flatMap(leaves);
  if (type.kind === "vector" || type.kind === "array") {
    const element = leaves(type.of[0]);
    return Array.from({ length: type.count }, () => element).flat();
  }
  return type.kind === "void" ? [] : [type];
}

/** Bytes of a value.
 * @type {(type: IrType) => number} */
export function sizeOf(type) {
  if (type.kind === "array") return type.count * sizeOf(type.of[0]);
  if (type.kind === "vector") return powerOfTwo(type.count * sizeOf(type.of[0]));
  if (type.kind === "struct") return roundUp(offsetOf(type, type.of.length), alignmentOf(type));
  return type.bits <= 8 ? 1 : powerOfTwo(type.bits / 8);
}

/** Where a field starts in a structure, in bytes.
 * @type {(type: IrType, field: number) => number} */
export function offsetOf(type, field) {
  let offset = 0;
  for (const [number, part] of type.of.entries()) {
    if (!type.packed) offset = roundUp(offset, alignmentOf(part));
    if (number === field) return offset;
    offset += sizeOf(part);
  }
  return offset;
}

/** @type {(type: IrType) => number} */
export function alignmentOf(type) {
  if (type.kind === "array") return alignmentOf(type.of[0]);
  if (type.kind === "struct") return type.packed ? 1 : Math.max(1, ...type.of.map(alignmentOf));
  return sizeOf(type);
}

/** @type {(size: number, unit: number) => number} */
function roundUp(size, unit) {
  return Math.ceil(size / unit) * unit;
}

/** @type {(size: number) => number} */
function powerOfTwo(size) {
  return 2 ** Math.ceil(Math.log2(Math.max(1, size)));
}
