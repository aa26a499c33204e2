// Statements and functions of host code.

import type { Declaration } from "../declarations.ts";
import { parameterTokens, templateOf } from "../kernels.ts";
import { textsOf } from "../tokens.ts";
import { Expressions } from "./expressions.ts";
import { UnfollowedError } from "./faults.ts";
import { callLibrary, callMethod } from "./library.ts";
import type { Expression, Launch, Shared, Variable } from "./reader.ts";
import { giving } from "./reader.ts";
import type { Type, Value } from "./types.ts";
import * as types from "./types.ts";
import type { Word } from "./words.ts";
import { wordsOf } from "./words.ts";

/** How a statement ends. */
const [ON, BREAK, CONTINUE, RETURN] = [0, 1, 2, 3];
type Run = () => number;

/** What a function gave back; of a struct its address. */
interface Returned {
  value: Value;
  type: Type | null;
}

/** A function that is compiled for the types of its arguments. */
interface Code {
  parameters: { type: Type; at: number; isReference: boolean }[];
  frameSize: number;
  body: Run;
  returned: Returned;
  type: Type;
}

const codes = new WeakMap<Shared, Map<string, Code>>();

export class Compiler extends Expressions {
  returned: Returned = { value: 0, type: null };

  /** `{ … }`, or one statement. */
  block(): Run {
    if (!this.take("{")) return this.statement();
    this.scopes.push(new Map());
    const found: Run[] = [];
    while (!this.take("}")) found.push(this.statement());
    this.scopes.pop();
    return inTurn(found);
  }

  statement(): Run {
    if (this.is("{")) return this.block();
    if (this.take(";")) return () => ON;
    const { line } = this.words[this.place];
    const run = this.#marked();
    const { shared } = this;
    return () => {
      shared.line = line;
      return run();
    };
  }

