// Instructions of LLVM IR, one from each line.

import { Cursor, nameOf } from "./tokens.ts";
import { type IrType, irType } from "./types.ts";
import type { IrValue, NamedTypes } from "./values.ts";
import { makeValue, readType, readTyped, readValue } from "./values.ts";

/**
 * `type` is that of the result, or of what is stored. `word` is the comparison, the name of an
 * atomic operation or of the function that is called. `labels` are where a branch goes, or where
 * the values of a phi come from. `asm` has the text and the constraints of inline assembly.
 */
export interface IrInstruction {
  op: string;
  result: string;
  type: IrType;
  operands: IrValue[];
  labels: string[];
  flags: string[];
  word: string;
  source: IrType | null;
  indices: number[];
  align: number;
  asm: { text: string; constraints: string } | null;
  place: string;
  loop: string;
}

const FLAGS = new Set(
  (
    "nuw nsw exact disjoint nneg samesign inbounds nusw inrange fast nnan ninf nsz arcp contract " +
    "reassoc afn volatile atomic tail musttail notail weak"
  ).split(" "),
);
const CONVENTIONS = new Set(
  "fastcc ccc coldcc ptx_device ptx_kernel noundef zeroext signext noalias nonnull range".split(
    " ",
  ),
);
export const CASTS = new Set(
  (
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr " +
    "bitcast addrspacecast"
  ).split(" "),
);
export const BINARY = new Set(
  "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split(" "),
);

type Reader = (cursor: Cursor, into: IrInstruction) => void;

export function readInstruction(text: string, named: NamedTypes): IrInstruction {
  const cursor = new Cursor(text, named);
  const place = cursor.metadata("!dbg");
  let result = "";
  if (cursor.tokens[1] === "=") {
    result = nameOf(cursor.next());
    cursor.next();
  }
  const into: IrInstruction = {
    op: "",
    result,
    type: irType("void"),
    operands: [],
    labels: [],
    flags: cursor.takeWords(FLAGS),
    word: "",
    source: null,
    indices: [],
    align: 0,
    asm: null,
    place,
    loop: cursor.metadata("!llvm.loop"),
  };
  into.op = cursor.next();
  into.flags.push(...cursor.takeWords(FLAGS));
  const read = READERS[into.op] ?? family(into.op);
  if (read) read(cursor, into);
  return into;
}

function family(op: string): Reader | null {
  if (BINARY.has(op)) return readBinary;
  return CASTS.has(op) ? readCast : null;
}

function readBinary(cursor: Cursor, into: IrInstruction) {
  const first = readTyped(cursor);
  cursor.expect(",");
  into.type = first.type;
  into.operands = [first, readValue(cursor, first.type)];
}

function readCast(cursor: Cursor, into: IrInstruction) {
  into.operands = [readTyped(cursor)];
  cursor.expect("to");
  into.type = readType(cursor);
}

function readOne(cursor: Cursor, into: IrInstruction) {
  into.operands = [readTyped(cursor)];
  into.type = into.operands[0].type;
}

/** Values with their types, as long as there are any. */
function readSeveral(cursor: Cursor, into: IrInstruction) {
  do into.operands.push(readTyped(cursor));
  while (cursor.skip(",") && cursor.peek()[0] !== "!" && cursor.peek() !== "align");
  into.type = into.operands[0].type;
}

function readCompare(cursor: Cursor, into: IrInstruction) {
  into.word = cursor.next();
  readBinary(cursor, into);
}

function readSelect(cursor: Cursor, into: IrInstruction) {
  readSeveral(cursor, into);
  into.type = into.operands[1].type;
}

function readLoad(cursor: Cursor, into: IrInstruction) {
  into.type = readType(cursor);
  cursor.expect(",");
  into.operands = [readTyped(cursor)];
  into.align = cursor.numberAfter("align", 0);
}

function readStore(cursor: Cursor, into: IrInstruction) {
  const value = readTyped(cursor);
  cursor.expect(",");
  into.operands = [value, readTyped(cursor)];
  into.type = value.type;
  into.align = cursor.numberAfter("align", 0);
}

function readAddress(cursor: Cursor, into: IrInstruction) {
  into.source = readType(cursor);
  cursor.expect(",");
  readSeveral(cursor, into);
}

function readPhi(cursor: Cursor, into: IrInstruction) {
  into.type = readType(cursor);
  do {
    cursor.expect("[");
    into.operands.push(readValue(cursor, into.type));
    cursor.expect(",");
    into.labels.push(nameOf(cursor.next()));
    cursor.expect("]");
  } while (cursor.skip(",") && cursor.peek() === "[");
}

function readBranch(cursor: Cursor, into: IrInstruction) {
  if (cursor.peek() !== "label") {
    into.operands = [readTyped(cursor)];
    cursor.expect(",");
  }
  while (cursor.skip("label")) {
    into.labels.push(nameOf(cursor.next()));
    cursor.skip(",");
  }
}

