// Checks a pasted file in the page: its program is followed where it has a main, each kernel that the
// program does not launch runs by itself.

import type { Manifest } from "../../clang/site.ts";
import { LabError } from "../../errors.ts";
import { CudaFile } from "../../external_cuda/cuda_file.ts";
import { type FoundFunction, ownKernels } from "../../external_cuda/kernels.ts";
import { notFollowed } from "../../external_cuda/program/report.ts";
import { hasMain, programText } from "../../external_cuda/program_text.ts";
import { linesOf } from "../../kernel.ts";
import { comma, plural } from "../../text.ts";
import { html } from "../../widgets/shared/dom.ts";
import { compilerFolder, megabytesToLoad } from "../panel/compiled.ts";
import { note, say } from "../panel/results.ts";
import { newChecker, type Progress, StoppedError } from "../panel/worker.ts";
import { SourceError } from "../source_error.ts";
import { AssumedSection } from "./assumed_section.ts";
import type { State } from "./findings.ts";
import { changesOf, type Edits, LaunchedSection } from "./launched_section.ts";
import type { KernelFound } from "./run_kernel.ts";
import type { ProgramFound, ProgramRequest } from "./run_program.ts";
import type { Section } from "./section.ts";

type Tell = (words: string) => void;

interface Answer<Found> {
  found: Found;
}

/** It has a compiler of its own, which takes seconds to load: so one worker serves all files. */
const checker = newChecker();

/** End what is checked. */
export const stopChecking = () => checker.stop();

/** What a check would load first, in megabytes. */
export async function megabytesToCheck() {
  if (checker.started || !(await megabytesToLoad())) return 0;
  const manifest: Manifest = await (await fetch(`${await compilerFolder()}manifest.json`)).json();
  const sizes = Object.values({ ...manifest.files, ...manifest.headers });
  return Math.round(sizes.reduce((sum, bytes) => sum + bytes, 0) / 1e6);
}

export class FileCheck {
  element = html("div", { "data-lab": "launches" });
  kernels: FoundFunction[];
  file: CudaFile;
  #sections: Section[] = [];
  /** what is followed; null where nothing launches */
  #program: string | null = null;
  #edits: Map<string, Map<string, string>> = new Map();
  #changes: Edits = new Map();

  /**
   * Throws a LabError where the file cannot be read.
   * @param before of the file before the last edit: what the reader set there stays
   * @param changed the reader has set something, and wants it run
   */
  constructor(
    public text: string,
    public changed: () => void,
    before: FileCheck | null = null,
  ) {
    this.file = new CudaFile([{ name: "The file", text }]);
    this.kernels = ownKernels(this.file);
    if (before) this.#edits = before.#edits;
    this.#program = programText(this.file);
    if (!this.isFollowed) this.#show(this.kernels.map((kernel) => this.#assumed(kernel)));
  }

  /** Whether its own program, or one that is sketched from its text, is followed. */
  get isFollowed() {
    return this.#program !== null;
  }

