// Device functions, written out where they are called, in the text of a PTX module.
//
// A call passes its arguments through small arrays of the state space `.param`. Written out, these
// are local arrays of the calling thread, which no counter of global or shared memory sees:
// hardware passes them in registers. So nothing else of the simulator needs to know of calls. The
// grammar is that of NVIDIA's "Parallel Thread Execution ISA", sections "Calling sequence" and
// `call`.

import { LabError } from "../errors.ts";
import { closingBrace } from "./ptx_text.ts";
import { sentence } from "./sentences.ts";
import { fileTable, placeAfter } from "./source_locations.ts";

/** Times that a function which calls itself once is written out inside itself. */
const DEEPEST = 24;
/** Copies of a function inside itself, where it calls itself at several places. */
const MOST_COPIES = 300;

const FUNCTION =
  /^[ \t]*(?:\.(?:visible|weak|extern)\s+)*\.func\s*(?:\((?<result>[^)]*)\)\s*)?(?<name>[\w$]+)\s*(?:\((?<takes>[^)]*)\))?[\s\w.]*?(?<end>[{;])/gm;
const ENTRY = /\.entry\s+[\w$]+\s*(?:\([^)]*\))?[^{]*\{/g;
/** All that belongs to one call, as NVIDIA's compiler marks it. */
const SEQUENCE = /\{ \/\/ callseq (\d+), \d+(.*?)\} \/\/ callseq \1\b/gs;
const CALL =
  /\bcall(?:\.uni)?\s*(?:\(\s*(?<result>[\w$]+)\s*\)\s*,\s*)?(?<name>[\w$%]+)\s*(?:,\s*\((?<given>[^)]*)\))?\s*(?:,\s*[\w$]+\s*)?;/;
const PARAMETER = /\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?/g;
const REGISTERS = /^\s*\.reg\s*\.\w+\s+(.*?);/gm;
/** A register that calling sequences declare and do not use. */
const SPARE = ".reg .b32 temp_param_reg;";
/** A function of CUDA's own that changes nothing a kernel computes with. */
const SILENT = "vprintf";
const COUNTING_BARRIER =
  /(@!?%\w+\s+)?\b(bar|barrier)(?:\.cta)?\.red\.(popc\.u32|and\.pred|or\.pred)(?:\.aligned)?\s+(%[\w$]+)\s*,\s*([^;]*?)\s*,\s*(!?%[\w$]+)\s*;/g;

/**
 * A device function of the module. `result`: its array for what it returns, undefined if it returns
 * nothing. `body`: empty where it is only announced.
 */
interface DeviceFunction {
  result: string | undefined;
  takes: string[];
  body: string;
}

/** Write each barrier that counts as three instructions: leave a vote, meet, read the votes. */
export function countingBarriers(ptx: string) {
  return ptx.replace(
    COUNTING_BARRIER,
    (_, guard = "", name, what, target, number, holds) =>
      `${guard}blockvote.leave ${holds}; ${guard}${name}.sync ${number}; ` +
      `${guard}blockvote.${what} ${target};`,
  );
}

/**
 * A module in which the kernels call nothing any more. Throws a LabError where a function is called
 * that the module does not have, or through a pointer.
 */
export function inlined(ptx: string) {
  const { functions, rest } = functionsOf(ptx);
  if (!functions.size && ptx.search(SEQUENCE) < 0) return ptx;
  const writer = new Writer(functions, fileTable(ptx));
  let [found, position] = ["", 0];
  for (const entry of rest.matchAll(ENTRY)) {
    if (entry.index < position) continue;
    const start = entry.index + entry[0].length;
    const end = closingBrace(rest, start);
    found += rest.slice(position, start) + writer.written(rest.slice(start, end), []);
    position = end;
  }
  return found + rest.slice(position);
}

/** The device functions of a module, and the text without them. */
function functionsOf(ptx: string) {
  const functions: Map<string, DeviceFunction> = new Map();
  let [rest, position] = ["", 0];
  for (const match of ptx.matchAll(FUNCTION)) {
    if (match.index < position) continue;
    const { name, result, takes, end } = match.groups as Record<string, string>;
    const start = match.index + match[0].length;
    const close = end === "{" ? closingBrace(ptx, start) : start;
    const body = ptx.slice(start, close);
    if (body || !functions.has(name)) {
      functions.set(name, { result: namesIn(result)[0], takes: namesIn(takes), body });
    }
    rest += ptx.slice(position, match.index);
    position = end === "{" ? close + 1 : close;
  }
  return { functions, rest: rest + ptx.slice(position) };
}

function namesIn(declared: string | undefined) {
  return [...(declared ?? "").matchAll(PARAMETER)].map(([, , name]) => name);
}

/** Writes the calls of kernels out. */
class Writer {
  /** Calls written so far. */
  count = 0;

  constructor(
    public functions: Map<string, DeviceFunction>,
    public files: Map<number, string>,
  ) {}

  /** A body in which each calling sequence is the function that it calls. */
  written(body: string, callers: string[]): string {
    return body.replace(SEQUENCE, (whole, _, inside: string, at: number) =>
      this.sequence(inside.replaceAll(SPARE, ""), callers, (key, name) => {
        const place = placeAfter(body.slice(0, at + whole.length), this.files);
        return new LabError(sentence(key, { place, name }));
      }),
    );
  }

  sequence(
    inside: string,
    callers: string[],
    refusal: (key: "run.pointer" | "run.call", name?: string) => LabError,
  ) {
    const call = CALL.exec(inside);
    const { name, result, given } = call?.groups ?? {};
    const called = this.functions.get(name);
    if (!call || (!called && name !== SILENT)) throw refusal("run.pointer");
    if (called && !called.body && name !== SILENT) throw refusal("run.call", name);
    const number = ++this.count;
    const arrays = new Map(namesIn(inside).map((one) => [one, `${one}_call${number}`]));
    const [before, after] = [
      inside.slice(0, call.index),
      inside.slice(call.index + call[0].length),
    ].map((text) => renamed(asLocal(text), arrays));
    const target = arrays.get(result) ?? "";
    if (!called?.body) return `${before}\nst.local.b32 [${target}], 0;\n${after}`;
    const passed = (given ?? "").split(",").map((one) => one.trim());
    const names = new Map(
      called.takes.slice(0, passed.length).map((one, at) => {
        return [one, arrays.get(passed[at]) ?? passed[at]];
      }),
    );
    if (called.result) names.set(called.result, target);
    return `${before}\n${this.bodyOf(name, called.body, names, callers, number)}\n${after}`;
  }

  bodyOf(
    name: string,
    text: string,
    names: Map<string, string>,
    callers: string[],
    number: number,
  ) {
    const calls = [...text.matchAll(new RegExp(CALL, "g"))];
    const own = calls.filter(({ groups }) => groups?.name === name).length;
    const deepest = own < 2 ? DEEPEST : Math.floor(Math.log(MOST_COPIES) / Math.log(own));
    if (callers.filter((caller) => caller === name).length >= deepest) {
      return `trap.depth${deepest};`;
    }
    const body = this.written(ownBody(text, names, number), [...callers, name]);
    const end = `$end_call${number}`;
    return `${body.replace(/\bret\s*;/g, () => `bra.uni ${end};`)}\n${end}:`;
  }
}

/** A function's body with registers, labels and arrays that no other call has. */
function ownBody(text: string, names: Map<string, string>, number: number) {
  const declared = [...text.matchAll(REGISTERS)].flatMap(([, list]) => list.split(","));
  const prefixes = declared.map((one) => one.trim().split("<", 1)[0]);
  const registers = prefixes.filter((one) => one[0] === "%").map((one) => one.slice(1));
  let body = text;
  if (registers.length) {
    const register = new RegExp(`%(${anyOf(registers)})(?=\\d*\\b|<)`, "g");
    body = body.replace(register, (_, one) => `%c${number}_${one}`);
  }
  body = body.replace(/(\$L_\w+|__local_depot\d+)/g, (one) => `${one}_call${number}`);
  return renamed(names.size ? asLocal(body, names) : body, names);
}

/** The pattern of some names, the longest first. */
function anyOf(names: Iterable<string>) {
  const ordered = [...new Set(names)].sort((one, other) => other.length - one.length);
  return ordered.map((name) => name.replaceAll("$", "\\$&")).join("|");
}

/** Parameters of calls as local arrays; with `known`, only those of the function itself. */
function asLocal(text: string, known: Map<string, string> | null = null) {
  if (known) {
    const own = new RegExp(
      `\\b(ld|st)\\.param\\.([\\w.]+)(?=[^;]*\\[(?:${anyOf(known.keys())})\\b)`,
      "g",
    );
    return text.replace(own, "$1.local.$2");
  }
  const bytesOf = (type: string) => Number(type.replace(/\D/g, "")) / 8;
  return text
    .replace(
      PARAMETER,
      (_, type, name, size) => `.local .align 8 .b8 ${name}[${bytesOf(type) * Number(size ?? 1)}]`,
    )
    .replace(/\b(ld|st)\.param\./g, "$1.local.");
}

function renamed(text: string, names: Map<string, string>) {
  if (!names.size) return text;
  const word = new RegExp(`(?<![\\w$%])(${anyOf(names.keys())})(?![\\w$])`, "g");
  return text.replace(word, (name) => names.get(name) as string);
}
