// Parameters that are structs, passed by value: their fields, and where each lies. `--args` gives the
// fields one after the other, in the order of the source. Offsets follow the rules of C: each field
// starts at a multiple of its own size, the struct at one of its largest.

import { LabError } from "../errors.ts";
import { constantOf } from "./constants.ts";
import type { CudaFile } from "./cuda_file.ts";
import { bytesOf, type Element, elementOf, resolve } from "./elements.ts";
import { type Parameter, parameterOf, templateOf } from "./kernels.ts";
import { inside, joined, matching, split, type Token, textsOf, tokensOf } from "./tokens.ts";

/** A parameter, or a field of a struct, with the element that it holds or points to. */
export interface Field extends Parameter {
  element: Element | null;
  /** "texture" or "surface"; "" where it is none */
  image: string;
  /** bytes from the start of the struct */
  offset: number;
}

/** One parameter of the compiled kernel, and what `--args` gives for it. */
export interface Slot {
  fields: Field[];
  /** 0 where it is no struct */
  structBytes: number;
}

/** Types of the source that stand for an image, and for which. */
const IMAGES: Record<string, string> = {
  ...{ cudaTextureObject_t: "texture", CUtexObject: "texture" },
  ...{ cudaSurfaceObject_t: "surface", CUsurfObject: "surface" },
};
/** Fields of a struct that `--args` may have to give; structs in structs. */
export const MOST_FIELDS = 64;
const DEEPEST = 4;
const POINTER_BYTES = 8;
const SKIPPED = new Set(["static", "typedef", "using", "friend", "template", "enum"]);
const UNKNOWN = { fields: [], size: -1, alignment: 1 };

/** What the parameters of templates stand for, by name. */
type Values = Map<string, string>;

interface Laid {
  fields: Field[];
  /** bytes, and the multiple it starts at */
  size: number;
  alignment: number;
}

/** A parameter as it stands, with its element. */
export function fieldOf(one: Parameter, element: Element | null, offset = 0): Field {
  const image = !one.pointer && Object.hasOwn(IMAGES, one.type) ? IMAGES[one.type] : "";
  return { ...one, element, image, offset };
}

/**
 * Take the parameters of a kernel apart. Throws a LabError where a struct cannot be.
 * @param compiled their types in the PTX; "b8[16]" is a struct
 * @param values of the template
 */
export function slotsOf(
  parameters: Parameter[],
  compiled: string[],
  file: CudaFile,
  values: Values,
): Slot[] {
  return parameters.slice(0, compiled.length).map((one, at) => {
    const [, bytes] = /^b8\[(\d+)\]$/.exec(compiled[at]) ?? [];
    if (!bytes || one.pointer) {
      return { fields: [fieldOf(one, resolve(one.type, file, values))], structBytes: 0 };
    }
    const structBytes = Number(bytes);
    const { fields, size } = layout(one, file, values, 0);
    // A function object, or std::true_type, has no field.
    if (structBytes === 1 && !fields.length) return { fields, structBytes };
    if (size !== structBytes || !fields.length || fields.length > MOST_FIELDS) {
      throw new LabError(
        `The parameter '${one.type} ${one.name}' is passed by value, and its ${bytes} bytes cannot ` +
          "be taken apart into numbers and pointers. Give the kernel its fields as parameters of " +
          "their own.",
      );
    }
    return { fields, structBytes };
  });
}

/** Bytes of a number, a vector or a struct; null where they are not known. */
export function bytesOfType(type: string, file: CudaFile, values: Values) {
  const one = { name: "", type, pointer: false, constant: false, of: "" };
  return fieldsOf(one, file, values, POINTER_BYTES)?.size ?? null;
}

/** The fields of a struct and its bytes; null where they are not known. */
export function fieldsOf(one: Parameter, file: CudaFile, values: Values, pointerBytes: number) {
  const found = layout(one, file, values, 0, pointerBytes);
  return found.size > 0 ? found : null;
}

function layout(
  one: Parameter,
  file: CudaFile,
  values: Values,
  depth: number,
  pointerBytes = POINTER_BYTES,
): Laid {
  const element =
    elementOf(one.type === "dim3" ? "uint3" : one.type) ?? resolve(one.type, file, values);
  if (one.pointer || Object.hasOwn(IMAGES, one.type)) {
    const size = one.pointer ? pointerBytes : POINTER_BYTES;
    return { fields: [fieldOf(one, element)], size, alignment: size };
  }
  if (element) return vector(one, element);
  const { body, own } = bodyOf(values.get(one.type) ?? one.type, file, values);
  if (!body || depth > DEEPEST) return UNKNOWN;
  const fields: Field[] = [];
  let [place, most] = [0, 1];
  for (const [member, times] of membersOf(body, file, own)) {
    const name = `${one.name}.${member.name}`;
    const of = one.of || one.name;
    const inner = layout({ ...member, name, of }, file, own, depth + 1, pointerBytes);
    if (inner.size < 0) return UNKNOWN;
    place = Math.ceil(place / inner.alignment) * inner.alignment;
    most = Math.max(most, inner.alignment);
    // With more than MOST_FIELDS nobody gives them one by one.
    for (let number = 0; number < Math.min(times, MOST_FIELDS + 1); number++) {
      const index = times > 1 ? `[${number}]` : "";
      const offset = place + number * inner.size;
      for (const part of inner.fields) {
        fields.push({ ...part, name: part.name + index, offset: offset + part.offset });
      }
    }
    place += inner.size * times;
  }
  return { fields, size: Math.ceil(place / most) * most, alignment: most };
}

