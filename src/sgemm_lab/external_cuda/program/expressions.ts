// Expressions of host code, made to functions that give their values.

import { getter, setter } from "./memory.ts";
import type { Closure, Expression, Launch, Variable } from "./reader.ts";
import { Reader } from "./reader.ts";
import type { Type, Value } from "./types.ts";
import * as types from "./types.ts";

/** From the loosest on; each level joins from the left. */
const LEVELS = [
  ...[["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="]],
  ...[
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
  ],
];
const PRECEDENCE = new Map(LEVELS.flatMap((level, at) => level.map((sign) => [sign, at + 1])));
const ASSIGNS = /^([-+*/%&|^]|<<|>>)?=$/;
const CASTS = /^(static|reinterpret|const|dynamic)_cast$/;
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", 0: "\0", a: "\x07" };

export abstract class Expressions extends Reader {
  /** bytes of the frame that are in use */
  frameSize = 0;

  abstract lambda(): Expression;
  abstract callOwn(
    name: string,
    template: (Type | Value)[],
    given: Expression[],
  ): Expression | null;
  abstract library(name: string, given: Expression[], template: (Type | Value)[]): Expression;
  abstract method(of: Expression, name: string, given: Expression[]): Expression;
  abstract launchOf(name: string, template: string[]): Launch["kernel"];
  abstract launch(
    kernel: Launch["kernel"],
    template: string[],
    shape: Expression[],
    given: Expression[],
    line: number,
  ): Expression;
  abstract construct(type: Type, given: Expression[], into: () => number): () => void;
  abstract listInto(type: Type, into: () => number): () => void;

  get memory() {
    return this.shared.memory;
  }

  constant(type: Type, value: Value): Expression {
    return { type, get: () => value, constant: value };
  }

  override constantHere(): Value {
    const found = this.binary(0);
    return found.constant ?? this.fail("no constant");
  }

  /** Reserve bytes of the frame. */
  reserve(type: Type) {
    const at = Math.ceil(this.frameSize / 16) * 16;
    this.frameSize = at + Math.max(8, type.bytes);
    return at;
  }

  /** The address of a place in the frame. */
  framed(at: number) {
    const { memory } = this;
    return () => memory.stack.address + memory.frame + at;
  }

  /** What lies at an address. */
  lying(type: Type, address: () => number): Expression {
    if (types.isLaid(type) || !type.bytes) return { type, get: address, address };
    const [load, store] = [this.memory.load(type), this.memory.store(type)];
    const set = (value: Value) => store(address(), value);
    return { type, get: () => load(address()), set, address };
  }

  local(type: Type, at: number): Expression {
    if (types.isLaid(type) || !type.bytes) return this.lying(type, this.framed(at));
    const { memory } = this;
    const { stack } = memory;
    const [read, write] = [getter(type), setter(type)];
    const { view } = stack;
    const { bytes } = type;
    return {
      type,
      isLocal: true,
      address: this.framed(at),
      get: () => {
        const place = memory.frame + at;
        if (stack.state?.[place] === 1) memory.onUnwritten(stack, place, bytes);
        return read(view, place);
      },
      set: (value) => {
        const place = memory.frame + at;
        if (stack.state) stack.mark(place, bytes);
        write(view, place, value);
      },
    };
  }

  variable({ type, at, address, isReference, constant, closure }: Variable): Expression {
    if (closure) return { type, get: () => 0, closure };
    if (isReference) {
      const slot = this.local(types.SIZE, at);
      return this.lying(type, slot.get as () => number);
    }
    const found = address === null ? this.local(type, at) : this.lying(type, () => address);
    return constant === undefined ? found : { ...found, constant, get: () => constant };
  }

  /** A value as another type: numbers are rounded, arrays become pointers. */
  as(given: Expression, to: Type): Expression {
    const { type } = given;
    if (to.kind === "void" || types.sameType(type, to)) return given;
    if (type.kind === "array" && to.kind !== "array") return { type: to, get: given.get };
    if (to.kind === "struct" && to.name === "dim3" && types.isNumber(type)) {
      return this.temporary(to, [given]);
    }
    if (to === types.STRING && type.kind === "pointer") return this.temporary(to, [given]);
    if (types.isLaid(to) || types.isLaid(type)) {
      if (to.kind === type.kind && to.bytes === type.bytes) return given;
      this.fail(`${type.name} as ${to.name}`);
    }
    if (type.kind === "pointer" && to.kind !== "int") return { type: to, get: given.get };
    const fit = types.fitting(to);
    if (given.constant !== undefined) return this.constant(to, fit(given.constant));
    const { get } = given;
    const isWider = type.kind === "int" && to.kind === "int" && to.bytes > type.bytes && to.signed;
    const isReal = type.kind === "int" && type.bytes < 8 && to === types.DOUBLE;
    return isWider || isReal ? { type: to, get } : { type: to, get: () => fit(get()) };
  }

