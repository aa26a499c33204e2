// PTX text as a list of instructions, by the grammar of NVIDIA's "Parallel Thread Execution ISA".
// Only syntax is handled here; an opcode that the simulator does not know passes and is reported
// later, in machine.ts.

import { countingBarriers, inlined } from "./inlining.ts";
import type { ArrayDeclaration } from "./memory.ts";
import { closingBrace, constantIn, PtxError } from "./ptx_text.ts";
import { sentence } from "./sentences.ts";
import { fileTable, type Location, LocationTracker } from "./source_locations.ts";
import { type ModuleVariable, moduleVariables, usedVariables } from "./variables.ts";

/** A virtual register such as `%r12`, or the sink `_` that drops what is written. */
export interface Register {
  kind: "register";
  name: string;
}

/** A read-only register that the hardware fills, such as `%tid.x`. */
interface SpecialRegister {
  kind: "special";
  name: string;
}

/** A constant: the integer itself, or the bit pattern of a float constant. */
interface Immediate {
  kind: "immediate";
  bits: bigint;
}

/** The address of a named array, such as a `__shared__` one, plus bytes. */
interface PtxSymbol {
  kind: "symbol";
  name: string;
  offset: number;
}

/** A memory operand `[base+offset]`; `offset` in bytes. */
export interface Address {
  kind: "address";
  base: Register | PtxSymbol | Immediate;
  offset: number;
}

/** A predicate operand read inverted, `!%p1`. */
interface Negated {
  kind: "negated";
  register: Register;
}

/** Several operands in braces, `{%f1, %f2}`. */
interface Vector {
  kind: "vector";
  items: Operand[];
}

/** Two destinations, `%r1|%p1`. */
interface Pair {
  kind: "pair";
  first: Register;
  second: Register;
}

export type Operand =
  | Register
  | SpecialRegister
  | Immediate
  | PtxSymbol
  | Address
  | Negated
  | Vector
  | Pair;

/** The predicate before an instruction: it runs in the lanes where the predicate holds. */
export interface Guard {
  register: Register;
  negated: boolean;
}

/**
 * `index`: position in the kernel, from 0. `opcode`: with all modifiers, such as
 * `ld.global.nc.f32`; `parts`: the opcode cut at its dots.
 */
export interface Instruction {
  index: number;
  opcode: string;
  parts: string[];
  operands: Operand[];
  guard: Guard | null;
  location: Location;
}

/**
 * A kernel parameter. `type` is the PTX one without its dot, such as `u64`; that of a struct passed
 * by value is `b8[24]`, with its bytes.
 */
interface Parameter {
  name: string;
  type: string;
}

/** One `.entry` of a PTX module. */
export class PtxKernel {
  /** type of each declared register, or of each declared prefix */
  registerTypes: Map<string, string> = new Map();
  shared: ArrayDeclaration[] = [];
  local: ArrayDeclaration[] = [];
  /** those of the module that it uses */
  variables: ModuleVariable[] = [];
  instructions: Instruction[] = [];
  /** label to the index of the instruction that follows it */
  labels: Map<string, number> = new Map();
  /** indices of instructions after a `.pragma "nounroll"` */
  notUnrolled: Set<number> = new Set();
  /** threads of a block along x, y, z as `__launch_bounds__` has them; empty without */
  mostThreads: number[] = [];
  /** blocks of a cluster, along x */
  cluster = 1;

  /** @param target what the PTX was made for, such as "sm_90"; empty where it does not say */
  constructor(
    public name: string,
    public parameters: Parameter[] = [],
    public target: string = "",
  ) {}

  /** Whether an instruction reads a special register, such as "%tid.y". */
  reads(special: string) {
    return this.instructions.some(({ operands }) =>
      operands.some((one) => one.kind === "special" && one.name === special),
    );
  }

  /** The PTX type of a register, such as `f32` for `%f7`. */
  registerType(name: string) {
    const type = this.registerTypes.get(name) ?? this.registerTypes.get(withoutNumber(name));
    if (type === undefined) throw new PtxError(sentence("ptx.undeclared", { name: plain(name) }));
    return type;
  }

