// A float and its bits: what is written as one can be read as the other.

export const FLOAT = new Float32Array(1);
export const FLOAT_BITS = new Uint32Array(FLOAT.buffer);
