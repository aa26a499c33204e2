// Reads a CUDA file as people paste it: its kernels, how its host code launches them, and the part
// that a GPU compiler needs. A shallow parser: macros are not expanded, nothing is executed.

export interface Token {
  text: string;
  start: number;
  end: number;
}

export interface Parameter {
  name: string;
  /** as written, without const, & and * */
  type: string;
  pointer: boolean;
  constant: boolean;
}

export interface KernelSource {
  name: string;
  line: number;
  /** the template's parameters; none if it is no template */
  template: { name: string; isType: boolean; value: string }[];
  parameters: Parameter[];
  text: string;
}

/** `kernel<template><<<grid, block, shared>>>(args)`, as text. */
export interface LaunchSource {
  kernel: string;
  template: string;
  grid: string;
  block: string;
  shared: string;
  args: string[];
  line: number;
}

/** The text of a value, and the line that sets it. `fixed`: device code uses the name too. */
export interface HostValue {
  text: string;
  line: number;
  fixed: boolean;
}

export interface CudaFile {
  text: string;
  kernels: KernelSource[];
  /** of the host */
  functions: KernelSource[];
  launches: LaunchSource[];
  /** host variables, constants and object-like macros, by name */
  values: Map<string, HostValue>;
  /** bytes that cudaMalloc gives a pointer, by its name */
  allocations: Map<string, HostValue>;
  /** what a kernel needs of the file; removed lines stay empty */
  devicePart: (kernel: string) => string;
}

interface Declaration {
  tokens: Token[];
  kind: "directive" | "scope" | "function" | "type" | "other";
  /** names that it declares */
  names: string[];
}

const TOKEN =
  /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?:u8|[uUL])?R"([^()\s\\]{0,16})\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|\.?\d(?:[eEpP][+-]|'?[\w.])*|[A-Za-z_]\w*|<<<|>>>|::|->|[<>=!]=|\+\+|--|&&|\|\||<<|>>|[\s\S]/y;
const DIRECTIVE = /#(?:\\\r?\n|[^\n])*/y;
const NAME = /^[A-Za-z_]\w*$/;
const MARKS = ["__global__", "__device__"];
const NOT_NAMES = new Set([
  "__launch_bounds__",
  "__align__",
  "alignas",
  "__attribute__",
  "decltype",
]);
/** Tokens in which a template's parameters end. */
const MOST_HEAD = 200;
const OPEN = "([{";
const CLOSE = ")]}";

/** Split text into tokens; a directive is one token, comments are none. */
export function tokensOf(source: string): Token[] {
  const found: Token[] = [];
  let lineIsEmpty = true;
  for (let place = 0; place < source.length; ) {
    const pattern: RegExp = source[place] === "#" && lineIsEmpty ? DIRECTIVE : TOKEN;
    pattern.lastIndex = place;
    const text: string = pattern.exec(source)?.[0] ?? source[place];
    const end = place + text.length;
    if (/^(\s|\/\/|\/\*)/.test(text)) lineIsEmpty ||= text.includes("\n");
    else {
      found.push({ text, start: place, end });
      lineIsEmpty = false;
    }
    place = end;
  }
  return found;
}

