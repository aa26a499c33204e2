// What the two painters of memory requests share: the choice among a kernel's own requests and the
// reader's pattern, and the names of lanes.

import "./painter.css";
import { WARP } from "../../hardware.py";
import { chooser, segments } from "./controls.ts";
import { html } from "./dom.ts";
import { textWidth } from "./labels.ts";
import { put } from "./model.ts";

/** A kernel's request, as painter.py checks it. */
export interface Request {
  label: string;
  line: number;
  source: string;
  array: string;
  op: "load" | "store";
  /** of a lane */
  bits: number;
  addresses: Lanes;
  shape: number[];
  start: number;
}

/** The state of both painters. */
export interface PainterState {
  requests: Request[];
  chosen: number;
  stride: number;
  bits: number;
}

const OWN = -1; // `chosen` where the reader's own pattern is shown

/** Strides that the sliders offer. */
export const STRIDES = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64, 128, 256, 1024, 4096,
];
export const WIDTHS: Record<string, string> = { 32: "float", 64: "float2", 128: "float4" };

/** The request chosen, or null where it is the reader's own. */
export function chosenRequest(model: Model<PainterState>) {
  return model.get("requests")[model.get("chosen")] ?? null;
}

/** Set several keys of the model at once. */
function setAll<S>(model: Model<S>, values: Partial<S>) {
  for (const [name, value] of Object.entries(values)) {
    model.set(name as keyof S & string, value as S[keyof S & string]);
  }
}

/** Change the reader's own pattern, which starts as `start` where a kernel's request was shown. */
export function ownPattern<S extends PainterState>(
  model: Model<S>,
  start: Partial<S> | null,
  change: Partial<S>,
) {
  if (start) {
    setAll(model, start);
    model.set("chosen", OWN);
  }
  setAll(model, change);
  model.save_changes();
}

/** The width of an element of the reader's own pattern. */
export function widthChoice(own: (change: { bits: number }) => void) {
  const choices = Object.fromEntries(Object.keys(WIDTHS).map((bits) => [bits, `${bits} bit`]));
  return segments("Each lane asks for", choices, (bits) => own({ bits: Number(bits) }));
}

/**
 * Lanes in few letters, runs of neighbours as one: "0–15", "0, 16".
 * @param lanes in order
 */
export function lanesText(lanes: number[]) {
  const runs: [first: number, last: number][] = [];
  for (const lane of lanes) {
    const run = runs.at(-1);
    if (run && lane === run[1] + 1) run[1] = lane;
    else runs.push([lane, lane]);
  }
  return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

/**
 * What a token of a width in px is called: its lanes, "all", or where there is no room how many.
 * @param lanes in order
 * @param size of the letters, px
 */
export function tokenText(lanes: number[], width: number, size: number) {
  const text = lanesText(lanes);
  const fits = lanes.length === 1 || textWidth(text, size) <= width - 4;
  if (fits) return text;
  return lanes.length === WARP ? "all" : `×${lanes.length}`;
}

/** A zigzag from (x, y) to the right: what lies between is not drawn. */
export function zigzag(x: number, y: number, width: number) {
  const steps = Math.round(width / 16);
  const points = Array.from(
    { length: steps },
    (_, i) => `L${x + (width * (i + 1)) / steps} ${y + (i % 2 ? 2 : -2)}`,
  );
  return `M${x} ${y}${points.join("")}`;
}

/** Stride and offset, in elements, of a request whose lanes all stand at even distances. */
export function evenly({ bits, addresses }: Request) {
  const bytes = bits / 8;
  const [first, second] = addresses;
  if (first === null || second === null || second < first) return null;
  const by = second - first;
  if (addresses.some((address, lane) => address !== first + lane * by)) return null;
  return { stride: by / bytes, offset: first / bytes };
}

/**
 * The choice among requests, with the source line of the one chosen, or `ownSource()`. A choice
 * also sets `fresh`: what the reader did to the request before.
 */
export function requestChooser<S extends PainterState>(
  model: Model<S>,
  ownSource: () => string,
  fresh: Partial<S> = {},
) {
  const labels = model.get("requests").map(({ label }, i): [number, string] => [i, label]);
  const choice = chooser("Request", [...labels, [OWN, "A pattern of your own"]], (chosen) => {
    setAll(model, fresh);
    put(model, "chosen", Number(chosen));
  });
  choice.field.classList.add("lab-request");
  const source = html("code", { class: "lab-line", tabindex: "0" });
  return {
    field: choice.field,
    source,
    show() {
      choice.show(model.get("chosen"));
      const request = chosenRequest(model);
      if (!request) source.replaceChildren(ownSource());
      else {
        const line = html("span", { class: "lab-line-number" }, `${request.line}`);
        source.replaceChildren(line, request.source);
      }
    },
  };
}
