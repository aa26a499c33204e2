// The declarations of a CUDA file: extent, name and the names that each uses. A shallow parser
// without a compiler: templates are not instantiated, macros not expanded.

import { LabError } from "../errors.ts";
import { afterAngles, depthOf, matching, type Token, tokensOf } from "./tokens.ts";

const MARKS = new Set(["__global__", "__device__", "__host__", "__constant__", "__managed__"]);
const ATTRIBUTES = new Set([
  ...["__launch_bounds__", "__attribute__", "__align__", "alignas", "__declspec", "decltype"],
  ...["noexcept", "explicit", "__cluster_dims__", "__maxnreg__", "__block_size__", "requires"],
]);
const TYPES = new Set(["struct", "class", "union", "enum"]);

/** One declaration at file or namespace scope, or one directive. */
export class Declaration {
  constructor(
    public kind: "directive" | "open" | "close" | "function" | "type" | "using" | "other",
    public tokens: Token[],
    /** the declared names, as far as known */
    public names: string[],
    public namespace: string[],
    /** a function's tokens before its body */
    public head: Token[] = tokens,
  ) {}

  get start() {
    return this.tokens[0].start;
  }

  get end() {
    return this.tokens[this.tokens.length - 1].end;
  }

  #words: Set<string> | null = null;
  /** Every name in it. */
  get words() {
    this.#words ??= new Set(this.tokens.flatMap(({ kind, text }) => (kind === "name" ? text : [])));
    return this.#words;
  }

  #marks: Set<string> | null = null;
  /** Which of `__global__`, `__device__`, `__host__`, … stand before its body. */
  get marks() {
    this.#marks ??= new Set(this.head.flatMap(({ text }) => (MARKS.has(text) ? text : [])));
    return this.#marks;
  }

  /** Whether it defines or declares a `__global__` function. */
  get isKernel() {
    return this.kind === "function" && this.marks.has("__global__");
  }

  /** Whether it is a definition. */
  get hasBody() {
    return this.tokens[this.tokens.length - 1].text === "}";
  }
}

/** Split the text of a file into its declarations. Throws a LabError if its brackets are uneven. */
export function declarationsOf(source: string): Declaration[] {
  return new Reader(tokensOf(source)).read();
}

/** Parses the tokens of one file. */
class Reader {
  /** the open namespaces; [] is one without a name, or an extern "C" */
  #frames: string[][] = [];

  constructor(public tokens: Token[]) {}

  read() {
    const found: Declaration[] = [];
    for (let place = 0; place < this.tokens.length; ) {
      found.push(this.#one(place));
      place += found[found.length - 1].tokens.length;
    }
    return found; // other branches of an #if may have opened brackets: left to the compiler
  }

  #one(place: number) {
    const first = this.tokens[place];
    if (first.kind === "directive") return this.#made("directive", place, place + 1);
    if (first.text === "}") {
      this.#frames.pop();
      return this.#made("close", place, place + 1);
    }
    const end = this.#frameEnd(place);
    if (end) {
      const found = this.#made("open", place, end);
      const words = found.tokens.filter(({ kind }) => kind === "name").map(({ text }) => text);
      this.#frames.push(words.filter((word) => !/^(inline|namespace|extern)$/.test(word)));
      return found;
    }
    const call = this.#callEnd(place);
    return call ? this.#made("other", place, call) : this.#whole(place);
  }

  #made(kind: Declaration["kind"], start: number, end: number) {
    return new Declaration(kind, this.tokens.slice(start, end), [], this.#frames.flat());
  }