  /** The kernel with other instructions, and what goes by their index. */
  rewritten(changes: Pick<PtxKernel, "instructions" | "labels" | "notUnrolled">): PtxKernel {
    return Object.assign(new PtxKernel(this.name, this.parameters), this, changes);
  }
}

/** A register's name as the PTX has it, without the mark of an inner scope. */
export function plain(register: string) {
  return register.split("@", 1)[0];
}

function withoutNumber(register: string) {
  return register.replace(/[0-9]+$/, "");
}

const COMMENT = /\/\/[^\n]*|\/\*.*?\*\//gs;
const ENTRY = /\.entry\s+([\w$]+)\s*(?:\(([^)]*)\))?([^{]*)\{/g;
const MOST_THREADS = /\.(?:max|req)ntid\s+([\d, ]+)/;
const CLUSTER = /\.reqnctapercluster\s+([\d, ]+)/;
const MODULE_SHARED =
  /^\s*(?:\.\w+\s+)*?\.shared\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\s*(\[\d*\])?\s*;/gm;
const ARRAY = /\.align\s+(\d+)\s+\.(\w+)\s+([\w$%]+)(?:\[(\d*)\])?|\.(\w+)\s+([\w$]+)$/;
const LABEL = /^([\w$]+)\s*:(?!:)/;
const GUARD = /^@(!?)([%\w$]+)\s+/;
const REGISTER_DECLARATION = /^\.reg\s*\.(\w+)\s+(.*)/s;
const TARGET = /^\s*\.target\s+(sm_\d+)/m;
const ADDRESS = /^([^+\-\s]+)\s*(?:(\+)\s*(.*))?$/;

/** bytes of one value of each PTX type */
export const TYPE_BYTES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ b8: 1, u8: 1, s8: 1 },
    ...{ b16: 2, u16: 2, s16: 2, f16: 2, bf16: 2 },
    ...{ b32: 4, u32: 4, s32: 4, f32: 4, f16x2: 4, bf16x2: 4, tf32: 4 },
    ...{ b64: 8, u64: 8, s64: 8, f64: 8 },
  }),
);

/**
 * Read a PTX module into its kernels, by entry name. Throws a PtxError where the text has no kernel
 * or a statement cannot be read.
 */
export function parse(ptx: string): Map<string, PtxKernel> {
  const files = fileTable(ptx);
  const text = countingBarriers(inlined(ptx)).replace(COMMENT, "");
  const target = TARGET.exec(text)?.[1] ?? "";
  const kernels: Map<string, PtxKernel> = new Map();
  const outside = [];
  let position = 0;
  for (const entry of text.matchAll(ENTRY)) {
    if (entry.index < position) continue;
    const start = entry.index + entry[0].length;
    const end = closingBrace(text, start);
    outside.push(text.slice(position, entry.index));
    const kernel = new PtxKernel(entry[1], parametersOf(entry[2] ?? ""), target);
    const [x = 1, ...others] = CLUSTER.exec(entry[3])?.[1].split(",").map(Number) ?? [];
    if (others.some((side) => side > 1)) {
      throw new PtxError(sentence("ptx.cluster", { name: kernel.name }));
    }
    kernel.cluster = x;
    kernel.mostThreads = MOST_THREADS.exec(entry[3])?.[1].split(",").map(Number) ?? [];
    new BodyReader(kernel, files).read(text.slice(start, end));
    kernels.set(kernel.name, kernel);
    position = end + 1;
  }
  outside.push(text.slice(position));
  if (!kernels.size) throw new PtxError(sentence("ptx.empty"));
  const arrays = moduleArrays(outside.join("\n"));
  const variables = moduleVariables(outside.join("\n"));
  for (const kernel of kernels.values()) {
    const used = new Set(kernel.instructions.flatMap(symbolsOf));
    kernel.shared.unshift(...arrays.filter(({ name }) => used.has(name)));
    kernel.variables = usedVariables(variables, used);
  }
  return kernels;
}

/** Shared arrays that are declared outside of kernels. */
function moduleArrays(text: string): ArrayDeclaration[] {
  return [...text.matchAll(MODULE_SHARED)].map(([, alignment, type, name, size]) => {
    const item = bytesOf(type);
    // "" is a scalar, "[]" a dynamic array.
    const bytes = size ? item * Number(size.slice(1, -1)) : item;
    return { name, bytes, alignment: alignment ? Number(alignment) : item };
  });
}

