// PTX as text.

import type { IrFunction, IrModule } from "../ir/module.ts";
import { sizeOf } from "../ir/types.ts";
import { type Lowering, symbolName } from "./lowering.ts";
import type { MachineBlock, Register, RegisterType } from "./machine.ts";
import { memoryType } from "./memory.ts";

const PREFIXES: Record<RegisterType, string> = {
  pred: "%p",
  b32: "%r",
  b64: "%rd",
  f32: "%f",
  f64: "%fd",
};

/** A kernel's text, and the shared arrays outside it that it needs declared. */
export function kernelText(
  module: IrModule,
  kernel: IrFunction,
  blocks: MachineBlock[],
  lowering: Lowering,
  cluster: number,
): { outside: string[]; text: string[] } {
  const name = symbolName(kernel.name);
  const body = bodyText(blocks);
  const parameters = kernel.parameters.map(({ type, struct, align }, number) =>
    struct
      ? `\t.param .align ${align} .b8 ${name}_param_${number}[${sizeOf(struct)}]`
      : `\t.param .${memoryType(type)} ${name}_param_${number}`,
  );
  const outside = [];
  const arrays = [];
  for (const { name: own, type, align } of module.globals.values()) {
    if (!lowering.sharedUsed.has(own)) continue;
    const bytes = sizeOf(type);
    const declared = `.shared .align ${align} .b8 ${symbolName(own)}[${bytes || ""}];`;
    if (bytes) arrays.push(`\t${declared}`);
    else outside.push(`.extern ${declared}`);
  }
  const locals = lowering.locals.map(
    ({ name: own, bytes, align }) => `\t.local .align ${align} .b8 ${own}[${bytes}];`,
  );
  const text = [
    `.visible .entry ${name}(`,
    parameters.join(",\n"),
    ")",
    ...(cluster > 1 ? [`.reqnctapercluster ${cluster}, 1, 1`] : []),
    "{",
    ...body.registers,
    ...arrays,
    ...locals,
    ...body.lines,
    "}",
  ];
  return { outside, text };
}

function bodyText(blocks: MachineBlock[]): { registers: string[]; lines: string[] } {
  const counts = { pred: 0, b32: 0, b64: 0, f32: 0, f64: 0 };
  const spelled = (part: Register | string): string => {
    if (typeof part === "string") return part;
    part.name ||= `${PREFIXES[part.type]}${++counts[part.type]}`;
    return part.name;
  };
  const labels = new Map(blocks.map((block, number) => [block.label, `$L${number}`]));
  const targets = jumpTargets(blocks);
  const lines = [];
  let line = 0;
  for (const [number, block] of blocks.entries()) {
    if (targets.has(block.label)) lines.push(`${labels.get(block.label)}:`);
    if (block.staysLoop) lines.push('\t.pragma "nounroll";');
    for (const instruction of block.instructions) {
      if (instruction.line && instruction.line !== line) {
        line = instruction.line;
        lines.push(`\t.loc 1 ${line} 0`);
      }
      lines.push(`\t${instruction.parts.map(spelled).join("")};`);
    }
    if (block.ending.line && block.ending.line !== line) {
      line = block.ending.line;
      lines.push(`\t.loc 1 ${line} 0`);
    }
    for (const jump of jumps(block, blocks[number + 1])) {
      lines.push(`\t${jump.map((part) => labels.get(String(part)) ?? spelled(part)).join("")};`);
    }
  }
  const used = (Object.keys(counts) as RegisterType[]).filter((type) => counts[type]);
  const registers = used.map((type) => `\t.reg .${type} ${PREFIXES[type]}<${counts[type] + 1}>;`);
  return { registers, lines };
}

/** How a block goes on, if not to the one behind it. */
function jumps({ ending }: MachineBlock, next: MachineBlock | undefined): (Register | string)[][] {
  const { condition, target, otherwise } = ending;
  if (!target) return [["ret"]];
  if (!condition) return target === next?.label ? [] : [["bra ", target]];
  if (target === next?.label) return [["@!", condition, " bra ", otherwise]];
  const first = ["@", condition, " bra ", target];
  return otherwise === next?.label ? [first] : [first, ["bra ", otherwise]];
}

function jumpTargets(blocks: MachineBlock[]): Set<string> {
  const targets = new Set<string>();
  for (const [number, block] of blocks.entries()) {
    for (const jump of jumps(block, blocks[number + 1])) targets.add(String(jump.at(-1)));
  }
  return targets;
}
