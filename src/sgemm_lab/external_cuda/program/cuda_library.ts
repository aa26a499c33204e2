// The functions of CUDA that host code calls. Streams and events are in order here.

import type { Expressions } from "./expressions.ts";
import { ProgramFault } from "./faults.ts";
import type { Expression } from "./reader.ts";
import { giving } from "./reader.ts";
import type { Type, Value } from "./types.ts";
import * as types from "./types.ts";

/** What `cudaGetDeviceProperties` and `cudaDeviceGetAttribute` say: an H200. */
const DEVICE: Record<string, number> = {
  ...{ multiProcessorCount: 132, major: 9, minor: 0, maxThreadsPerBlock: 1024, warpSize: 32 },
  ...{ maxThreadsPerMultiProcessor: 2048, cooperativeLaunch: 1, l2CacheSize: 62914560 },
  ...{ clockRate: 1980000, memoryClockRate: 3201000, memoryBusWidth: 6144, managedMemory: 1 },
  ...{ concurrentKernels: 1, regsPerBlock: 65536, totalGlobalMem: 150e9, sharedMemPerBlock: 49152 },
  ...{ sharedMemPerMultiprocessor: 233472, sharedMemPerBlockOptin: 232448 },
};
const KINDS = ["HostToHost", "HostToDevice", "DeviceToHost", "DeviceToDevice", "Default"];
const IN_ORDER =
  /^cuda(DeviceSynchronize|ThreadSynchronize|GetLastError|PeekAtLastError|Stream(Create\w*|Destroy|Synchronize|WaitEvent|Query)|Event(Create\w*|Destroy|Record|Synchronize|Query)|SetDevice|DeviceReset|FuncSetAttribute|FuncSetCacheConfig|DeviceSetCacheConfig|DeviceSetLimit|MemPrefetchAsync|MemAdvise|HostRegister|HostUnregister|Profiler\w+|DeviceSetSharedMemConfig)$/;
const VECTOR = /^make_(\w+[234])$/;
const HALVES =
  /^(__float2half(_r[nzud])?|__half2float|__float2bfloat16(_rn)?|__bfloat162float|__int2half_rn)$/;
const PITCH = 512;

/** A constant of CUDA; null where it is none. */
export function cudaName(name: string, c: Expressions): Expression | null {
  const kind = KINDS.indexOf(/^cudaMemcpy(\w+)$/.exec(name)?.[1] ?? "");
  if (kind >= 0) return c.constant(types.INT, kind);
  if (name === "cudaSuccess") return c.constant(types.INT, 0);
  if (
    /^cuda(Error|FuncAttribute|FuncCache|StreamNonBlocking|Event|HostAlloc|MemAttach|Limit)/.test(
      name,
    )
  ) {
    return c.constant(types.INT, 1);
  }
  const attribute = /^cudaDevAttr(\w+)$/.exec(name)?.[1];
  if (!attribute) return null;
  const key =
    attribute[0].toLowerCase() +
    attribute.slice(1).replace("MultiProcessorCount", "multiProcessorCount");
  return c.constant(types.INT, DEVICE[key] ?? 1);
}

const done = (run: () => unknown): Expression => ({ type: types.INT, get: giving(run) });

export function cudaFunction(c: Expressions, name: string, given: Expression[]): Expression | null {
  if (/^cudaGetErrorString$|^cudaGetErrorName$/.test(name)) {
    const address = c.memory.literal("no error");
    return { type: types.pointerTo(types.CHAR), get: giving(given[0].get, address) };
  }
  if (IN_ORDER.test(name)) {
    const values = given.filter(({ closure }) => !closure).map(({ get }) => get);
    return done(() => values.map((get) => get()));
  }
  const vector = VECTOR.exec(name)?.[1];
  const type = vector ? types.namedType(vector) : null;
  if (type) return filled(c, type, given);
  if (HALVES.test(name)) {
    const to = /half2float|bfloat162float/.test(name)
      ? types.FLOAT
      : name.includes("bfloat")
        ? types.namedType("__nv_bfloat16")
        : types.HALF;
    return c.as(given[0], to as Type);
  }
  return allocating(c, name, given) ?? copying(c, name, given) ?? asking(c, name, given);
}

/** A new struct of some values. */
export function filled(c: Expressions, type: Type, given: Expression[]): Expression {
  const address = c.framed(c.reserve(type));
  const fields = [...type.fields.values()];
  const puts = given.map((one, at) => {
    const { type: part, at: offset } = fields[at];
    return c.construct(part, [one], () => address() + offset);
  });
  const get = () => {
    for (const put of puts) put();
    return address();
  };
  return { type, get, address: get };
}

function allocating(c: Expressions, name: string, given: Expression[]): Expression | null {
  const [first, second, third, fourth] = given;
  const { memory } = c;
  const store = memory.store(types.SIZE);
  const called = first?.name ?? "an array";
  const to = first?.get as () => number;
  if (/^cudaMalloc(Async|Managed|Host)?$|^cudaHostAlloc$/.test(name)) {
    const where = /Host|Managed/.test(name) ? "managed" : "device";
    return done(() => store(to(), memory.allocate(Number(second.get()), where, called).address));
  }
  if (name === "cudaMallocPitch") {
    return done(() => {
      const pitch = Math.ceil(Number(third.get()) / PITCH) * PITCH;
      store((second.get as () => number)(), pitch);
      store(to(), memory.allocate(pitch * Number(fourth.get()), "device", called).address);
    });
  }
  if (/^cudaFree(Async|Host)?$/.test(name)) {
    return done(() => {
      const address = to();
      if (address) memory.find(address)[0].freed = true;
    });
  }
  return null;
}

