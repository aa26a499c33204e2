// Arrays that lead to elements of others. Of `x[col[k]]` the array `col` holds indices; of `row[r]`
// and `row[r + 1]` the array `row` holds where rows begin and end, as in the CSR format.

import type { FoundFunction } from "./kernels.ts";
import { inside, matching, type Token, textsOf } from "./tokens.ts";

/** What arrays hold, by name, as far as a kernel's tokens say. */
export function rolesOf({ declaration: { tokens } }: FoundFunction) {
  const subscripts = new Map<string, Set<string>>();
  const found: Record<string, "offsets" | "indices"> = {};
  const depths = depthsOf(tokens);
  for (const [place, { kind, text }] of tokens.entries()) {
    if (kind !== "name" || tokens[place + 1]?.text !== "[") continue;
    const end = matching(tokens, place + 1);
    const subscript = textsOf(inside(tokens, place + 1)).join(" ");
    subscripts.set(text, (subscripts.get(text) ?? new Set()).add(subscript));
    const variable = tokens[place - 1]?.text === "=" ? tokens[place - 2]?.text : undefined;
    const ends = /^[;,)]$/.test(tokens[end + 1]?.text ?? "");
    if (depths[place] || (ends && isIndex(variable, tokens, depths))) found[text] = "indices";
  }
  for (const [name, texts] of subscripts) {
    if ([...texts].some((text) => texts.has(`${text} + 1`))) found[name] = "offsets";
  }
  return found;
}

/** In how many square brackets each token stands. */
function depthsOf(tokens: Token[]) {
  let depth = 0;
  return tokens.map(({ text }) => {
    depth -= Number(text === "]");
    const own = depth;
    depth += Number(text === "[");
    return own;
  });
}

/** Whether a variable stands in a subscript, or as a factor. */
const isIndex = (name: string | undefined, tokens: Token[], depths: number[]) =>
  tokens.some(
    ({ text }, at) =>
      text === name &&
      (depths[at] > 0 || [tokens[at - 1]?.text, tokens[at + 1]?.text].includes("*")),
  );
