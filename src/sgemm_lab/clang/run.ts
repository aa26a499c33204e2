// Runs a program of the compiler's package, and collects what it writes.

/** What the package gives, as far as it is used here. */
export interface Package {
  runLLVM: (
    args?: string[] | null,
    files?: Record<string, string | Uint8Array>,
    options?: {
      synchronously?: boolean;
      stdout?: (bytes: Uint8Array | null) => void;
      stderr?: (bytes: Uint8Array | null) => void;
      fetchProgress?: (state: { totalLength: number; doneLength: number }) => void;
    },
  ) => unknown;
  Exit: new () => Error;
  version: string;
}

type Files = Record<string, Uint8Array<ArrayBuffer>>;

/** What a program wrote: its files, null where it failed; to stdout, and to stderr. */
interface Done {
  files: Files | null;
  output: Uint8Array<ArrayBuffer>;
  messages: string;
}

export function run(
  clang: Package,
  args: string[],
  given: Record<string, string | Uint8Array>,
): Done {
  const output = new Bytes();
  const messages = new Bytes();
  let files: Files | null = null;
  try {
    files = clang.runLLVM(args, given, {
      synchronously: true,
      stdout: (bytes) => output.add(bytes),
      stderr: (bytes) => messages.add(bytes),
    }) as Files;
  } catch (error) {
    if (!(error instanceof clang.Exit)) messages.add(new TextEncoder().encode(`\n${error}`));
  }
  return { files, output: output.read(), messages: new TextDecoder().decode(messages.read()) };
}

const FIRST_BYTES = 1 << 20;

/** Bytes that come in many small pieces. */
class Bytes {
  bytes = new Uint8Array(FIRST_BYTES);
  length = 0;

  add(piece: Uint8Array | null): void {
    if (!piece) return;
    if (this.length + piece.length > this.bytes.length) {
      const larger = new Uint8Array(2 * (this.length + piece.length));
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    this.bytes.set(piece, this.length);
    this.length += piece.length;
  }

  read() {
    return this.bytes.subarray(0, this.length);
  }
}
