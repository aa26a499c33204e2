// Spreads the outer loops of a sequential function over threads: one thread of the simulator would
// take minutes for a reference of some thousand elements. Loops whose iterations assign no variable
// from outside are spread: the outermost over all threads, or, where another such loop is the only
// one inside, over blocks and that one over the threads of each. What iterations do to each other
// through memory is left to the race detector.

import type { Declaration } from "./declarations.ts";
import { depthOf, matching, type Token, textsOf } from "./tokens.ts";

/** The launch of a function whose loops are spread. */
export const [BLOCKS, THREADS] = [64, 64];
const [BLOCK, THREAD] = ["(int)blockIdx.x", "(int)threadIdx.x"];

/** `for (int i = a; i < b; i++)` and its body, by indices of tokens. */
interface Loop {
  name: string;
  equals: number;
  /** after the start value */
  semicolon: number;
  /** the tokens of the step and of the body, from and to */
  step: [number, number];
  body: [number, number];
}

/**
 * The text of a function with its outer loops spread over threads; null if it has none.
 * @param text of its file
 */
export function spread({ tokens, head, start, end }: Declaration, text: string) {
  const outer = onlyLoop(tokens, head.length + 1, tokens.length - 1);
  if (!outer) return null;
  const inner = onlyLoop(tokens, ...outer.body);
  const edits = inner
    ? [...editsOf(outer, tokens, BLOCK, BLOCKS), ...editsOf(inner, tokens, THREAD, THREADS)]
    : editsOf(outer, tokens, `(${BLOCK} * ${THREADS} + ${THREAD})`, BLOCKS * THREADS);
  let found = "";
  let place = start;
  for (const [first, last, added] of edits.sort(([one], [other]) => one - other)) {
    found += text.slice(place, first) + added;
    place = last;
  }
  return found + text.slice(place, end);
}

/** Start at the thread's number, and step by the count of threads. */
function editsOf(loop: Loop, tokens: Token[], number: string, count: number) {
  const after = tokens[loop.equals].end;
  const before = tokens[loop.semicolon].start;
  const [first, last] = loop.step;
  return [
    [after, after, ` ${number} + (`],
    [before, before, ")"],
    [tokens[first].start, tokens[last].start, `${loop.name} += ${count}`],
  ] as [number, number, string][];
}

/** The only loop directly between two tokens, if its iterations can be spread. */
function onlyLoop(tokens: Token[], start: number, end: number) {
  const places: number[] = [];
  for (let place = start; place < end; place++) {
    const { text } = tokens[place];
    const isLocalArray = text === "[" && tokens[place - 2]?.kind === "name";
    if (/^(while|do|if|switch)$/.test(text) || isLocalArray) return null;
    if (text === "for") {
      places.push(place);
      place = matching(tokens, place + 1);
    } else if (depthOf(text) > 0) place = matching(tokens, place);
  }
  const loop = places.length === 1 ? loopAt(tokens, places[0]) : null;
  return loop && isFree(tokens, ...loop.body) ? loop : null;
}

/** A loop that counts up by one from where it declares its variable. */
function loopAt(tokens: Token[], place: number): Loop | null {
  const close = matching(tokens, place + 1);
  const [first, second, third] = tokens.flatMap(({ text }, at) =>
    text === ";" && at > place && at < close ? at : [],
  );
  if (!second || third) return null;
  const head = textsOf(tokens.slice(place + 2, first));
  const equals = place + 2 + head.indexOf("=");
  if (head.indexOf("=") < 2 || head.includes(",")) return null;
  const name = tokens[equals - 1].text;
  const step = textsOf(tokens.slice(second + 1, close)).join("");
  if (![`${name}++`, `++${name}`, `${name}+=1`].includes(step)) return null;
  if (tokens[first + 1].text !== name || tokens[first + 2].text !== "<") return null;
  return {
    name,
    equals,
    semicolon: first,
    step: [second + 1, close],
    body: bodyAfter(tokens, close),
  };
}

function bodyAfter(tokens: Token[], close: number): [number, number] {
  const start = close + 1;
  if (tokens[start]?.text === "{") return [start + 1, matching(tokens, start)];
  let end = start;
  while (end < tokens.length && tokens[end].text !== ";") {
    end = depthOf(tokens[end].text) > 0 ? matching(tokens, end) + 1 : end + 1;
  }
  return [start, Math.min(end + 1, tokens.length)];
}

/** Whether a body assigns only variables that it declares, and leaves no function. */
function isFree(tokens: Token[], start: number, end: number) {
  const declared = new Set<string>();
  for (let place = start; place < end; place++) {
    const { text, kind } = tokens[place];
    if (text === "return" || text === "goto") return false;
    if (kind !== "name") continue;
    const before = tokens[place - 1];
    const after = tokens[place + 1].text;
    const isAssigned = assigns(tokens, place + 1);
    const isTyped = before.kind === "name" && /^[=;,[({]$/.test(after);
    const isPointer = /^[*&>]$/.test(before.text) && after === "=" && isAssigned;
    if (isTyped || isPointer) declared.add(text);
    const isCounted = /^(\+\+|--)$/.test(tokens[place - 2].text + before.text);
    const isMember = before.text === "." || before.text === ">";
    if ((isAssigned || isCounted) && !isMember && !declared.has(text)) return false;
  }
  return true;
}

/** Whether an operator that assigns, such as `+=` or `++`, stands at a place. */
function assigns(tokens: Token[], place: number) {
  const operator = textsOf(tokens.slice(place, place + 3)).join("");
  if (operator.startsWith("=")) return !operator.startsWith("==");
  return /^(\+\+|--|[-+*/%|&^]=)/.test(operator) || operator === "<<=" || operator === ">>=";
}