/** The numbers of a vector such as float4, or the one of a number. */
function vector(one: Parameter, element: Element): Laid {
  const width = bytesOf(element);
  const { name: type, lanes } = element;
  const single = { ...element, lanes: 1 };
  if (lanes === 1) return { fields: [fieldOf(one, single)], size: width, alignment: width };
  const fields = [..."xyzw".slice(0, lanes)].map((axis, number) =>
    fieldOf({ ...one, name: `${one.name}.${axis}`, type }, single, width * number),
  );
  const size = width * lanes;
  return { fields, size, alignment: Math.min(16, lanes === 3 ? width : size) };
}

/** What stands between the braces of a struct, and the values of its template and of those around it. */
function bodyOf(type: string, { declarations }: CudaFile, values: Values = new Map()) {
  const [name = "", ...given] = split(tokensOf(type.replace("<", ",").replace(/>$/, ""))).map(
    (part) => {
      const text = joined(textsOf(part.filter((one) => one.text !== "const")));
      return values.get(text) ?? text;
    },
  );
  const plain = name.split("::").at(-1) ?? name;
  for (const { tokens, names, kind } of declarations) {
    const opening = tokens.findIndex(({ text }) => text === "{");
    if (kind !== "type" || opening < 0 || !names.includes(plain)) continue;
    const template = templateOf(tokens).map((one, at) => [one.name, given[at] ?? ""] as const);
    return { body: inside(tokens, opening), own: new Map([...values, ...template]) };
  }
  const isPitched = plain === "cudaPitchedPtr";
  const body = isPitched ? tokensOf("void* ptr; size_t pitch, xsize, ysize;") : null;
  return { body, own: values };
}

/** Whether a struct has a field that is a pointer. */
export function hasPointers(type: string, file: CudaFile) {
  const { body, own } = bodyOf(type, file);
  return body !== null && membersOf(body, file, own).some(([{ pointer }]) => pointer);
}

/** Each field of a struct, and how many of it there are. */
function membersOf(body: Token[], file: CudaFile, own: Values): [Parameter, number][] {
  const tokens = file.compiled(body, ({ text }) => text);
  const found: [Parameter, number][] = [];
  let current: Token[] = [];
  for (let place = 0; place < tokens.length; place++) {
    const { text, kind } = tokens[place];
    if (text === "{") {
      // The body of a function, or what a field starts with.
      place = matching(tokens, place);
      if (current.some((one) => one.text === "(")) current = [];
    } else if (text === ";") {
      found.push(...declared(current, file, own));
      current = [];
    } else if (text === ":" && /^(public|private|protected)$/.test(current.at(-1)?.text ?? "")) {
      current = [];
    } else if (kind !== "directive") current.push(tokens[place]);
  }
  return found;
}

function declared(tokens: Token[], file: CudaFile, own: Values): [Parameter, number][] {
  if (!tokens.length || tokens.some(({ text }) => text === "(" || SKIPPED.has(text))) return [];
  const found: [Parameter, number][] = [];
  for (const part of split(tokens)) {
    const texts = textsOf(part);
    const opening = texts.indexOf("[");
    const times = opening < 0 ? 1 : productOfSizes(part.slice(opening), file, own);
    const [first] = found[0] ?? [parameterOf(opening < 0 ? part : part.slice(0, opening))];
    if (!found.length) found.push([first, times]);
    else {
      // A further name of the same type.
      const name = texts.find((one) => !/^(\*|const|__restrict__)$/.test(one)) ?? "";
      found.push([{ ...first, name, pointer: texts.includes("*") }, times]);
    }
  }
  return found.every(([, times]) => times) ? found : [];
}

/** Elements of `[3]`, `[ROWS][2]`, …; 0 where they cannot be worked out. */
function productOfSizes(tokens: Token[], file: CudaFile, own: Values): number {
  if (tokens[0]?.text !== "[") return 1;
  const names = Object.fromEntries([...own].map(([name, text]) => [name, Number(text) || 0]));
  const size = constantOf(inside(tokens, 0), file, names) ?? 0;
  const rest = tokens.slice(matching(tokens, 0) + 1);
  return Math.max(0, Math.trunc(size)) * productOfSizes(rest, file, own);
}