  #marked(): Run {
    if (this.take("if")) return this.#if();
    if (this.take("for")) return this.#for();
    if (this.take("while")) return this.#while();
    if (this.take("do")) return this.#do();
    if (this.take("switch")) return this.#switch();
    if (this.take("return")) return this.#return();
    if (this.take("break", ";")) return () => BREAK;
    if (this.take("continue", ";")) return () => CONTINUE;
    if (this.take("try")) return this.#try();
    if (this.is("using") || this.is("static_assert")) {
      while (!this.take(";")) this.place++;
      return () => ON;
    }
    const declared = this.declaration();
    if (declared) return declared;
    return this.#plain();
  }

  #condition() {
    this.expect("(");
    const declared = this.declaration(")");
    if (declared) {
      const [variable] = this.scopes.at(-1)?.values() ?? [];
      const value = this.truth(this.variable(variable));
      return () => {
        declared();
        return value();
      };
    }
    const found = this.truth(this.expression());
    this.expect(")");
    return found;
  }

  #if(): Run {
    this.take("constexpr");
    this.scopes.push(new Map());
    const test = this.#condition();
    const yes = this.block();
    const no = this.take("else") ? this.block() : () => ON;
    this.scopes.pop();
    return () => (test() ? yes() : no());
  }

  #while(): Run {
    const test = this.#condition();
    return this.#loop(test, this.block(), null);
  }

  #loop(test: () => Value, body: Run, step: (() => unknown) | null): Run {
    const count = this.shared.step;
    return () => {
      while (test()) {
        count();
        const end = body();
        if (end === BREAK) break;
        if (end === RETURN) return RETURN;
        if (step) step();
      }
      return ON;
    };
  }

  #do(): Run {
    const body = this.block();
    this.expect("while");
    const test = this.#condition();
    this.expect(";");
    let first = true;
    const turn = () => {
      first = false;
      return body();
    };
    const again = this.#loop(() => Number(first || Boolean(test())), turn, null);
    return () => {
      first = true;
      return again();
    };
  }

  #for(): Run {
    this.expect("(");
    this.scopes.push(new Map());
    const ranged = this.#rangeFor();
    if (ranged) {
      this.scopes.pop();
      return ranged;
    }
    const start = this.take(";") ? () => ON : (this.declaration() ?? this.#plain());
    const test = this.is(";") ? () => 1 : this.truth(this.expression());
    this.expect(";");
    const step = this.is(")") ? null : this.expression().get;
    this.expect(")");
    const loop = this.#loop(test, this.block(), step);
    this.scopes.pop();
    return () => {
      start();
      return loop();
    };
  }

  #plain(): Run {
    const { get } = this.expression();
    this.expect(";");
    return quietly(get);
  }

  /** `for (auto& x : list)`. */
  #rangeFor(): Run | null {
    const start = this.place;
    const base = this.baseType();
    if (!base) return null;
    const type = this.stars(base);
    const isReference = this.take("&") || this.take("&&");
    const name = this.words[this.place]?.kind === "name" ? this.name() : "";
    if (!name || !this.take(":")) {
      this.place = start;
      return null;
    }
    const list = this.expression();
    this.expect(")");
    const { to, kind, count } = list.type;
    if (kind !== "vector" && kind !== "array") this.fail("for over this");
    const item = type === types.AUTO ? to : type;
    const at = this.reserve(isReference ? types.SIZE : item);
    this.scopes.at(-1)?.set(name, { type: item, at, address: null, isReference });
    const place = this.local(types.SIZE, this.reserve(types.SIZE));
    const end = this.local(types.SIZE, this.reserve(types.SIZE));
    const current = this.lying(to, place.get as () => number);
    const slot = this.local(types.SIZE, at);
    const set = isReference
      ? () => slot.set?.(place.get())
      : this.construct(item, [current], this.framed(at));
    const body = this.block();
    const data = kind === "vector" ? callMethod(this, list, "data", []).get : list.get;
    const size = kind === "vector" ? callMethod(this, list, "size", []).get : () => count;
    const more = () => {
      if ((place.get() as number) >= (end.get() as number)) return 0;
      set();
      return 1;
    };
    const loop = this.#loop(more, body, () => place.set?.((place.get() as number) + to.bytes));
    return () => {
      const first = data() as number;
      place.set?.(first);
      end.set?.(first + Number(size()) * to.bytes);
      return loop();
    };
  }

  #switch(): Run {
    const value = this.#condition();
    this.expect("{");
    this.scopes.push(new Map());
    const parts: Run[] = [];
    const cases = new Map<string, number>();
    let other = -1;
    while (!this.take("}")) {
      if (this.take("case")) {
        cases.set(String(this.constantHere()), parts.length);
        this.expect(":");
      } else if (this.take("default", ":")) other = parts.length;
      else parts.push(this.statement());
    }
    this.scopes.pop();
    return () => {
      const first = cases.get(String(value())) ?? other;
      for (let at = first < 0 ? parts.length : first; at < parts.length; at++) {
        const end = parts[at]();
        if (end === BREAK) return ON;
        if (end) return end;
      }
      return ON;
    };
  }

  #try(): Run {
    const body = this.block();
    while (this.take("catch")) {
      while (!this.is("{")) this.place++;
      this.#skipBlock();
    }
    return body;
  }

  #skipBlock() {
    let depth = 0;
    do {
      depth += Number(this.is("{")) - Number(this.is("}"));
      this.place++;
    } while (depth);
  }

  #return(): Run {
    const { returned } = this;
    if (this.take(";")) return () => RETURN;
    if (this.is("{")) {
      const type = returned.type ?? this.fail("return {");
      const into = this.framed(this.reserve(type));
      const make = this.listInto(type, into);
      this.expect(";");
      return () => {
        make();
        returned.value = into();
        return RETURN;
      };
    }
    const found = this.expression();
    this.expect(";");
    returned.type ??= this.decayed(found).type;
    const { get } = this.as(found, returned.type);
    return () => {
      returned.value = get();
      return RETURN;
    };
  }

  /** A declaration of variables; null, and nothing read, where none stands here. */
  declaration(end = ";"): Run | null {
    const start = this.place;
    const isStatic = this.is("static");
    const isConstant = this.is("const") || this.is("constexpr");
    const base = this.baseType();
    const next = this.words[this.place];
    if (!base || !(next?.kind === "name" || /^(\*|&|&&|\(|\[)$/.test(next?.text ?? ""))) {
      this.place = start;
      return null;
    }
    if (next.text === "(" || (next.text === "[" && base !== types.AUTO)) {
      this.place = start;
      return null;
    }
    const found: Run[] = [];
    do found.push(this.#declared(base, isConstant));
    while (this.take(","));
    this.expect(end);
    const all = inTurn(found);
    if (!isStatic) return all;
    let done = false;
    return () => {
      if (!done) all();
      done = true;
      return ON;
    };
  }

  #declared(base: Type, isConstant: boolean): Run {
    let type = this.stars(base);
    const isReference = this.take("&") || this.take("&&");
    const name = this.name();
    const sides: Value[] = [];
    while (this.take("[")) {
      sides.push(this.is("]") ? -1 : this.constantHere());
      this.expect("]");
    }
    if (sides.includes(-1)) sides[0] = this.#listed(type);
    for (const side of sides.reverse()) type = types.arrayOf(type, Number(side));
    const isAssigned = this.take("=");
    if (base === types.AUTO || isReference) {
      if (!isAssigned) this.fail("a reference");
      return this.#bound(name, type, isReference);
    }
    const at = this.reserve(type);
    const variable: Variable = { type, at, address: null, isReference: false };
    const put = () => this.scopes.at(-1)?.set(name, variable);
    const into = this.framed(at);
    if (this.is("{")) {
      put();
      return quietly(this.listInto(type, into));
    }
    if (isAssigned) {
      const value = this.assignment();
      put();
      if (value.constant !== undefined && isConstant) {
        variable.constant = this.as(value, type).constant;
      }
      return quietly(this.construct(type, [value], into));
    }
    const given = this.is("(") ? this.arguments() : [];
    put();
    const make = this.construct(type, given, into);
    if (type.kind !== "vector") return quietly(make);
    const data = this.memory.load(types.SIZE);
    return quietly(() => {
      make();
      const address = data(into()) as number;
      if (address) this.memory.find(address)[0].name = name;
    });
  }

  /** How many elements a list that follows has, or a text. */
  #listed(type: Type): number {
    const start = this.place;
    this.take("=");
    const found = this.words[this.place];
    let count = 0;
    if (found?.kind === "text") count = this.primary().type.count;
    else if (this.take("{")) {
      let depth = 0;
      let isEmpty = true;
      for (; depth >= 0; this.place++) {
        const text = this.text();
        depth += Number(/^[({[]$/.test(text)) - Number(/^[)}\]]$/.test(text));
        if (depth < 0) break;
        if (text === "," && !depth && this.text(1) !== "}") count++;
        isEmpty = false;
      }
      count += Number(!isEmpty);
    }
    this.place = start;
    return count || this.fail(`an array of ${type.name} without a length`);
  }

  /** `auto x = …` and `T& x = …`. */
  #bound(name: string, declared: Type, isReference: boolean): Run {
    const value = this.assignment();
    const scope = this.scopes.at(-1);
    if (value.closure) {
      scope?.set(name, {
        type: value.type,
        at: 0,
        address: null,
        isReference: false,
        closure: value.closure,
      });
      return () => ON;
    }
    if (isReference && value.address) {
      const at = this.reserve(types.SIZE);
      const slot = this.local(types.SIZE, at);
      const { address, type } = value;
      scope?.set(name, { type, at, address: null, isReference: true });
      return quietly(() => slot.set?.(address()));
    }
    const type =
      declared === types.AUTO || declared.kind === "pointer" ? this.decayed(value).type : declared;
    const at = this.reserve(type);
    scope?.set(name, { type, at, address: null, isReference: false });
    return quietly(this.construct(type, [value], this.framed(at)));
  }

  /** `[&](int a) { … }`, compiled where it is called, as it is of the same frame. */
  lambda(): Expression {
    while (!this.take("]")) this.place++;
    const start = this.place;
    if (this.is("(")) this.#skipRound();
    while (!this.is("{")) this.place++;
    this.#skipBlock();
    const scopes = [...this.scopes];
    const { words } = this;
    const known = new Map<string, { body: Run; slots: Expression[]; returned: Returned }>();
    const compile = (given: Expression[]) =>
      this.elsewhere(words, () => {
        const [before, outer] = [this.scopes, this.returned];
        this.scopes = [...scopes, new Map()];
        this.returned = { value: 0, type: null };
        this.place = start;
        const slots = this.is("(") ? this.#parameters(given) : [];
        while (!this.is("{")) {
          if (this.take("->")) this.returned.type = this.type();
          else this.place++;
        }
        const made = { body: this.block(), slots, returned: this.returned };
        [this.scopes, this.returned] = [before, outer];
        return made;
      });
    return this.closed((given) => {
      const key = given.map(({ type }) => type.name).join();
      const { body, slots, returned } = known.get(key) ?? compile(given);
      known.set(key, { body, slots, returned });
      const values = given.map((one, at) => {
        const { type } = slots[at];
        return slots[at].isLocal === false ? (one.address ?? one.get) : this.as(one, type).get;
      });
      const get = () => {
        const found = values.map((value) => value());
        for (const [at, value] of found.entries()) slots[at].set?.(value);
        body();
        return returned.value;
      };
      const type = returned.type ?? types.VOID;
      return types.isLaid(type) ? { type, get, address: get as () => number } : { type, get };
    });
  }

  #skipRound() {
    let depth = 0;
    do {
      depth += Number(this.is("(")) - Number(this.is(")"));
      this.place++;
    } while (depth);
  }

  /** The parameters of a lambda: of references `isLocal` is false, and their slots hold addresses. */
  #parameters(given: Expression[]) {
    const slots: Expression[] = [];
    this.expect("(");
    while (!this.take(")")) {
      const declared = this.type() ?? this.fail("a parameter");
      const isReference = this.take("&") || this.take("&&");
      const name = this.words[this.place].kind === "name" ? this.name() : "";
      const own = given[slots.length];
      const type = declared === types.AUTO ? this.decayed(own).type : declared;
      const bound = isReference && (own?.address !== undefined || types.isLaid(type));
      const at = this.reserve(bound ? types.SIZE : type);
      this.scopes.at(-1)?.set(name, { type, at, address: null, isReference: bound });
      if (bound) slots.push({ ...this.local(types.SIZE, at), type, isLocal: false });
      else if (types.isLaid(type)) this.fail("a struct for a lambda");
      else slots.push(this.local(type, at));
      if (!this.is(")")) this.expect(",");
    }
    return slots;
  }

  construct(type: Type, given: Expression[], into: () => number): () => void {
    return callMethod(this, { type, get: into, address: into }, "construct", given)
      .get as () => void;
  }

  listInto(type: Type, into: () => number): () => void {
    if (type.kind === "vector") {
      const given = this.arguments("{", "}");
      return callMethod(this, { type, get: into, address: into }, "list", given).get as () => void;
    }
    this.expect("{");
    const clear = () => {
      const [block, at] = this.memory.host(into(), type.bytes);
      block.bytes.fill(0, at, at + type.bytes);
      block.mark(at, type.bytes);
    };
    const made: (() => void)[] = [clear];
    if (type.name === "dim3") made.push(this.construct(type, [], into));
    const fields = [...type.fields.values()];
    const isWhole = type.kind !== "struct" && type.kind !== "array";
    for (let number = 0; !this.take("}"); number++) {
      if (this.take(".")) {
        const at = [...type.fields.keys()].indexOf(this.name());
        number = at;
        this.expect("=");
      }
      const field = isWhole ? { at: 0, type } : fields[number];
      const part = type.kind === "array" ? type.to : (field ?? this.fail("a list")).type;
      const offset = type.kind === "array" ? number * type.to.bytes : field.at;
      const place = () => into() + offset;
      if (this.is("{")) made.push(this.listInto(part, place));
      else made.push(this.construct(part, [this.assignment()], place));
      if (!this.is("}")) this.expect(",");
    }
    return () => {
      for (const make of made) make();
    };
  }

  library(name: string, given: Expression[], template: (Type | Value)[]): Expression {
    return (
      this.launchByPointers(name.slice(0, -1), given) ?? callLibrary(this, name, given, template)
    );
  }

  method(of: Expression, name: string, given: Expression[]): Expression {
    return callMethod(this, of, name, given);
  }

  launchOf(name: string, template: string[]): Launch["kernel"] {
    const found = this.shared.functions.get(name)?.find((one) => one.isKernel && one.hasBody);
    return found ?? this.fail(`the kernel ${name}<${template}>`);
  }

  launch(
    kernel: Declaration,
    template: string[],
    shape: Expression[],
    given: Expression[],
    line: number,
  ): Expression {
    const dim3 = types.namedType("dim3") as Type;
    const [grid, block] = shape.slice(0, 2).map((one) => this.as(one, dim3).get as () => number);
    const shared = shape[2] ? this.as(shape[2], types.SIZE).get : () => 0;
    const cooperative = shape.length > 4;
    const parameters = this.#kernelParameters(kernel, template, given);
    const values = parameters.map(({ type }, at) => {
      const one = given[at] ?? this.fail(`an argument of ${kernel.names[0]}`);
      if (!types.isLaid(type)) return this.as(this.decayed(one), type).get;
      return one.type.bytes === type.bytes
        ? one.get
        : this.fail(`an argument of ${kernel.names[0]}`);
    });
    const { shared: program } = this;
    const run = () => {
      program.line = line;
      program.launch({
        ...{ kernel, template, line, cooperative, sharedBytes: Number(shared()) },
        grid: sidesAt(this, grid()),
        block: sidesAt(this, block()),
        args: parameters.map((one, at) => ({ ...one, value: values[at]() })),
      });
    };
    return { type: types.INT, get: giving(run) };
  }

  /** `cudaLaunchKernel(kernel, grid, block, args, bytes)`: pointers to the arguments in an array. */
  launchByPointers(name: string, given: Expression[]): Expression | null {
    const [first, grid, block, list, shared] = given;
    if (!/^cudaLaunch(Cooperative)?Kernel$/.test(name) || !first?.kernel || !list) return null;
    const { of, template } = first.kernel;
    const pointer = this.memory.load(types.SIZE) as (address: number) => number;
    const start = list.get as () => number;
    const args = this.#kernelParameters(of, template, []).map(({ type }, at) =>
      this.lying(type, () => pointer(start() + 8 * at)),
    );
    const shape = [grid, block, shared ?? this.constant(types.INT, 0)];
    return this.launch(of, template, shape, args, this.words[this.place - 1].line);
  }

  /** The parameters of a kernel; values of its template that are not given follow from arguments. */
  #kernelParameters(kernel: Declaration, template: string[], given: Expression[]) {
    const own = templateOf(kernel.head);
    const inner = new Compiler(this.shared, []);
    for (const [at, { name, type }] of own.entries()) {
      const text = template[at];
      if (text === undefined) continue;
      const value = { type: types.INT, at: 0, address: null, isReference: false };
      if (type !== "typename") inner.scopes[0].set(name, { ...value, constant: Number(text) });
      else inner.typeNames.set(name, types.namedType(text) ?? types.wordsType(text.split(" ")));
    }
    const parameters = parametersOf(inner, kernel, given);
    for (const { name, type } of own.slice(template.length)) {
      const found = type === "typename" ? inner.typeNames.get(name) : null;
      if (!found) break;
      template.push(found.name);
    }
    return parameters;
  }

  /** A call of a function of the file; null if it has none. */
  callOwn(name: string, template: (Type | Value)[], given: Expression[]): Expression | null {
    const found =
      this.shared.functions.get(name)?.filter((one) => !one.isKernel && one.hasBody) ?? [];
    const fits = (one: Declaration) => parameterTokens(one).length === given.length;
    const own = found.find(fits) ?? found.find((one) => parameterTokens(one).length > given.length);
    if (!own) return null;
    const key = [name, own.start, ...template, ...given.map(({ type }) => type.name)].map((one) =>
      typeof one === "object" ? one.name : String(one),
    );
    const known = codes.get(this.shared) ?? new Map<string, Code>();
    codes.set(this.shared, known);
    const code =
      known.get(key.join()) ?? compiled(this.shared, own, template, given, known, key.join());
    const { memory } = this;
    // Where the arguments go; a call among them has a frame of its own above.
    let target = 0;
    const place = (at: number) => memory.stack.address + target + at;
    const puts = code.parameters.map(({ type, at, isReference }, number) => {
      const one = given[number] ?? this.fail("too few arguments");
      const into = () => place(at);
      if (!isReference) return this.construct(type, [this.decayed(one)], into);
      const store = memory.store(types.SIZE);
      const address = one.address ?? this.temporary(type, [one]).address ?? one.get;
      return () => store(into(), address());
    });
    const { returned } = code;
    const get = () => {
      const { frame, top } = memory;
      memory.top += Math.ceil(code.frameSize / 16) * 16;
      if (memory.top > memory.stack.size) throw new UnfollowedError("the stack is full");
      const outer = target;
      target = top;
      for (const put of puts) put();
      target = outer;
      memory.frame = top;
      code.body();
      memory.frame = frame;
      memory.top = top;
      return returned.value;
    };
    const { type } = code;
    if (type.kind === "void") return { type: types.VOID, get };
    if (types.isLaid(type))
      return this.temporary(type, [{ type, get, address: get as () => number }]);
    return { type, get };
  }
}

