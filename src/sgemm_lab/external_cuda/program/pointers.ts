// Arrays that hold pointers. The host's have 4 bytes and lead to its own memory or to a block of the
// device; the kernel's have 8 and lead to where the simulator puts that block.

import { type ShapedArray, WRITTEN } from "../../simulator/memory.ts";
import type { Result } from "../../simulator/simulation.ts";
import type { CudaFile } from "../cuda_file.ts";
import { bytesOf, declarationOfVariable } from "../elements.ts";
import { lastName } from "../kernels.ts";
import { type Field, fieldsOf, hasPointers, MOST_FIELDS } from "../structs.ts";
import { sourceName } from "../variables.ts";
import { pointee, shaped } from "./block_elements.ts";
import { TooLargeError, UnfollowedError } from "./faults.ts";
import type { Block, DeviceMemory } from "./memory.ts";

export const [HOST_POINTER, DEVICE_POINTER] = [4, 8];
/** Most arrays that a launch reaches by pointers in memory. */
const MOST_REACHED = 512;

/** A field: its bytes from the start for the host and for the kernel, and how many it has. */
export interface Place {
  name: string;
  type: string;
  isPointer: boolean;
  ofHost: number;
  ofDevice: number;
  bytes: number;
}

/** How an element with pointers lies, in bytes. */
interface Layout {
  type: string;
  ofHost: number;
  ofDevice: number;
  fields: Place[];
}

export const placesOf = (host: Field[], device: Field[]): Place[] =>
  device.map(({ name, type, pointer, element, image, offset }, at) => ({
    ...{ name, isPointer: pointer, ofHost: host[at].offset, ofDevice: offset },
    type: pointer ? `${element?.name ?? type}*` : type,
    bytes: pointer ? HOST_POINTER : image || !element ? DEVICE_POINTER : bytesOf(element),
  }));

/** How an element of a type lies; null if it has no pointers. Throws an UnfollowedError if that is unknown. */
export function layoutOf(type: string, file: CudaFile): Layout | null {
  if (type.includes("(")) throw unfollowed("functions");
  if (type.endsWith("*")) {
    const [ofHost, ofDevice] = [HOST_POINTER, DEVICE_POINTER];
    const only = { name: "", type, isPointer: true, ofHost: 0, ofDevice: 0, bytes: ofHost };
    return { type, ofHost, ofDevice, fields: [only] };
  }
  if (/^(unsigned )?long$/.test(type)) throw unfollowed(type);
  const name = lastName(type.replace(/<.*/, ""));
  const one = { name: "", type, pointer: false, constant: false, of: "" };
  const [host, device] = [HOST_POINTER, DEVICE_POINTER].map((bytes) =>
    fieldsOf(one, file, new Map(), bytes),
  );
  if (host && device && !device.fields.some(({ pointer }) => pointer)) return null;
  if (!host || !device || device.fields.length > MOST_FIELDS || !isPlain(name, file)) {
    if (hasPointers(name, file)) throw unfollowed(`${type}, which has pointers`);
    return null;
  }
  const fields = placesOf(host.fields, device.fields);
  return { type, ofHost: host.size, ofDevice: device.size, fields };
}

const unfollowed = (what: string) =>
  new UnfollowedError(`it gives a kernel an array of ${what}, which is not followed`);

/** Whether a struct has no base, and no alignment of its own. */
function isPlain(name: string, { declarations }: CudaFile) {
  const texts = declarations.find((one) => one.kind === "type" && one.names.includes(name))?.tokens;
  const words = texts?.map(({ text }) => text) ?? [];
  const head = words.slice(0, words.indexOf("{")).join(" ");
  const isAligned = words.some((text) => /^(alignas|__align__|__attribute__)$/.test(text));
  return /^(typedef )?(struct|class)( \w+)?$/.test(head) && !isAligned;
}

/** The type of a variable of the device, as `layoutOf` takes it; "" if it is not known. */
export function typeOfVariable(symbol: string, file: CudaFile) {
  const { before = [] } = declarationOfVariable(sourceName(symbol), file) ?? {};
  const words = before.filter((text) => !/^(__\w+__|static|const|volatile|extern)$/.test(text));
  return words.join(" ").replaceAll(" *", "*");
}

/** The arrays that a launch reaches, those with pointers as the kernel has them. */
export class Reached {
  /** by their last names; those that no argument has are named by the host's code */
  names = new Map<Block, string>();
  #types = new Map<Block, string>();
  #layouts = new Map<Block, Layout>();
  #made = new Map<Block, ShapedArray>();

  /** @param roots the arrays that arguments and variables lead to, with their names and elements */
  constructor(
    public file: CudaFile,
    public device: DeviceMemory,
    roots: [name: string, block: Block, type: string][],
  ) {
    for (const [name, block] of roots) this.names.set(block, name);
    const taken = new Set(roots.map(([name]) => name));
    const waiting = roots.map(([, block, type]): [Block, string] => [block, type]);
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      const [block, type] = one;
      if (!this.names.has(block)) this.names.set(block, unlike(taken, block.name));
      if (this.names.size > MOST_REACHED) {
        throw new TooLargeError(`its pointers lead to more than ${MOST_REACHED} arrays`);
      }
      if (!this.#types.has(block)) this.#types.set(block, type);
      const layout = layoutOf(type, file);
      const before = this.#layouts.get(block);
      if (!layout || layout.type === before?.type) continue;
      if (before) throw unfollowed(`${before.type} and of ${type}`);
      this.#layouts.set(block, layout);
      for (const [, place, address] of pointersIn(block, layout)) {
        const found = this.#target(address);
        if (found) waiting.push([found[0], pointee(place.type)]);
      }
    }
  }

