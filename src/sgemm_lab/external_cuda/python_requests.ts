// What Python asks about a CUDA file: see cuda_file.py.

import { packageOf } from "../clang/node.ts";
import { secondsNow } from "../simulator/clock.ts";
import type { Placed, Question, Tasks } from "../simulator/worker.ts";
import { packedResult, plainHazard } from "../simulator/worker.ts";
import { textsOf } from "./arguments.ts";
import { checkKernel, checkLaunched, compareKernel, NO_PRODUCT } from "./check_kernel.ts";
import { countKernel } from "./count_kernel.ts";
import { CudaFile, type SourceText } from "./cuda_file.ts";
import { devicePart } from "./device_part.ts";
import type { Values } from "./expected.ts";
import { isSameKernel, kernelDeclarations, ownKernels, plainName } from "./kernels.ts";
import type { Kernel } from "./launch.ts";
import { dependsOnSize, elementIn, everyArray, multiplies, resumed, shapeAt } from "./launch.ts";
import { isWrong } from "./one_launch.ts";
import { type Opened, openKernel } from "./open_kernel.ts";
import { readStart } from "./program/host_compiler.ts";
import { OF_CPP } from "./program/host_text.ts";
import { kept } from "./program/kept_file.ts";
import type { Kernels } from "./program/launcher.ts";
import { MadeValues } from "./program/made_values.ts";
import { follow } from "./program/program.ts";
import { withProgram } from "./program/report.ts";
import { smallerSizes } from "./program/sizes.ts";
import { type Watched, watchProgram } from "./program_launches.ts";
import { isAdded, programText } from "./program_text.ts";
import { referencesOf } from "./references.ts";
import { assumedOf, type KernelReport, notesOf, SETTINGS, sentencesOf } from "./report.ts";
import { otherOrders } from "./schedules.ts";
import { severityOf } from "./severity.ts";
import { tokensOf, textsOf as words } from "./tokens.ts";

// biome-ignore lint/suspicious/noExplicitAny: it is JSON
type Given = any;

/** The file of the last question: one question after another is about the same. */
let last: { key: string; file: CudaFile; opened: Map<string | null, Opened> } | null = null;

function read({ files, defines }: { files: SourceText[]; defines: Record<string, string> }) {
  const key = JSON.stringify([files, defines]);
  if (last?.key !== key) last = { key, file: new CudaFile(files, defines), opened: new Map() };
  return last;
}

function openedOf(given: Given) {
  const { file, opened } = read(given);
  const found = opened.get(given.entry) ?? openKernel(file, given.entry);
  opened.set(given.entry, found);
  return found;
}

/** The kernels that the file itself defines, each with its line. */
function kernels(given: Given) {
  const { file } = read(given);
  return ownKernels(file).map(({ name, declaration }) => ({
    name,
    line: file.lineOf(declaration),
  }));
}

/** The kernel that an entry means, and what is to be compiled of the file. */
function open(asked: Given) {
  const opened = openedOf(asked);
  const { file, kernel, name, values } = opened;
  const { declaration } = kernel;
  const given = name.includes("<") ? words(tokensOf(name.slice(name.indexOf("<")))) : [];
  const same = kernelDeclarations(file).filter(({ names }) => names[0] === declaration.names[0]);
  const roots = [
    ...same.filter((one) => isSameKernel(declaration, one)),
    // What the values of its template name.
    ...file.declarations.filter(
      ({ kind, names }) => kind === "type" && names.some((one) => given.includes(one)),
    ),
  ];
  const gone = new Set<string>(asked.gone);
  const { files, leftOut } = devicePart(file, roots, (one) => gone.has(one));
  const used = new Set(words(tokensOf(files[0].text)));
  return {
    kernel: kernel.name,
    name,
    values: [...values],
    types: kernel.template.filter(({ type }) => type === "typename").map((one) => one.name),
    valuesLine: opened.line,
    file: file.fileOf(declaration).name,
    line: file.lineOf(declaration),
    files,
    overloads: same.flatMap((one) =>
      one.hasBody && !isSameKernel(declaration, one) ? file.lineOf(one) : [],
    ),
    leftOut: leftOut.filter((one) => !isAdded(one, file)),
    silent: ["printf", "assert"].filter((word) => used.has(word)),
  };
}

/** Programs that were followed, with their launches. */
const programs = new Map<string, Watched>();

async function watched(given: Given) {
  const { key: ofFile, file } = read(given);
  const { kernels, seconds, isSketch } = given;
  const keyOf = (isSketch: boolean) => JSON.stringify([ofFile, kernels, isSketch]);
  const known = programs.get(keyOf(isSketch));
  if (known) return known;
  const clang = await packageOf(given.clang);
  if (given.headers && file.files.some(({ text }) => OF_CPP.test(text))) {
    readStart(clang, (key, make) => kept(given.headers, key, make));
  }
  const made = new MadeValues(file);
  const run = (known: Kernels) => follow(file, clang, known, seconds, made);
  const found = watchProgram(run, kernels, { isSketch, made });
  // One that lacks a kernel is followed again, with it.
  if (found.followed.needs === null) {
    for (const asked of [isSketch, found.isSketch]) programs.set(keyOf(asked), found);
  }
  return found;
}

