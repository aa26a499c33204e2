// Reading textures, and reading and writing surfaces.

import { LabError } from "../errors.ts";
import { begin } from "./accesses.ts";
import { LOAD, Site, STORE, type ThreadGroup } from "./group.ts";
import type { Image } from "./images.ts";
import { GLOBAL_BASE } from "./memory.ts";
import { itemsOf, loader, storer } from "./memory_operations.ts";
import { type Match, operations, type Step } from "./operations.ts";
import { type Instruction, type Operand, type Register, TYPE_BYTES } from "./ptx.ts";
import { PtxError } from "./ptx_text.ts";
import type { Mask } from "./registers.ts";
import { sentence } from "./sentences.ts";

const axesOf = ({ geometry }: Match) => Number(geometry.at(-2));
const isLayered = ({ geometry }: Match) => geometry[0] === "a";

/** The handle and the places of `[%rd1, {%f1, %f2}]`. */
function named(operand: Operand) {
  const [handle, places] = itemsOf(operand);
  if (!places) throw new PtxError(sentence("run.operand", { name: "texture" }));
  return { handle, places: itemsOf(places) };
}

function registerOf(operand: Operand): Register {
  if (operand.kind !== "register") throw new TypeError(operand.kind);
  return operand;
}

/** The images that the running lanes name, each with its lanes. */
function imagesOf(group: ThreadGroup, { location: place }: Instruction, handle: Operand) {
  const handles = group.registers.reader(handle, "u64");
  return (mask: Mask | null): [Image, number[]][] => {
    const lanes: Map<number, number[]> = new Map();
    for (let lane = 0; lane < group.lanes; lane++) {
      if (mask && !mask[lane]) continue;
      const number = Number(handles(lane));
      lanes.set(number, [...(lanes.get(number) ?? []), lane]);
    }
    const ordered = [...lanes].sort(([one], [other]) => one - other);
    return ordered.map(([number, those]) => {
      const image = group.launch.images.get(number);
      if (!image) throw new LabError(sentence("run.image", { place }));
      return [image, those];
    });
  };
}

/** `tex`: four numbers, of which an image with fewer leaves the rest zero. */
function readTexture(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { registers } = group;
  const targets = itemsOf(instruction.operands[0]).map((item) => {
    return registers.writer(registerOf(item), match.type);
  });
  const { handle, places } = named(instruction.operands[1]);
  const images = imagesOf(group, instruction, handle);
  const layer = isLayered(match) ? registers.reader(places[0], "s32") : null;
  const start = layer ? 1 : 0;
  const along = places
    .slice(start, start + axesOf(match))
    .map((place) => registers.reader(place, match.place));
  const whole = match.place === "s32";
  return (mask) => {
    for (const [image, lanes] of images(mask)) {
      for (const lane of lanes) {
        const place = along.map((read) => Number(read(lane)));
        const found = image.at(place, whole, layer && Number(layer(lane)), match.type === "f32");
        targets.forEach((write, number) => {
          write(lane, found[number] ?? 0);
        });
      }
    }
  };
}

/** `suld` and `sust`: the bytes of an element; x counts in bytes. */
function useSurface(group: ThreadGroup, instruction: Instruction, match: Match): Step {
  const { registers, launch } = group;
  const stores = match.name === "sust";
  const [first, second] = instruction.operands;
  const { handle, places } = named(stores ? first : second);
  const images = imagesOf(group, instruction, handle);
  const items = itemsOf(stores ? second : first);
  const bytes = TYPE_BYTES.get(match.type) as number;
  // Narrow numbers fill the whole of their registers.
  const move = (stores ? storer : loader)(group, items, `u${8 * bytes}`);
  const clear = stores ? [] : items.map((item) => registers.wholeWriter(registerOf(item)));
  const layered = isLayered(match);
  const along = places
    .slice(0, axesOf(match) + (layered ? 1 : 0))
    .map((place) => registers.reader(place, "s32"));
  const kind = stores ? STORE : LOAD;
  const site = new Site(instruction, "surface", kind, bytes, items.length, false);
  return (mask) => {
    for (const [image, lanes] of images(mask)) {
      const where = new Uint8Array(group.lanes);
      const addresses = new Float64Array(group.lanes);
      let wrong = match.beyond !== "trap";
      for (const lane of lanes) {
        const given = along.map((read) => Number(read(lane)));
        const [x, y = 0, z = 0] = layered ? [given[1], given[2] ?? 0, given[0]] : given;
        const { inside, offset } = offsetIn(image, [x, y, z], site.width);
        if (!inside && !wrong) {
          launch.hazards.outOfImage(group, site, image, lane, [x, y, z]);
          wrong = true;
        }
        for (const write of clear) write(lane, 0n);
        if (!inside && match.beyond !== "clamp") continue;
        where[lane] = 1;
        addresses[lane] = GLOBAL_BASE + image.array.start + offset;
      }
      if (where.includes(1)) move(begin(group, site, addresses, where));
    }
  };
}

/** Whether a place lies in an image, and how many bytes after its start the nearest one is. */
function offsetIn({ sides, elementBytes }: Image, places: number[], width: number) {
  const row = sides[0] * elementBytes;
  const last = [row - width, sides[1] - 1, sides[2] - 1];
  const bounded = places.map((place, axis) =>
    Math.min(Math.max(place, 0), Math.max(0, last[axis])),
  );
  const inside = bounded.every((place, axis) => place === places[axis]);
  return { inside, offset: bounded[0] + row * (bounded[1] + sides[1] * bounded[2]) };
}

export const IMAGE_OPERATIONS = operations([
  ["tex\\.(?<geometry>a?[12]d|3d)\\.v4\\.(?<type>f32|s32|u32)\\.(?<place>f32|s32)", readTexture],
  [
    "(?<name>suld|sust)\\.b\\.(?<geometry>a?[12]d|3d)(?:\\.v[24])?\\.(?<type>b8|b16|b32|b64)\\.(?<beyond>trap|clamp|zero)",
    useSurface,
  ],
]);

/** How the opcodes of textures and surfaces begin. */
export const TEXTURE = /^(?:tex|tld4|txq|suld|sust|sured|suq|istypep)\b/;

/**
 * Refuse what a GPU alone does with a texture or surface: a PtxError names it and its source line.
 * @param known whether an opcode is one of the simulator's
 */
export function refuseOtherImages(instructions: Instruction[], known: (opcode: string) => boolean) {
  for (const { opcode, location: place } of instructions) {
    if (!TEXTURE.test(opcode) || known(opcode)) continue;
    throw new PtxError(sentence("run.texture", { what: sentence(nameOf(opcode)), place }));
  }
}

function nameOf(opcode: string) {
  if (/^tex\.(?:level|grad)\b/.test(opcode)) return "texture.levels";
  if (/^tex\.a?cube\b/.test(opcode)) return "texture.cube";
  return opcode.startsWith("tld4") ? "texture.gather" : "texture.other";
}
