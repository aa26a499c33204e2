// Textures and surfaces: arrays that a kernel reads and writes by place, not by address.
//
// NVIDIA's "CUDA C++ Programming Guide", section "Texture Fetching", describes how coordinates
// become elements, and that filters round coordinates to 1/256 of an element. How a filter rounds
// its result is not documented: it was inferred from what an H200 read at thousands of places, and
// this module gives the same bits (tests/simulator/test_images_on_h200.py).

import type { Memory, NamedArray } from "./memory.ts";
import { fromHalf } from "./registers.ts";

/**
 * How a texture is read. A surface has the usual. `linear`: whether a place between elements gets
 * some of each, and not the one in which it lies. `normalized`: whether places go from 0 to 1, and
 * not to the width. `beyond`: what lies beyond the edges: the last element, zeros, the image again,
 * or its mirror image.
 */
export interface Sampling {
  linear: boolean;
  normalized: boolean;
  beyond: "clamp" | "border" | "wrap" | "mirror";
}

/**
 * What a place becomes along an axis: one element, or two between which it lies, and the share of
 * the second. An index of -1 has no element, and counts as zero.
 */
interface Along {
  ends: number[];
  share: number;
}

/** Elements in which a sum is made, with what each weighs, by the number of their slice. */
interface Part {
  value: number;
  weight: number;
  slice: number;
}

/** A filter knows places to as many parts of an element, and weighs elements by as many. */
const FRACTIONS = 256;
/** Bits behind the point that a place from 0 to 1 keeps at least; the rest is cut off. */
const PLACE_BITS = 21;
/** Sides beyond this keep a place to 1/256 of an element all the same. */
const LONG = 1 << 13;
/** A filter adds floats beside the largest of them, and keeps as many bits below its last one. */
const GUARD_BITS = 4;
/** Where it adds the sums of two slices, it keeps as many more. */
const SLICE_BITS = 9;
/** The least normal float of single precision, and its exponent. */
const TINY = 2 ** -126;
const LEAST = -126;
const WHOLE: Along = { ends: [0], share: 0 };

/** A texture or surface, and where it lies in global memory. */
export class Image {
  /** Width in elements, height, and depth or layers. */
  sides;
  /** Numbers of an element. */
  numbers;
  elements;
  /** Bits that a float of it has; 0 of whole numbers. */
  floatBits;
  isSigned;

  /** @param array its shape is: depth or layers, height, width, numbers of an element */
  constructor(
    memory: Memory,
    public array: NamedArray,
    public sampling: Sampling,
  ) {
    const [depth, height, width, numbers] = array.shape;
    const { dtype } = array;
    if (!dtype) throw new TypeError(array.name);
    this.sides = [width, height, depth];
    this.numbers = numbers;
    const count = depth * height * width * numbers;
    this.elements = new dtype.make(memory.bytes.buffer, array.start, count);
    this.isSigned = dtype.make.name.startsWith("Int");
    this.floatBits = dtype.isHalf ? 11 : this.elements instanceof Float32Array ? 24 : 0;
  }

  /** Bytes of an element with all its numbers. */
  get elementBytes() {
    return this.elements.BYTES_PER_ELEMENT * this.numbers;
  }

  /**
   * Read at a place along x, y and z: a number for each of an element, as floats or as the bits of
   * whole numbers. Whole places are indices, and beyond the edges lie zeros then.
   */
  at(places: number[], whole: boolean, layer: number | null, asFloat: boolean) {
    const linear = this.sampling.linear && asFloat && !whole;
    const axes = this.sides.map((size, axis) => {
      if (axis >= places.length) return WHOLE;
      return whole
        ? { ends: [inside(places[axis], size)], share: 0 }
        : this.along(places[axis], size, linear);
    });
    // A layer counts from 0 on, so that what is below lies beyond the last.
    if (layer !== null) axes[2] = { ends: [Math.min(layer >>> 0, this.sides[2] - 1)], share: 0 };
    return Array.from({ length: this.numbers }, (_, number) => {
      const element = (x: number, y: number, z: number) => this.element(x, y, z, number);
      return linear ? this.mixed(axes, element) : this.readAs(element(...first(axes)), asFloat);
    });
  }