/** Read a file. */
export function readCudaFile(source: string): CudaFile {
  const declarations = declarationsOf(tokensOf(source));
  const lineOf = (token: Token) => source.slice(0, token.start).split("\n").length;
  const textOf = (tokens: Token[]) =>
    source.slice(tokens[0]?.start, tokens.at(-1)?.end).replace(/\s+/g, " ");
  const kernels = declarations
    .filter((one) => isMarked(one, "__global__") && one.tokens.at(-1)?.text === "}")
    .map((one) => kernelOf(one, source, lineOf));
  const functions = declarations
    .filter((one) => one.kind === "function" && one.tokens.at(-1)?.text === "}" && !isDevice(one))
    .map((one) => kernelOf(one, source, lineOf));
  const device = declarations.filter((one) => one.kind === "function" && isDevice(one));
  const deviceWords = new Set(device.flatMap(({ tokens }) => tokens.map(({ text }) => text)));
  const host = declarations.filter((one) => !device.includes(one));
  const hostTokens = host.flatMap(({ tokens }) => tokens);
  const values: Map<string, HostValue> = new Map();
  const ofTheFile = new Set(
    declarations.filter(({ kind }) => kind === "other").flatMap((one) => one.names),
  );
  const set = (name: string, text: string, at: Token) => {
    const shared = at.text.startsWith("#") || ofTheFile.has(name);
    const value = { text, line: lineOf(at), fixed: shared && deviceWords.has(name) };
    if (!values.has(name)) values.set(name, value);
  };
  const allocations: CudaFile["allocations"] = new Map();
  const launches: LaunchSource[] = [];
  for (const [place, token] of hostTokens.entries()) {
    const define = /^#\s*define\s+(\w+)\s+(\S.*?)\s*$/.exec(
      token.text.replace(/\/\/.*|\\\r?\n/g, " "),
    );
    if (define) set(define[1], define[2], token);
    if (token.text === "=" && NAME.test(hostTokens[place - 1]?.text ?? "")) {
      const value = hostTokens.slice(place + 1, endOfValue(hostTokens, place + 1));
      if (value.length) set(hostTokens[place - 1].text, textOf(value), token);
    }
    if (token.text === "dim3") {
      for (const [name, inside] of constructed(hostTokens, place + 1)) {
        set(name, `dim3(${textOf(inside)})`, token);
      }
    }
    if (token.text === "vector" && hostTokens[place + 1]?.text === "<") {
      const closing = hostTokens.findIndex(({ text }, at) => at > place && text === ">");
      for (const [name, inside] of constructed(hostTokens, closing + 1)) {
        const [size] = split(inside);
        if (size) set(`${name}.size`, textOf(size), token);
      }
    }
    if (/^cudaMalloc(Managed|Async)?$/.test(token.text) && hostTokens[place + 1]?.text === "(") {
      const [pointer, bytes] = argumentsOf(hostTokens, place + 1);
      const name = pointer?.findLast(({ text }) => NAME.test(text))?.text;
      if (name && bytes && !allocations.has(name)) {
        allocations.set(name, { text: textOf(bytes), line: lineOf(token), fixed: false });
      }
    }
    if (token.text === "<<<") {
      const launch = launchAt(hostTokens, place, textOf);
      if (launch) launches.push({ ...launch, line: lineOf(token) });
    }
  }
  return {
    text: source,
    kernels,
    functions,
    launches,
    values,
    allocations,
    devicePart: (kernel) => devicePart(source, declarations, kernel),
  };
}

function isMarked(declaration: Declaration, mark: string) {
  const body = declaration.tokens.findIndex(({ text }) => text === "{");
  const head = body < 0 ? declaration.tokens : declaration.tokens.slice(0, body);
  return head.some(({ text }) => text === mark);
}

const isDevice = (declaration: Declaration) => MARKS.some((mark) => isMarked(declaration, mark));

/** Index of the bracket that closes the one at `opening`; the last index if none does. */
function matching(tokens: Token[], opening: number) {
  let depth = 0;
  for (let place = opening; place < tokens.length; place += 1) {
    const { text } = tokens[place];
    if (OPEN.includes(text)) depth += 1;
    if (CLOSE.includes(text)) depth -= 1;
    if (depth === 0) return place;
  }
  return tokens.length - 1;
}

function endOfValue(tokens: Token[], from: number) {
  let place = from;
  while (place < tokens.length && !",;)}".includes(tokens[place].text)) {
    place = OPEN.includes(tokens[place].text) ? matching(tokens, place) + 1 : place + 1;
  }
  return place;
}

/** Split a list at the commas of its own level. */
function split(tokens: Token[]): Token[][] {
  const parts: Token[][] = [[]];
  for (let place = 0; place < tokens.length; place += 1) {
    const { text } = tokens[place];
    if (text === ",") parts.push([]);
    else if (OPEN.includes(text)) {
      const end = matching(tokens, place);
      parts.at(-1)?.push(...tokens.slice(place, end + 1));
      place = end;
    } else parts.at(-1)?.push(tokens[place]);
  }
  return parts.filter((part) => part.length);
}