/** The launch of a kernel by the file's own program; null if there is none. */
async function recordedOf(given: Given, program: Given) {
  if (!program) return null;
  const { calls, isSketch, followed } = await watched({ ...given, ...program });
  const launch = calls.get(program.name);
  const found = followed.findings[plainName(program.name)] ?? [];
  const isWrong = found.some(({ severity }) => severity !== "information");
  return launch ? { launch: { ...launch, isWrong }, isSketch } : null;
}

/** What Python sends of a compiled kernel: see launch.py. */
function kernelOf(question: Question, given: Given): Kernel {
  const loaded = Object.entries(given.loaded as Record<string, Placed>);
  return {
    ...{ opened: openedOf(given), ptx: given.ptx, symbol: given.symbol, notes: given.notes },
    ...{ templateAssumed: given.templateAssumed, doubts: given.doubts },
    ...{ grid: given.grid, block: given.block },
    ...{ sharedBytes: given.sharedBytes, args: given.args },
    loaded: new Map(loaded.map(([name, one]) => [name, valuesIn(question, one)])),
  };
}

function valuesIn(question: Question, placed: Placed): Values {
  const { data, shape } = question.array(placed);
  return { sides: shape, numbers: Float64Array.from(data as Float64Array, Number) };
}

/** One launch, counted and judged. */
async function count(question: Question) {
  const { kernel, size, expect, tolerance, settings, takesOrders, contents, program } =
    question.given;
  const given = Object.entries(contents as Record<string, Placed>);
  const explain = given.length ? ("never" as const) : SETTINGS.explain;
  const chosen = { ...SETTINGS, ...settings, explain, progress: question.progress };
  const done = countKernel(
    kernelOf(question, kernel),
    size,
    { expect, tolerance },
    chosen,
    new Map(given.map(([name, one]) => [name, valuesIn(question, one).numbers])),
    await recordedOf(kernel, program),
  );
  const { prepared, result } = done;
  const { grid, block } = shapeAt(prepared, size);
  const [others, tried] = takesOrders ? otherOrders(done, chosen) : [[], []];
  return {
    ...{ kernel: prepared.opened.name, grid, block, arguments: textsOf(prepared.given) },
    ...{ notes: notesOf(prepared), assumed: assumedOf(prepared), sentences: sentencesOf(done) },
    ...{ verdicts: done.verdicts, changed: done.changed, cause: done.cause, wrong: isWrong(done) },
    ...{ others, tried, multiplies: multiplies(prepared), dependsOnSize: dependsOnSize(prepared) },
    result: packedResult(result),
    severities: result.hazards.map((one) => severityOf(one, prepared)),
    harmless: done.harmless.map(plainHazard),
    before: numbersBy(done.before.values),
    after: numbersBy(done.after),
    arrays: everyArray(prepared).map((one) => ({
      name: one.name,
      symbol: prepared.variables.find(({ array }) => array === one)?.symbol ?? one.name,
      element: elementIn(prepared, one),
    })),
  };
}

const numbersBy = (arrays: Map<string, Values>) =>
  Object.fromEntries([...arrays].map(([name, { numbers }]) => [name, numbers]));

/** Texts of the file that have a kernel's references, to be compiled. */
function references({ comparable }: KernelReport, kernel: Kernel) {
  return comparable
    ? referencesOf(kernel.opened, resumed(kernel, comparable.launches[0][0]).fields)
    : [];
}

export const readingTasks: Tasks = {
  own_kernels: ({ given }) => kernels(given),
  open_kernel: ({ given }) => open(given),
  count_kernel: count,
  check_kernel: async (question) => {
    const begun = secondsNow();
    const { kernel: given, options, program, isGiven } = question.given;
    const kernel = kernelOf(question, given);
    const recorded = await recordedOf(given, program);
    const report =
      recorded && !isGiven
        ? checkLaunched(kernel, recorded.launch, recorded.isSketch, options)
        : checkKernel({ ...kernel, host: recorded?.launch }, options);
    return { report, references: references(report, kernel), seconds: secondsNow() - begun };
  },
  program_text: ({ given }) => programText(read(given).file),
  follow_program: async ({ given }) => {
    const { followed, isSketch } = await watched(given);
    return { ...followed, isSketch };
  },
  smaller_sizes: ({ given }) => smallerSizes(read(given).file, given.halvings, given.least),
  with_program: ({ given }) => withProgram(given.report, given.program, given.isLast, NO_PRODUCT),
  compare_kernel: async (question) => {
    const begun = secondsNow();
    const { kernel: given, program, report, references, options } = question.given;
    const calls = program ? (await watched({ ...given, ...program })).calls : new Map();
    const hostOf = (name: string) =>
      [...calls].find(([key]) => plainName(key) === plainName(name))?.[1];
    const compiled = references.map(({ compiled, ...one }: Given) => ({
      ...one,
      compiled: compiled.map((text: Given) =>
        typeof text === "string"
          ? text
          : { ...kernelOf(question, text), host: one.isKernel ? hostOf(one.name) : undefined },
      ),
    }));
    const host = (await recordedOf(given, program))?.launch;
    const kernel = { ...kernelOf(question, given), host };
    const completed = compareKernel(kernel, report, compiled, options);
    return { report: completed, seconds: secondsNow() - begun };
  },
};
