// What the two painters of memory requests share: the choice among a kernel's own requests and the
// reader's pattern, and the 32 lanes as switches.

import "./painter.css";
import { WARP } from "../../hardware.py";
import { chooser, segments } from "./controls.ts";
import { button, html, setAttributes } from "./dom.ts";
import { textWidth } from "./labels.ts";
import { put } from "./model.ts";
import { within } from "./scale.ts";

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

/** The state of a painter whose lanes can be switched off. */
export interface LaneState extends PainterState {
  off: number[];
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

/** Call `point` with the lane whose token is under the pointer, or null. */
export function pointAtTokens(picture: SVGSVGElement, point: (lane: number | null) => void) {
  picture.addEventListener("pointermove", (event) => {
    const token = (event.target as Element).closest(".lab-token");
    point(token ? Number(token.getAttribute("data-lane")) : null);
  });
  picture.addEventListener("pointerleave", () => point(null));
}

/** Light up the token of a lane, or none. */
export function light(root: HTMLElement, lane: number | null) {
  for (const node of root.querySelectorAll(".lab-lit")) node.classList.remove("lab-lit");
  if (lane === null) return;
  root.querySelector(`.lab-token[data-lanes~="${lane}"]`)?.classList.add("lab-lit");
}

/** Lanes that a kernel leaves out of its request. */
export function idleLanes(request: Request | null) {
  if (!request) return [];
  return request.addresses.flatMap((address, lane) => (address === null ? [lane] : []));
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
 * What a token of a width in px is called: its lanes, or where there is no room how many they are.
 * @param lanes in order
 * @param size of the letters, px
 */
export function tokenText(lanes: number[], width: number, size: number) {
  const text = lanesText(lanes);
  const fits = lanes.length === 1 || textWidth(text, size) <= width - 4;
  return fits ? text : `×${lanes.length}`;
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

/** The lanes' addresses without those that the reader has switched off. */
export function withoutOff(addresses: Lanes, off: number[]): Lanes {
  return addresses.map((address, lane) => (off.includes(lane) ? null : address));
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
  fresh: Partial<S>,
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

/**
 * Switches for the 32 lanes: one stop of the Tab key, arrows walk from lane to lane. `point` is
 * called with the lane under the pointer or focus, or null.
 */
export function laneSwitches(model: Model<LaneState>, point: (lane: number | null) => void) {
  const row = html("div", { class: "lab-lanes", role: "group", "aria-label": "Lanes of the warp" });
  const switchOff = (off: number[]) => put(model, "off", off);
  const buttons = Array.from({ length: WARP }, (_, lane) => {
    const look = { type: "button", class: "lab-lane", style: `--lane:${lane}`, "data-lane": lane };
    const node = html("button", { ...look, tabindex: lane ? -1 : 0 }, `${lane}`);
    node.addEventListener("click", () => {
      const off = model.get("off");
      const others = off.filter((one) => one !== lane);
      switchOff(off.includes(lane) ? others : [...off, lane].sort((a, b) => a - b));
    });
    node.addEventListener("pointerenter", () => point(lane));
    node.addEventListener("pointerleave", () => point(null));
    node.addEventListener("focus", () => {
      for (const other of buttons) other.tabIndex = other === node ? 0 : -1;
      point(lane);
    });
    node.addEventListener("blur", () => point(null));
    return node;
  });
  row.append(...buttons);
  row.addEventListener("keydown", (event) => walkLanes(event, row, buttons));
  const all = button("All lanes on", () => switchOff([]));
  return {
    row,
    all,
    /** @param idle lanes that the kernel itself leaves out */
    show(idle: number[]) {
      const off = model.get("off");
      all.disabled = !off.length;
      buttons.forEach((node, lane) => {
        const isIdle = idle.includes(lane);
        setAttributes(node, {
          "aria-pressed": !isIdle && !off.includes(lane),
          "aria-disabled": isIdle || null,
          "aria-label": `Lane ${lane}${isIdle ? ", inactive in the kernel" : ""}`,
        });
      });
    },
  };
}

/** Arrow keys walk from lane to lane. */
function walkLanes(event: KeyboardEvent, row: HTMLElement, buttons: HTMLButtonElement[]) {
  const perRow = getComputedStyle(row).gridTemplateColumns.split(" ").length;
  const steps: Record<string, number> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: perRow,
    ArrowUp: -perRow,
    Home: -WARP,
    End: WARP,
  };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  const here = buttons.indexOf(document.activeElement as HTMLButtonElement);
  buttons[within(here + step, 0, WARP - 1)].focus();
}