/** In `dim3 block(16, 16), grid(n / 16)`, from the first name on: each name, and what is in brackets. */
function* constructed(tokens: Token[], from: number): Generator<[string, Token[]]> {
  for (let place = from; NAME.test(tokens[place]?.text ?? ""); ) {
    const opening = place + 1;
    if (tokens[opening]?.text !== "(" && tokens[opening]?.text !== "{") return;
    const closing = matching(tokens, opening);
    yield [tokens[place].text, tokens.slice(opening + 1, closing)];
    if (tokens[closing + 1]?.text !== ",") return;
    place = closing + 2;
  }
}

const argumentsOf = (tokens: Token[], opening: number) =>
  split(tokens.slice(opening + 1, matching(tokens, opening)));

function launchAt(tokens: Token[], place: number, textOf: (tokens: Token[]) => string) {
  let name = place - 1;
  let template = "";
  if (tokens[name]?.text === ">") {
    let depth = 0;
    do {
      depth += Number(tokens[name].text === ">") - Number(tokens[name].text === "<");
      name -= 1;
    } while (depth > 0 && name > 0);
    template = textOf(tokens.slice(name + 2, place - 1));
  }
  const end = tokens.findIndex(({ text }, at) => at > place && text === ">>>");
  if (end < 0 || !NAME.test(tokens[name]?.text ?? "") || tokens[end + 1]?.text !== "(") return null;
  const [grid = "", block = "", shared = "0"] = split(tokens.slice(place + 1, end)).map(textOf);
  const args = argumentsOf(tokens, end + 1).map(textOf);
  return { kernel: tokens[name].text, template, grid, block, shared, args };
}

function kernelOf(
  { tokens, names }: Declaration,
  source: string,
  lineOf: (token: Token) => number,
): KernelSource {
  const name = tokens.findIndex(
    ({ text }, place) => text === names[0] && tokens[place + 1]?.text === "(",
  );
  const angles = endOfTemplate(tokens.map(({ text }) => text));
  const template = split(tokens.slice(2, Math.max(2, angles - 1))).map(templateParameter);
  const parameters = argumentsOf(tokens, name + 1).map((part) => {
    const texts = part.map(({ text }) => text);
    const called = part.findLast(({ text }) => NAME.test(text))?.text ?? "";
    const type = texts.filter((text) => !/^(const|volatile|__restrict__|\*|&|\[|\])$/.test(text));
    return {
      name: called,
      type: type.filter((text) => text !== called).join(" "),
      pointer: texts.includes("*") || texts.includes("["),
      constant: texts.includes("const"),
    };
  });
  const text = source.slice(tokens[0].start, tokens.at(-1)?.end);
  return { name: names[0], line: lineOf(tokens[name]), template, parameters, text };
}

/** `typename T` or `int BM = 64`. */
function templateParameter(part: Token[]) {
  const texts = part.map(({ text }) => text);
  const equals = texts.includes("=") ? texts.indexOf("=") : texts.length;
  const isType = texts[0] === "typename" || texts[0] === "class";
  return { name: texts[equals - 1], isType, value: texts.slice(equals + 1).join(" ") };
}

function declarationsOf(tokens: Token[]): Declaration[] {
  const found: Declaration[] = [];
  for (let place = 0; place < tokens.length; ) {
    const from = place;
    const first = tokens[from].text;
    if (first.startsWith("#") || first === "}" || first === ";") {
      const kind = first.startsWith("#") ? "directive" : "scope";
      found.push({ tokens: [tokens[from]], kind, names: [] });
      place += 1;
      continue;
    }
    let body = -1;
    let isValue = false;
    const templateEnd = endOfTemplate(tokens.slice(from, from + MOST_HEAD).map((one) => one.text));
    for (; place < tokens.length; place += 1) {
      const { text } = tokens[place];
      if (text === ";") break;
      if (text === "=" && place >= from + templateEnd) isValue = true;
      if (text === "{" && isScope(tokens.slice(from, place))) break;
      if (!OPEN.includes(text)) continue;
      const head = tokens.slice(from, place).map((one) => one.text);
      if (text === "{") body = place;
      place = matching(tokens, place);
      if (text === "{" && !isValue && !isType(head) && tokens[place + 1]?.text !== ";") break;
    }
    place += 1;
    const own = tokens.slice(from, place);
    if (own.at(-1)?.text === "{") found.push({ tokens: own, kind: "scope", names: [] });
    else found.push(described(own, body < 0 ? own.length : body - from));
  }
  return found;
}

