// Numbers that JavaScript takes from Python modules, see bundle.py, which refuses a name that Python
// does not have. Only the type checker reads this file.

declare module "*/hardware.py" {
  export const BANKS: number;
  export const FLOAT_BYTES: number;
  export const FLOP_PER_FMA: number;
  export const FLOP_PER_WARP_FMA: number;
  export const MAX_REGISTERS: number;
  export const SECTOR_BYTES: number;
  export const WARP: number;
  export const WAVEFRONT_BYTES: number;
  export const WORD_BYTES: number;
}

declare module "*/occupancy.py" {
  export const QUARTERS: number;
  export const REGISTERS_PER_SM: number;
  export const REGISTER_UNIT: number;
  export const THREADS_PER_BLOCK: number;
}

declare module "*/overlap.py" {
  export const SLACK: number;
  export const STEADY: number;
}

declare module "*/limits.py" {
  export const ABOVE: number;
  export const FAR: number;
}

declare module "*/tile_waves.py" {
  export const LARGEST: number;
  export const SMALLEST: number;
}

declare module "*/unroll.py" {
  export const LONGEST: number;
}

declare module "*/trace.py" {
  export const LIMIT: number;
}
