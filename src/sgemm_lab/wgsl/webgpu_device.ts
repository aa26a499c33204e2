// The reader's card through WebGPU: opened, asked to run programs, timed, and given back.

import { LabError } from "../errors.ts";

const NOT_THERE =
  "This browser offers no graphics card to pages (WebGPU). A current Chrome, Edge, Safari or " +
  "Firefox may, on a machine whose driver is supported.";
// Names for the numbers in which WebGPU says what a buffer is for, and who may read it.
const USE = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128 };
const READ = 1;
const COMPUTE = 4;

/** of a binding */
type Kind = "uniform" | "storage" | "read-only-storage";

/** A program with its buffers, ready to run. */
interface Work {
  pipeline: GPUComputePipeline;
  group: GPUBindGroup;
}

/** Open the card. Throws a LabError where the browser gives none. */
export async function openCard(): Promise<Card> {
  let device = null;
  const adapter = await navigator.gpu
    ?.requestAdapter({ powerPreference: "high-performance" })
    .catch(() => null);
  try {
    device = await adapter?.requestDevice();
  } catch {
    // An adapter that gives no device is as good as none.
  }
  if (!adapter || !device) throw new LabError(NOT_THERE);
  const { description, device: model, vendor, architecture } = adapter.info;
  const name = description || model || [vendor, architecture].filter(Boolean).join(" ");
  return new Card(device, name || "a card without a name");
}

/** A card that can run programs. All of it ends where something stops it. */
export class Card {
  /** why nothing runs any more, a sentence */
  #stopped: string | null = null;

  constructor(
    public device: GPUDevice,
    public name: string,
  ) {
    device.lost.then(() =>
      this.stop("The browser took the card away, and what was not finished is lost. Try again."),
    );
  }

  /** The bytes that a program may read or write through one binding. */
  get largestBinding() {
    const { maxStorageBufferBindingSize, maxBufferSize } = this.device.limits;
    return Math.min(maxStorageBufferBindingSize, maxBufferSize);
  }

  /**
   * Let nothing run any more. What waits throws a LabError with the first reason that was given.
   * @param reason a sentence
   */
  stop(reason: string) {
    this.#stopped ??= reason;
  }

  /** Give the card back, and all memory on it. */
  close() {
    this.stop("The card was given back.");
    this.device.destroy();
  }

  /** Throw a LabError where something stopped the card. */
  goOn() {
    if (this.#stopped) throw new LabError(this.#stopped);
  }

  /** Memory on the card, which holds zeros. Throws a LabError where there is not so much. */
  async buffer(bytes: number, kind: "storage" | "uniform" = "storage") {
    this.goOn();
    this.device.pushErrorScope("out-of-memory");
    const use = USE.COPY_DST | (kind === "uniform" ? USE.UNIFORM : USE.STORAGE | USE.COPY_SRC);
    const made = this.#make(16 * Math.ceil(bytes / 16), use);
    const fault = await this.device.popErrorScope();
    this.goOn();
    if (fault) {
      this.free(made);
      throw new LabError(`The card has no memory for ${Math.round(bytes / 2 ** 20)} MiB more.`);
    }
    return made;
  }

  free(...buffers: GPUBuffer[]) {
    for (const buffer of buffers) buffer.destroy();
  }

  write(buffer: GPUBuffer, data: ArrayBufferView<ArrayBuffer>) {
    this.device.queue.writeBuffer(buffer, 0, data);
  }

  /** The first floats of a buffer. */
  async read(buffer: GPUBuffer, count: number) {
    this.goOn();
    const landing = this.#make(4 * count, USE.COPY_DST | USE.MAP_READ);
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, landing, 0, 4 * count);
    this.device.queue.submit([encoder.finish()]);
    await this.#waited(landing.mapAsync(READ));
    const found = new Float32Array(landing.getMappedRange().slice(0));
    this.free(landing);
    return found;
  }

  /**
   * Compile a program for bindings of these kinds. Throws a LabError with the compiler's first
   * message where it does not compile.
   */
  async compile(code: string, kinds: Kind[]) {
    this.goOn();
    const device = this.device;
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ code });
    const layout = device.createBindGroupLayout({
      entries: kinds.map((type, binding) => ({ binding, visibility: COMPUTE, buffer: { type } })),
    });
    const whole = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    const made = await device
      .createComputePipelineAsync({ layout: whole, compute: { module } })
      .catch((fault) => String(fault.message));
    await device.popErrorScope();
    this.goOn();
    if (typeof made !== "string") return { pipeline: made, layout };
    const { messages } = await module.getCompilationInfo();
    const first = messages.find(({ type }) => type === "error");
    const text = first ? `line ${first.lineNum}: ${first.message}` : made.split("\n")[0];
    throw new LabError(`The program does not compile: ${text}`);
  }

  /** Join a compiled program to its buffers, in the order of its bindings. */
  join(
    { pipeline, layout }: { pipeline: GPUComputePipeline; layout: GPUBindGroupLayout },
    buffers: GPUBuffer[],
  ): Work {
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    return { pipeline, group: this.device.createBindGroup({ layout, entries }) };
  }

  /** Run a program several times in a row, and return the seconds of one time. */
  async seconds({ pipeline, group }: Work, [x, y]: [number, number], times: number = 1) {
    this.goOn();
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let time = 0; time < times; time++) pass.dispatchWorkgroups(x, y);
    pass.end();
    const began = performance.now();
    this.device.queue.submit([encoder.finish()]);
    await this.#waited(this.device.queue.onSubmittedWorkDone());
    return Math.max(performance.now() - began, 0.1) / 1000 / times;
  }

  async #waited<T>(promise: Promise<T>) {
    try {
      const value = await promise;
      this.goOn();
      return value;
    } catch (fault) {
      // A lost device is reported a moment later.
      await Promise.race([this.device.lost, new Promise((done) => setTimeout(done, 1000))]);
      this.goOn();
      throw fault;
    }
  }

  #make(size: number, usage: number) {
    return this.device.createBuffer({ size, usage });
  }
}