/** Compile a function for given types. */
function compiled(
  shared: Shared,
  own: Declaration,
  template: (Type | Value)[],
  given: Expression[],
  known: Map<string, Code>,
  key: string,
): Code {
  const compiler = new Compiler(shared, []);
  for (const [at, { name, type }] of templateOf(own.head).entries()) {
    const value = template[at];
    if (value === undefined) continue;
    if (type === "typename") compiler.typeNames.set(name, value as Type);
    else {
      const variable = { type: types.INT, at: 0, address: null, isReference: false };
      compiler.scopes[0].set(name, { ...variable, constant: value as Value });
    }
  }
  const parameters = parametersOf(compiler, own, given).map((one) => {
    const at = compiler.reserve(one.isReference ? types.SIZE : one.type);
    const { type, isReference } = one;
    compiler.scopes[0].set(one.name, { type, at, address: null, isReference });
    return { type, at, isReference };
  });
  const words = wordsOf(own, shared.file);
  const result = typeBefore(compiler, own, words);
  const code: Code = {
    ...{ parameters, frameSize: 0, body: () => ON, returned: compiler.returned },
    type: result ?? types.VOID,
  };
  compiler.returned.type = result === types.VOID ? null : result;
  known.set(key, code);
  compiler.words = words;
  compiler.place = words.length - bodyLength(words);
  code.body = compiler.block();
  code.frameSize = compiler.frameSize;
  if (result === null) code.type = compiler.returned.type ?? types.VOID;
  return code;
}

