// Reads a number as people write it: 262,144 or 8.59 or 2.5e9 or 2*32*4096 or 8 * 1024^3 / 10^9.

const SPACE = /[\s\u00a0\u202f_']/g;
const GROUPED = /^\d{1,3}(,\d{3})+(?!\d)/;
const DECIMAL = /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?/i;

/** Reads one text from left to right; NaN wherever it is no arithmetic. */
class Reader {
  constructor(public rest: string) {}

  /** Take what stands next, if it is that. */
  take(pattern: RegExp) {
    const found = pattern.exec(this.rest)?.[0] ?? "";
    this.rest = this.rest.slice(found.length);
    return found;
  }

  sum(): number {
    let value = this.product();
    for (let sign = this.take(/^[+-]/); sign; sign = this.take(/^[+-]/)) {
      value += sign === "+" ? this.product() : -this.product();
    }
    return value;
  }

  product(): number {
    let value = this.power();
    for (let sign = this.take(/^[*/]/); sign; sign = this.take(/^[*/]/)) {
      value = sign === "*" ? value * this.power() : value / this.power();
    }
    return value;
  }

  power(): number {
    if (this.take(/^-/)) return -this.power();
    const base = this.unit();
    return this.take(/^\^/) ? base ** this.power() : base;
  }

  unit(): number {
    if (this.take(/^\(/)) {
      const value = this.sum();
      return this.take(/^\)/) ? value : Number.NaN;
    }
    const grouped = this.take(GROUPED).replaceAll(",", "");
    return Number(grouped ? grouped + this.take(/^\.\d+/) : this.take(DECIMAL) || Number.NaN);
  }
}

/**
 * The number in a text, or null if it holds none, or more than a number and its unit.
 * @param unit may stand behind the number
 */
export function numberIn(text: string, unit: string) {
  let plain = text.replace(SPACE, "").replaceAll("**", "^");
  plain = plain.replace(/[×·⋅]/g, "*").replace(/[−–]/g, "-").replaceAll("÷", "/");
  const behind = unit.replace(SPACE, "").toLowerCase();
  if (behind && plain.toLowerCase().endsWith(behind)) plain = plain.slice(0, -behind.length);
  if (plain.length > 200) return null;
  const reader = new Reader(plain);
  const value = reader.sum();
  return reader.rest === "" && Number.isFinite(value) ? value + 0 : null;
}
