// A kernel that the file's own program launches: what was found, and its launches, which the reader can
// change.

import { LabError } from "../../errors.ts";
import type { CudaFile } from "../../external_cuda/cuda_file.ts";
import { isWhole, resolve } from "../../external_cuda/elements.ts";
import { type FoundFunction, launchesOf, launchesOfKernel } from "../../external_cuda/kernels.ts";
import type { LaunchChange, ProgramLaunch } from "../../external_cuda/program_launches.ts";
import type { KernelReport } from "../../external_cuda/report.ts";
import { comma, plural } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { note } from "../panel/results.ts";
import type { ProgramFound } from "./run_program.ts";
import { Section } from "./section.ts";

/** Launches of a kernel that are shown. */
const MOST_SHOWN = 6;

/** What the reader sets, by the number of the launch; texts by the name of the field. */
export type Edits = Map<number, Map<string, string>>;

export class LaunchedSection extends Section {
  constructor(
    public file: CudaFile,
    kernel: FoundFunction,
    public edits: Edits,
    public changed: () => void,
  ) {
    super(kernel, file.lineOf(kernel.declaration));
  }

  show(found: ProgramFound, report: KernelReport, source: string[]) {
    const name = found.instances.get(this.kernel.name) ?? "";
    this.say(report, found.counts.get(name), source);
    const launches = found.launches.filter((one) => one.kernel === name);
    this.element.append(this.verdict, ...this.#launches(launches), this.counts, this.run);
  }

  #launches(launches: ProgramLaunch[]) {
    const lines = launchesOfKernel(this.kernel, launchesOf(this.file)).map(({ line }) => line);
    const at = new Set(lines).size === 1 ? `Line ${lines[0]}` : "";
    const shown = launches.slice(0, MOST_SHOWN).map((one) => this.#launch(one, at));
    const more = launches.length - MOST_SHOWN;
    return more > 0 ? [...shown, note(`And ${comma(more)} more.`)] : shown;
  }

  #launch(launch: ProgramLaunch, at: string) {
    const { grid, block, sharedBytes, numbers, arrays, times, number, isChanged } = launch;
    const [blocks, threads] = [grid, block].map((sides) => sides.join(" × "));
    const values = numbers.map(([name, value]) => `${name} = ${Number(value.toPrecision(6))}`);
    const says = [
      `${at || `Launch ${number + 1} of the program`}: grid ${blocks}, block ${threads}`,
      ...values,
      times > 1 ? plural(times, "time") : "",
      isChanged ? "changed here" : "",
    ];
    const fields = [
      this.#field(number, "Grid", grid.join(", ")),
      this.#field(number, "Block", block.join(", ")),
      ...numbers.map(([name, value]) => this.#field(number, name, `${value}`)),
      ...(this.kernel.declaration.words.has("extern")
        ? [this.#field(number, SHARED, `${sharedBytes}`)]
        : []),
    ];
    const held = arrays.map(([name, count]) => `${name} has ${comma(count)} elements`).join(", ");
    const fold = html(
      "details",
      {},
      html("summary", {}, says.filter(Boolean).join(", ")),
      html("div", { class: "lab-launch-fields" }, ...fields),
      note(
        `${held && `${held}. `}Enter runs it with what you set; an empty field is the program's own value.`,
      ),
    );
    if (isChanged) fold.open = true;
    return fold;
  }

  #field(number: number, name: string, own: string) {
    const texts = this.edits.get(number) ?? new Map<string, string>();
    const take = (text: string) => {
      if (text.trim()) texts.set(name, text);
      else texts.delete(name);
      this.edits.set(number, texts);
    };
    const origin = html("small", {}, texts.has(name) ? "set here" : "from the program");
    return this.field(name, texts.get(name) ?? own, origin, take, this.changed);
  }
}

const SHARED = "Dynamic shared memory, bytes";

/** What the reader's texts mean. Throws a LabError that names the field. */
export function changesOf(edits: Edits, file: CudaFile, kernels: FoundFunction[]) {
  const found: Record<number, LaunchChange> = {};
  const types = new Map(
    kernels.flatMap(({ parameters }) => parameters).map((one) => [one.name, one.type]),
  );
  for (const [number, texts] of edits) {
    const change: LaunchChange = {};
    for (const [name, text] of texts) {
      if (name === "Grid") change.grid = sidesIn(text, name);
      else if (name === "Block") change.block = sidesIn(text, name);
      else {
        const value = Number(text);
        const isReal = name !== SHARED && !isWhole(resolve(types.get(name) ?? "", file, new Map()));
        if (!(isReal ? Number.isFinite(value) : Number.isInteger(value))) {
          throw new LabError(`${name}: write a ${isReal ? "" : "whole "}number.`);
        }
        if (name === SHARED) change.sharedBytes = value;
        else change.numbers = { ...change.numbers, [name]: value };
      }
    }
    if (texts.size) found[number] = change;
  }
  return found;
}

function sidesIn(text: string, name: string) {
  const sides = text.split(/[,×x]/).map((part) => Number(part));
  if (sides.length > 3 || sides.some((one) => !Number.isInteger(one) || one < 1)) {
    throw new LabError(`${name}: write one to three whole numbers from 1 on.`);
  }
  return sides;
}
