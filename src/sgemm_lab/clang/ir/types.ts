// Types of LLVM IR, with the sizes that nvptx64 gives them.

/** `of` are the elements of a vector or array (one), or the fields of a structure. */
export interface IrType {
  kind: "int" | "float" | "ptr" | "vector" | "array" | "struct" | "void" | "other";
  bits: number;
  space: number;
  count: number;
  packed: boolean;
  of: IrType[];
}

/** The address spaces of nvptx64. */
export const SPACES = ["generic", "global", "other", "shared", "const", "local"];

/** A type; "other" is one that no value of a kernel has, such as a label. */
export function irType(kind: IrType["kind"], fields?: Partial<IrType>): IrType {
  return { kind, bits: 0, space: 0, count: 0, packed: false, of: [], ...fields };
}

/** The scalars that a value of a type consists of, in order. */
export function leaves(type: IrType): IrType[] {
  if (type.kind === "struct") return type.of.flatMap(leaves);
  if (type.kind === "vector" || type.kind === "array") {
    const element = leaves(type.of[0]);
    return Array.from({ length: type.count }, () => element).flat();
  }
  return type.kind === "void" ? [] : [type];
}

/** Bytes of a value. */
export function sizeOf(type: IrType): number {
  if (type.kind === "array") return type.count * sizeOf(type.of[0]);
  if (type.kind === "vector") return powerOfTwo(type.count * sizeOf(type.of[0]));
  if (type.kind === "struct") return roundUp(offsetOf(type, type.of.length), alignmentOf(type));
  return type.bits <= 8 ? 1 : powerOfTwo(type.bits / 8);
}

/** Where a field starts in a structure, in bytes. */
export function offsetOf(type: IrType, field: number): number {
  let offset = 0;
  for (const [number, part] of type.of.entries()) {
    if (!type.packed) offset = roundUp(offset, alignmentOf(part));
    if (number === field) return offset;
    offset += sizeOf(part);
  }
  return offset;
}

function alignmentOf(type: IrType): number {
  if (type.kind === "array") return alignmentOf(type.of[0]);
  if (type.kind === "struct") return type.packed ? 1 : Math.max(1, ...type.of.map(alignmentOf));
  return sizeOf(type);
}

function roundUp(size: number, unit: number): number {
  return Math.ceil(size / unit) * unit;
}

function powerOfTwo(size: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, size)));
}
