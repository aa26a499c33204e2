// The workers behind a panel: made when they are first needed, ended where the reader stops them.

import { LabError } from "../../errors.ts";
import { SourceError } from "../source_error.ts";

const loads: Map<string, Promise<void>> = new Map();

/** Load a script of the site, once. */
export function script(file: string): Promise<void> {
  const address = new URL(file, folder()).href;
  const loading =
    loads.get(address) ??
    new Promise((done, fail) => {
      const element = document.createElement("script");
      element.src = address;
      element.onload = () => done();
      element.onerror = () => {
        loads.delete(address);
        fail(new LabError(`The file ${file} could not be loaded. Check the network.`));
      };
      document.head.append(element);
    });
  loads.set(address, loading);
  return loading;
}

/** The folder of the panels' scripts: that of the script which has this. */
export function folder() {
  const own: HTMLScriptElement | null = document.querySelector(
    'script[src*="panel.js"], script[src*="panel-lines.js"], script[src*="workbench.js"]',
  );
  return own?.src ?? location.href;
}

/** The reader ended what ran. */
export class StoppedError extends LabError {
  constructor() {
    super("Stopped.");
  }
}

/** How much is done; or what is done, in words. */
export interface Progress {
  done: number;
  total: number;
  words?: string;
}

/** A worker that answers one question after another. */
export class Background {
  #worker: Worker | null = null;
  #address = "";
  #asked = 0;
  #giveUp: ((fault: Error) => void) | null = null;

  /** @param text gives the worker's script */
  constructor(public text: () => Promise<string>) {}

  /** Whether it has started, so that what it loads is there. */
  get started() {
    return this.#worker !== null;
  }

  /** Ask, and wait for the answer. Throws a LabError where the answer is a fault. */
  async ask<Answer, Told = Progress>(
    request: Record<string, unknown>,
    onProgress?: (progress: Told) => void,
  ): Promise<Answer> {
    const worker = await this.#running();
    if (worker !== this.#worker) throw new StoppedError();
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((done, fail) => {
      this.#giveUp = fail;
      worker.onerror = (event) => {
        this.stop();
        fail(new Error(event.message));
      };
      worker.onmessage = ({ data }) => {
        if (data.id !== id) return;
        if (data.progress) onProgress?.(data);
        else if (data.line !== undefined) fail(new SourceError(data.fault, data.line));
        else if (data.fault) fail(new LabError(data.fault));
        else done(data);
      };
      worker.postMessage({ ...request, id });
    });
  }

  /** End what runs. The next question starts a new worker. */
  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    URL.revokeObjectURL(this.#address);
    this.#giveUp?.(new StoppedError());
    this.#giveUp = null;
  }

  async #running() {
    if (this.#worker) return this.#worker;
    // From its text, because a page that is opened as a file may not start a worker from a file.
    const text = await this.text();
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    this.#worker = new Worker(address);
    // The address must hold until the worker has read it, which may be late on a busy machine.
    this.#address = address;
    return this.#worker;
  }
}

/** What checks any CUDA file. */
export const newChecker = () =>
  new Background(async () => {
    await script("panel-checker.js");
    return window.labChecker;
  });

/** The engine: runs a kernel's PTX. */
export const newEngine = () =>
  new Background(async () => {
    await script("panel-engine.js");
    return window.labEngine;
  });
