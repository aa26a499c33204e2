// Template arguments that the caller does not give: from the file's own launch, or what is usual.

import { constantOf } from "./constants.ts";
import type { CudaFile } from "./cuda_file.ts";
import type { Declaration } from "./declarations.ts";
import { elementOf } from "./elements.ts";
import type { FoundFunction, FoundLaunch, Parameter } from "./kernels.ts";
import { launchesOfKernel, templateOf } from "./kernels.ts";
import NAMES from "./names.json";
import { afterAngles, joined, split, type Token, textsOf } from "./tokens.ts";

/** Names of template parameters, and what they are as a rule. */
const USUAL = NAMES.template.map(([text, value]) => [new RegExp(text), value] as const);
const THREAD_TILE = /^t_?[mn]$/;
const BLOCK_TILE = /^b_?[mn]$/;
const WARP_TILE = /^w_?[mn]$/;
/**
 * Sums of a thread, and elements of a block, along one side, where names tell of both and not of
 * warps: then as many threads copy a tile as add its products, which most such kernels ask for. A
 * thread tile with one side goes with blocks of 64.
 */
const [OF_THREAD, OF_BLOCK] = ["8", "128"];
const THREADS = /^.*(?:threads|block_?(?:size|dim)|group_?size|tpb|nthr).*$/;
const INDEX = /^(i?dx|ind(ex|ices)?|offset|int)(_?t(ype)?)?$/;
/** Threads of a block along x, without and with others along y. */
const [FLAT, SQUARE] = ["256", "16"];

/** The values of a template, such as "float, 16", and the line that tells them; 0 if assumed. */
export function usualValues(kernel: FoundFunction, launches: FoundLaunch[], file: CudaFile) {
  const told = launchesOfKernel(kernel, launches).flatMap((launch) => {
    const found = ofLaunch(kernel, launch, file);
    return found ? { ...found, line: launch.line } : [];
  });
  const made = instantiated(kernel.declaration, file);
  if (made) told.push({ ...made, fits: false });
  // Of several, one whose block has a side that is a value: "if (n == 16) k<16><<<…".
  const { values, line } = told.find(({ fits }) => fits) ?? told[0] ?? assumed(kernel, file);
  return { values: values.join(", "), line };
}

/** The values of `template void f<int, 4>(…);`, which has a template compiled for them. */
function instantiated({ names: [name] }: Declaration, file: CudaFile) {
  for (const one of file.declarations) {
    const at = one.tokens.findIndex(({ text }) => text === name);
    if (one.tokens[0].text !== "template" || one.tokens[1]?.text === "<") continue;
    if (one.tokens[at + 1]?.text !== "<") continue;
    const inside = split(one.tokens.slice(at + 2, afterAngles(one.tokens, at + 1) - 1));
    return { values: inside.map((part) => joined(textsOf(part))), line: file.lineOf(one) };
  }
  return null;
}

function assumed({ declaration, template, required }: FoundFunction, file: CudaFile) {
  const texts = textsOf(declaration.tokens);
  const isSquare = texts.includes("y") && texts.includes("threadIdx");
  const names = template.map(({ name }) => plain(name));
  const sides = names.filter((name) => THREAD_TILE.test(name)).length;
  const areTiles = sides > 0 && !names.some((name) => WARP_TILE.test(name));
  // Tiles that go together take the place of what is usual for each alone.
  const values = template.slice(0, required).map((one, at) => {
    if (areTiles && sides > 1 && BLOCK_TILE.test(names[at])) return OF_BLOCK;
    return areTiles && THREAD_TILE.test(names[at]) ? OF_THREAD : usual(one, isSquare, file);
  });
  return { values, line: 0 };
}

/**
 * The values that a launch gives, and whether its block has a side that is one of them; null where
 * one cannot be worked out.
 */
function ofLaunch(kernel: FoundFunction, launch: FoundLaunch, file: CudaFile) {
  const required = kernel.template.slice(0, kernel.required);
  if (!launch.template.length && required.some(({ type }) => type !== "typename")) return null;
  const own = templateOf(launch.function.head);
  const types = own.filter(({ type }) => type === "typename").map(({ name }) => name);
  const numbers = own.filter(({ type }) => type !== "typename");
  const usually = numbers.map((one) => [one.name, Number(usual(one, false, file)) || 0]);
  const numberOf = (tokens: Token[]) =>
    constantOf(tokens, file, Object.fromEntries(usually), launch.before);
  const values: string[] = [];
  for (const [number, parameter] of kernel.template.entries()) {
    const tokens = launch.template[number];
    if (!tokens) {
      // Told by the arguments, whose types are not followed.
      if (number < kernel.required) values.push("float");
      continue;
    }
    const text = textsOf(tokens).join(" ");
    if (parameter.type === "typename") {
      const isType =
        tokens.length > 1 ||
        elementOf(text) ||
        file.declarations.some(({ names }) => names.includes(text));
      values.push(isType && !types.includes(text) ? text : "float");
    } else if (text === "true" || text === "false") values.push(text);
    else if (enumerator(parameter.type, file)) {
      const given = own.find(({ name }) => name === text);
      values.push(given ? usual(given, false, file) : text);
    } else {
      const found = numberOf(tokens);
      if (found === null) return null;
      values.push(`${parameter.type === "bool" ? found !== 0 : Math.trunc(found)}`);
    }
  }
  const threads = numberOf(launch.shape[1] ?? []);
  return { values, fits: values.includes(`${threads}`) };
}

/** Usual arguments of a template of the host that is never instantiated. */
export const usualArguments = (one: Declaration, file: CudaFile) =>
  instantiated(one, file)?.values ??
  templateOf(one.head).map((parameter) => usual(parameter, false, file));

const plain = (name: string) => name.toLowerCase().replace(/^_+|_+$/g, "");

/** The first value of an enumeration; undefined of another type. */
function enumerator(type: string, { declarations }: CudaFile) {
  const one = declarations.find(
    ({ tokens, names }) => `${tokens[0].text} ${names[0]}` === `enum ${type}`,
  );
  const scope = /^(class|struct)$/.test(one?.tokens[1].text ?? "") ? [type] : [];
  return one && [...one.namespace, ...scope, one.names[1]].join("::");
}

function usual({ type, name }: Parameter, isSquare: boolean, file: CudaFile) {
  if (type === "typename") return INDEX.test(plain(name)) ? "int" : "float";
  const first = enumerator(type, file);
  if (first) return first;
  if (type === "bool") return "false";
  const found = USUAL.find(([pattern]) => pattern.test(plain(name)));
  return found?.[1] ?? (THREADS.test(plain(name)) && !isSquare ? FLAT : SQUARE);
}
