// What a host program sees of the world, by the WebAssembly System Interface: its output, files that
// live as long as it does, and a clock and random numbers that are the same in every run. Nothing
// else is reached.

/** Thrown where the program ends itself. */
export class ProgramEnd extends Error {
  constructor(public status: number) {
    super(`exit ${status}`);
  }
}

const [SUCCESS, BAD_FILE, NOT_THERE, NOT_KNOWN] = [0, 8, 44, 52];
const FOLDER = 3;
const FIRST_FILE = 4;
const TICK = 1_000_000n;
const [CREATE, TRUNCATE] = [1, 8];
const APPEND = 1;
const [TO_FILE, TO_CHARACTERS, TO_FOLDER] = [4, 2, 3];

interface Open {
  file: { bytes: Uint8Array };
  at: number;
}

export class Wasi {
  output = "";
  /** whether it has asked for stdin, which holds nothing, or a file that is not here */
  hasAsked = false;
  files = new Map<string, { bytes: Uint8Array }>();
  open = new Map<number, Open>();
  next = FIRST_FILE;
  time = 1_700_000_000_000_000_000n;
  random = 0x2545f491;
  decoder = new TextDecoder();
  arguments: Uint8Array[];

  constructor(
    public memory: () => WebAssembly.Memory,
    public onOutput: () => void,
    words: string[],
  ) {
    this.arguments = ["program", ...words].map((word) => new TextEncoder().encode(`${word}\0`));
  }

  view = () => new DataView(this.memory().buffer);
  bytes = (at: number, count: number) => new Uint8Array(this.memory().buffer, at, count);
  text = (at: number, count: number) => new TextDecoder().decode(this.bytes(at, count));
  set = (at: number, value: number) => this.view().setUint32(at, value, true);

  /** The functions by name; what is not here is refused. */
  functions: Record<string, (...given: number[]) => number> = {
    args_sizes_get: (count, bytes) => {
      this.set(count, this.arguments.length);
      this.set(
        bytes,
        this.arguments.reduce((sum, { length }) => sum + length, 0),
      );
      return SUCCESS;
    },
    args_get: (list, text) => {
      let at = text;
      for (const [which, word] of this.arguments.entries()) {
        this.set(list + 4 * which, at);
        this.bytes(at, word.length).set(word);
        at += word.length;
      }
      return SUCCESS;
    },
    environ_sizes_get: (count, bytes) => {
      this.set(count, 0);
      this.set(bytes, 0);
      return SUCCESS;
    },
    environ_get: () => SUCCESS,
    clock_time_get: (_clock, _low, at) => this.clock(at),
    clock_res_get: (_clock, at) => {
      this.view().setBigUint64(at, 1n, true);
      return SUCCESS;
    },
    random_get: (at, count) => {
      const into = this.bytes(at, count);
      for (let place = 0; place < count; place++) {
        this.random ^= this.random << 13;
        this.random ^= this.random >>> 17;
        this.random ^= this.random << 5;
        into[place] = this.random;
      }
      return SUCCESS;
    },
    sched_yield: () => SUCCESS,
    // A program that sleeps need not wait.
    poll_oneoff: (_from, _to, count, made) => {
      this.set(made, count);
      return SUCCESS;
    },
    proc_exit: (status) => {
      throw new ProgramEnd(status);
    },
    fd_prestat_get: (number, at) => {
      if (number !== FOLDER) return BAD_FILE;
      this.set(at, 0);
      this.set(at + 4, 1);
      return SUCCESS;
    },
    fd_prestat_dir_name: (_number, at) => {
      this.bytes(at, 1)[0] = "/".charCodeAt(0);
      return SUCCESS;
    },
    fd_fdstat_get: (number, at) => {
      const isFile = this.open.has(number);
      if (!isFile && number > FOLDER) return BAD_FILE;
      this.bytes(at, 24).fill(0);
      this.bytes(at, 1)[0] = isFile ? TO_FILE : number === FOLDER ? TO_FOLDER : TO_CHARACTERS;
      this.view().setBigUint64(at + 8, 2n ** 30n - 1n, true);
      this.view().setBigUint64(at + 16, 2n ** 30n - 1n, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: () => SUCCESS,
    path_open: (_folder, _follow, path, count, how, _rights, _inherited, flags, at) => {
      const name = this.text(path, count);
      if (how & CREATE && !this.files.has(name)) {
        this.files.set(name, { bytes: new Uint8Array() });
      }
      const file = this.files.get(name);
      this.hasAsked ||= !file;
      if (!file) return NOT_THERE;
      if (how & TRUNCATE) file.bytes = new Uint8Array();
      this.open.set(this.next, { file, at: flags & APPEND ? file.bytes.length : 0 });
      this.set(at, this.next++);
      return SUCCESS;
    },
    path_filestat_get: () => NOT_THERE,
    path_unlink_file: (_folder, path, count) =>
      this.files.delete(this.text(path, count)) ? SUCCESS : NOT_THERE,
    fd_close: (number) => {
      this.open.delete(number);
      return SUCCESS;
    },
    fd_seek: (number, low, whence, at) => this.seek(number, low, whence, at),
    fd_read: (number, list, count, done) => {
      const open = this.open.get(number);
      this.hasAsked ||= !open;
      let all = 0;
      for (const part of this.parts(list, count)) {
        const from = open?.file.bytes.subarray(open.at, open.at + part.length) ?? [];
        part.set(from);
        if (open) open.at += from.length;
        all += from.length;
      }
      this.set(done, all);
      return SUCCESS;
    },
    fd_write: (number, list, count, done) => {
      const parts = this.parts(list, count);
      const open = this.open.get(number);
      if (!open) this.onOutput();
      for (const part of parts) {
        if (open) write(open, part);
        else this.output += this.decoder.decode(part, { stream: true });
      }
      this.set(
        done,
        parts.reduce((all, { length }) => all + length, 0),
      );
      return SUCCESS;
    },
  };

  get = (name: string) => this.functions[name] ?? (() => NOT_KNOWN);

  /** Time goes on by a millisecond whenever someone looks. */
  clock(at: number) {
    this.time += TICK;
    this.view().setBigUint64(at, this.time, true);
    return SUCCESS;
  }

  seek(number: number, by: number | bigint, whence: number, at: number) {
    const open = this.open.get(number);
    if (!open) return number > FOLDER ? BAD_FILE : 70; // a pipe
    const from = [0, open.at, open.file.bytes.length][whence];
    open.at = from + Number(by);
    this.view().setBigUint64(at, BigInt(open.at), true);
    return SUCCESS;
  }

  parts(list: number, count: number) {
    const view = this.view();
    return Array.from({ length: count }, (_, number) =>
      this.bytes(
        view.getUint32(list + 8 * number, true),
        view.getUint32(list + 8 * number + 4, true),
      ),
    );
  }
}

function write(open: Open, part: Uint8Array) {
  const end = open.at + part.length;
  if (end > open.file.bytes.length) {
    const larger = new Uint8Array(end);
    larger.set(open.file.bytes);
    open.file.bytes = larger;
  }
  open.file.bytes.set(part, open.at);
  open.at = end;
}