  /** A new value of a struct or a vector in the frame. */
  temporary(type: Type, given: Expression[]): Expression {
    const address = this.framed(this.reserve(type));
    const make = this.construct(type, given, address);
    const get = () => {
      make();
      return address();
    };
    return { type, get, address: get };
  }

  truth(given: Expression) {
    if (types.isLaid(given.type)) this.fail(`${given.type.name} as a condition`);
    return given.get;
  }

  /** All of an expression, with its commas. */
  expression(): Expression {
    let found = this.assignment();
    while (this.take(",")) {
      const [before, after] = [found.get, this.assignment()];
      const get = () => {
        before();
        return after.get();
      };
      found = { ...after, get };
    }
    return found;
  }

  assignment(): Expression {
    const left = this.conditional();
    let sign = this.text();
    // ">>=" are two words.
    if (sign === ">" && this.text(1) === ">=" && this.words[this.place + 1].joined) sign = ">>=";
    if (!ASSIGNS.test(sign)) return left;
    this.place += sign === ">>=" ? 2 : 1;
    if (sign === "=" && this.is("{")) {
      const into = left.address ?? this.fail("=");
      const make = this.listInto(left.type, into);
      const get = () => {
        make();
        return left.get();
      };
      return { ...left, get };
    }
    return this.assigned(left, sign.slice(0, -1), this.assignment());
  }

  assigned(left: Expression, operator: string, right: Expression): Expression {
    const { type, address } = left;
    if (types.isLaid(type)) {
      if (!address) this.fail("=");
      if (operator) return this.method(left, operator === "+" ? "append" : operator, [right]);
      const copy = this.construct(type, [right], address);
      const get = () => {
        copy();
        return address();
      };
      return { type, get, address };
    }
    if (!left.set) this.fail(`'=' to no variable`);
    const set = left.set;
    if (!operator) {
      const { get } = this.as(right, type);
      const assign = () => {
        const value = get();
        set(value);
        return value;
      };
      return { ...left, get: assign, constant: undefined };
    }
    const held = this.held(left);
    const made = this.as(this.joined(operator, held.read, right), type);
    return { ...left, get: () => held.change(made.get), constant: undefined };
  }

  /** A variable that is read and then written: its address is worked out once. */
  held({ type, get, set, address, isLocal }: Expression) {
    let at = 0;
    if (isLocal && set) {
      const change = (made: () => Value) => {
        const value = made();
        set(value);
        return value;
      };
      return { read: { type, get }, change };
    }
    const [load, store] = [this.memory.load(type), this.memory.store(type)];
    const read = { type, get: () => load(at) };
    const change = (made: () => Value) => {
      const before = at;
      const here = address ? address() : this.fail("no variable");
      at = here;
      const value = made();
      store(here, value);
      at = before;
      return value;
    };
    return { read, change };
  }

  conditional(): Expression {
    const condition = this.binary(0);
    if (!this.take("?")) return condition;
    const test = this.truth(condition);
    const angles = this.angles;
    this.angles = false;
    let one = this.assignment();
    this.angles = angles;
    this.expect(":");
    let other = this.assignment();
    if (types.isNumber(one.type) && types.isNumber(other.type)) {
      const type = types.sameType(one.type, other.type)
        ? one.type
        : types.common(one.type, other.type);
      [one, other] = [this.as(one, type), this.as(other, type)];
    } else if (other.type.kind === "array" || other.type.kind === "pointer") {
      [one, other] = [this.decayed(one), this.decayed(other)];
    }
    const [first, second] = [one.get, other.get];
    if (condition.constant !== undefined) return condition.constant ? one : other;
    return { type: one.type, get: () => (test() ? first() : second()) };
  }

  decayed(given: Expression): Expression {
    return given.type.kind === "array" ? this.as(given, types.pointerTo(given.type.to)) : given;
  }

