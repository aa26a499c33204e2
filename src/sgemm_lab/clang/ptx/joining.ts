// Loads of neighbouring words become one load of two or four, where their address is surely a
// multiple of its width. NVRTC does the same (LLVM's load vectorizer). ptxas joins more later.

import { zeroBits } from "./alignment.ts";
import { listed } from "./lowering.ts";
import type { MachineBlock, MachineInstruction, Operand, WordLoad } from "./machine.ts";
import { Register } from "./machine.ts";
import { plus } from "./memory.ts";

const WORD = 4;

/** Loads of words from one base and one memory, by their offset. */
type Row = Map<number, MachineInstruction>;

export function joinLoads(blocks: MachineBlock[], arrays: Map<string, number>) {
  const zeros = zeroBits(blocks, arrays);
  for (const block of blocks) {
    const gone: Set<MachineInstruction> = new Set();
    let rows: Map<string, Row> = new Map();
    for (const instruction of block.instructions) {
      const { load, changes } = instruction;
      if (changes) {
        const end = (key: string) =>
          changes === "any" || key.startsWith(`${changes} `) || key.startsWith(" ");
        for (const [key, row] of rows) if (end(key)) joinRow(row, zeros, gone);
        rows = new Map([...rows].filter(([key]) => !end(key)));
      }
      if (!load) continue;
      const key = `${load.space} ${instruction.to[0].type} ${nameOf(load.base)}`;
      const row = rows.get(key) ?? new Map();
      rows.set(key, row);
      if (!row.has(load.offset)) row.set(load.offset, instruction);
    }
    for (const row of rows.values()) joinRow(row, zeros, gone);
    block.instructions = block.instructions.filter((instruction) => !gone.has(instruction));
  }
}

function nameOf(base: Operand): string {
  return base instanceof Register ? `%${base.number}` : base;
}

function joinRow(row: Row, zeros: (operand: Operand) => number, gone: Set<MachineInstruction>) {
  const [first] = row.values();
  const base = first.load?.base ?? "";
  for (const words of [4, 2]) {
    const width = words * WORD;
    if (2 ** zeros(base) < width) continue;
    for (const start of new Set([...row.keys()].map((at) => Math.floor(at / width) * width))) {
      const offsets = Array.from({ length: words }, (_, number) => start + number * WORD);
      const loads = offsets.map((at) => row.get(at));
      if (loads.some((load) => !load)) continue;
      joinWords(loads as MachineInstruction[], start, row, gone);
      for (const at of offsets) row.delete(at);
    }
  }
}

function joinWords(
  loads: MachineInstruction[],
  start: number,
  row: Row,
  gone: Set<MachineInstruction>,
) {
  // A row keeps the order in which its loads stand: the first takes the place of all.
  const first = [...row.values()].find((one) => loads.includes(one)) as MachineInstruction;
  const to = loads.map((load) => load.to[0]);
  const { space, base } = first.load as WordLoad;
  const type = to[0].type === "f32" ? "f32" : "u32";
  const opcode = `ld${space}.v${loads.length}.${type} {`;
  first.parts = [opcode, ...listed(to), "}, [", base, plus(start), "]"];
  first.to = to;
  first.load = null;
  for (const load of loads) if (load !== first) gone.add(load);
}
