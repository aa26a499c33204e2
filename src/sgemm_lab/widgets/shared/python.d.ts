// What TypeScript imports that is not TypeScript: numbers of Python modules, see bundles.py, and the
// text of C++ headers. Only the type checker reads this file; esbuild refuses a name that Python does
// not have.

declare module "*.h" {
  const text: string;
  export default text;
}

declare module "*/hardware.py" {
  export const LINES_PER_LOOKUP: number;
  export const BANKS: number;
  export const FLOAT_BYTES: number;
  export const FLOP_PER_WARP_FMA: number;
  export const MAX_REGISTERS: number;
  export const STATIC_SHARED: number;
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

declare module "*/limits.py" {
  export const MAX_THREADS: number;
  export const MOST_BLOCKS_X: number;
  export const MOST_BLOCKS_YZ: number;
  export const MOST_LANES: number;
  export const MOST_TOGETHER: number;
  export const MOST_THREADS_XY: number;
  export const MOST_THREADS_Z: number;
  export const SHARED_LIMITS: Record<string, number>;
}

declare module "*/model.py" {
  export const TERMS: Record<string, string>;
  export const VECTOR: number;
}

declare module "*/wave_quantization.py" {
  export const LARGEST: number;
  export const SMALLEST: number;
}

declare module "*/external_cuda/program.py" {
  export const HALVINGS: [number, number];
  export const MOST_KERNELS: number;
  export const MOST_LAUNCHED: number;
}

declare module "*/tensor_map.py" {
  export const ALIGNMENT: number;
  export const ELEMENT_BYTES: Record<"fp16" | "bf16" | "fp32" | "tf32", number>;
  export const LARGEST_BOX: number;
  export const MAP_BYTES: number;
  export const SWIZZLES: number[];
}

declare module "*/expression.py" {
  export const DEEPEST: number;
}

declare module "*/catalogue.py" {
  export const ALIASES: Record<string, string>;
}

declare module "*/kernel.py" {
  export const ARITHMETICS: Record<string, number>;
  export const SMS: number;
}

declare module "*/judge.py" {
  export const QUICK_SIZES: [number, number, number][];
  export const TIME_LIMIT: number;
  export const BOUNDS: Record<
    string,
    { factors: number; per_k: number; once: number; least: number }
  >;
  export const EXACT: number;
  export const LEAST_ALLOWED: number;
  export const UNIT_ROUNDOFF: number;
}

declare module "*/error_points.py" {
  export const LOST: number;
  export const TIMED: number;
}

declare module "*/launch_limits.py" {
  export const TIME_LIMIT: number;
  export const LARGEST_MATRICES: number;
  export const LARGEST_PRODUCT: number;
  export const MAX_BASIC_BLOCKS: number;
  export const BASIC_BLOCKS_PER_PRODUCT: number;
}

declare module "*/step_trace.py" {
  export const LARGEST_SIDE: number;
  export const LARGEST_SUM: number;
}