  /** The operator that stands here, and its words. */
  #operator(): [string, number] {
    const text = this.text();
    if (text !== ">") return [text, 1];
    if (this.angles) return ["", 0];
    const next = this.words[this.place + 1];
    if (next?.joined && next.text === ">=") return ["", 0];
    return next?.joined && next.text === ">" ? [">>", 2] : [text, 1];
  }

  binary(least: number): Expression {
    let left = this.unary();
    for (;;) {
      const [sign, count] = this.#operator();
      const level = PRECEDENCE.get(sign) as number | undefined;
      if (level === undefined || level <= least) return left;
      this.place += count;
      left = this.joined(sign, left, this.binary(level));
    }
  }

  joined(sign: string, one: Expression, other: Expression): Expression {
    if (one.type === types.STREAM) return this.method(one, sign, [other]);
    const [left, right] = [this.decayed(one), this.decayed(other)];
    if (types.isLaid(left.type) || types.isLaid(right.type)) {
      return this.library(`operator${sign}`, [left, right], []);
    }
    if (sign === "&&" || sign === "||") return this.#logical(sign, left, right);
    if (left.type.kind === "pointer" || right.type.kind === "pointer") {
      return this.#ofPointers(sign, left, right);
    }
    if (!types.isNumber(left.type) || !types.isNumber(right.type)) this.fail(`'${sign}'`);
    const isShift = sign === "<<" || sign === ">>";
    const type = isShift ? types.promoted(left.type) : types.common(left.type, right.type);
    const [a, b] = [this.as(left, type), isShift ? right : this.as(right, type)];
    const isTest = types.compares(sign);
    const make = isTest ? types.comparison(sign) : types.arithmetic(sign, type);
    const made = isTest ? types.BOOL : type;
    if (a.constant !== undefined && b.constant !== undefined) {
      return this.constant(made, make(a.constant, b.constant));
    }
    const [first, second] = [a.get, b.get];
    return { type: made, get: () => make(first(), second()) };
  }

  #logical(sign: string, left: Expression, right: Expression): Expression {
    const [one, other] = [this.truth(left), this.truth(right)];
    const get = sign === "&&" ? () => (one() && other() ? 1 : 0) : () => (one() || other() ? 1 : 0);
    return { type: types.BOOL, get };
  }

  #ofPointers(sign: string, left: Expression, right: Expression): Expression {
    if (types.compares(sign)) {
      const make = types.comparison(sign);
      return { type: types.BOOL, get: () => make(left.get(), right.get()) };
    }
    const [pointer, number] = left.type.kind === "pointer" ? [left, right] : [right, left];
    const size = pointer.type.to.bytes || 1;
    const [a, b] = [left.get as () => number, right.get as () => number];
    if (number.type.kind === "pointer") return { type: types.LONG, get: () => (a() - b()) / size };
    const [at, count] = [pointer.get as () => number, number.get];
    if (sign === "-") return { type: left.type, get: () => at() - Number(count()) * size };
    return { type: pointer.type, get: () => at() + Number(count()) * size };
  }

  unary(): Expression {
    const sign = this.text();
    if (sign === "(") {
      const cast = this.#cast();
      if (cast) return cast;
    }
    if (sign === "[") return this.postfix(this.lambda());
    if (this.take("delete")) {
      if (this.take("[")) this.expect("]");
      return this.library("delete(", [this.unary()], []);
    }
    if (!/^(-|\+|!|~|\*|&|\+\+|--)$/.test(sign)) return this.postfix(this.primary());
    this.place++;
    const of = this.unary();
    if (sign === "&") {
      const get = of.address ?? this.fail("& of no variable");
      return { type: types.pointerTo(of.type), get, name: of.name };
    }
    if (sign === "*") {
      const { type, get } = this.decayed(of);
      if (type.kind !== "pointer") this.fail("* of no pointer");
      return this.lying(type.to, get as () => number);
    }
    if (sign === "++" || sign === "--") return this.stepped(of, sign[0], false);
    if (sign === "!") {
      const test = this.truth(of);
      return { type: types.BOOL, get: () => (test() ? 0 : 1) };
    }
    const type = types.promoted(of.type);
    if (sign === "+") return this.as(of, type);
    const minus = this.constant(type, sign === "-" ? 0 : -1);
    if (sign === "-" && type.kind === "float") {
      const { get, constant } = of;
      if (constant !== undefined) return this.constant(type, -(constant as number));
      return { type, get: () => -(get() as number) };
    }
    return this.joined(sign === "-" ? "-" : "^", minus, this.as(of, type));
  }

  stepped(of: Expression, sign: string, after: boolean): Expression {
    const held = this.held(of);
    const one = this.constant(types.INT, 1);
    const made = this.as(this.joined(sign, held.read, one), of.type).get;
    if (!after) return { ...of, get: () => held.change(made), constant: undefined };
    let old: Value = 0;
    const get = () => {
      let kept: Value = 0;
      held.change(() => {
        kept = held.read.get();
        return made();
      });
      old = kept;
      return old;
    };
    return { type: of.type, get };
  }

  #cast(): Expression | null {
    const start = this.place;
    this.place++;
    const type = this.type();
    if (!type || !this.take(")")) {
      this.place = start;
      return null;
    }
    const of = this.unary();
    return { ...this.as(this.decayed(of), type), name: of.name, kernel: of.kernel };
  }

  primary(): Expression {
    const word = this.words[this.place];
    if (!word) this.fail("the end");
    if (word.kind === "number") {
      this.place++;
      return this.#number(word.text);
    }
    if (word.kind === "text") return this.#text();
    if (this.take("(")) {
      const angles = this.angles;
      this.angles = false;
      const found = this.expression();
      this.angles = angles;
      this.expect(")");
      return found;
    }
    if (word.kind === "name") return this.named();
    return this.fail(`'${word.text}'`);
  }

  #number(text: string): Expression {
    const plain = text.replaceAll("'", "");
    const whole = /^(0[xX][\da-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)$/.exec(plain);
    if (!whole) {
      const isFloat = /[fF]$/.test(plain) && !/^0[xX]/.test(plain);
      const value = Number.parseFloat(plain);
      return this.constant(
        isFloat ? types.FLOAT : types.DOUBLE,
        isFloat ? Math.fround(value) : value,
      );
    }
    const isOctal = /^0\d+$/.test(whole[1]);
    const digits = BigInt(isOctal ? `0o${whole[1].slice(1)}` : whole[1]);
    const suffix = whole[2].toLowerCase();
    const isLong = /[lz]/.test(suffix) || digits >= 2n ** 32n;
    const unsigned = /u|z/.test(suffix) || digits >= 2n ** 63n;
    const isHex = /^0[xXbB]/.test(whole[1]) || isOctal;
    if (isLong || (digits >= 2n ** 31n && !unsigned && !isHex)) {
      const type = unsigned ? types.SIZE : types.LONG;
      return this.constant(type, types.fitting(type)(digits));
    }
    const type = unsigned || digits >= 2n ** 31n ? types.UNSIGNED : types.INT;
    return this.constant(type, Number(digits));
  }

  #text(): Expression {
    let text = "";
    while (this.words[this.place]?.kind === "text") {
      const [, raw, inner] =
        /^(?:u8|[uUL])?(['"])([\s\S]*)['"]$/.exec(this.words[this.place++].text) ?? [];
      if (raw === undefined) this.fail("a text");
      const plain = inner.replace(/\\(x[\da-fA-F]+|[\s\S])/g, (_, one: string) =>
        one[0] === "x" && one.length > 1
          ? String.fromCharCode(Number.parseInt(one.slice(1), 16))
          : (ESCAPES[one] ?? one),
      );
      if (raw === "'") return this.constant(types.CHAR, (plain.charCodeAt(0) << 24) >> 24);
      text += plain;
    }
    const address = this.memory.literal(text);
    const type = types.arrayOf(types.CHAR, text.length + 1);
    return { type, get: () => address, address: () => address, name: text };
  }

  /** What begins with a name. */
  named(): Expression {
    if (this.take("sizeof")) return this.#sizeOf();
    if (this.is("new")) return this.library("new", [this.#newArray()], []);
    if (this.take("true")) return this.constant(types.BOOL, 1);
    if (this.take("false")) return this.constant(types.BOOL, 0);
    if (this.take("nullptr") || this.take("NULL")) {
      return this.constant(types.pointerTo(types.VOID), 0);
    }
    const variable = this.find(this.text());
    if (variable) {
      const name = this.name();
      return { ...this.variable(variable), name };
    }
    if (CASTS.test(this.text())) {
      this.place++;
      const [type] = this.typeArguments();
      return this.as(this.decayed(this.primary()), type as Type);
    }
    const start = this.place;
    const type = this.type();
    if (type && (this.is("(") || this.is("{"))) {
      if (types.isLaid(type)) {
        if (this.is("(")) return this.temporary(type, this.arguments());
        const into = this.framed(this.reserve(type));
        const make = this.listInto(type, into);
        const get = () => {
          make();
          return into();
        };
        return { type, get, address: get };
      }
      const given = this.is("(") ? this.arguments() : this.arguments("{", "}");
      return given.length ? this.as(given[0], type) : this.constant(type, 0);
    }
    this.place = start;
    return this.#function();
  }

  #newArray(): Expression {
    this.expect("new");
    const type = this.type() ?? this.fail("new");
    if (!this.take("[")) this.fail("new of one");
    const count = this.expression();
    this.expect("]");
    if (this.take("(")) this.expect(")");
    return { ...count, type, get: count.get };
  }

  /** A function that is called, or a launch. */
  #function(): Expression {
    const { line } = this.words[this.place];
    while (this.text(1) === "::") this.place += 2;
    const name = this.name();
    const start = this.place;
    const words: string[] = [];
    let template: (Type | Value)[] = [];
    if (this.is("<")) {
      try {
        template = this.typeArguments();
        words.push(...template.map((one) => (typeof one === "object" ? one.name : String(one))));
      } catch {
        this.place = start;
      }
      if (!this.is("(") && !this.is("<<<")) this.place = start;
    }
    if (this.take("<<<")) {
      const shape: Expression[] = [];
      this.angles = true;
      while (!this.is(">", ">", ">")) {
        shape.push(this.assignment());
        if (!this.take(",")) break;
      }
      this.angles = false;
      for (let at = 0; at < 3; at++) this.expect(">");
      return this.launch(this.launchOf(name, words), words, shape, this.arguments(), line);
    }
    if (!this.is("(")) {
      const kernel = this.shared.functions.get(name)?.find((one) => one.isKernel && one.hasBody);
      if (!kernel) return this.library(name, [], template);
      return {
        ...this.constant(types.pointerTo(types.VOID), 1),
        name,
        kernel: { of: kernel, template: words },
      };
    }
    const given = this.arguments();
    return this.callOwn(name, template, given) ?? this.library(`${name}(`, given, template);
  }

  #sizeOf(): Expression {
    const start = this.place;
    if (this.take("(")) {
      const type = this.type();
      if (type) {
        let bytes = type.bytes;
        while (this.take("[")) {
          bytes *= Number(this.constantHere());
          this.expect("]");
        }
        if (this.take(")")) return this.constant(types.SIZE, bytes);
      }
      this.place = start;
    }
    return this.constant(types.SIZE, this.unary().type.bytes);
  }

  /** What stands between brackets, by commas. */
  arguments(opening = "(", closing = ")"): Expression[] {
    const angles = this.angles;
    this.angles = false;
    this.expect(opening);
    const found: Expression[] = [];
    while (!this.take(closing)) {
      if (this.is("{")) found.push(this.#list());
      else found.push(this.assignment());
      if (!this.is(closing)) this.expect(",");
    }
    this.angles = angles;
    return found;
  }

  /** A list in the place of an argument: a `dim3`, as far as is known. */
  #list() {
    return this.temporary(types.namedType("dim3") as Type, this.arguments("{", "}"));
  }

  postfix(first: Expression): Expression {
    let found = first;
    for (;;) {
      if (this.is("[")) {
        this.place++;
        const angles = this.angles;
        this.angles = false;
        found = this.element(found, this.expression());
        this.angles = angles;
        this.expect("]");
      } else if (this.is(".") || this.is("->")) {
        const isPointer = this.text() === "->";
        this.place++;
        const of = isPointer ? this.lying(found.type.to, found.get as () => number) : found;
        const name = this.name();
        if (this.is("(")) found = this.method(of, name, this.arguments());
        else found = this.#field(of, name);
      } else if (this.is("++") || this.is("--")) {
        const [sign] = this.text();
        this.place++;
        found = this.stepped(found, sign, true);
      } else if (this.is("(") && (found.closure || found.type.kind === "object")) {
        const given = this.arguments();
        found = found.closure ? found.closure.call(given) : this.method(found, "()", given);
      } else return found;
    }
  }

  element(of: Expression, index: Expression): Expression {
    const { type } = of;
    const { to } = type;
    if (type.kind === "vector") {
      const data = this.method(of, "data", []).get as () => number;
      const size = this.memory.load(types.SIZE);
      const [at, where] = [index.get, of.get as () => number];
      const { bytes } = to;
      return this.lying(to, () => {
        const place = Number(at());
        if (!(place >= 0 && place < Number(size(where() + 8)))) {
          return this.shared.memory.host(data(), 2 ** 40)[1];
        }
        return data() + place * bytes;
      });
    }
    if (type.kind !== "array" && type.kind !== "pointer") this.fail("[] of no array");
    const [start, at] = [of.get as () => number, index.get];
    const { bytes } = to;
    return { ...this.lying(to, () => start() + Number(at()) * bytes), name: of.name };
  }

  #field(of: Expression, name: string): Expression {
    const field = of.type.fields.get(name);
    if (!field) this.fail(`the field ${name}`);
    const { at, type } = field;
    const start = of.get as () => number;
    return { ...this.lying(type, () => start() + at), name };
  }

  closed(call: Closure["call"]): Expression {
    return { type: { ...types.VOID, kind: "closure" }, get: () => 0, closure: { call } };
  }
}
