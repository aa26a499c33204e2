// Arithmetic written as text, such as `ceil(N / BN)`: expression.py in TypeScript, held equal to it
// by a test. Read by a small parser, never run as code.

import sentences from "./expression.json";
import { DEEPEST } from "./expression.py";

/** An exact number; the denominator is above zero. */
interface Fraction {
  over: bigint;
  under: bigint;
}

/** The text is not such arithmetic. The message continues a sentence that quotes the text. */
export class UnreadableError extends Error {}

/** Binary operators, those that bind least first. */
const EXACT = [
  ["+", "-"],
  ["*", "/"],
];
const AS_C = [["&"], ["+", "-"], ["*", "/", "%"]];
const TOKEN = /\s*(0[xX][\da-fA-F]+|[1-9]\d*|0|[a-zA-Z_]\w*|[-+*/%&(),])/y;

/**
 * The whole number that an expression stands for. Known are whole numbers, `names`, + - * /,
 * `ceil(x)`, `min(x, y)`, `max(x, y)` and brackets. With `floor` a division drops the rest, as in
 * C, and % and & are known too; without, it is exact. Throws an UnreadableError where something
 * else stands there, it divides by zero, or it is no whole number.
 */
export function wholeNumber(text: string, names: Record<string, number>, floor: boolean = false) {
  const result = new Expression(text, names, floor).value();
  if (result.under !== 1n) throw new UnreadableError(sentences.broken);
  return Number(result.over);
}

class Expression {
  #tokens: string[] = [];
  #next = 0;
  #depth = 0;
  #levels: string[][];

  constructor(
    text: string,
    private names: Record<string, number>,
    private floor: boolean,
  ) {
    this.#levels = floor ? AS_C : EXACT;
    const end = text.trimEnd().length;
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < end) this.#tokens.push(TOKEN.exec(text)?.[1] ?? this.#fail());
  }

  value() {
    const result = this.#sum(0);
    if (this.#next < this.#tokens.length) this.#fail();
    return result;
  }

  #fail(): never {
    const known = Object.keys(this.names).join(", ");
    throw new UnreadableError(sentences.other.replace("{names}", () => known));
  }

  #takes(token: string) {
    const found = this.#tokens[this.#next] === token;
    if (found) this.#next += 1;
    return found;
  }

  /** An expression whose operators are of a level or bind more. */
  #sum(level: number): Fraction {
    if (level === this.#levels.length) return this.#atom();
    let left = this.#sum(level + 1);
    for (;;) {
      const operator = this.#levels[level].find((one) => this.#takes(one));
      if (!operator) return left;
      left = combined(operator, left, this.#sum(level + 1), this.floor);
    }
  }

  #inner(level: number) {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new UnreadableError(sentences.deep);
    const found = this.#sum(level);
    this.#depth -= 1;
    return found;
  }

  #atom(): Fraction {
    if (this.#takes("-")) {
      const { over, under } = this.#inner(this.#levels.length);
      return { over: -over, under };
    }
    if (this.#takes("(")) {
      const found = this.#inner(0);
      return this.#takes(")") ? found : this.#fail();
    }
    const token = this.#tokens[this.#next] ?? this.#fail();
    this.#next += 1;
    if (/^\d/.test(token)) return { over: BigInt(token), under: 1n };
    if (this.#takes("(")) return this.#called(token, this.#items());
    return Object.hasOwn(this.names, token)
      ? { over: BigInt(this.names[token]), under: 1n }
      : this.#fail();
  }

  #items() {
    const items: Fraction[] = [];
    while (!this.#takes(")")) {
      items.push(this.#inner(0));
      if (!this.#takes(",") && this.#tokens[this.#next] !== ")") this.#fail();
    }
    return items;
  }

  #called(name: string, [one, other, ...rest]: Fraction[]) {
    if (name === "ceil" && one && !other) {
      const whole = one.over / one.under;
      return { over: whole * one.under < one.over ? whole + 1n : whole, under: 1n };
    }
    if (!/^(min|max)$/.test(name) || !other || rest.length) return this.#fail();
    const apart = other.over * one.under - one.over * other.under;
    return (name === "min" ? apart < 0n : apart > 0n) ? other : one;
  }
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
