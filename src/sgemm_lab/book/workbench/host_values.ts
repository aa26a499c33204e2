// Evaluates arithmetic of host code, such as `(N + block.x - 1) / block.x` or `1 << 20`, without
// running it.

/** Looks up a name; null if its value is not known. */
export type Lookup = (name: string) => number | null;

interface Value {
  number: number;
  whole: boolean;
}

const TOKEN =
  /\s*(?:(0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*|([A-Za-z_][\w:.]*)|(<<|>>|[<>=!]=|&&|\|\||[-+*/%()?:,<>&|^!~]))/y;
const BYTES: Record<string, number> = {
  ...{ char: 1, "unsigned char": 1, int8_t: 1, uint8_t: 1, bool: 1, short: 2, half: 2, __half: 2 },
  ...{ int: 4, unsigned: 4, "unsigned int": 4, float: 4, int32_t: 4, uint32_t: 4 },
  ...{ double: 8, long: 8, "long long": 8, size_t: 8, float2: 8, int2: 8, float4: 16, int4: 16 },
};
const CAST =
  /\(\s*(?:const\s+)?(?:unsigned\s+|long\s+)*(?:int|long|unsigned|size_t|float|double|uint32_t|int64_t)\s*\)/g;
const BINARY: [string[], (a: number, b: number) => number][][] = [
  [[["||"], (a, b) => Number(a || b)]],
  [[["&&"], (a, b) => Number(a && b)]],
  [[["|"], (a, b) => a | b]],
  [[["^"], (a, b) => a ^ b]],
  [[["&"], (a, b) => a & b]],
  [
    [["=="], (a, b) => Number(a === b)],
    [["!="], (a, b) => Number(a !== b)],
  ],
  [
    [["<"], (a, b) => Number(a < b)],
    [[">"], (a, b) => Number(a > b)],
    [["<="], (a, b) => Number(a <= b)],
    [[">="], (a, b) => Number(a >= b)],
  ],
  [
    [["<<"], (a, b) => a * 2 ** b],
    [[">>"], (a, b) => Math.floor(a / 2 ** b)],
  ],
  [
    [["+"], (a, b) => a + b],
    [["-"], (a, b) => a - b],
  ],
  [
    [["*"], (a, b) => a * b],
    [["/"], (a, b) => a / b],
    [["%"], (a, b) => a % b],
  ],
];

class UnknownError extends Error {}

/** Bytes of a type by its name; 0 if it is not known. */
export const bytesOf = (type: string) => BYTES[type.replace(/\bconst\b/g, "").trim()] ?? 0;

/** The value of an expression; null if it is not known, or is no arithmetic. */
export function evaluate(text: string, lookup: Lookup): number | null {
  const plain = text
    .replace(/sizeof\s*\(\s*([\w ]+?)\s*\)/g, (whole, type) => String(bytesOf(type) || whole))
    .replace(/static_cast\s*<[^<>]*>/g, "")
    .replace(CAST, "");
  try {
    return new Reader(plain, lookup).whole();
  } catch (error) {
    if (error instanceof UnknownError) return null;
    throw error;
  }
}

class Reader {
  #tokens: string[] = [];
  #place = 0;
  #lookup;

  constructor(text: string, lookup: Lookup) {
    this.#lookup = lookup;
    TOKEN.lastIndex = 0;
    for (let end = 0; end < text.trimEnd().length; end = TOKEN.lastIndex) {
      const match = TOKEN.exec(text);
      if (!match) throw new UnknownError();
      this.#tokens.push(match[1] ?? match[2] ?? match[3]);
    }
  }

  whole() {
    const { number } = this.#choice();
    if (this.#place < this.#tokens.length || !Number.isFinite(number)) throw new UnknownError();
    return number;
  }

  #take(text: string) {
    if (this.#tokens[this.#place] !== text) return false;
    this.#place += 1;
    return true;
  }

  #choice(): Value {
    const condition = this.#binary(0);
    if (!this.#take("?")) return condition;
    const yes = this.#choice();
    if (!this.#take(":")) throw new UnknownError();
    const no = this.#choice();
    return condition.number ? yes : no;
  }

  #binary(level: number): Value {
    if (level === BINARY.length) return this.#unary();
    let left = this.#binary(level + 1);
    for (;;) {
      const found = BINARY[level].find(([signs]) => signs.includes(this.#tokens[this.#place]));
      if (!found) return left;
      this.#place += 1;
      const right = this.#binary(level + 1);
      const whole = left.whole && right.whole;
      const number = found[1](left.number, right.number);
      left = { number: whole ? Math.trunc(number) : number, whole };
    }
  }

  #unary(): Value {
    if (this.#take("-")) {
      const { number, whole } = this.#unary();
      return { number: -number, whole };
    }
    if (this.#take("+")) return this.#unary();
    if (this.#take("(")) {
      const inside = this.#choice();
      if (!this.#take(")")) throw new UnknownError();
      return inside;
    }
    const token = this.#tokens[this.#place];
    this.#place += 1;
    if (token === undefined) throw new UnknownError();
    if (/^[\d.]/.test(token))
      return { number: Number(token), whole: !/^(?!0[xX]).*[.eE]/.test(token) };
    if (!/^[A-Za-z_]/.test(token)) throw new UnknownError();
    if (this.#take("(")) return this.#call(token);
    const number = this.#lookup(token);
    if (number === null) throw new UnknownError();
    return { number, whole: Number.isInteger(number) };
  }

  #call(name: string): Value {
    const items: Value[] = [];
    while (!this.#take(")")) {
      items.push(this.#choice());
      if (!this.#take(",") && this.#tokens[this.#place] !== ")") throw new UnknownError();
    }
    const [a, b] = items.map(({ number }) => number);
    const called = name.toLowerCase().replace(/^.*::|_/g, "");
    const whole = items.every((one) => one.whole);
    if (!items.length) {
      const number = this.#lookup(name); // vector.size()
      if (number !== null) return { number, whole: true };
    }
    if (items.length === 1 && /^ceilf?$/.test(called)) return { number: Math.ceil(a), whole: true };
    if (items.length === 1 && /^floorf?$/.test(called))
      return { number: Math.floor(a), whole: true };
    if (items.length === 2 && /^f?min$/.test(called)) return { number: Math.min(a, b), whole };
    if (items.length === 2 && /^f?max$/.test(called)) return { number: Math.max(a, b), whole };
    // The usual names of a quotient rounded up: CEIL_DIV, div_up, cdiv, iDivUp.
    if (items.length === 2 && /^(ceildiv|cdiv|divup|idivup|divceil|ceil)$/.test(called)) {
      return { number: Math.ceil(a / b), whole: true };
    }
    throw new UnknownError();
  }
}
