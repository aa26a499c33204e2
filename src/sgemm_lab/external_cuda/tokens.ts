// The words of CUDA C++ text, each with its place: enough to see where declarations end. A
// directive, such as `#include <cmath>`, is one token with its continued lines. Comments are none.

export interface Token {
  kind: "name" | "number" | "text" | "directive" | "sign";
  text: string;
  /** where it begins and ends in the file */
  start: number;
  end: number;
}

const TOKEN =
  /(?<skip>\s+|\/\/(?:\\\r?\n|[^\n])*|\/\*[\s\S]*?\*\/|\\\r?\n)|(?<text>(?:u8|[uUL])?R"(?<mark>[^()\s\\]{0,16})\([\s\S]*?\)\k<mark>"|(?:u8|[uUL])?"(?:\\[\s\S]|[^"\\\n])*"|[uUL]?'(?:\\[\s\S]|[^'\\\n])+')|(?<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)|(?<name>[^\W\d]\w*)|<<[ \t]*<|::|->|[\s\S]/y;
const DIRECTIVE = /#(?:\\\r?\n|\/\*[\s\S]*?\*\/|"(?:\\[\s\S]|[^"\\\n])*"|(?!\/\/)[^\n])*/y;

/** Split text into tokens. Nothing is refused: what is no C++ becomes signs. */
export function tokensOf(source: string): Token[] {
  const found: Token[] = [];
  let lineIsEmpty = true;
  for (let start = 0; start < source.length; ) {
    const isDirective = source[start] === "#" && lineIsEmpty;
    const pattern: RegExp = isDirective ? DIRECTIVE : TOKEN;
    pattern.lastIndex = start;
    const [text, groups] = matchOf(pattern.exec(source), source[start]);
    const end = start + text.length;
    if (groups.skip !== undefined) lineIsEmpty ||= text.includes("\n");
    else {
      lineIsEmpty = false;
      const kind = isDirective ? "directive" : kindOf(groups);
      // "<< <" is what some formatters make.
      found.push({ kind, text: text.startsWith("<<") ? "<<<" : text, start, end });
    }
    start = end;
  }
  return found;
}

function matchOf(match: RegExpExecArray | null, letter: string) {
  return [match?.[0] ?? letter, match?.groups ?? {}] as const;
}

function kindOf({ text, number, name }: Record<string, string | undefined>) {
  if (name !== undefined) return "name";
  if (text !== undefined) return "text";
  return number === undefined ? "sign" : "number";
}

/** The texts of tokens. */
export const textsOf = (tokens: Token[]) => tokens.map(({ text }) => text);

/** The texts of tokens, with a blank only where two words meet. */
export function joined(texts: string[]) {
  return texts.reduce(
    (text, word) => text + (/\w$/.test(text) && /^\w/.test(word) ? " " : "") + word,
    "",
  );
}

const OPENING = new Set(["(", "[", "{"]);
const CLOSING = new Set([")", "]", "}"]);

/** 1 for a token that opens a bracket, -1 for one that closes one, else 0. */
export function depthOf(text: string) {
  return Number(OPENING.has(text)) - Number(CLOSING.has(text));
}

/** The index of the bracket that closes `opening`; the last index if none does. */
export function matching(tokens: Token[], opening: number) {
  let depth = 0;
  for (let place = opening; place < tokens.length; place++) {
    depth += depthOf(tokens[place].text);
    if (depth === 0) return place;
  }
  return tokens.length - 1;
}

/** The tokens between the bracket at `opening` and the one that closes it. */
export const inside = (tokens: Token[], opening: number) =>
  tokens.slice(opening + 1, matching(tokens, opening));

/** The index after the `>` that closes the `<` at `opening`. */
export function afterAngles(tokens: Token[], opening: number) {
  let depth = 0;
  let place = opening;
  while (place < tokens.length) {
    if (OPENING.has(tokens[place].text)) place = matching(tokens, place);
    const text = tokens[place]?.text;
    depth += Number(text === "<") - Number(text === ">");
    place++;
    if (depth === 0) break;
  }
  return place;
}

/** Split at the commas that stand in no brackets; `<` and `>` are brackets too. */
export function split(tokens: Token[]): Token[][] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    const { text, kind } = token;
    depth += depthOf(text) + Number(text === "<") - Number(text === ">");
    if (text === "," && depth === 0) parts.push([]);
    else if (kind !== "directive") parts.at(-1)?.push(token);
  }
  return parts.filter((part) => part.length);
}
