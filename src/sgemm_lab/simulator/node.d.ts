// What the worker uses of Node, which has no types here.

declare const process: {
  argv: string[];
  pid: number;
  cpuUsage(): { user: number; system: number };
};

declare module "node:zlib" {
  export function gunzipSync(packed: Uint8Array): Uint8Array;
}

declare module "node:fs" {
  export function readFileSync(path: string): Uint8Array;
  export function readSync(file: number, into: Uint8Array, start: number, count: number): number;
  export function renameSync(from: string, to: string): void;
  export function writeFileSync(path: string, bytes: Uint8Array): void;
  export function writeSync(file: number, from: Uint8Array, start: number): number;
}

declare module "node:v8" {
  export function setFlagsFromString(flags: string): void;
}