  /** Whether any of them holds pointers. */
  get hasPointers() {
    return this.#layouts.size > 0;
  }

  /** An array as the kernel has it. */
  array(block: Block, type?: string): ShapedArray {
    const layout = this.#layouts.get(block);
    if (!layout) return shaped(block, type ?? this.#types.get(block) ?? "");
    const made = this.#made.get(block) ?? this.#converted(block, layout);
    this.#made.set(block, made);
    return made;
  }

  #target(address: number) {
    const found = address ? this.device.holding(address) : null;
    return found?.[0].freed ? null : found;
  }

  /** What leads nowhere keeps its address, which belongs to no array of the kernel. */
  #converted(block: Block, layout: Layout): ShapedArray {
    const { bytes, state: known } = block;
    const { ofHost, ofDevice, fields } = layout;
    const count = Math.floor(bytes.length / ofHost);
    const [data, state] = [0, 0].map(() => new Uint8Array(count * ofDevice));
    for (let number = 0; number < count; number++) {
      const [from, to] = [number * ofHost, number * ofDevice];
      state.fill(known[from], to, to + ofDevice);
      for (const { isPointer, bytes: held, ...place } of fields) {
        const [start, end] = [from + place.ofHost, from + place.ofHost + held];
        data.set(bytes.subarray(start, end), to + place.ofDevice);
        if (isPointer)
          state.fill(known[start], to + place.ofDevice, to + place.ofDevice + DEVICE_POINTER);
        else state.set(known.subarray(start, end), to + place.ofDevice);
      }
    }
    const pointers = [...pointersIn(block, layout)].flatMap(
      ([number, place, address]): NonNullable<ShapedArray["pointers"]> => {
        const [target, at] = this.#target(address) ?? [];
        if (!target || at === undefined) return [];
        const more = this.#moved(target, at, "ofHost", "ofDevice");
        return [[number * ofDevice + place.ofDevice, this.names.get(target) ?? "", more]];
      },
    );
    const isBare = ofDevice === DEVICE_POINTER && fields.length === 1;
    const elements = isBare ? new BigUint64Array(data.buffer) : data;
    return { data: elements, shape: [elements.length], state, pointers };
  }

  /** Bytes into an array, for the kernel as for the host. */
  #moved(block: Block, at: number, from: "ofHost" | "ofDevice", to: "ofHost" | "ofDevice") {
    const layout = this.#layouts.get(block);
    if (!layout) return at;
    const number = Math.floor(at / layout[from]);
    const rest = at - number * layout[from];
    const place = rest
      ? layout.fields.find((one) => one[from] === rest)
      : { ofHost: 0, ofDevice: 0 };
    if (!place) throw unfollowed(`pointers into a ${layout.type}`);
    return number * layout[to] + place[to];
  }

  /** How many bytes into its array a pointer of the host leads. */
  start = (block: Block, at: number) => this.#moved(block, at, "ofHost", "ofDevice");

  /** Take over what a launch left in an array. */
  keep(block: Block, { arrays, states, addresses }: Result) {
    const name = this.names.get(block) ?? "";
    const { buffer, byteOffset, byteLength } = arrays[name];
    const [data, state] = [new Uint8Array(buffer, byteOffset, byteLength), states[name]];
    const layout = this.#layouts.get(block);
    const { bytes } = block;
    if (!layout) {
      bytes.set(data);
      if (state) block.state.set(state);
      return;
    }
    const [now, view] = [data, bytes].map((one) => new DataView(one.buffer, one.byteOffset));
    const { ofHost, ofDevice, fields } = layout;
    for (let number = 0; (number + 1) * ofDevice <= byteLength; number++) {
      for (const { isPointer, bytes: held, ...place } of fields) {
        const [from, to] = [number * ofDevice + place.ofDevice, number * ofHost + place.ofHost];
        if (state) block.state.set(state.subarray(from, from + held), to);
        if (!isPointer) bytes.set(data.subarray(from, from + held), to);
        else if (!state || state[from] === WRITTEN) {
          view.setUint32(to, this.#ofHost(Number(now.getBigUint64(from, true)), addresses), true);
        }
      }
    }
  }

  #ofHost(address: number, addresses: ReadonlyMap<string, number>) {
    if (address < 2 ** 32) return address;
    for (const [block, name] of this.names) {
      const at = address - (addresses.get(name) ?? Number.POSITIVE_INFINITY);
      const made = this.#made.get(block);
      if (at < 0 || at > (made ? made.data.byteLength : block.size)) continue;
      return block.address + this.#moved(block, at, "ofDevice", "ofHost");
    }
    throw new UnfollowedError("a kernel stores a pointer that leads to none of its arrays");
  }
}

/** The pointers that an array holds: number of the element, field, address. */
function* pointersIn({ bytes, state }: Block, { ofHost, fields }: Layout) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const all = fields.filter(({ isPointer }) => isPointer);
  for (let number = 0; (number + 1) * ofHost <= bytes.length; number++) {
    for (const place of all) {
      const at = number * ofHost + place.ofHost;
      if (state[at] === WRITTEN) yield [number, place, view.getUint32(at, true)] as const;
    }
  }
}

/** A name that is not taken yet; it is then. */
function unlike(taken: Set<string>, name: string) {
  let found = name;
  for (let number = 2; taken.has(found); number++) found = `${name} (${number})`;
  taken.add(found);
  return found;
}