/** The first label is that of all other values. */
function readSwitch(cursor: Cursor, into: IrInstruction) {
  into.operands = [readTyped(cursor)];
  cursor.expect(",");
  cursor.expect("label");
  into.labels = [nameOf(cursor.next())];
  cursor.expect("[");
  while (!cursor.skip("]")) {
    into.operands.push(readTyped(cursor));
    cursor.expect(",");
    cursor.expect("label");
    into.labels.push(nameOf(cursor.next()));
  }
}

function readReturn(cursor: Cursor, into: IrInstruction) {
  into.type = readType(cursor);
}

function readAlloca(cursor: Cursor, into: IrInstruction) {
  into.type = readType(cursor);
  into.align = cursor.numberAfter("align", 4);
  if (cursor.skip(",") && cursor.peek() !== "align" && cursor.peek() !== "addrspace") {
    into.operands = [readTyped(cursor)];
  }
}

function readAtomic(cursor: Cursor, into: IrInstruction) {
  if (into.op === "atomicrmw") into.word = cursor.next();
  readSeveral(cursor, into);
  into.type = into.operands[1].type;
}

function readExtractValue(cursor: Cursor, into: IrInstruction) {
  into.operands = [readTyped(cursor)];
  if (into.op === "insertvalue") {
    cursor.expect(",");
    into.operands.push(readTyped(cursor));
  }
  while (cursor.skip(",") && /^\d/.test(cursor.peek())) into.indices.push(Number(cursor.next()));
  into.type = into.operands[0].type;
  if (into.op === "extractvalue") {
    for (const index of into.indices) into.type = fieldOf(into.type, index);
  }
}

export function fieldOf(type: IrType, index: number): IrType {
  return (type.kind === "struct" ? type.of[index] : type.of[0]) ?? irType("other");
}

function readElement(cursor: Cursor, into: IrInstruction) {
  readSeveral(cursor, into);
  if (into.op === "extractelement") into.type = into.operands[0].type.of[0];
  if (into.op === "shufflevector") {
    const mask = into.operands[2];
    into.type = { ...into.type, count: mask.type.count };
  }
}

function readCall(cursor: Cursor, into: IrInstruction) {
  cursor.skipAttributes(CONVENTIONS);
  if (cursor.skip("addrspace")) cursor.skipBrackets();
  into.type = readType(cursor);
  if (cursor.skip("asm")) {
    cursor.takeWords(new Set(["sideeffect", "alignstack", "inteldialect", "unwind"]));
    const text = unquoted(cursor.next());
    cursor.expect(",");
    into.asm = { text, constraints: unquoted(cursor.next()) };
  } else {
    const callee = cursor.next();
    into.word = callee[0] === "@" ? nameOf(callee) : callee;
  }
  cursor.expect("(");
  while (!cursor.skip(")")) {
    into.operands.push(readArgument(cursor));
    cursor.skip(",");
  }
}

function readArgument(cursor: Cursor): IrValue {
  if (cursor.skip("metadata")) {
    while (![",", ")"].includes(cursor.peek())) {
      cursor.next();
      if (cursor.peek() === "(") cursor.skipBrackets();
    }
    return makeValue("other", irType("other"));
  }
  const type = readType(cursor);
  cursor.skipAttributes(ARGUMENT_WORDS);
  return readValue(cursor, type);
}

const ARGUMENT_WORDS = new Set(
  (
    "noundef nonnull noalias nocapture captures readonly readnone writeonly dereferenceable " +
    "dereferenceable_or_null zeroext signext immarg returned range nofpclass byval sret " +
    "dead_on_unwind initializes inreg allocptr"
  ).split(" "),
);

/** The text of a string, in which \0A is a line's end and \22 a quotation mark. */
function unquoted(token: string): string {
  const bytes = [];
  const raw = new TextEncoder().encode(token.slice(1, -1));
  for (let at = 0; at < raw.length; at++) {
    const hex = String.fromCharCode(raw[at + 1], raw[at + 2]);
    if (raw[at] === BACKSLASH && /^[0-9A-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else {
      bytes.push(raw[at]);
    }
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const BACKSLASH = 92;

const READERS: Record<string, Reader> = {
  fneg: readOne,
  freeze: readOne,
  icmp: readCompare,
  fcmp: readCompare,
  select: readSelect,
  load: readLoad,
  store: readStore,
  getelementptr: readAddress,
  phi: readPhi,
  br: readBranch,
  switch: readSwitch,
  ret: readReturn,
  alloca: readAlloca,
  atomicrmw: readAtomic,
  cmpxchg: readAtomic,
  extractvalue: readExtractValue,
  insertvalue: readExtractValue,
  extractelement: readElement,
  insertelement: readElement,
  shufflevector: readElement,
  call: readCall,
};