  #assumed(kernel: FoundFunction, why = "") {
    const edits = this.#edits.get(kernel.name) ?? new Map<string, string>();
    this.#edits.set(kernel.name, edits);
    return new AssumedSection(this.file, kernel, edits, this.changed, why);
  }

  #show(sections: Section[]) {
    this.#sections = sections;
    this.element.replaceChildren(...sections.map(({ element }) => element));
  }

  /**
   * Check all kernels, and say what was found.
   *
   * Throws a LabError where the file does not compile, a StoppedError where the reader ends it.
   * @returns the lines that errors name
   */
  async run(verdict: HTMLElement, tell: Tell): Promise<number[]> {
    const source = linesOf(this.text);
    let program: ProgramFound | null = null;
    let why = "";
    if (this.#program !== null) {
      const changes = changesOf(this.#changes, this.file, this.kernels);
      try {
        const names = this.kernels.map(({ name }) => name);
        const isSketch = !hasMain(this.file);
        const request: ProgramRequest = { text: this.#program, changes, isSketch, names };
        const show = (found: ProgramFound) => {
          this.#show(this.kernels.flatMap((one) => this.#launched(found, one, source) ?? []));
          return `So far: ${this.#words()}`;
        };
        program = await this.#ask<ProgramFound>({ task: "program", ...request }, tell, show);
      } catch (error) {
        const isFault = error instanceof StoppedError || error instanceof SourceError;
        if (isFault || !(error instanceof LabError)) throw error;
        why = error.message;
      }
    }
    if (this.isFollowed) {
      const sections = this.kernels.map(
        (kernel) =>
          this.#launched(program, kernel, source) ??
          this.#assumed(kernel, whyAssumed(kernel.name, program, why)),
      );
      this.#show(sections);
    }
    for (const section of this.#sections) {
      if (!(section instanceof AssumedSection)) continue;
      const ask = () => this.#ask<KernelFound>({ task: "kernel", ...section.request }, tell);
      await section.check(ask, source);
    }
    this.#sum(verdict, program);
    return this.#sections.flatMap(({ named }) => named);
  }

  /** @param show shows what has been found so far, and says it in a sentence */
  async #ask<Found>(
    request: Record<string, unknown>,
    tell: Tell,
    show?: (found: Found) => string,
  ): Promise<Found> {
    const folder = await compilerFolder();
    const hear = ({ words, found }: Progress & Partial<Answer<Found>>) => {
      const before = found && show ? `${show(found)} ` : "";
      if (words) tell(`${before}${words}`);
    };
    type Told = Parameters<typeof hear>[0];
    return (await checker.ask<Answer<Found>, Told>({ ...request, folder }, hear)).found;
  }

  #launched(program: ProgramFound | null, kernel: FoundFunction, source: string[]) {
    const report = program?.reports.get(kernel.name);
    if (!program || !report) return null;
    const section = new LaunchedSection(this.file, kernel, this.#changes, this.changed);
    section.show(program, report, source);
    return section;
  }

  #worst() {
    return (["error", "warning", "failed", "none"] as const).find((state) =>
      this.#sections.some((one) => one.state === state),
    );
  }

  /** The verdict on the file in one sentence. */
  #words() {
    const worst = this.#worst();
    const [first, ...more] = this.#sections.filter(({ state }) => state === worst);
    if (!first || !worst) return "";
    const others = more.length ? `; ${OTHERS[worst](more.length)}` : "";
    return `${first.kernel.name}: ${first.headline}${others}.`;
  }

  /** The verdict, then how the file's program ended. */
  #sum(verdict: HTMLElement, program: ProgramFound | null) {
    const worst = this.#worst();
    if (worst) say(verdict, SIGNS[worst], this.#words(), ...endOf(program));
  }
}

const SIGNS: Record<State, "wrong" | "none" | "right"> = {
  ...{ error: "wrong", warning: "none", failed: "none", none: "right" },
};
const OTHERS: Record<State, (more: number) => string> = {
  error: (more) => `${plural(more, "more kernel")} with an error`,
  warning: (more) => `${plural(more, "more kernel")} with a finding that rests on an assumption`,
  failed: (more) => `${plural(more, "more kernel")} not run`,
  none: (more) => `so ${more > 1 ? "are" : "is"} ${plural(more, "more kernel")}`,
};

/** Why a kernel of a file that launches others runs with an assumed launch. */
function whyAssumed(kernel: string, program: ProgramFound | null, why: string) {
  const reason = program?.followed.stopped || why;
  return reason
    ? notFollowed(kernel, reason)
    : "The file's host code does not launch this kernel, so it runs by itself.";
}

function endOf(program: ProgramFound | null) {
  if (!program) return [];
  const { followed, launches, isSketch } = program;
  const times = launches.reduce((sum, one) => sum + one.times, 0);
  const says = [
    isSketch
      ? "The functions that launch kernels were called:"
      : "The file's main was followed on its own data:",
    `${comma(times)} ${times === 1 ? "launch" : "launches"}.`,
    isSketch && "Arrays that they do not fill hold small numbers that the page draws.",
    followed.sizes,
    followed.stopped
      ? `It was followed up to here: ${followed.stopped}`
      : !isSketch && "It ran to its end.",
    followed.status !== null && `Its exit status is ${followed.status}.`,
    followed.printed.length > 0 && "The last lines that it printed:",
  ];
  const printed = followed.printed.length ? [html("pre", {}, followed.printed.join("\n"))] : [];
  return [html("p", {}, says.filter(Boolean).join(" ")), ...printed, note(program.by)];
}
