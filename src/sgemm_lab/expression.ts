// Arithmetic written as text, such as `ceil(N / BN)`: expression.py in TypeScript, held equal to it
// by a test. Read by a small parser, never run as code.

import sentences from "./expression.json";
import { DEEPEST } from "./expression.py";

/**
 * A piece of arithmetic. `other` is all that a kernel's head may not hold, read only so that the
 * reader hears the right sentence.
 */
type Tree =
  | { kind: "number"; value: bigint }
  | { kind: "name"; name: string }
  | { kind: "negative"; operand: Tree }
  | { kind: "binary"; operator: string; left: Tree; right: Tree }
  | { kind: "call"; name: string; items: Tree[] }
  | { kind: "other" };

/** An exact number; the denominator is above zero. */
interface Fraction {
  over: bigint;
  under: bigint;
}

/** The text is not such arithmetic. The message continues a sentence that quotes the text. */
export class UnreadableError extends Error {}

/** How tightly an operator binds, as in Python. */
const BINDS = new Map(
  [
    ["<", ">", "<=", ">=", "==", "!="],
    ["|"],
    ["^"],
    ["&"],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "//", "%", "@"],
  ].flatMap((operators, level) => operators.map((operator) => [operator, level + 1])),
);
const UNARY_BINDS = 8;
const POWER_BINDS = 9;
const EXACT = "+-*/";
const AS_C = "+-*/%&";
const TOKEN =
  /[ \t]*(?:(0[xXoObB]\w+|\.?\d[\w.]*)|([^\W\d]\w*)|(\*\*|\/\/|<<|>>|[<>=!]=|[-+*/%<>&|^@~(),.[\]]))/y;
const NUMBER =
  /^(?:0(?:_?0)*|[1-9](?:_?\d)*|0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+)$/;
const BROKEN_NUMBER =
  /^(?:\d(?:_?\d)*\.(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*|\d(?:_?\d)*)(?:[eE]\d(?:_?\d)*)?$/;

/**
 * The whole number that an expression stands for. Known are whole numbers, `names`, + - * /,
 * `ceil(x)`, `min(x, y)`, `max(x, y)` and brackets. With `floor` a division drops the rest, as in
 * C, and % and & are known too; without, it is exact. Throws an UnreadableError where something
 * else stands there, it divides by zero, or it is no whole number.
 */
export function wholeNumber(text: string, names: Record<string, number>, floor: boolean = false) {
  const result = valueFrom(parse(text), names, floor, 0);
  if (result.under !== 1n) throw new UnreadableError(sentences.broken);
  return Number(result.over);
}

function valueFrom(
  tree: Tree,
  names: Record<string, number>,
  floor: boolean,
  depth: number,
): Fraction {
  if (depth > DEEPEST) throw new UnreadableError(sentences.deep);
  const inner = (part: Tree) => valueFrom(part, names, floor, depth + 1);
  if (tree.kind === "number") return { over: tree.value, under: 1n };
  if (tree.kind === "name" && Object.hasOwn(names, tree.name)) {
    return { over: BigInt(names[tree.name]), under: 1n };
  }
  if (tree.kind === "negative") {
    const { over, under } = inner(tree.operand);
    return { over: -over, under };
  }
  if (tree.kind === "binary" && (floor ? AS_C : EXACT).includes(tree.operator)) {
    return combined(tree.operator, inner(tree.left), inner(tree.right), floor);
  }
  if (tree.kind === "call" && tree.name === "ceil" && tree.items.length === 1) {
    const { over, under } = inner(tree.items[0]);
    const whole = over / under;
    return { over: whole * under < over ? whole + 1n : whole, under: 1n };
  }
  if (tree.kind === "call" && /^(min|max)$/.test(tree.name) && tree.items.length === 2) {
    const [one, other] = tree.items.map(inner);
    const apart = other.over * one.under - one.over * other.under;
    return (tree.name === "min" ? apart < 0n : apart > 0n) ? other : one;
  }
  const known = Object.keys(names).join(", ");
  throw new UnreadableError(sentences.other.replace("{names}", () => known));
}

function combined(operator: string, left: Fraction, right: Fraction, floor: boolean) {
  if (operator === "*") return reduced(left.over * right.over, left.under * right.under);
  if (operator === "&") return { over: left.over & right.over, under: 1n };
  if (operator === "/" || operator === "%") {
    if (right.over === 0n) throw new UnreadableError(sentences.zero);
    if (operator === "%") return { over: left.over % right.over, under: 1n };
    const [over, under] = [left.over * right.under, left.under * right.over];
    return floor ? { over: over / under, under: 1n } : reduced(over, under);
  }
  const other = operator === "+" ? right.over : -right.over;
  return reduced(left.over * right.under + other * left.under, left.under * right.under);
}

function reduced(over: bigint, under: bigint) {
  let [common, rest] = [over < 0n ? -over : over, under < 0n ? -under : under];
  while (rest) [common, rest] = [rest, common % rest];
  const factor = under < 0n ? -common : common;
  return { over: over / factor, under: under / factor };
}

function parse(text: string): Tree {
  const tokens = tokensOf(text);
  const tree = listUpTo(tokens, undefined);
  if (tree.length === 0) throw new UnreadableError(sentences.unreadable);
  return tree.length > 1 || tokens.comma ? { kind: "other" } : tree[0];
}

/** The tokens of a text, and the place of the next; `comma` says whether the last list had one. */
interface Tokens {
  all: string[];
  next: number;
  comma: boolean;
}

function tokensOf(text: string): Tokens {
  const all: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text);
    if (!match || (all.length === 0 && /^\s/.test(text))) {
      throw new UnreadableError(sentences.unreadable);
    }
    all.push(match[1] ?? match[2] ?? match[3]);
  }
  return { all, next: 0, comma: false };
}