/** Words of a function's body: the last brackets. */
function bodyLength(words: Word[]) {
  let depth = 0;
  for (let at = words.length - 1; at >= 0; at--) {
    depth += Number(words[at].text === "}") - Number(words[at].text === "{");
    if (!depth) return words.length - at;
  }
  return words.length;
}

/** What a function gives back; null where `auto` says nothing. */
function typeBefore(compiler: Compiler, own: Declaration, words: Word[]) {
  const end = words.findIndex(({ text }) => text === own.names[0]);
  let start = 0;
  if (words[0].text === "template") {
    let depth = 0;
    do {
      depth += Number(words[start + 1].text === "<") - Number(words[start + 1].text === ">");
      start++;
    } while (depth);
    start++;
  }
  const before = words
    .slice(start, end)
    .filter(({ text }) => !/^(__\w+__|inline|static)$/.test(text));
  const type = compiler.elsewhere(before, () => compiler.type());
  return type === types.AUTO ? null : type;
}

/** The parameters of a function, for given arguments. */
export function parametersOf(compiler: Compiler, own: Declaration, given: Expression[]) {
  const open = templateOf(own.head).filter(({ type }) => type === "typename");
  const words = wordsOf(own, compiler.shared.file);
  const lines = new Map(words.map((word) => [word.text, word.line]));
  return parameterTokens(own).map((tokens, at) => {
    const texts = textsOf(tokens).map((text) => {
      const macro = compiler.shared.file.macros.get(text);
      return macro && !macro.takes ? textsOf(macro.body).join(" ") : text;
    });
    const line = lines.get(texts[0]) ?? 0;
    const parts = texts.map((text, number): Word => {
      const { kind } = tokens[number];
      return { kind, text, line, joined: false };
    });
    const argument = given[at] && compiler.decayed(given[at]).type;
    const free = open.find(({ name }) => texts.includes(name) && !compiler.typeNames.has(name));
    if (free && argument) {
      const isPointer = texts.includes("*") || texts.includes("vector");
      const deduced = isPointer ? argument.to : argument;
      compiler.typeNames.set(free.name, deduced);
    }
    return compiler.elsewhere(parts, () => {
      let type = compiler.type() ?? compiler.fail(`the parameter ${texts.join(" ")}`);
      if (type === types.AUTO) type = argument ?? type;
      const isReference = compiler.take("&") || compiler.take("&&");
      const name = compiler.words[compiler.place]?.kind === "name" ? compiler.name() : `p${at}`;
      while (compiler.take("[")) {
        while (!compiler.take("]")) compiler.place++;
        type = types.pointerTo(type);
      }
      const star = texts.indexOf("*");
      const constant = texts.slice(0, star < 0 ? undefined : star).includes("const");
      return { name, type, isReference, constant };
    });
  });
}

const quietly =
  (make: () => unknown): Run =>
  () => {
    make();
    return ON;
  };

function inTurn(all: Run[]): Run {
  if (all.length === 1) return all[0];
  return () => {
    for (let at = 0; at < all.length; at++) {
      const end = all[at]();
      if (end) return end;
    }
    return ON;
  };
}

export function sidesAt({ memory }: Expressions, address: number) {
  const [{ view }, at] = memory.host(address, 12);
  return [0, 4, 8].map((side) => view.getUint32(at + side, true));
}