  #text(place: number) {
    return this.tokens[place]?.text ?? "";
  }

  /** The index after the brace that opens a namespace or an extern "C"; else 0. */
  #frameEnd(start: number) {
    let place = start;
    if (this.#text(place) === "inline" && this.#text(place + 1) === "namespace") place++;
    if (this.#text(place) === "extern" && this.#text(place + 1).startsWith('"')) {
      return this.#text(place + 2) === "{" ? place + 3 : 0;
    }
    if (this.#text(place) !== "namespace") return 0;
    while (!["{", ";", "=", ""].includes(this.#text(place))) place++;
    return this.#text(place) === "{" ? place + 1 : 0;
  }

  /** The index after a macro call without a semicolon; else 0. */
  #callEnd(place: number) {
    const { kind, text } = this.tokens[place];
    if (kind !== "name" || this.#text(place + 1) !== "(" || ATTRIBUTES.has(text)) return 0;
    const end = matching(this.tokens, place + 1) + 1;
    if (end >= this.tokens.length) return end;
    const next = this.tokens[end];
    const starts = next.kind === "name" || next.kind === "directive";
    return (starts && !/^(const|try)$/.test(next.text)) || next.text === "}" ? end : 0;
  }

  /** Read to the semicolon or to the closing brace of a body. */
  #whole(start: number) {
    const { tokens } = this;
    const isTemplate = tokens[start].text === "template" && this.#text(start + 1) === "<";
    let place = isTemplate ? afterAngles(tokens, start + 1) : start;
    let [headEnd, depth] = [0, 0];
    let [key, assigned, called] = ["", false, false];
    const branches: number[] = [];
    for (; place < tokens.length; place++) {
      const { text, kind } = tokens[place];
      const before = this.#text(place - 1);
      if (kind === "directive") depth = through(text, depth, branches);
      else if (depthOf(text) > 0) {
        if (depth === 0 && text === "{" && !headEnd) headEnd = place;
        if (depth === 0 && text === "(" && !ATTRIBUTES.has(before)) called ||= !assigned;
        depth++;
      } else if (depthOf(text) < 0) {
        depth--;
        if (depth < 0) break; // of a frame: the declaration lacks its semicolon
        const body = text === "}" && depth === 0 && called && !assigned;
        if (body && headEnd && !branches.length) {
          return this.#named(start, place + 1, headEnd, key, called);
        }
      } else if (depth === 0) {
        if (text === ";") return this.#named(start, place + 1, headEnd, key, called);
        if (text === "=" && before !== "operator") assigned ||= !this.#inOperator(place);
        if (TYPES.has(text) && !called && !key) key = text;
      }
    }
    if (depth > 0) throw new LabError("Its brackets do not match: a closing one is missing.");
    return this.#named(start, place, headEnd, key, called);
  }

  /** Whether a token belongs to the name of an operator, such as `operator+=`. */
  #inOperator(place: number) {
    return [1, 2, 3].some((back) => this.#text(place - back) === "operator");
  }

  #named(start: number, end: number, headEnd: number, key: string, called: boolean) {
    const tokens = this.tokens.slice(start, end);
    const head = headEnd ? tokens.slice(0, headEnd - start) : tokens;
    const [kind, names] = kindAndNames(tokens, head, headEnd > 0, key, called);
    return new Declaration(kind, tokens, [...new Set(names)], this.#frames.flat(), head);
  }
}

/** The depth after a directive: all branches of an #if start at the same depth. */
function through(directive: string, depth: number, branches: number[]) {
  const word = /^#\s*(\S*)/.exec(directive)?.[1] ?? "";
  if (word.startsWith("if")) branches.push(depth);
  // The #if may stand before the declaration.
  else if (word === "else" || word === "elif") return branches.at(-1) ?? 0;
  else if (word === "endif") branches.pop();
  return depth;
}

function kindAndNames(
  tokens: Token[],
  head: Token[],
  body: boolean,
  key: string,
  called: boolean,
): [Declaration["kind"], string[]] {
  const [first, second, third] = tokens.map(({ text }) => text);
  if (first === "using") return ["using", third === "=" ? [second] : []];
  if (first === "namespace") return ["using", [second]];
  if (first === "typedef") {
    const tag = TYPES.has(second) && tokens[3].text === "{" ? [third] : [];
    return ["type", [...typedefNames(tokens), ...tag]];
  }
  if (first === "static_assert") return ["other", []];
  const name = called ? functionName(head) : "";
  if (name) return ["function", [name]];
  return key ? ["type", typeNames(tokens, key)] : ["other", variableNames(body ? tokens : head)];
}

/** The name of a function from the tokens before its body; "" if there is none. */
function functionName(head: Token[]) {
  const isTemplate = head[0]?.text === "template" && head[1]?.text === "<";
  for (let place = isTemplate ? afterAngles(head, 1) : 0; place < head.length; place++) {
    if (head[place].text === "operator") return "operator";
    if (head[place].text !== "(") continue;
    const before = head[place - 1];
    if (!before) return "";
    if (ATTRIBUTES.has(before.text)) place = matching(head, place);
    else if (before.text === ">") return beforeAngles(head, place - 1);
    else return before.kind === "name" ? before.text : "";
  }
  return "";
}

function beforeAngles(head: Token[], closing: number) {
  const opening = anglesBefore(head, closing);
  return head[opening - 1]?.text ?? "";
}

/** The index of the `<` that the `>` at `closing` closes; -1 if there is none. */
export function anglesBefore(tokens: Token[], closing: number) {
  let depth = 0;
  let place = closing;
  for (; place >= 0; place--) {
    depth += Number(tokens[place].text === ">") - Number(tokens[place].text === "<");
    if (depth === 0) break;
  }
  return place;
}

function typedefNames(tokens: Token[]) {
  let depth = 0;
  return tokens.slice(0, -1).flatMap(({ text, kind }, place) => {
    const after = tokens[place + 1].text;
    depth += depthOf(text);
    const ends = depth === 0 && [";", ",", "["].includes(after);
    const pointed = after === ")" && tokens[place - 1]?.text === "*";
    return kind === "name" && (ends || pointed) ? text : [];
  });
}

function typeNames(tokens: Token[], key: string) {
  const names: string[] = [];
  let place = tokens.findIndex(({ text }) => text === key) + 1;
  for (; place < tokens.length && !/^[{;:]$/.test(tokens[place].text); place++) {
    const { text, kind } = tokens[place];
    if (text === "(") place = matching(tokens, place);
    else if (kind === "name" && !ATTRIBUTES.has(text) && !/^(class|struct|final)$/.test(text)) {
      names.push(text);
    }
  }
  const brace = tokens.findIndex(({ text }) => text === "{");
  const body = brace < 0 ? tokens.length - 1 : brace;
  const end = matching(tokens, body);
  for (let at = body; key === "enum" && at < end; at++) {
    const isFirst = /^[{,]$/.test(tokens[at - 1]?.text ?? "");
    if (tokens[at].kind === "name" && isFirst) names.push(tokens[at].text);
  }
  return [
    ...names,
    ...tokens.slice(end).flatMap(({ kind, text }) => (kind === "name" ? text : [])),
  ];
}

function variableNames(tokens: Token[]) {
  const names: string[] = [];
  let value = false;
  const isTemplate = tokens[0]?.text === "template" && tokens[1]?.text === "<";
  for (let place = isTemplate ? afterAngles(tokens, 1) : 0; place < tokens.length; place++) {
    const { text, kind } = tokens[place];
    if (depthOf(text) > 0) place = matching(tokens, place);
    else if (text === "=" || text === ",") value = text === "=";
    else if (kind === "name" && !value && /^[=[;,{(]$/.test(tokens[place + 1]?.text ?? "")) {
      names.push(text);
    }
  }
  return names;
}
