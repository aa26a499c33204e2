// Numbers of 16 bits.

const bits = new DataView(new ArrayBuffer(8));

export function ofBfloat(half: number) {
  bits.setUint32(0, half << 16);
  return bits.getFloat32(0);
}

export function toBfloat(value: number) {
  bits.setFloat32(0, value);
  const all = bits.getUint32(0);
  return (all + 0x7fff + ((all >>> 16) & 1)) >>> 16;
}

export function ofHalf(half: number) {
  const sign = half & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(half >> 10) & 31, half & 1023];
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

export function toHalf(value: number) {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7fff;
  if (size >= 65520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size || 2 ** -24)));
  const scaled = size / 2 ** (exponent - 10);
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const rounded = floor + Number(rest > 0.5 || (rest === 0.5 && floor % 2 === 1));
  return sign | (rounded < 1024 ? rounded : rounded + ((exponent + 14) << 10));
}

/** A number rounded to half or bfloat16. */
export const asHalf = (value: number, name: string) =>
  name === "bfloat16" ? ofBfloat(toBfloat(value)) : ofHalf(toHalf(value));
