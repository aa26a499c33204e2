// Places in the CUDA source, as the PTX names them with `.loc`.

import { getOrInsert } from "./get_or_insert.ts";
import { sentence } from "./sentences.ts";

const FILE = /^\s*\.file\s+(\d+)\s+"([^"]*)"/gm;
const LOC = /^\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?/;
/** CUDA's own headers: their lines are reported as the line that calls them. */
const CUDAS_HEADER = new RegExp(
  "^(?:__nv_nvrtc\\w*\\.h|cuda_(?:\\w+\\.hpp|(?:pipeline|awbarrier)\\w*\\.h)|mma\\.hpp|sm_\\w+\\.hpp?|cooperative_groups\\.h|" +
    "(?:sync|helpers|partitioning|async|info|memory|functional)\\.h|" +
    "(?:coalesced_)?(?:reduce|scan)\\.h|(?:cp_async|memcpy|dispatch_memcpy|completion|mbarrier|" +
    "barrier|is_local_smem|try_get)_\\w+\\.h|pipeline|barrier|atomic|cub/.*)$",
);

/** The label of a function's name in the namespace cub, and a place in such a function: file, label. */
const OF_CUB = /^(\$L__info_string\d+):\s*\.b8 95,90,78,(?:75,)?51,99,117,98,/gm;
const INLINED = /^\s*\.loc\s+(\d+) .*function_name (\$L__info_string\d+),/gm;

/** A place in the CUDA source. `line` is 1-based, 0 where the PTX names none. One kernel has one
 * object for each place. */
export class Location {
  constructor(
    public file: string,
    public line: number,
  ) {}

  toString() {
    const { file, line } = this;
    return line ? sentence("place.line", { file, line }) : sentence("place.unknown");
  }
}

/** Follows the places that a kernel's text names, line by line. */
export class LocationTracker {
  /** The last place. */
  here = new Location("", 0);
  known: Map<string, Location> = new Map();
  /** Where the reader finds a place: by file, line and column, as the PTX has it. */
  callers: Map<string, Location> = new Map();

  /** @param files names of the source files, by number */
  constructor(public files: Map<number, string>) {}

  /** Take in a line that begins with `.loc`. */
  read(line: string) {
    const loc = LOC.exec(line);
    // Line 0 marks code the compiler made up: it stays with the line before.
    if (loc && Number(loc[2]) > 0) this.here = this.placeOf(loc);
  }

  /** The line that the reader knows: of CUDA's own headers the one that calls them. */
  placeOf([, file, line, column, callerFile, callerLine, callerColumn]: string[]) {
    const caller = `${callerFile} ${callerLine} ${callerColumn}`;
    const inHeader = callerFile !== undefined && CUDAS_HEADER.test(this.nameOf(file));
    const place = inHeader
      ? (this.callers.get(caller) ?? this.location(callerFile, callerLine))
      : this.location(file, line);
    this.callers.set(`${file} ${line} ${column}`, place);
    return place;
  }

  nameOf(file: string) {
    return this.files.get(Number(file)) ?? "source";
  }

  location(file: string, line: string) {
    const name = this.nameOf(file);
    return getOrInsert(this.known, `${line} ${name}`, () => new Location(name, Number(line)));
  }
}

/** The names of a module's source files by number, without their folders; those of CUB have "cub/". */
export function fileTable(ptx: string) {
  const names = new Set([...ptx.matchAll(OF_CUB)].map(([, label]) => label));
  const places = names.size ? [...ptx.matchAll(INLINED)] : [];
  const ofCub = new Set(places.flatMap(([, file, label]) => (names.has(label) ? file : [])));
  // NVRTC puts the table at the end of the module.
  return new Map(
    [...ptx.matchAll(FILE)].map(([, number, name]) => [
      Number(number),
      (ofCub.has(number) ? "cub/" : "") + name.slice(name.lastIndexOf("/") + 1),
    ]),
  );
}

/** The place that some text of a kernel or a function ends at. */
export function placeAfter(text: string, files: Map<number, string>) {
  const places = new LocationTracker(files);
  for (const line of text.split("\n")) places.read(line.trimStart());
  return places.here;
}
