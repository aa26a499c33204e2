// Textures and surfaces of which the reader says nothing: their elements, sides and modes, assumed.
// What an element is stands in the call, as `tex2D<uchar4>(image, …)`; how many sides there are, in
// the PTX. How a texture is read is set by host code, in words that are looked for in the whole file.

import type { CudaFile } from "./cuda_file.ts";
import { elementOf } from "./elements.ts";
import type { Field } from "./structs.ts";
import { afterAngles, textsOf } from "./tokens.ts";

/** An instruction that uses an image, by its opcode's parts, and the parameter where that is plain. */
export interface ImageUse {
  parameter: string | null;
  parts: string[];
}

/** Sides that nothing tells. */
const [SIDE, LAYERS] = [64, 8];
const OF = "(?:image|img|tex|in|src)?_?";
const [WIDTH, HEIGHT, DEPTH] = [
  "(?:width|w|nx|cols|dimx)",
  "(?:height|h|ny|rows|dimy)",
  "(?:depth|d|nz|dimz|(?:num_?)?layers)",
].map((names) => new RegExp(`^${OF}${names}$`, "i"));
const OF_RESULT: Record<string, string> = { f32: "float", s32: "int", u32: "uchar" };
/** What the elements of a surface may be, by what moves at once. */
const OF_BITS: Record<string, string> = { b8: "uchar", b16: "ushort", b32: "float", b64: "float2" };
const PAIRS: Record<string, string> = { "b64 2": "float4" };
/** Types that `--args` could not write. */
const ONE_WORD: Record<string, string> = {
  ...{ "unsigned char": "uchar", "signed char": "char", "unsigned short": "ushort" },
  ...{ "unsigned int": "uint", unsigned: "uint" },
};
const MODES: Record<string, string> = {
  ...{ cudaFilterModeLinear: "linear", cudaAddressModeBorder: "border" },
  ...{ cudaAddressModeWrap: "wrap", cudaAddressModeMirror: "mirror" },
};

/**
 * What a parameter that is a texture or surface is given, as `--args` has it, without its name.
 * @param own the parameter's name in the PTX
 * @param numbers the whole numbers that the kernel is given, by name
 * @param most elements of an image that is a line
 */
export function assumedImage(
  file: CudaFile,
  all: ImageUse[],
  own: string,
  { image, name }: Field,
  numbers: Map<string, number>,
  most: number,
) {
  const isTexture = image === "texture";
  const plain = all.filter(({ parameter }) => parameter === own);
  const ofKind = all.filter(({ parts }) => (parts[0] === "tex") === isTexture);
  const parts = (plain[0] ?? ofKind[0])?.parts ?? [];
  const geometry = parts.find((part) => /^a?[123]d$/.test(part)) ?? "2d";
  const words = file.declarations.flatMap(({ tokens }) => textsOf(tokens));
  let type = ofCall(file, name) ?? ofParts(parts);
  // What lies in memory where fractions of it are read.
  if (isTexture && words.includes("cudaReadModeNormalizedFloat")) {
    type = type.replace(/^float(?=[124]?$)/, "uchar");
  }
  const side = (names: RegExp, usual: number) =>
    Math.max(1, [...numbers].find(([one]) => names.test(one))?.[1] ?? usual);
  const sides = [geometry === "1d" ? most : side(WIDTH, SIDE)];
  if (geometry !== "1d") sides.push(geometry === "a1d" ? 1 : side(HEIGHT, SIDE));
  if (/^(3d|a1d|a2d)$/.test(geometry)) sides.push(side(DEPTH, LAYERS));
  return {
    count: sides.reduce((product, one) => product * one, 1),
    text: [image, ...sides, type, ...(isTexture ? modesOf(words) : [])].join(":"),
  };
}

/** What an element may be, by the instruction that uses it. */
function ofParts(parts: string[]) {
  if (!parts.length || parts[0] === "tex") return OF_RESULT[parts.at(-2) ?? ""] ?? "float";
  const bits = parts.find((part) => /^b(8|16|32|64)$/.test(part)) ?? "b32";
  const lanes = /v[24]/.exec(parts.join())?.[0].slice(1) ?? "";
  if (bits === "b64" || (bits === "b32" && lanes === "")) {
    return PAIRS[`${bits} ${lanes}`] ?? OF_BITS[bits];
  }
  return OF_BITS[bits] + lanes;
}

/** The elements of calls such as `tex2D<uchar4>(name, …)`. */
function ofCall(file: CudaFile, name: string) {
  for (const { tokens, words } of file.declarations) {
    for (const [place, { text }] of words.has(name) ? tokens.entries() : []) {
      if (!/^(tex|surf)[123]D\w*$/.test(text) || tokens[place + 1]?.text !== "<") continue;
      const end = afterAngles(tokens, place + 1);
      if (tokens[end]?.text !== "(" || tokens[end + 1]?.text !== name) continue;
      const said = textsOf(tokens.slice(place + 2, end - 1)).join(" ");
      const type = ONE_WORD[said] ?? said;
      if (elementOf(type)) return type;
    }
  }
  return null;
}

/** How textures of the file are read. */
function modesOf(words: string[]) {
  const found = words.flatMap((word) => (Object.hasOwn(MODES, word) ? MODES[word] : []));
  const isNormalized = words.some(
    (word, place) =>
      word === "normalizedCoords" && /^=(true|1)$/.test(words.slice(place + 1, place + 3).join("")),
  );
  return [
    ...(found.includes("linear") ? ["linear"] : []),
    ...(isNormalized ? ["normalized"] : []),
    ...found.filter((mode) => mode !== "linear").slice(0, 1),
  ];
}
