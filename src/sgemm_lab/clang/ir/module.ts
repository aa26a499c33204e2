// A module of LLVM IR, as clang writes it: global arrays, kernels, and where each line comes from.

import { type IrInstruction, readInstruction } from "./instructions.ts";
import { Cursor, nameOf } from "./tokens.ts";
import type { IrType } from "./types.ts";
import { type IrValue, makeValue, readSpace, readType } from "./values.ts";

export interface IrGlobal {
  name: string;
  type: IrType;
  space: number;
  align: number;
}

export interface IrBlock {
  label: string;
  instructions: IrInstruction[];
}

/** A parameter; `struct` is what is passed by value, null for a number or a pointer. */
export type IrParameter = IrValue & { struct: IrType | null; align: number };

export interface IrFunction {
  name: string;
  parameters: IrParameter[];
  blocks: IrBlock[];
  place: string;
}

/** `kernels` are the functions that a launch can name. `metadata` is the text of each `!12`. */
export interface IrModule {
  globals: Map<string, IrGlobal>;
  kernels: IrFunction[];
  metadata: Map<string, string>;
}

const LABEL = /^(?:([-\w.$]+)|"([^"]*)"):/;

/** Read what clang wrote. */
export function readModule(text: string): IrModule {
  const module: IrModule = { globals: new Map(), kernels: [], metadata: new Map() };
  const named: Map<string, IrType> = new Map();
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (line[0] === "!") {
      const equals = line.indexOf(" = ");
      module.metadata.set(line.slice(0, equals), line.slice(equals + 3));
    } else if (line[0] === "@") {
      const found = readGlobal(line, named);
      module.globals.set(found.name, found);
    } else if (line[0] === "%") {
      const cursor = new Cursor(line, named);
      const name = nameOf(cursor.next());
      cursor.expect("=");
      cursor.expect("type");
      named.set(name, readType(cursor));
    } else if (line.startsWith("define ")) {
      const end = lines.indexOf("}", at);
      if (line.includes(" ptx_kernel ")) {
        module.kernels.push(readFunction(lines.slice(at, end), named));
      }
      at = end;
    }
  }
  return module;
}

function readGlobal(line: string, named: Map<string, IrType>): IrGlobal {
  const cursor = new Cursor(line, named);
  const name = nameOf(cursor.next());
  let space = 0;
  while (!["global", "constant", ""].includes(cursor.peek())) {
    if (cursor.peek() === "addrspace") space = readSpace(cursor);
    else cursor.next();
  }
  cursor.next();
  const type = readType(cursor);
  return { name, type, space, align: cursor.numberAfter("align", 4) };
}

function readFunction(lines: string[], named: Map<string, IrType>): IrFunction {
  const cursor = new Cursor(lines[0], named);
  while (cursor.peek()[0] !== "@") cursor.next();
  const name = nameOf(cursor.next());
  cursor.expect("(");
  const parameters: IrParameter[] = [];
  while (!cursor.skip(")")) {
    const type = readType(cursor);
    let [struct, align]: [IrType | null, number] = [null, 1];
    while (cursor.peek()[0] !== "%") {
      const attribute = cursor.next();
      if (attribute === "byval") {
        cursor.expect("(");
        struct = readType(cursor);
        cursor.expect(")");
      } else if (attribute === "align") align = Number(cursor.peek());
      else if (cursor.peek() === "(") cursor.skipBrackets();
    }
    const value = makeValue("local", type, { name: nameOf(cursor.next()) });
    parameters.push({ ...value, struct, align });
    cursor.skip(",");
  }
  const place = cursor.metadata("!dbg");
  return { name, parameters, place, blocks: readBlocks(lines.slice(1), parameters.length, named) };
}

function readBlocks(lines: string[], unnamed: number, named: Map<string, IrType>): IrBlock[] {
  const blocks: IrBlock[] = [];
  let pending = "";
  for (const line of lines) {
    const label = LABEL.exec(line);
    if (label) {
      blocks.push({ label: label[1] ?? label[2], instructions: [] });
      continue;
    }
    if (!blocks.length && line.trim()) blocks.push({ label: String(unnamed), instructions: [] });
    pending += line;
    // A switch is the one instruction of several lines.
    if (/^\s*switch /.test(pending) && !/\]/.test(pending)) continue;
    if (/^\s*[^\s;#]/.test(pending)) {
      blocks.at(-1)?.instructions.push(readInstruction(pending, named));
    }
    pending = "";
  }
  return blocks;
}

/** Which line of the source a `!dbg` names; 0 where it names none. */
export function lineOf(module: IrModule, place: string): number {
  const text = module.metadata.get(place) ?? "";
  const line = Number(/\bline: (\d+)/.exec(text)?.[1] ?? 0);
  const outer = /inlinedAt: (!\d+)/.exec(text);
  return line || (outer ? lineOf(module, outer[1]) : 0);
}

/** Whether a branch ends a loop that must not be unrolled: `#pragma unroll 1`, or done already. */
export function mustStayLoop(module: IrModule, loop: string): boolean {
  const parts = module.metadata.get(loop)?.match(/!\d+/g) ?? [];
  return parts.some((part) => {
    const text = module.metadata.get(part) ?? "";
    return /llvm\.loop\.unroll\.disable|llvm\.loop\.unroll\.count", i32 1\b/.test(text);
  });
}
