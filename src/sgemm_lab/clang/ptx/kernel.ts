// A kernel of LLVM IR as blocks of PTX instructions.

import { BINARY, CASTS, type IrInstruction } from "../ir/instructions.ts";
import { type IrBlock, type IrFunction, type IrModule, mustStayLoop } from "../ir/module.ts";
import { withoutSwitches } from "../ir/switches.ts";
import { leaves } from "../ir/types.ts";
import type { Lower } from "./arithmetic.ts";
import {
  lowerBinary,
  lowerCompare,
  lowerFreeze,
  lowerFused,
  lowerNegation,
  lowerSelect,
} from "./arithmetic.ts";
import { lowerCall } from "./calls.ts";
import { contractions } from "./contract.ts";
import { lowerConversion } from "./conversions.ts";
import { joinLoads } from "./joining.ts";
import { registerType } from "./literals.ts";
import { emptyBlock, Lowering, symbolName } from "./lowering.ts";
import { dropUnused, type MachineBlock, type Phi, Register } from "./machine.ts";
import {
  lowerAddress,
  lowerAlloca,
  lowerAtomic,
  lowerLoad,
  lowerStore,
  memoryType,
} from "./memory.ts";
import { dominance, inOrder } from "./order.ts";
import { Spaces } from "./spaces.ts";
import {
  lowerExtractElement,
  lowerExtractValue,
  lowerInsertElement,
  lowerInsertValue,
  lowerShuffle,
} from "./vectors.ts";

const LOWER: Record<string, Lower> = {
  ...Object.fromEntries([...BINARY].map((op) => [op, lowerBinary])),
  ...Object.fromEntries([...CASTS].map((op) => [op, lowerConversion])),
  fneg: lowerNegation,
  freeze: lowerFreeze,
  icmp: lowerCompare,
  fcmp: lowerCompare,
  select: lowerSelect,
  load: lowerLoad,
  store: lowerStore,
  getelementptr: lowerAddress,
  alloca: lowerAlloca,
  call: lowerCall,
  extractelement: lowerExtractElement,
  insertelement: lowerInsertElement,
  shufflevector: lowerShuffle,
  extractvalue: lowerExtractValue,
  insertvalue: lowerInsertValue,
  fence: (lowering) => lowering.write(["membar.gl"], [], [], { changes: "any" }),
};

/** A phi of the IR, with the register of each of its scalars. */
interface Waiting {
  block: MachineBlock;
  instruction: IrInstruction;
  to: Register[];
}

export function lowerKernel(
  module: IrModule,
  kernel: IrFunction,
): { blocks: MachineBlock[]; lowering: Lowering } {
  const blocks = withoutSwitches(kernel.blocks);
  const definitions = new Map(
    blocks.flatMap((block) => block.instructions.map((one) => [one.result, one])),
  );
  const spaces = new Spaces({ ...kernel, blocks }, module.globals);
  const lowering = new Lowering(module, spaces, definitions);
  const made = blocks.map(({ label }) => emptyBlock(label));
  for (const [number, block] of made.entries()) readEnding(lowering, blocks[number], block);
  const bodies = new Map(blocks.map((block) => [block.label, block]));
  const ordered = inOrder(made);
  markLoops(lowering, ordered);
  lowering.dominates = dominance(ordered);
  lowering.block = ordered[0];
  lowering.standAt(kernel.place);
  readParameters(lowering, kernel);
  const fused = contractions(blocks);
  const read = namesRead(blocks);
  const waiting: Waiting[] = [];
  for (const block of ordered) {
    lowering.block = block;
    for (const instruction of bodies.get(block.label)?.instructions ?? []) {
      lowering.standAt(instruction.place);
      const sum = fused.get(instruction);
      if (instruction.op === "phi") waiting.push(startPhi(lowering, instruction));
      else if (sum) lowerFused(lowering, instruction, sum);
      else if (["atomicrmw", "cmpxchg"].includes(instruction.op)) {
        lowerAtomic(lowering, instruction, read.has(instruction.result));
      } else lowerOne(lowering, instruction);
    }
    finishEnding(lowering, bodies.get(block.label), block);
  }
  const byLabel = new Map(ordered.map((block) => [block.label, block]));
  for (const one of waiting) finishPhi(lowering, one, byLabel);
  dropUnused(ordered);
  joinLoads(ordered, lowering.alignments);
  dropUnused(ordered);
  return { blocks: ordered, lowering };
}

