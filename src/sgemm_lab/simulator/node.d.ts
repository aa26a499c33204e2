// What the worker uses of Node, which has no types here.

declare module "node:fs" {
  export function readSync(file: number, into: Uint8Array, start: number, count: number): number;
  export function writeSync(file: number, from: Uint8Array, start: number): number;
}
