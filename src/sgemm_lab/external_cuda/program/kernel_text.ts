// What the text of a kernel says of a launch that runs without a fault: sums that halve an odd number
// leave an element out, and no block is the last where a counter was not set back.

import { constantOf } from "../constants.ts";
import type { CudaFile } from "../cuda_file.ts";
import { kernelsOf, lastName, templateValues } from "../kernels.ts";
import { type Token, textsOf, tokensOf } from "../tokens.ts";

/** `for (int s = blockDim.x / 2; s > 0; s /= 2) if (t < s) part[t] += part[t + s]`, with nothing for odd numbers */
const HALVES =
  /^for\((?:unsigned int|unsigned|int|auto) (\w+)=([^;]+);\1(?:>0|>=1|!=0)?;\1(?:>>=1|\/=2|=\1(?:>>1|\/2))\)\{?(?:__syncthreads\(\);)?if\((\w+|threadIdx\.x)<\1\)\{?(\w+)\[\3\][-+*]?=[^;]*?\b\4\[\3\+\1\](?!.{0,99}(?:%2|&1))/;
/** `atomicAdd(&ticket, 1) == gridDim.x - 1`, or with a variable between */
const COUNTS =
  /(?:(\w+)=)?atomicAdd\(&?(\w+)(?:\[0\])?,1[uU]?\)(?:\+1)?(?:;.*?\b\1(?:\+1)?)?==\(?gridDim\.x(?:\*gridDim\.[yz])*(?:-1)?\)*[;&|?{)]/g;

/** A kernel's name, with the values of its template as well, and the sides of its launch. */
interface Launched {
  name: string;
  key: string;
  grid: number[];
  block: number[];
}

const textOf = (tokens: Token[]) =>
  textsOf(tokens)
    .join(" ")
    .replace(/ ?([^\w ]) ?/g, "$1");

/**
 * What is wrong with a launch by the text of its kernel.
 * @param held the first number of an array or a variable as the launch begins; 0 where it is not known
 */
export function byText(
  file: CudaFile,
  { name, key, grid, block: [threads] }: Launched,
  held: (name: string) => number,
) {
  const kernel = kernelsOf(file).find((one) => lastName(one.name) === name);
  if (!kernel) return [];
  const { tokens } = kernel.declaration;
  const values = [...templateValues(kernel, key)].map(([one, value]) => [one, Number(value)]);
  const at = (token: Token, text: string) => ({
    line: file.lineOf(kernel.declaration, token),
    text,
  });
  const blocks = grid.reduce((all, side) => all * side, 1);
  const loops = tokens.flatMap((token, place) => {
    if (token.text !== "for") return [];
    const [, , start = "0", , array] = HALVES.exec(textOf(tokens.slice(place, place + 120))) ?? [];
    const told = tokensOf(start.replaceAll("blockDim.x", `${threads}`));
    const first = Math.floor(constantOf(told, file, Object.fromEntries(values)) ?? 0);
    let rest = first;
    while (rest > 1 && rest % 2 === 0) rest /= 2;
    const message =
      `with blocks of ${threads} threads the loop halves ${first} to ${rest}, and then leaves out ` +
      `${array}[${rest - 1}]. Begin with a power of two, and guard the index.`;
    return rest > 1 ? at(token, message) : [];
  });
  const counters = [...textOf(tokens).matchAll(COUNTS)].flatMap(([, , counter]) => {
    const before = held(counter);
    const place = tokens.findIndex(
      ({ text }, after) =>
        text === counter && tokens.slice(after - 3, after).some((one) => one.text === "atomicAdd"),
    );
    const message =
      `${counter} holds ${before} as this launch begins, so none of its ${blocks} blocks finds that it ` +
      "is the last. Set it back to 0 for each launch.";
    return before >= blocks && place >= 0 ? at(tokens[place], message) : [];
  });
  return [...loops, ...counters];
}