const isScope = (head: Token[]) =>
  head[0]?.text === "namespace" ||
  (head[0]?.text === "extern" && head[1]?.text === '"C"' && head.length === 2);

const isType = (head: string[]) =>
  head.some((text) => ["struct", "class", "union", "enum"].includes(text)) && !head.includes("(");

/** Index after "template <…>"; 0 where there is none. */
function endOfTemplate(texts: string[]) {
  if (texts[0] !== "template") return 0;
  let depth = 0;
  for (const [place, text] of texts.entries()) {
    depth += Number(text === "<") - Number(text === ">");
    if (text === ">" && depth === 0) return place + 1;
  }
  return 0;
}

function described(tokens: Token[], body: number): Declaration {
  const head = tokens.slice(0, body);
  const texts = head.map(({ text }) => text);
  const type = texts.findIndex((text) => ["struct", "class", "union", "enum"].includes(text));
  if (type >= 0 && isType(texts)) {
    const name = texts.slice(type + 1).find((text) => NAME.test(text) && text !== "class");
    const end = tokens.findLastIndex(({ text }) => text === "}");
    const last = tokens.slice(end + 1).findLast(({ text }) => NAME.test(text))?.text;
    return { tokens, kind: "type", names: [name, last].filter((one) => one !== undefined) };
  }
  if (texts[0] === "using" || texts[0] === "typedef") {
    const name = texts[0] === "using" ? texts[1] : texts.findLast((text) => NAME.test(text));
    return { tokens, kind: "type", names: name && texts[1] !== "namespace" ? [name] : [] };
  }
  const opening = texts.findIndex(
    (text, at) => text === "(" && NAME.test(texts[at - 1] ?? "") && !NOT_NAMES.has(texts[at - 1]),
  );
  const equals = texts.indexOf("=", endOfTemplate(texts));
  if (opening > 0 && (equals < 0 || opening < equals)) {
    return { tokens, kind: "function", names: [texts[opening - 1]] };
  }
  const until = texts.findIndex((text) => ["=", "[", "{", ";"].includes(text));
  const name = texts.slice(0, until < 0 ? undefined : until).findLast((text) => NAME.test(text));
  return { tokens, kind: "other", names: name ? [name] : [] };
}

/** Blank what no kernel needs; line numbers stay. */
function devicePart(source: string, declarations: Declaration[], kernel: string) {
  const macros = new Map<string, string[]>();
  for (const { tokens, kind } of declarations) {
    const define = /^#\s*define\s+(\w+)([\s\S]*)/.exec(kind === "directive" ? tokens[0].text : "");
    if (define) macros.set(define[1], define[2].match(/[A-Za-z_]\w*/g) ?? []);
  }
  const byName = new Map<string, Declaration[]>();
  for (const one of declarations) {
    for (const name of one.names) byName.set(name, [...(byName.get(name) ?? []), one]);
  }
  const needed = new Set<Declaration>();
  const seen = new Set<string>();
  const waiting = declarations.filter(
    (one) => isMarked(one, "__global__") && one.names.includes(kernel),
  );
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    if (needed.has(one)) continue;
    needed.add(one);
    const words = one.tokens.map(({ text }) => text);
    for (let word = words.pop(); word !== undefined; word = words.pop()) {
      if (seen.has(word)) continue;
      seen.add(word);
      words.push(...(macros.get(word) ?? []));
      waiting.push(...(byName.get(word) ?? []).filter(mayStay));
    }
  }
  let device = "";
  let place = 0;
  for (const one of declarations) {
    const [start, end] = [one.tokens[0].start, one.tokens.at(-1)?.end ?? 0];
    const text = source.slice(start, end);
    const isInclude = one.kind === "directive" && /^#\s*(include|error)/.test(text);
    const stays = (one.kind === "directive" || one.kind === "scope") && !isInclude;
    device += source.slice(place, start) + (stays || needed.has(one) ? text : blank(text));
    place = end;
  }
  return device + source.slice(place);
}

/** Functions of the host alone stay out; constexpr ones may be called on a GPU. */
const mayStay = (one: Declaration) =>
  one.kind !== "function" ||
  isMarked(one, "__device__") ||
  (isMarked(one, "constexpr") && !isMarked(one, "__global__"));

const blank = (text: string) => text.replace(/[^\r\n]/g, " ");
