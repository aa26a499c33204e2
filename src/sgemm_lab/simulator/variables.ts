// Variables of a PTX module, `__device__` and `__constant__` ones, with what they start with; and
// arguments that are structs.
//
// The grammar is that of NVIDIA's "Parallel Thread Execution ISA", sections "Variables" and
// "Initializers". All of them lie in global memory here; loads of `.const` ones are not counted
// among its requests, as a GPU has a cache of its own for them.

import type { ShapedArray } from "./memory.ts";
import { constantIn } from "./ptx_text.ts";

/**
 * One `.global` or `.const` variable. `itemBytes`: of one element, as far as the PTX says: messages
 * count in it. `values`: what it starts with, where that is no zero: first byte, bytes, bits.
 * `addresses` of other variables in it: first byte, name. `isSet`: whether the source says what it
 * starts with. `constant`: whether it is `__constant__`.
 */
export interface ModuleVariable {
  name: string;
  bytes: number;
  itemBytes: number;
  values: [number, number, bigint][];
  addresses: [number, string][];
  isSet: boolean;
  constant: boolean;
}

/**
 * A kernel's argument that is a struct, passed by value. `fields`: first byte, name and value: an
 * array, of which the address is passed, or a number, which has no axes.
 */
export interface Struct {
  bytes: number;
  fields: [number, string, ShapedArray][];
}

const VARIABLE =
  /^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)*\.(global|const)\s+(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(\d+)\s+)?\.[bsuf](8|16|32|64)\s+([\w$]+)((?:\[\d*\])*)\s*(?:=\s*(\{[^}]*\}|[^;]+))?;/gm;

/** The variables that a module declares outside its functions. */
export function moduleVariables(text: string): ModuleVariable[] {
  return [...text.matchAll(VARIABLE)].map(([, space, alignment, bits, name, sizes, start]) => {
    const width = Number(bits) / 8;
    const count = [...sizes.matchAll(/\[(\d*)\]/g)].reduce((all, [, one]) => all * Number(one), 1);
    const values: ModuleVariable["values"] = [];
    const addresses: ModuleVariable["addresses"] = [];
    itemsOf(start).forEach((item, place) => {
      const number = constantIn(item);
      if (number === null) addresses.push([place * width, item.replace(/^generic\((.*)\)$/, "$1")]);
      else if (number) values.push([place * width, width, number]);
    });
    const itemBytes = width > 1 ? width : Number(alignment ?? 1);
    const said = { isSet: start !== undefined, constant: space === "const" };
    return { name, bytes: width * count, itemBytes, values, addresses, ...said };
  });
}

function itemsOf(text = "") {
  const items = text.replace(/^[{}\s]+|[{}\s]+$/g, "").split(",");
  return items.map((item) => item.trim()).filter(Boolean);
}

/** The variables that some symbols name, with those whose address they hold. */
export function usedVariables(variables: ModuleVariable[], symbols: Iterable<string>) {
  const used: Set<ModuleVariable> = new Set();
  const waiting = [...symbols];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const one = variables.find((variable) => variable.name === name);
    if (!one || used.has(one)) continue;
    used.add(one);
    waiting.push(...one.addresses.map(([, other]) => other));
  }
  return variables.filter((one) => used.has(one));
}

/** What a variable starts with, but for addresses: as elements that messages can count. */
export function arrayOf({ bytes, itemBytes, values }: ModuleVariable): ShapedArray {
  const found = new DataView(new ArrayBuffer(bytes));
  for (const [start, width, bits] of values) {
    for (let byte = 0; byte < width; byte++) {
      found.setUint8(start + byte, Number((bits >> BigInt(8 * byte)) & 0xffn));
    }
  }
  const whole = bytes % itemBytes === 0;
  const types = { 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array } as const;
  const Type = (whole && types[itemBytes as 2 | 4 | 8]) || Uint8Array;
  const data = new Type(found.buffer);
  return { data, shape: [data.length] };
}

/** The arrays that a struct's pointers point to, by name. */
export function arraysIn({ fields }: Struct) {
  return fields
    .filter(([, , value]) => value.shape.length)
    .map(([, name, value]) => ({ name, value }));
}

/** A struct as it lies in memory, given where its arrays lie. */
export function bytesOf({ bytes, fields }: Struct, addresses: ReadonlyMap<string, number>) {
  const found = new Uint8Array(bytes);
  for (const [start, name, { data, shape }] of fields) {
    const value = shape.length ? new BigUint64Array([BigInt(addresses.get(name) ?? 0)]) : data;
    found.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength), start);
  }
  return found;
}