/** Expressions with commas between them, up to and with a closing bracket or the end. */
function listUpTo(tokens: Tokens, closing: string | undefined) {
  const items: Tree[] = [];
  let comma = false;
  while (tokens.all[tokens.next] !== closing) {
    items.push(expression(tokens, 1));
    comma = tokens.all[tokens.next] === ",";
    if (comma) tokens.next += 1;
    else if (tokens.all[tokens.next] !== closing) throw new UnreadableError(sentences.unreadable);
  }
  tokens.next += 1;
  tokens.comma = comma;
  return items;
}

/** @param least how tightly its operators must bind */
function expression(tokens: Tokens, least: number): Tree {
  let left = unary(tokens);
  for (;;) {
    const operator = tokens.all[tokens.next];
    const binds = BINDS.get(operator) ?? 0;
    if (binds < least) return left;
    tokens.next += 1;
    left = { kind: "binary", operator, left, right: expression(tokens, binds + 1) };
  }
}

function unary(tokens: Tokens): Tree {
  const sign = tokens.all[tokens.next];
  if (sign === "-" || sign === "+" || sign === "~") {
    tokens.next += 1;
    const operand = expression(tokens, UNARY_BINDS);
    return sign === "-" ? { kind: "negative", operand } : { kind: "other" };
  }
  const base = primary(tokens);
  if (tokens.all[tokens.next] !== "**") return base;
  tokens.next += 1;
  expression(tokens, POWER_BINDS);
  return { kind: "other" };
}

function primary(tokens: Tokens): Tree {
  let tree = atom(tokens);
  for (;;) {
    const token = tokens.all[tokens.next];
    if (token !== "(" && token !== "[" && token !== ".") return tree;
    tokens.next += 1;
    if (token === "(") {
      const items = listUpTo(tokens, ")");
      tree = tree.kind === "name" ? { kind: "call", name: tree.name, items } : { kind: "other" };
    } else {
      const inside = token === "[" ? listUpTo(tokens, "]").length : atom(tokens).kind === "name";
      if (!inside) throw new UnreadableError(sentences.unreadable);
      tree = { kind: "other" };
    }
  }
}

function atom(tokens: Tokens): Tree {
  const token = tokens.all[tokens.next] ?? "";
  tokens.next += 1;
  if (token === "(" || token === "[") {
    const items = listUpTo(tokens, token === "(" ? ")" : "]");
    return items.length === 1 && token === "(" && !tokens.comma ? items[0] : { kind: "other" };
  }
  if (NUMBER.test(token)) return { kind: "number", value: BigInt(token.replaceAll("_", "")) };
  if (BROKEN_NUMBER.test(token) && /[.e]/i.test(token)) return { kind: "other" };
  if (/^[^\W\d]/.test(token)) return { kind: "name", name: token };
  throw new UnreadableError(sentences.unreadable);
}