  element(x: number, y: number, z: number, number: number) {
    if (Math.min(x, y, z) < 0) return 0;
    const [width, height] = this.sides;
    const value = this.elements[((z * height + y) * width + x) * this.numbers + number];
    return this.array.dtype?.isHalf ? fromHalf(value) : value;
  }

  /** The elements along one axis that make what is read. */
  along(given: number, size: number, linear: boolean): Along {
    const scaled = this.scaled(Math.abs(given) < TINY ? 0 : given, size);
    // Far beyond an edge all is alike, and an index stays a whole number.
    const where = Number.isNaN(scaled) ? 0 : clamp(scaled, -2 * size - 2, 3 * size + 2);
    if (!linear) return { ends: [this.beyond(Math.floor(where), size)], share: 0 };
    const parts = Math.floor((where - 0.5) * FRACTIONS + 0.5);
    let start = Math.floor(parts / FRACTIONS);
    let share = parts - start * FRACTIONS;
    if (this.ends) {
      // Beyond the middle of the last element there is nothing to mix.
      if (start < 0 || start >= size - 1) share = 0;
      start = clamp(start, 0, size - 1);
    }
    return { ends: [this.beyond(start, size), this.beyond(start + 1, size)], share };
  }

  /** Whether the last element goes on for ever. Only places from 0 to 1 wrap. */
  get ends() {
    const { beyond, normalized } = this.sampling;
    return beyond === "clamp" || (beyond !== "border" && !normalized);
  }

  /** A place in elements; of an image that goes on brought near it. */
  scaled(place: number, size: number) {
    const { beyond, normalized } = this.sampling;
    if (!normalized) return place;
    let near = place;
    if (beyond === "wrap") near -= Math.floor(near);
    else if (beyond === "mirror") near -= 2 * Math.floor(near / 2);
    const sides = Math.floor((size - 1) / LONG);
    const steps = 2 ** (PLACE_BITS + 32 - Math.clz32(sides));
    return (Math.floor(near * steps) / steps) * size;
  }

  /** Bring an index into an axis. */
  beyond(index: number, size: number) {
    if (this.sampling.beyond === "border") return inside(index, size);
    if (this.ends) return clamp(index, 0, size - 1);
    if (this.sampling.beyond === "wrap") return modulo(index, size);
    const back = modulo(index, 2 * size);
    return back < size ? back : 2 * size - 1 - back;
  }

  /** An element as a texture hands it out: a float, or the bits of a whole number of 32 bits. */
  readAs(value: number, asFloat: boolean) {
    const { elements, floatBits } = this;
    if (!asFloat) return floatBits ? bitsOf(value) : value;
    if (floatBits) return value;
    // Where a float is asked for, small whole numbers become fractions of their largest.
    if (elements.BYTES_PER_ELEMENT > 2) return new Float32Array(Int32Array.of(value).buffer)[0];
    const most = 2 ** (8 * elements.BYTES_PER_ELEMENT - (this.isSigned ? 1 : 0)) - 1;
    return Math.max(Math.fround(value / most), -1);
  }

  /** Elements beside a place, added by their weights. */
  mixed([x, y, z]: Along[], element: (x: number, y: number, z: number) => number) {
    const weights = weightsOf(x.share, y.share, z.share);
    const parts: Part[] = [];
    x.ends.forEach((atX, endX) => {
      y.ends.forEach((atY, endY) => {
        z.ends.forEach((atZ, slice) => {
          // What has no share along an axis is not read; what is read may still weigh nothing.
          const read = (!endX || x.share) && (!endY || y.share) && (!slice || z.share);
          const value = read ? element(atX, atY, atZ) : 0;
          parts.push({ value, weight: weights[endX][endY][slice], slice });
        });
      });
    });
    if (this.floatBits) return mixedFloats(parts, this.floatBits);
    return mixedWhole(parts, this.elements.BYTES_PER_ELEMENT, this.isSigned);
  }
}