/** Check that a copy stays inside, and that it goes the way it says. */
function check(c: Expressions, name: string, address: number, count: number, is: boolean | null) {
  const [block, at] = c.memory.find(address);
  const fault = (why: string): never => {
    throw new ProgramFault(`${name} ${why}.`, "host memory");
  };
  if (at + count > block.size) {
    fault(`takes ${count} bytes of ${block.name}, which has ${block.size - at} from there on`);
  }
  if (block.freed) fault(`uses ${block.name}, which has been freed`);
  if (is === true && block.where === "host")
    fault(`takes ${block.name}, which lies on the host, for memory of the device`);
  if (is === false && block.where === "device")
    fault(`takes ${block.name}, which lies on the device, for memory of the host`);
}

function copying(c: Expressions, name: string, given: Expression[]): Expression | null {
  const { memory } = c;
  const [first, second, third, fourth] = given.map((one) => c.decayed(one));
  const [to, from] = [first?.get, second?.get] as (() => number)[];
  const way = (kind: number) =>
    kind > 3 ? [null, null] : [kind === 1 || kind === 3, kind === 2 || kind === 3];
  if (name === "cudaMemcpy" || name === "cudaMemcpyAsync") {
    return done(() => {
      const [into, source, count] = [to(), from(), Number(third.get())];
      const [ofTarget, ofSource] = way(Number(fourth.get()));
      check(c, name, into, count, ofTarget);
      check(c, name, source, count, ofSource);
      memory.copy(into, source, count, true);
    });
  }
  if (name === "cudaMemset" || name === "cudaMemsetAsync") {
    return done(() => {
      const [into, count] = [to(), Number(third.get())];
      check(c, name, into, count, null);
      const [block, at] = memory.find(into);
      block.bytes.fill(Number(second.get()), at, at + count);
      block.mark(at, count);
    });
  }
  if (name === "cudaMemset2D" || name === "cudaMemset2DAsync") {
    const [pitch, value, width, height] = given.slice(1).map((one) => one.get);
    return done(() => {
      const [step, count] = [Number(pitch()), Number(width())];
      for (let row = 0; row < Number(height()); row++) {
        check(c, name, to() + row * step, count, null);
        const [block, at] = memory.find(to() + row * step);
        block.bytes.fill(Number(value()), at, at + count);
        block.mark(at, count);
      }
    });
  }
  if (name === "cudaMemcpy2D" || name === "cudaMemcpy2DAsync") {
    const [, pitchTo, source, pitchFrom, width, height, kind] = given.map((one) => c.decayed(one));
    return done(() => {
      const [steps, rows] = [
        [pitchTo, pitchFrom].map((one) => Number(one.get())),
        Number(height.get()),
      ];
      const [into, origin, count] = [to(), (source.get as () => number)(), Number(width.get())];
      const [ofTarget, ofSource] = way(Number(kind.get()));
      for (let row = 0; row < rows; row++) {
        check(c, name, into + row * steps[0], count, ofTarget);
        check(c, name, origin + row * steps[1], count, ofSource);
        memory.copy(into + row * steps[0], origin + row * steps[1], count, true);
      }
    });
  }
  const symbol = /^cudaMemcpy(To|From)Symbol(Async)?$/.exec(name)?.[1];
  if (symbol)
    return ofSymbol(
      c,
      name,
      symbol === "To" ? given : [given[1], given[0], ...given.slice(2)],
      symbol,
    );
  return null;
}

/** Copies to or from a variable of the device, which stands first. */
function ofSymbol(c: Expressions, name: string, given: Expression[], way: string): Expression {
  const block = c.shared.symbols.get(given[0].name ?? "") ?? c.fail(name);
  const other = c.decayed(given[1]).get as () => number;
  const [count, offset] = [given[2].get, given[3]?.get ?? (() => 0)];
  return done(() => {
    const [bytes, at] = [Number(count()), block.address + Number(offset())];
    check(c, name, at, bytes, true);
    block.usedBy ||= "the host";
    if (way === "To") c.memory.copy(at, other(), bytes, true);
    else c.memory.copy(other(), at, bytes, true);
  });
}

function asking(c: Expressions, name: string, given: Expression[]): Expression | null {
  const [first, second] = given;
  const put = (type: Type, address: () => Value, value: () => number) => {
    const store = c.memory.store(type);
    return done(() => store(address() as number, value()));
  };
  if (name === "cudaGetDevice") return put(types.INT, first.get, () => 0);
  if (name === "cudaGetDeviceCount") return put(types.INT, first.get, () => 1);
  if (name === "cudaEventElapsedTime") return put(types.FLOAT, first.get, () => 1);
  if (name === "cudaDeviceGetAttribute") {
    return put(types.INT, first.get, () => Number(second.get()));
  }
  if (/^cudaOccupancyMaxActiveBlocksPerMultiprocessor/.test(name)) {
    return put(types.INT, first.get, () => 1);
  }
  if (name === "cudaMemGetInfo") {
    const store = c.memory.store(types.SIZE);
    return done(() => {
      for (const { get } of [first, second]) store(get() as number, 100e9);
    });
  }
  if (name === "cudaGetDeviceProperties") {
    const { to } = first.type;
    const parts = [...to.fields].flatMap(([field, { at, type }]) =>
      types.isNumber(type) ? [{ at, store: c.memory.store(type), value: DEVICE[field] ?? 1 }] : [],
    );
    return done(() => {
      const address = first.get() as number;
      for (const { at, store, value } of parts) store(address + at, value);
    });
  }
  return null;
}
