// The arguments of a launch: as the host has them, with pointers of 4 bytes, and as the kernel takes
// them, with pointers of 8.

import type { ShapedArray } from "../../simulator/memory.ts";
import { parse } from "../../simulator/ptx.ts";
import type { Argument } from "../../simulator/simulation.ts";
import type { Struct } from "../../simulator/variables.ts";
import type { CudaFile } from "../cuda_file.ts";
import { type FoundFunction, kernelsOf, lastName, splitTexts, templateValues } from "../kernels.ts";
import { fieldsOf } from "../structs.ts";
import { pointee } from "./block_elements.ts";
import { UnfollowedError } from "./faults.ts";
import { DEVICE_POINTER, HOST_POINTER, layoutOf, type Place, placesOf } from "./pointers.ts";

/** A parameter of a kernel. */
export interface Taken {
  name: string;
  /** as the compiler calls it: "float const*" */
  type: string;
  /** bytes as the host has it, and as the kernel takes it */
  ofHost: number;
  ofDevice: number;
  /** whether the kernel takes it as bytes */
  isStruct: boolean;
  /** of a struct with pointers, its fields */
  fields: Place[] | null;
}

/** A kernel as a launch sees it. */
export interface Signature {
  /** with the values of its template: "fast::tiled<16>" */
  key: string;
  name: string;
  parameters: Taken[];
  /** threads that a block may have: as `__launch_bounds__` says, if it does */
  mostThreads: number;
  /** bytes of its shared arrays of a known size */
  staticShared: number;
}

/** Threads of a block at most. */
export const MOST_THREADS = 1024;
const BITS = /^[a-z](\d+)$/;

/** The name and the types in "void fast::tiled<16>(float const*, int)". */
export function signatureText(demangled: string) {
  const text = demangled.replaceAll("(anonymous namespace)::", "");
  let depth = 0;
  let opening = -1;
  for (let at = 0; at < text.length && opening < 0; at++) {
    depth += Number(text[at] === "<") - Number(text[at] === ">");
    if (text[at] === "(" && depth === 0) opening = at;
  }
  const [head, inner] = [text.slice(0, opening), text.slice(opening + 1, text.lastIndexOf(")"))];
  const key = head.replace(/^void /, "").trim();
  return { key, name: lastName(key.split("<")[0]), types: splitTexts(inner).filter(Boolean) };
}

/** What a compiled kernel takes. Throws an UnfollowedError where the host's view is not known. */
export function signatureOf(
  file: CudaFile,
  demangled: string,
  { ptx, entry }: { ptx: string; entry: string },
): Signature {
  const { key, name, types } = signatureText(demangled);
  const kernel = parse(ptx).get(entry);
  const compiled = kernel?.parameters ?? [];
  const declared = kernelsOf(file).find((one) => lastName(one.name) === name);
  if (kernel && types.length !== compiled.length)
    throw new UnfollowedError(`it launches ${key} with other parameters`);
  const parameters = types.map((type, at): Taken => {
    const own = declared?.parameters[at]?.name || `argument ${at + 1}`;
    const isPointer = type.endsWith("*");
    const [, struct] = /^b8\[(\d+)\]$/.exec(compiled[at]?.type ?? "") ?? [];
    const ofDevice = struct ? Number(struct) : bytesOfBits(compiled[at]?.type ?? "");
    const taken = {
      name: own,
      type,
      isStruct: Boolean(struct),
      fields: null,
    };
    if (isPointer) {
      layoutOf(pointee(type), file);
      return { ...taken, ofHost: HOST_POINTER, ofDevice };
    }
    if (struct) return structOf(taken, ofDevice, file, declared, key, at);
    return {
      ...taken,
      ofHost: /^(unsigned )?long$/.test(type) ? HOST_POINTER : ofDevice,
      ofDevice,
    };
  });
  const bounds = kernel?.mostThreads ?? [];
  const mostThreads = bounds.length ? bounds.reduce((all, side) => all * side, 1) : MOST_THREADS;
  const staticShared = (kernel?.shared ?? []).reduce((all, { bytes }) => all + bytes, 0);
  return { key, name, parameters, mostThreads, staticShared };
}

const bytesOfBits = (type: string) => Number(BITS.exec(type)?.[1] ?? 32) / 8;

function structOf(
  taken: Omit<Taken, "ofHost" | "ofDevice">,
  ofDevice: number,
  file: CudaFile,
  declared: FoundFunction | undefined,
  key: string,
  at: number,
): Taken {
  const plain = { ...taken, ofHost: ofDevice, ofDevice };
  const parameter = declared?.parameters[at];
  if (!declared || !parameter) return plain;
  const values = templateValues(declared, key);
  // The compiler's name stands for what a template or an alias calls it.
  const one = { ...parameter, type: taken.type, pointer: false };
  const device = fieldsOf(one, file, values, DEVICE_POINTER);
  if (device?.size !== ofDevice) {
    if (ofDevice >= DEVICE_POINTER && hasPointer(one.type, file))
      throw new UnfollowedError(
        `it gives a kernel an argument of the type ${taken.type}, which is not followed`,
      );
    return plain;
  }
  const host = fieldsOf(one, file, values, HOST_POINTER);
  if (!host || !device.fields.some(({ pointer }) => pointer)) return plain;
  return { ...plain, ofHost: host.size, fields: placesOf(host.fields, device.fields) };
}

/** Whether the source of a struct names a pointer, or is not there. */
function hasPointer(type: string, { declarations }: CudaFile) {
  const found = declarations.find(
    (one) => one.kind === "type" && one.names.includes(lastName(type.replace(/<.*/, ""))),
  );
  return !found || found.tokens.some(({ text }) => text === "*");
}

/** An argument for the simulator, of the bytes that the host has for it. */
export function argumentOf(
  { name, type, fields, ofDevice, isStruct }: Taken,
  given: Uint8Array,
  arrayAt: (name: string, address: number, type: string) => ShapedArray | null,
): Argument {
  const view = new DataView(given.buffer, given.byteOffset, given.byteLength);
  const pointed = (own: string, at: number, of: string) =>
    arrayAt(own, view.getUint32(at, true), pointee(of));
  if (type.endsWith("*")) return pointed(name, 0, type) ?? 0;
  if (fields) {
    const made = fields.map((one): Struct["fields"][number] => {
      const array = one.isPointer ? pointed(one.name, one.ofHost, one.type) : null;
      const own = given.slice(one.ofHost, one.ofHost + one.bytes);
      // A pointer to nothing has 8 bytes for the kernel.
      const bytes = one.isPointer ? new Uint8Array(DEVICE_POINTER) : own;
      return [one.ofDevice, one.name, array ?? { data: bytes, shape: [] }];
    });
    return { bytes: ofDevice, fields: made };
  }
  if (isStruct) {
    return { bytes: ofDevice, fields: [[0, name, { data: given.slice(), shape: [] }]] };
  }
  if (given.length < ofDevice) return view.getUint32(0, true);
  return numberIn(view, type, ofDevice);
}

function numberIn(view: DataView, type: string, bytes: number): number | bigint {
  if (type === "float") return view.getFloat32(0, true);
  if (type === "double") return view.getFloat64(0, true);
  const isSigned = !/^(unsigned|bool)\b/.test(type);
  if (bytes === 1) return isSigned ? view.getInt8(0) : view.getUint8(0);
  if (bytes === 2) return isSigned ? view.getInt16(0, true) : view.getUint16(0, true);
  if (bytes === 4) return isSigned ? view.getInt32(0, true) : view.getUint32(0, true);
  return isSigned ? view.getBigInt64(0, true) : view.getBigUint64(0, true);
}