const first = (axes: Along[]) => axes.map(({ ends }) => ends[0]) as [number, number, number];

const clamp = (value: number, least: number, most: number) =>
  Math.min(Math.max(value, least), most);

const modulo = (value: number, by: number) => ((value % by) + by) % by;

const inside = (index: number, size: number) => (index >= 0 && index < size ? index : -1);

const bitsOf = (value: number) => new Int32Array(Float32Array.of(value).buffer)[0];

/**
 * How much each of eight neighbours counts, in parts of 256, as the hardware rounds it, by their
 * places along x, y and z. The weight is shared out along z, then x, then y, so that the sum is
 * always 256.
 */
function weightsOf(x: number, y: number, z: number) {
  const found = [0, 1].map(() => [0, 1].map(() => [0, 0]));
  for (const [slice, ofZ] of [FRACTIONS - z, z].entries()) {
    const second = part(ofZ, x);
    for (const [end, ofX] of [ofZ - second, second].entries()) {
      // The corner that is rounded up lies where both shares are the larger, or the smaller.
      const near = part(ofX, end ? y : FRACTIONS - y);
      found[end][end][slice] = near;
      found[end][1 - end][slice] = ofX - near;
    }
  }
  return found;
}

const part = (weight: number, share: number) => (weight * share + FRACTIONS / 2) >> 8;

/** Floats of a slice are added beside the largest of them. */
function mixedFloats(parts: Part[], bits: number) {
  // Something infinite is there even where it weighs nothing.
  const endless = parts.filter(({ value }) => !Number.isFinite(value));
  if (endless.length) return endless.reduce((sum, { value }) => sum + value, 0);
  const slices = [0, 1].map((slice) =>
    sliceOf(
      parts.filter((one) => one.slice === slice),
      bits,
    ),
  );
  const largest = Math.max(...slices.map(({ exponent }) => exponent));
  const last = 2 ** (largest - (bits + GUARD_BITS + SLICE_BITS));
  return nearest(Math.floor((slices[0].sum + slices[1].sum) / last) * last, bits);
}

/**
 * The sum of up to four floats, and the exponent of the largest. Small ones lose their last bits
 * beside large ones.
 */
function sliceOf(parts: Part[], bits: number) {
  const counted = parts.filter(({ value, weight }) => weight && value);
  const exponent = Math.max(LEAST, ...counted.map(({ value }) => exponentOf(value)));
  const last = 2 ** (exponent - (bits + GUARD_BITS));
  const sum = counted.reduce(
    (all, { value, weight }) => all + Math.trunc(value / last) * last * weight,
    0,
  );
  return { sum: sum / FRACTIONS, exponent };
}

/** Whole numbers are added as fractions of 16 bits: 255 of 8 bits stands for 65535. */
function mixedWhole(parts: Part[], bytes: number, isSigned: boolean) {
  let total = parts.reduce((sum, { value, weight }) => sum + value * weight, 0);
  if (isSigned && bytes === 1) {
    // 32767/127 is 258 and a bit; of that bit the hardware takes what these shifts leave.
    total += (total + ((total >> 12) << 4) + 64) >> 7;
    return Math.max(Math.fround(total / 32767), -1);
  }
  if (bytes === 1) total *= 257;
  const most = isSigned ? 32767 : 65535;
  return Math.max(Math.fround(Math.floor((total + FRACTIONS / 2) / FRACTIONS) / most), -1);
}

/** The exponent of a number, whose mantissa then is from 0.5 to 1. */
function exponentOf(value: number) {
  const high = new DataView(Float64Array.of(value).buffer).getUint32(4, true);
  return ((high >>> 20) & 0x7ff) - 1022;
}

/** The nearest number of so many bits; of two that are as near the one farther from zero. */
function nearest(value: number, bits: number) {
  if (!value) return value;
  const step = 2 ** (exponentOf(value) - bits);
  return Math.sign(value) * Math.floor(Math.abs(value) / step + 0.5) * step;
}