/**
 * Mark the first blocks of the loops that must not be unrolled: they stand before the last ones.
 */
function markLoops(lowering: Lowering, ordered: MachineBlock[]) {
  const seen = new Map();
  for (const block of ordered) {
    seen.set(block.label, block);
    if (!lowering.loopsThatStay.has(block.label)) continue;
    for (const label of [block.ending.target, block.ending.otherwise]) {
      const first = seen.get(label);
      if (first) first.staysLoop = true;
    }
  }
}

function namesRead(blocks: IrBlock[]): Set<string> {
  return new Set(
    blocks.flatMap((block) =>
      block.instructions.flatMap(({ operands }) => operands.map(({ name }) => name)),
    ),
  );
}

function lowerOne(lowering: Lowering, instruction: IrInstruction) {
  const { op } = instruction;
  if (["br", "ret", "unreachable"].includes(op)) return;
  const lower = LOWER[op];
  if (lower) lower(lowering, instruction);
  else lowering.refuse(`The compiler makes '${op}' of this line, which is not known here.`);
}

function readParameters(lowering: Lowering, { name, parameters }: IrFunction) {
  for (const [number, { name: own, type, struct }] of parameters.entries()) {
    const to = lowering.register(registerType(type));
    const symbol = `${symbolName(name)}_param_${number}`;
    const [opcode, from] = struct
      ? ["cvta.param.u64", lowering.compute("mov.u64", "b64", symbol)]
      : [`ld.param.${memoryType(type)}`, `[${symbol}]`];
    lowering.set(own, [lowering.compute(opcode, to, from)]);
  }
}

/** Where a block goes, before its condition is known. */
function readEnding(lowering: Lowering, body: IrBlock, block: MachineBlock) {
  const last = body.instructions.at(-1);
  if (last?.op !== "br") return;
  const [target, otherwise] = last.labels;
  block.ending.target = target;
  block.ending.otherwise = otherwise === target ? "" : (otherwise ?? "");
  if (last.loop && mustStayLoop(lowering.module, last.loop)) {
    lowering.loopsThatStay.add(block.label);
  }
}

function finishEnding(lowering: Lowering, body: IrBlock | undefined, block: MachineBlock) {
  const last = body?.instructions.at(-1);
  block.ending.line = lowering.line;
  if (last?.op !== "br" || !block.ending.otherwise) return;
  const condition = lowering.scalar(last.operands[0]);
  block.ending.condition =
    condition instanceof Register ? condition : lowering.compute("mov.pred", "pred", condition);
}

function startPhi(lowering: Lowering, instruction: IrInstruction): Waiting {
  const to = leaves(instruction.type).map((leaf) => lowering.register(registerType(leaf)));
  lowering.set(instruction.result, to);
  return { block: lowering.block, instruction, to };
}

function finishPhi(
  lowering: Lowering,
  { block, instruction, to }: Waiting,
  byLabel: Map<string, MachineBlock>,
) {
  const { type, operands, labels, result, place } = instruction;
  const space = type.kind === "ptr" ? (lowering.spaces.known.get(result) ?? "generic") : "";
  const phis: Phi[] = to.map((register) => ({ to: register, from: new Map() }));
  for (const [number, label] of labels.entries()) {
    const before = byLabel.get(label);
    if (!before) continue;
    lowering.block = before;
    lowering.standAt(place);
    const value = operands[number];
    // What has no value needs no copy: the register keeps whatever it holds.
    if (value.kind === "undefined") continue;
    const scalars = space ? [lowering.pointer(value, space)] : lowering.scalars(value);
    for (const [part, phi] of phis.entries()) phi.from.set(label, scalars[part]);
  }
  block.phis.push(...phis);
}
