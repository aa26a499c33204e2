// What Python asks about a CUDA file: see cuda_file.py.

import type { Tasks } from "../simulator/worker.ts";
import { assumedBlock, attempts, covering, furtherAttempts } from "./assumed_launch.ts";
import type { SourceText } from "./cuda_file.ts";
import { CudaFile } from "./cuda_file.ts";
import { devicePart } from "./device_part.ts";
import { elementOfVariable } from "./elements.ts";
import { streamFaults } from "./host_order.ts";
import { rolesOf } from "./index_arrays.ts";
import { kernelDeclarations, launchText, ownKernels } from "./kernels.ts";
import type { Opened } from "./open_kernel.ts";
import { hostShape, lettersOf, openKernel, wordsOfConditions } from "./open_kernel.ts";
import { referencesOf } from "./references.ts";
import { isNamedProduct, productArguments, suggestion } from "./signatures.ts";
import { slotsOf } from "./structs.ts";
import { textsOf, tokensOf } from "./tokens.ts";

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

function fieldsOf({ kernel, file, values }: Opened, { compiled }: Given) {
  const types = compiled.parameters.map(({ type }: { type: string }) => type);
  const slots = slotsOf(kernel.parameters, types, file, values);
  return { slots, fields: slots.flatMap(({ fields }) => fields) };
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
function open(given: Given) {
  const opened = openedOf(given);
  const { file, kernel, name, values, launches } = opened;
  const { declaration } = kernel;
  const roots = kernelDeclarations(file).filter(({ names }) => names[0] === declaration.names[0]);
  const gone = new Set<string>(given.gone);
  const { files, leftOut } = devicePart(file, roots, (one) => gone.has(one));
  const words = new Set(textsOf(tokensOf(files[0].text)));
  return {
    kernel: kernel.name,
    name,
    values: [...values],
    types: kernel.template.filter(({ type }) => type === "typename").map((one) => one.name),
    valuesLine: opened.line,
    file: file.fileOf(declaration).name,
    line: file.lineOf(declaration),
    files,
    leftOut,
    silent: ["printf", "assert"].filter((word) => words.has(word)),
    launches: launches.map((one) => ({ line: one.line, text: launchText(one) })),
    letters: lettersOf(kernel).join(""),
    roles: rolesOf(kernel),
    conditions: wordsOfConditions(kernel),
  };
}

/** The parameters of a compiled kernel, and the arguments that their names tell. */
function parameters(given: Given) {
  const opened = openedOf(given);
  const { slots, fields } = fieldsOf(opened, given);
  const { file, values } = opened;
  const product = (byColumns: boolean) => productArguments(opened.kernel.name, fields, byColumns);
  return {
    slots,
    product: product(false),
    byColumns: product(true),
    isNamedProduct: isNamedProduct(opened.name, fields),
    suggested: fields.map((one, at) => suggestion(one, at + 1)),
    variables: given.variables.map((one: string) => elementOfVariable(one, file, values)),
  };
}

/** The file's own launches of a kernel, for the numbers that it is given. */
function hostShapes(given: Given) {
  const opened = openedOf(given);
  return opened.launches.map((launch) => hostShape(opened, launch, given.numbers));
}

/** Launches of which more or less is assumed; with `madeBy` what else to run after one. */
function assumedLaunches({ compiled, known, madeBy, ...given }: Given) {
  const opened = openedOf(given);
  const { slots } = fieldsOf(opened, { compiled });
  const unknown = { opened, slots, compiled, known };
  const found = madeBy ? furtherAttempts(unknown, madeBy) : attempts(unknown);
  return [...found].map(({ args, launch: _, sizes: __, ...rest }) => ({
    ...rest,
    given: args.map(({ text }) => text).join(" "),
  }));
}

export const readingTasks: Tasks = {
  own_kernels: ({ given }) => kernels(given),
  open_kernel: ({ given }) => open(given),
  parameters: ({ given }) => parameters(given),
  assumed_shape: ({ given }) => {
    const opened = openedOf(given);
    const block = assumedBlock({ opened, compiled: given.compiled }, 0, given.numbers);
    return { grid: covering(given.elements, block), block };
  },
  host_shapes: ({ given }) => hostShapes(given),
  assumed_launches: ({ given }) => assumedLaunches(given),
  stream_faults: ({ given }) => streamFaults(openedOf(given)),
  references: ({ given }) => {
    const opened = openedOf(given);
    return referencesOf(opened, fieldsOf(opened, given).fields);
  },
};
