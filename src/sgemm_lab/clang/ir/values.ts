// Values of LLVM IR: names, constants and constant expressions, with their types.

import { IrError } from "./errors.ts";
import { type Cursor, nameOf } from "./tokens.ts";
import { type IrType, irType, leaves } from "./types.ts";

/**
 * "number" is an integer or a float by its bits. "expression" is an operation on `items`: `name`
 * says which, `source` is the type that a getelementptr steps over.
 */
export interface IrValue {
  kind: "local" | "global" | "number" | "undefined" | "list" | "expression" | "other";
  type: IrType;
  name: string;
  bits: bigint;
  items: IrValue[];
  source: IrType | null;
}

export type NamedTypes = Map<string, IrType>;

const FLOATS = new Map([
  ["half", 16],
  ["bfloat", 16],
  ["float", 32],
  ["double", 64],
]);
const FLAGS = new Set(["inbounds", "nuw", "nusw", "nsw", "exact", "disjoint"]);

export function makeValue(kind: IrValue["kind"], type: IrType, fields?: Partial<IrValue>): IrValue {
  return { kind, type, name: "", bits: 0n, items: [], source: null, ...fields };
}

export function readType(cursor: Cursor): IrType {
  const type = readPlainType(cursor);
  // A function's type names its parameters: what it returns is all that matters here.
  if (cursor.peek() === "(") cursor.skipBrackets();
  return type;
}

function readPlainType(cursor: Cursor): IrType {
  const token = cursor.next();
  const bits = /^i(\d+)$/.exec(token);
  if (bits) return irType("int", { bits: Number(bits[1]) });
  const float = FLOATS.get(token);
  if (float) return irType("float", { bits: float });
  if (token === "ptr") return irType("ptr", { bits: 64, space: readSpace(cursor) });
  if (token === "void") return irType("void");
  if (token[0] === "%") return cursor.named.get(nameOf(token)) ?? irType("other");
  if (token === "{") return readFields(cursor, false);
  if (token === "[") return readSequence(cursor, "array", "]");
  if (token === "<" && cursor.skip("{")) {
    const type = readFields(cursor, true);
    cursor.expect(">");
    return type;
  }
  return token === "<" ? readSequence(cursor, "vector", ">") : irType("other");
}

/** The address space after "ptr". */
export function readSpace(cursor: Cursor): number {
  if (!cursor.skip("addrspace")) return 0;
  cursor.expect("(");
  const space = Number(cursor.next());
  cursor.expect(")");
  return space;
}

function readFields(cursor: Cursor, packed: boolean): IrType {
  const fields = [];
  while (!cursor.skip("}")) {
    fields.push(readType(cursor));
    cursor.skip(",");
  }
  return irType("struct", { of: fields, packed });
}

function readSequence(cursor: Cursor, kind: "vector" | "array", end: string): IrType {
  const count = Number(cursor.next());
  cursor.expect("x");
  const element = readType(cursor);
  cursor.expect(end);
  return irType(kind, { count, of: [element] });
}

/** Read a type and a value of it. */
export function readTyped(cursor: Cursor): IrValue {
  const type = readType(cursor);
  return readValue(cursor, type);
}

/** Read a value whose type is known. */
export function readValue(cursor: Cursor, type: IrType): IrValue {
  const token = cursor.next();
  if (token[0] === "%") return makeValue("local", type, { name: nameOf(token) });
  if (token[0] === "@") return makeValue("global", type, { name: nameOf(token) });
  if (token === "true" || token === "false") {
    return makeValue("number", type, { bits: token === "true" ? 1n : 0n });
  }
  if (token === "undef" || token === "poison") return makeValue("undefined", type);
  if (token === "zeroinitializer" || token === "null") return zero(type);
  if (token === "<" || token === "[" || token === "{") return readList(cursor, type, token);
  if (token === "splat") {
    cursor.expect("(");
    const item = readTyped(cursor);
    cursor.expect(")");
    return makeValue("list", type, { items: Array(type.count).fill(item) });
  }
  if (/^-?\d|^0x/.test(token)) return makeValue("number", type, { bits: numberBits(token, type) });
  if (/^[a-z]+$/.test(token)) return readExpression(cursor, type, token);
  return makeValue("other", type, { name: token });
}

/** Zero of any type. */
export function zero(type: IrType): IrValue {
  if (type.kind === "int" || type.kind === "float" || type.kind === "ptr") {
    return makeValue("number", type);
  }
  return makeValue("list", type, { items: leaves(type).map(zero) });
}

function readList(cursor: Cursor, type: IrType, open: string): IrValue {
  const end = { "<": ">", "[": "]", "{": "}" }[open] ?? "}";
  const items = [];
  while (!cursor.skip(end)) {
    items.push(readTyped(cursor));
    cursor.skip(",");
  }
  return makeValue("list", type, { items });
}

function readExpression(cursor: Cursor, type: IrType, operation: string): IrValue {
  cursor.takeWords(FLAGS);
  if (cursor.peek() !== "(") return makeValue("other", type, { name: operation });
  cursor.expect("(");
  let source = null;
  if (operation === "getelementptr") {
    source = readType(cursor);
    cursor.expect(",");
  }
  const items = [];
  while (!cursor.skip(")")) {
    items.push(readTyped(cursor));
    if (cursor.skip("to")) readType(cursor);
    cursor.skip(",");
  }
  return makeValue("expression", type, { name: operation, items, source });
}

function numberBits(token: string, type: IrType): bigint {
  if (type.kind !== "float") return BigInt.asUintN(type.bits, integer(token));
  const view = new DataView(new ArrayBuffer(8));
  // A hexadecimal float has the bits of a double, whatever its own type.
  if (token.startsWith("0x")) view.setBigUint64(0, BigInt(token));
  else view.setFloat64(0, Number(token));
  if (type.bits === 64) return view.getBigUint64(0);
  if (type.bits !== 32) throw new IrError("Numbers of 16 bits are not known here.");
  view.setFloat32(0, view.getFloat64(0));
  return BigInt(view.getUint32(0));
}

function integer(token: string): bigint {
  return token[0] === "-" ? -BigInt(token.slice(1)) : BigInt(token);
}
