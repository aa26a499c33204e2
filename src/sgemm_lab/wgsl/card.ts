// The reader's card through WebGPU: opened, asked to run programs, timed, and given back.

import { LabError } from "../errors.ts";

const NOT_THERE =
  "This browser offers no graphics card to pages (WebGPU). A current Chrome, Edge, Safari or " +
  "Firefox may, on a machine whose driver is supported.";
const TIMESTAMP_BYTES = 16;
// Names for the numbers in which WebGPU says what a buffer is for, and who may read it.
const USE = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128, RESOLVE: 512 };
const READ = 1;
const COMPUTE = 4;
const TIMESTAMPS = "timestamp-query";

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
  const timed = adapter?.features.has(TIMESTAMPS);
  try {
    device = await adapter?.requestDevice({ requiredFeatures: timed ? [TIMESTAMPS] : [] });
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
  #clock: { queries: GPUQuerySet; resolved: GPUBuffer; read: GPUBuffer } | null = null;
  #device;

  constructor(
    device: GPUDevice,
    public name: string,
  ) {
    this.#device = device;
    device.lost.then(() =>
      this.stop("The browser took the card away, and what was not finished is lost. Try again."),
    );
    if (device.features.has(TIMESTAMPS)) {
      this.#clock = {
        queries: device.createQuerySet({ type: "timestamp", count: 2 }),
        resolved: this.#make(TIMESTAMP_BYTES, USE.RESOLVE | USE.COPY_SRC),
        read: this.#make(TIMESTAMP_BYTES, USE.COPY_DST | USE.MAP_READ),
      };
    }
  }

  /** The timer: "timestamps" of the card, or the browser's "wall clock". */
  get clock(): "timestamps" | "wall clock" {
    return this.#clock ? "timestamps" : "wall clock";
  }

  /** The bytes that a program may read or write through one binding. */
  get largestBinding() {
    const { maxStorageBufferBindingSize, maxBufferSize } = this.#device.limits;
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
    this.#device.destroy();
  }

  /** Throw a LabError where something stopped the card. */
  goOn() {
    if (this.#stopped) throw new LabError(this.#stopped);
  }

  /** Memory on the card, which holds zeros. Throws a LabError where there is not so much. */
  async buffer(bytes: number, kind: "storage" | "uniform" = "storage") {
    this.goOn();
    this.#device.pushErrorScope("out-of-memory");
    const use = USE.COPY_DST | (kind === "uniform" ? USE.UNIFORM : USE.STORAGE | USE.COPY_SRC);
    const made = this.#make(16 * Math.ceil(bytes / 16), use);
    const fault = await this.#device.popErrorScope();
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
    this.#device.queue.writeBuffer(buffer, 0, data);
  }

  /** The first floats of a buffer. */
  async read(buffer: GPUBuffer, count: number) {
    this.goOn();
    const landing = this.#make(4 * count, USE.COPY_DST | USE.MAP_READ);
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, landing, 0, 4 * count);
    this.#device.queue.submit([encoder.finish()]);
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
    const device = this.#device;
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
    return { pipeline, group: this.#device.createBindGroup({ layout, entries }) };
  }

  /** Run a program several times in a row, and return the seconds of one time. */
  async seconds({ pipeline, group }: Work, [x, y]: [number, number], times: number = 1) {
    this.goOn();
    const encoder = this.#device.createCommandEncoder();
    const clock = this.#clock;
    const timestampWrites = clock
      ? { querySet: clock.queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 }
      : undefined;
    const pass = encoder.beginComputePass({ timestampWrites });
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let time = 0; time < times; time++) pass.dispatchWorkgroups(x, y);
    pass.end();
    if (clock) {
      encoder.resolveQuerySet(clock.queries, 0, 2, clock.resolved, 0);
      encoder.copyBufferToBuffer(clock.resolved, 0, clock.read, 0, TIMESTAMP_BYTES);
    }
    const began = performance.now();
    this.#device.queue.submit([encoder.finish()]);
    await this.#waited(this.#device.queue.onSubmittedWorkDone());
    const wall = (performance.now() - began) / 1000;
    return (clock ? await this.#stamped(clock.read, wall) : wall) / times;
  }

  /**
   * What the card's own clock says. A card that says nonsense is not asked again.
   * @param wall what the browser's clock says, seconds
   */
  async #stamped(landing: GPUBuffer, wall: number) {
    await this.#waited(landing.mapAsync(READ));
    const [began, ended] = new BigUint64Array(landing.getMappedRange());
    const seconds = Number(ended - began) / 1e9;
    landing.unmap();
    // Browsers round to 100 µs, so that a short run may seem to take no time.
    if (seconds >= 0 && seconds <= wall + 1e-3) return Math.max(seconds, 1e-7);
    this.#clock = null;
    return wall;
  }

  async #waited<T>(promise: Promise<T>) {
    try {
      const value = await promise;
      this.goOn();
      return value;
    } catch (fault) {
      await new Promise((done) => setTimeout(done)); // a lost device is reported a moment later
      this.goOn();
      throw fault;
    }
  }

  #make(size: number, usage: number) {
    return this.#device.createBuffer({ size, usage });
  }
}