/** Names of the symbols that an instruction's operands mention. */
function symbolsOf(instruction: Instruction) {
  return instruction.operands.flatMap((operand) => {
    const base = operand.kind === "address" ? operand.base : operand;
    return base.kind === "symbol" ? [base.name] : [];
  });
}

function parametersOf(text: string): Parameter[] {
  const declarations = text.split(",").map((part) => part.trim());
  return declarations.filter(Boolean).map((declaration) => {
    const words = declaration.split(/\s+/);
    const type = words.map((word) => word.slice(1)).find((word) => TYPE_BYTES.has(word));
    if (type === undefined) throw new PtxError(sentence("ptx.parameter", { declaration }));
    const [name, size] = words[words.length - 1].split("[");
    return { name, type: size ? `${type}[${size}` : type };
  });
}

/** A statement that is no PTX of the grammar. */
class Unreadable extends Error {}

function bytesOf(type: string) {
  const bytes = TYPE_BYTES.get(type);
  if (bytes === undefined) throw new Unreadable(type);
  return bytes;
}

/** Reads the statements between the braces of one kernel. */
class BodyReader {
  places = new LocationTracker(this.files);
  /**
   * Inline assembly may open a scope of its own with registers that shadow outer ones. Labels of a
   * scope are its own too, and may be named before they stand.
   */
  scopes: { registers: Map<string, string>; labels: Map<string, string>; start: number }[] = [];
  scopeCount = 0;

  constructor(
    public kernel: PtxKernel,
    public files: Map<number, string>,
  ) {}

  /** Read all statements of a kernel's body. */
  read(text: string) {
    let pending = "";
    for (const rawLine of text.split("\n")) {
      let line = rawLine.trim();
      while (line) {
        if (!pending) {
          line = this.readLineStart(line);
          if (!line) break;
        }
        const semicolon = line.indexOf(";");
        if (semicolon < 0) {
          pending += `${line} `;
          break;
        }
        this.readStatement((pending + line.slice(0, semicolon)).trim());
        pending = "";
        line = line.slice(semicolon + 1).trim();
      }
    }
  }

  /** Take what needs no semicolon off the start of a line; return the rest. */
  readLineStart(line: string) {
    if (/^\.loc[ \t]/.test(line)) {
      this.places.read(line);
      return "";
    }
    if (line[0] === "{") {
      const start = this.kernel.instructions.length;
      this.scopes.push({ registers: new Map(), labels: new Map(), start });
      return line.slice(1).trim();
    }
    if (line[0] === "}") {
      this.closeScope();
      return line.slice(1).trim();
    }
    const label = LABEL.exec(line);
    if (!label) return line;
    let name = label[1];
    const scope = this.scopes.at(-1);
    if (scope) {
      this.scopeCount += 1;
      name = `${name}@${this.scopeCount}`;
      scope.labels.set(label[1], name);
    }
    this.kernel.labels.set(name, this.kernel.instructions.length);
    return line.slice(label[0].length).trim();
  }

  /** Leave a scope: its branches to its own labels mean those and no others. */
  closeScope() {
    const scope = this.scopes.pop();
    if (!scope?.labels.size) return;
    for (const instruction of this.kernel.instructions.slice(scope.start)) {
      const target = instruction.operands[0];
      if (target?.kind === "symbol" && instruction.parts[0] === "bra") {
        const name = scope.labels.get(target.name) ?? target.name;
        instruction.operands = [{ kind: "symbol", name, offset: 0 }];
      }
    }
  }

  readStatement(statement: string) {
    try {
      this.readKind(statement);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      throw new PtxError(sentence("ptx.unreadable", { statement, place: this.places.here }));
    }
  }

  readKind(statement: string) {
    if (statement.startsWith(".reg")) this.readRegisters(statement);
    else if (statement.startsWith(".shared")) this.kernel.shared.push(arrayOf(statement));
    else if (statement.startsWith(".local")) this.kernel.local.push(arrayOf(statement));
    else if (statement.startsWith(".pragma") && statement.includes("nounroll")) {
      this.kernel.notUnrolled.add(this.kernel.instructions.length);
    } else if (statement && !statement.startsWith(".")) {
      this.kernel.instructions.push(this.instruction(statement));
    }
  }

