// The part of WebGPU that is used here, which TypeScript's own library lacks. Only the type checker
// reads this file. https://www.w3.org/TR/webgpu/

interface Navigator {
  readonly gpu?: {
    requestAdapter(options?: { powerPreference?: string }): Promise<GPUAdapter | null>;
  };
}

interface GPUAdapter {
  readonly features: ReadonlySet<string>;
  readonly info: { vendor: string; architecture: string; device: string; description: string };
  requestDevice(options: { requiredFeatures: string[] }): Promise<GPUDevice>;
}

interface GPUDevice {
  readonly limits: { maxStorageBufferBindingSize: number; maxBufferSize: number };
  readonly lost: Promise<{ reason: string; message: string }>;
  readonly queue: GPUQueue;
  createBuffer(options: { size: number; usage: number }): GPUBuffer;
  createShaderModule(options: { code: string }): GPUShaderModule;
  createComputePipelineAsync(options: {
    layout: GPUPipelineLayout;
    compute: { module: GPUShaderModule };
  }): Promise<GPUComputePipeline>;
  createBindGroupLayout(options: { entries: GPULayoutEntry[] }): GPUBindGroupLayout;
  createPipelineLayout(options: { bindGroupLayouts: GPUBindGroupLayout[] }): GPUPipelineLayout;
  createBindGroup(options: {
    layout: GPUBindGroupLayout;
    entries: { binding: number; resource: { buffer: GPUBuffer } }[];
  }): GPUBindGroup;
  createCommandEncoder(): GPUCommandEncoder;
  createQuerySet(options: { type: "timestamp"; count: number }): GPUQuerySet;
  pushErrorScope(filter: "out-of-memory" | "validation"): void;
  popErrorScope(): Promise<{ message: string } | null>;
  destroy(): void;
}

interface GPULayoutEntry {
  binding: number;
  visibility: number;
  buffer: { type: "uniform" | "storage" | "read-only-storage" };
}

interface GPUBuffer {
  readonly size: number;
  mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

interface GPUShaderModule {
  getCompilationInfo(): Promise<{
    messages: { type: string; message: string; lineNum: number }[];
  }>;
}

interface GPUQueue {
  submit(commands: GPUCommandBuffer[]): void;
  writeBuffer(buffer: GPUBuffer, offset: number, data: ArrayBufferView<ArrayBuffer>): void;
  onSubmittedWorkDone(): Promise<void>;
}

interface GPUCommandEncoder {
  beginComputePass(options: {
    timestampWrites?: {
      querySet: GPUQuerySet;
      beginningOfPassWriteIndex: number;
      endOfPassWriteIndex: number;
    };
  }): GPUComputePass;
  resolveQuerySet(
    from: GPUQuerySet,
    first: number,
    count: number,
    into: GPUBuffer,
    offset: number,
  ): void;
  copyBufferToBuffer(
    from: GPUBuffer,
    fromOffset: number,
    into: GPUBuffer,
    intoOffset: number,
    size: number,
  ): void;
  finish(): GPUCommandBuffer;
}

interface GPUComputePass {
  setPipeline(pipeline: GPUComputePipeline): void;
  setBindGroup(index: number, group: GPUBindGroup): void;
  dispatchWorkgroups(x: number, y: number): void;
  end(): void;
}

// Things that are only handed on. Each has a field of its own, so that none is taken for another.
interface GPUQuerySet {
  readonly type: string;
}
interface GPUPipelineLayout {
  readonly __brand: "GPUPipelineLayout";
}
interface GPUComputePipeline {
  readonly __brand: "GPUComputePipeline";
}
interface GPUBindGroupLayout {
  readonly __brand: "GPUBindGroupLayout";
}
interface GPUBindGroup {
  readonly __brand: "GPUBindGroup";
}
interface GPUCommandBuffer {
  readonly __brand: "GPUCommandBuffer";
}
