// The kernels of a file: their names, templates, parameters, and how the file launches them.

import { LabError } from "../errors.ts";
import { plural } from "../text.ts";
import type { CudaFile } from "./cuda_file.ts";
import { anglesBefore, type Declaration } from "./declarations.ts";
import { withLaunchMacros } from "./launch_macros.ts";
import { afterAngles, depthOf, inside, joined, split, type Token, textsOf } from "./tokens.ts";

const QUALIFIERS = new Set([
  ...["const", "volatile", "restrict", "__restrict__", "__restrict", "struct", "typename"],
  ...["static", "register", "__grid_constant__", "constexpr", "*", "&"],
]);
const TYPE_WORDS = /^(int|long|short|char|unsigned|signed|float|double|bool)$/;
/** Kernels that a message lists. */
const MOST_LISTED = 12;

/** A parameter of a kernel or a template, or a field of a struct, as the source declares it. */
export interface Parameter {
  name: string;
  /** without qualifiers and its star: "float", "unsigned int", "half", "T", "int*" */
  type: string;
  pointer: boolean;
  /** what it points to may not be written */
  constant: boolean;
  /** the struct parameter that it is a field of; "" if none */
  of: string;
}

/** A function of a file. */
export interface FoundFunction {
  /** with its namespaces: "fast::tiled" */
  name: string;
  /** types are those of the type "typename" */
  template: Parameter[];
  /** parameters of the template without a default */
  required: number;
  parameters: Parameter[];
  declaration: Declaration;
  /** it stands in the file itself, not in a header */
  ofFile: boolean;
}

/** A launch in the host code of the file. */
export interface FoundLaunch {
  line: number;
  /** as the launch names it, such as "tiled<16>" */
  kernel: string;
  /** between `<<<` and `>>>` */
  shape: Token[][];
  arguments: Token[][];
  /** the values that it gives a template */
  template: Token[][];
  /** what stands before it in its function */
  before: Token[];
  function: Declaration;
}

/** A name without its namespaces. */
export const lastName = (name: string) => name.split("::").at(-1) ?? name;

/** A name without its namespaces and the values of a template. */
export const plainName = (name: string) => lastName(name.split("<")[0]);

/** The kernels of a file and of its headers, each name once. */
export function kernelsOf(file: CudaFile): FoundFunction[] {
  const found = new Map<string, FoundFunction>();
  for (const declaration of kernelDeclarations(file)) {
    const kernel = functionOf(declaration, file);
    const before = found.get(kernel.name);
    if (!before || (!before.template.length && kernel.template.length)) {
      found.set(kernel.name, kernel);
    }
  }
  return [...found.values()];
}

/** The kernels that the file itself defines; where it defines none, those of its headers. */
export function ownKernels(file: CudaFile) {
  const defined = kernelsOf(file).filter(({ declaration }) => declaration.hasBody);
  const own = defined.filter(({ ofFile }) => ofFile);
  return own.length ? own : defined;
}

/** Those of the file first; declarations only where there is no definition. */
export function kernelDeclarations({ declarations }: CudaFile) {
  const found = declarations.filter(({ isKernel }) => isKernel);
  const defined = new Set(found.flatMap(({ hasBody, names }) => (hasBody ? names : [])));
  return found.filter(({ hasBody, names }) => hasBody || !names.some((name) => defined.has(name)));
}

/** Whether two kernels of one name are no overloads: templates and their special forms, or of the same types. */
export function isSameKernel(one: Declaration, other: Declaration) {
  const typesOf = (declaration: Declaration) =>
    parameterTokens(declaration).map((tokens) => ({ ...parameterOf(tokens), name: "" }));
  return (
    one.names[0] === other.names[0] &&
    ([one, other].some(({ head }) => head[0].text === "template") ||
      JSON.stringify(typesOf(one)) === JSON.stringify(typesOf(other)))
  );
}