  readRegisters(statement: string) {
    const declaration = REGISTER_DECLARATION.exec(statement);
    if (!declaration) throw new PtxError(sentence("ptx.registers", { statement }));
    for (const declared of declaration[2].split(",")) {
      let name = declared.trim().split("<", 1)[0];
      const scope = this.scopes.at(-1);
      if (scope) {
        this.scopeCount += 1;
        scope.registers.set(name, `${name}@${this.scopeCount}`);
        name = `${name}@${this.scopeCount}`;
      }
      this.kernel.registerTypes.set(name, declaration[1]);
    }
  }

  scoped(name: string) {
    const scope = this.scopes.findLast(({ registers }) => registers.has(name));
    return scope?.registers.get(name) ?? name;
  }

  register(name: string): Register {
    return { kind: "register", name: this.scoped(name) };
  }

  instruction(statement: string): Instruction {
    const guarded = GUARD.exec(statement);
    const guard = guarded && {
      register: this.register(guarded[2]),
      negated: guarded[1] === "!",
    };
    const rest = guarded ? statement.slice(guarded[0].length) : statement;
    const [opcode] = /^[^ \t]*/.exec(rest) ?? [""];
    return {
      index: this.kernel.instructions.length,
      opcode,
      parts: opcode.split("."),
      operands: splitOperands(rest.slice(opcode.length)).map((text) => this.operand(text)),
      guard,
      location: this.places.here,
    };
  }

  operand(text: string): Operand {
    if (text[0] === "[" && !text.includes(",")) return this.address(text.slice(1, -1).trim());
    // As of a copy by a tensor map: [map, {x, y}].
    if (text[0] === "{" || text[0] === "[") {
      const items = splitOperands(text.slice(1, -1)).map((item) => this.operand(item));
      return { kind: "vector", items };
    }
    if (text.includes("|")) {
      const [first, second, third] = text.split("|").map((name) => this.register(name.trim()));
      if (third) throw new Unreadable(text);
      return { kind: "pair", first, second };
    }
    if (text[0] === "!") return { kind: "negated", register: this.register(text.slice(1).trim()) };
    if (/^[0-9-]/.test(text)) return { kind: "immediate", bits: constant(text) };
    const name = this.scoped(text);
    if (text === "_" || this.kernel.registerTypes.has(name)) return { kind: "register", name };
    if (text[0] === "%") {
      const declared = this.kernel.registerTypes.has(withoutNumber(text));
      return { kind: declared ? "register" : "special", name: text };
    }
    const plus = text.indexOf("+");
    if (plus < 0) return { kind: "symbol", name: text, offset: 0 };
    const offset = Number(constant(text.slice(plus + 1).trim()));
    return { kind: "symbol", name: text.slice(0, plus).trim(), offset };
  }

  address(text: string): Address {
    const found = ADDRESS.exec(text);
    if (!found) throw new Unreadable(text);
    const base = this.operand(found[1]);
    if (base.kind !== "register" && base.kind !== "symbol" && base.kind !== "immediate") {
      throw new PtxError(sentence("ptx.address", { text }));
    }
    const offset = found[2] ? Number(constant(found[3].trim())) : 0;
    return { kind: "address", base, offset };
  }
}

function arrayOf(statement: string): ArrayDeclaration {
  const array = ARRAY.exec(statement);
  if (!array) throw new PtxError(sentence("ptx.array", { statement }));
  const [, alignment, alignedType, alignedName, size, type, name] = array;
  const item = bytesOf(alignedType ?? type);
  const count = size === undefined ? 1 : Number(size);
  return {
    name: alignedName ?? name,
    bytes: item * count,
    alignment: alignment ? Number(alignment) : item,
  };
}

/** Cut at the commas that stand outside brackets and braces. */
function splitOperands(text: string) {
  const parts = [];
  let [depth, start] = [0, 0];
  for (let position = 0; position < text.length; position++) {
    const character = text[position];
    if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    else if (character === "," && depth === 0) {
      parts.push(text.slice(start, position).trim());
      start = position + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts.filter(Boolean);
}

function constant(text: string) {
  const bits = constantIn(text);
  if (bits === null) throw new Unreadable(text);
  return bits;
}
