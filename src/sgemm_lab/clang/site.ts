// The compiler's files from the page's own site, for a Worker: packed, kept in the browser's cache.
//
// The package asks for its files by `fetch`. In the Worker that is ours: it takes them from the
// cache or the site and unpacks them on the way. Call it in a Worker alone.

import type { Package } from "./run.ts";

/** What the site says of the compiler's files: bytes as they travel. */
export interface Manifest {
  version: string;
  files: Record<string, number>;
  /** for host code */
  headers: Record<string, number>;
}

const CACHE = "sgemm-lab-clang-";
const HEADERS = "llvm-resources.tar";
/** An archive of nothing: headers and libraries of the WebAssembly world, which kernels do not include. */
const EMPTY_ARCHIVE = new Uint8Array(1024);
const PACKED = [0x1f, 0x8b];

/**
 * Import the package from a folder of the site.
 * @param folder its address, with a slash at the end
 * @param progress hears of bytes that have come
 * @param forHosts whether host code is compiled too: then headers and libraries are fetched
 */
export async function importPackage(
  folder: string,
  progress: (done: number, total: number) => void,
  forHosts = false,
): Promise<Package> {
  const manifest: Manifest = await (await fetch(`${folder}manifest.json`)).json();
  const files = forHosts ? { ...manifest.files, ...manifest.headers } : manifest.files;
  const total = Object.values(files).reduce((sum, bytes) => sum + bytes, 0);
  const cache = await openCache(`${CACHE}${manifest.version}`);
  const load = globalThis.fetch.bind(globalThis);
  let done = 0;
  globalThis.fetch = async (input, init) => {
    const name = new URL(String(input)).pathname.split("/").at(-1) ?? "";
    if (name === HEADERS && !forHosts) return new Response(EMPTY_ARCHIVE);
    if (!(`${name}.gz` in files)) return load(input, init);
    const packed = await cached(cache, `${folder}${name}.gz`, load);
    const counted = packed.body?.pipeThrough(
      new TransformStream({
        transform(chunk, controller) {
          done += chunk.length;
          progress(done, total);
          controller.enqueue(chunk);
        },
      }),
    );
    if (!counted) throw new Error(`The site sent nothing for ${name}.`);
    return new Response(await unpacked(counted), {
      headers: { "content-type": "application/wasm" },
    });
  };
  return import(`${folder}bundle.js`);
}

/** How many bytes of the compiler have come, in words. */
export function loadingWords(done: number, total: number) {
  const [have, all] = [done, total].map((bytes) => Math.round(bytes / 1e6));
  return `Loading the compiler: ${have} of ${all} MB`;
}

/** The cache, without those of other versions; null where the browser has none. */
async function openCache(name: string): Promise<Cache | null> {
  try {
    for (const other of await caches.keys()) {
      if (other.startsWith(CACHE) && other !== name) await caches.delete(other);
    }
    return await caches.open(name);
  } catch {
    return null;
  }
}

async function cached(cache: Cache | null, address: string, load: typeof fetch): Promise<Response> {
  const kept = await cache?.match(address);
  if (kept) return kept;
  const response = await load(address);
  if (!response.ok) throw new Error(`The site does not send ${address}.`);
  // A full cache is no fault: the file comes from the site the next time too.
  cache?.put(address, response.clone()).catch(() => {});
  return response;
}

/** Unpack a stream, unless the browser has done so already because the server told it to. */
async function unpacked(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<ReadableStream<Uint8Array>> {
  const reader = stream.getReader();
  const { value: first } = await reader.read();
  const whole = new ReadableStream({
    start(controller) {
      if (first) controller.enqueue(first);
    },
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const isPacked = PACKED.every((byte, at) => first?.[at] === byte);
  return isPacked ? whole.pipeThrough(new DecompressionStream("gzip")) : whole;
}