export function functionOf(declaration: Declaration, file: CudaFile): FoundFunction {
  const template = templateTokens(declaration.head);
  return {
    name: [...declaration.namespace, ...declaration.names].join("::"),
    template: template.map(templateParameter),
    required: template.filter((part) => !part.some(({ text }) => text === "=")).length,
    parameters: parameterTokens(declaration).map(parameterOf),
    declaration,
    ofFile: file.files[0].declarations.includes(declaration),
  };
}

/** The name, with the parameters of the template. */
export function said({ name, template }: FoundFunction) {
  const inside = template.map((one) => `${one.type} ${one.name}`.trim());
  return inside.length ? `${name}<${inside.join(", ")}>` : name;
}

/** The tokens of each parameter of a function. */
export function parameterTokens({ head, names: [name] }: Declaration): Token[][] {
  // The name may also stand in an attribute, so it is the last one before a bracket.
  const at = head.findLastIndex(
    ({ text }, place) => text === name && /^[(<]$/.test(head[place + 1]?.text ?? ""),
  );
  if (at < 0) return [];
  const opening = head[at + 1].text === "<" ? afterAngles(head, at + 1) : at + 1;
  return split(inside(head, opening)).filter((part) => `${textsOf(part)}` !== "void");
}

/** The parameters of a template, from what stands before a function's body. */
export const templateOf = (head: Token[]) => templateTokens(head).map(templateParameter);

function templateTokens(head: Token[]) {
  if (head[0].text !== "template" || head[1]?.text !== "<") return [];
  return split(head.slice(2, afterAngles(head, 1) - 1));
}

function templateParameter(tokens: Token[]): Parameter {
  if (!/^(typename|class)$/.test(tokens[0].text)) return parameterOf(tokens);
  const name = tokens[1]?.kind === "name" ? tokens[1].text : "";
  return { name, type: "typename", pointer: false, constant: false, of: "" };
}

/** Read a parameter, or a field of a struct: type, stars and name. */
export function parameterOf(tokens: Token[]): Parameter {
  const until = (texts: string[], sign: string) =>
    texts.includes(sign) ? texts.slice(0, texts.indexOf(sign)) : texts;
  const all = until(textsOf(tokens), "=");
  const pointer = all.includes("*") || all.includes("[");
  const texts = until(all, "[").filter((text) => text !== "(" && text !== ")");
  const constant = until(texts, "*").includes("const");
  const words = texts.filter((text) => !QUALIFIERS.has(text));
  const [before, last] = [words.at(-2) ?? "", words.at(-1) ?? ""];
  const isNamed = words.length > 1 && /^[^\W\d]\w*$/.test(last) && before !== "::";
  const name = isNamed && !TYPE_WORDS.test(last) ? last : "";
  const stars = texts.filter((text) => text === "*").length;
  const type = joined(name ? words.slice(0, -1) : words) + "*".repeat(Math.max(0, stars - 1));
  return { name, type, pointer, constant, of: "" };
}

/** The launches that stand in a file and in its headers. */
export function launchesOf(file: CudaFile): FoundLaunch[] {
  return file.declarations.flatMap((declaration) => {
    const tokens = withLaunchMacros(declaration.tokens, file);
    return tokens.flatMap((token, place) => {
      const launch = token.text === "<<<" ? launchAt(tokens, place) : null;
      return launch
        ? { ...launch, function: declaration, line: file.lineOf(declaration, token) }
        : [];
    });
  });
}

function launchAt(tokens: Token[], place: number) {
  const isTemplate = tokens[place - 1]?.text === ">";
  let start = isTemplate ? anglesBefore(tokens, place - 1) - 1 : place - 1;
  while (start >= 2 && tokens[start - 1].text === "::") start -= 2;
  if (tokens[start]?.kind !== "name") return null;
  let end = place + 1;
  const closes = () => [0, 1, 2].every((more) => tokens[end + more].text === ">");
  for (let depth = 0; end + 2 < tokens.length && !(depth === 0 && closes()); end++) {
    depth += depthOf(tokens[end].text);
  }
  const opening = end + 3;
  if (tokens[opening]?.text !== "(") return null;
  const angle = tokens.findIndex(({ text }, at) => at >= start && at < place && text === "<");
  return {
    kernel: joined(textsOf(tokens.slice(start, place))),
    shape: split(tokens.slice(place + 1, end)),
    arguments: split(inside(tokens, opening)),
    template: angle < 0 ? [] : split(tokens.slice(angle + 1, place - 1)),
    before: tokens.slice(0, start),
  };
}

/** A launch in one line: "tiled<16><<<grid, block>>>(a, b)". */
export function launchText(launch: FoundLaunch) {
  const [shape, given] = [launch.shape, launch.arguments].map((parts) =>
    parts.map((part) => joined(textsOf(part))).join(", "),
  );
  return `${launch.kernel}<<<${shape}>>>(${given})`;
}

/** The launches of one kernel. */
export function launchesOfKernel({ name }: FoundFunction, launches: FoundLaunch[]) {
  return launches.filter(({ kernel }) => plainName(kernel) === lastName(name));
}

/**
 * The kernel that `entry` means, and its name for the compiler: "tiled<16>".
 *
 * Throws a LabError if there is none, there are several, or a template lacks its values.
 * @param entry a name, a part of one, or a name with the values of a template; null if the file has
 *   one kernel only
 * @param valuesOf finds the values of a template for which `entry` says none
 */
export function choose(
  file: CudaFile,
  entry: string | null,
  valuesOf: (kernel: FoundFunction) => string,
): { kernel: FoundFunction; name: string } {
  const fileName = file.files[0].name;
  let kernels = kernelsOf(file);
  if (!kernels.length) {
    throw new LabError(
      `${fileName} has no kernel: it needs a __global__ function. A header that has one must lie ` +
        "beside it, or in a folder given with -I.",
    );
  }
  if (entry === null) {
    // One kernel of the file itself goes before those of its headers.
    const own = kernels.filter(({ ofFile }) => ofFile);
    if (own.length) kernels = own;
    if (kernels.length > 1) {
      throw new LabError(
        `${fileName} has ${plural(kernels.length, "kernel")}. Choose one with --entry: ` +
          `${listed(kernels)}.`,
      );
    }
  }
  const [, name, given] = /^([^<]*)<?([\s\S]*)$/.exec(entry ?? kernels[0].name) ?? ["", "", ""];
  const wanted = name.trim();
  const same = kernels.filter((one) => wanted === one.name || wanted === lastName(one.name));
  const chosen = same.length ? same : kernels.filter((one) => one.name.includes(wanted));
  if (!chosen.length) {
    throw new LabError(`${fileName} has no kernel called '${wanted}'. It has: ${listed(kernels)}.`);
  }
  if (chosen.length > 1) {
    throw new LabError(
      `${fileName} has several kernels that '${wanted}' can mean: ${listed(chosen)}.`,
    );
  }
  const [kernel] = chosen;
  if (!kernel.template.length) return { kernel, name: kernel.name };
  const values = given.trim().replace(/>$/, "").trim() || (kernel.required ? valuesOf(kernel) : "");
  return { kernel, name: `${kernel.name}<${values}>` };
}

/** Name kernels, the first dozen of them. */
function listed(kernels: FoundFunction[]) {
  const more = kernels.length - MOST_LISTED;
  const names = kernels.slice(0, MOST_LISTED).map(said).join(", ");
  return names + (more > 0 ? ` and ${more} more` : "");
}

/** The values that a name such as "tiled<float, 16>" gives a template's parameters. */
export function templateValues({ template }: FoundFunction, name: string) {
  const text = name.includes("<") ? name.slice(name.indexOf("<") + 1).replace(/>$/, "") : "";
  const given = splitTexts(text);
  return new Map(template.slice(0, given.length).map((one, at) => [one.name, given[at]] as const));
}

/** The parts of a text between its commas, but for those in brackets. */
export function splitTexts(text: string) {
  const found = [""];
  let depth = 0;
  for (const letter of text) {
    depth += Number("<([".includes(letter)) - Number(">)]".includes(letter));
    if (letter === "," && depth === 0) found.push("");
    else found[found.length - 1] += letter;
  }
  return found.map((one) => one.trim());
}
