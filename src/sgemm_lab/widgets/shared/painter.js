// @ts-check
// What the two painters of memory requests share: the choice among a kernel's own requests and the
// reader's pattern, and the 32 lanes as switches.

import { WARP } from "../../hardware.py";
import { segments } from "./controls.js";
import { button, html, setAttributes, write } from "./dom.js";
import { textWidth } from "./labels.js";
import { put } from "./model.js";
import { within } from "./scale.js";

/**
 * A kernel's request, as painter.py checks it.
 * @typedef {object} Request
 * @property {string} label
 * @property {number} line
 * @property {string} source
 * @property {string} array
 * @property {"load" | "store"} op
 * @property {number} bits of a lane
 * @property {Lanes} addresses
 * @property {number[]} shape
 * @property {number} start
 *
 * The state of both painters.
 * @typedef {object} PainterState
 * @property {Request[]} requests
 * @property {number} chosen
 * @property {number} stride
 * @property {number} bits
 * @property {number[]} off
 */

const OWN = -1; // `chosen` where the reader's own pattern is shown

/** Strides that the sliders offer. */
export const STRIDES = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64, 128, 256, 1024, 4096,
];
/** @type {Record<string, string>} */
export const WIDTHS = { 32: "float", 64: "float2", 128: "float4" };

/**
 * The request chosen, or null where it is the reader's own.
 * @param {Model<PainterState>} model
 */
export function chosenRequest(model) {
  return model.get("requests")[model.get("chosen")] ?? null;
}

/**
 * Set several keys of the model at once.
 * @template S
 * @param {Model<S>} model
 * @param {Partial<S>} values
 */
function setAll(model, values) {
  for (const [name, value] of Object.entries(values)) {
    model.set(/** @type {keyof S & string} */ (name), value);
  }
}

/**
 * Change the reader's own pattern, which starts as `start` where a kernel's request was shown.
 * @template {PainterState} S
 * @param {Model<S>} model
 * @param {Partial<S> | null} start
 * @param {Partial<S>} change
 */
export function ownPattern(model, start, change) {
  if (start) {
    setAll(model, start);
    model.set("chosen", OWN);
  }
  setAll(model, change);
  model.save_changes();
}

/**
 * The width of an element of the reader's own pattern.
 * @param {(change: { bits: number }) => void} own
 */
export function widthChoice(own) {
  const choices = Object.fromEntries(Object.keys(WIDTHS).map((bits) => [bits, `${bits} bit`]));
  return segments("Each lane asks for", choices, (bits) => own({ bits: Number(bits) }));
}

/**
 * Call `point` with the lane whose token is under the pointer, or null.
 * @param {SVGSVGElement} picture
 * @param {(lane: number | null) => void} point
 */
export function pointAtTokens(picture, point) {
  picture.addEventListener("pointermove", (event) => {
    const token = /** @type {Element} */ (event.target).closest(".lab-token");
    point(token ? Number(token.getAttribute("data-lane")) : null);
  });
  picture.addEventListener("pointerleave", () => point(null));
}

/**
 * Light up the token of a lane, or none.
 * @param {HTMLElement} root
 * @param {number | null} lane
 */
export function light(root, lane) {
  for (const node of root.querySelectorAll(".lab-lit")) node.classList.remove("lab-lit");
  if (lane === null) return;
  root.querySelector(`.lab-token[data-lanes~="${lane}"]`)?.classList.add("lab-lit");
}

/**
 * Lanes that a kernel leaves out of its request.
 * @param {Request | null} request
 */
export function idleLanes(request) {
  if (!request) return [];
  return request.addresses.flatMap((address, lane) => (address === null ? [lane] : []));
}

/**
 * Lanes in few letters, runs of neighbours as one: "0–15", "0, 16".
 * @param {number[]} lanes in order
 */
export function lanesText(lanes) {
  /** @type {[first: number, last: number][]} */
  const runs = [];
  for (const lane of lanes) {
    const run = runs.at(-1);
    if (run && lane === run[1] + 1) run[1] = lane;
    else runs.push([lane, lane]);
  }
  return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
}

/**
 * What a token of a width in px is called: its lanes, or where there is no room how many they are.
 * @param {number[]} lanes in order
 * @param {number} width
 * @param {number} size of the letters, px
 */
export function tokenText(lanes, width, size) {
  const text = lanesText(lanes);
  const fits = lanes.length === 1 || textWidth(text, size) <= width - 4;
  return fits ? text : `×${lanes.length}`;
}

/**
 * A zigzag from (x, y) to the right: what lies between is not drawn.
 * @param {number} x
 * @param {number} y
 * @param {number} width
 */
export function zigzag(x, y, width) {
  const steps = Math.round(width / 16);
  const points = Array.from(
    { length: steps },
    (_, i) => `L${x + (width * (i + 1)) / steps} ${y + (i % 2 ? 2 : -2)}`,
  );
  return `M${x} ${y}${points.join("")}`;
}

/**
 * The lanes' addresses without those that the reader has switched off.
 * @param {Lanes} addresses
 * @param {number[]} off
 * @returns {Lanes}
 */
export function withoutOff(addresses, off) {
  return addresses.map((address, lane) => (off.includes(lane) ? null : address));
}

/**
 * Stride and offset, in elements, of a request whose lanes all stand at even distances.
 * @param {Request} request
 */
export function evenly({ bits, addresses }) {
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
 * @template {PainterState} S
 * @param {Model<S>} model
 * @param {() => void} redraw
 * @param {() => string} ownSource
 * @param {Partial<S>} fresh
 */
export function requestChooser(model, redraw, ownSource, fresh) {
  const select = html("select", { class: "lab-select" });
  model.get("requests").forEach(({ label }, index) => {
    select.append(html("option", { value: index }, label));
  });
  select.append(html("option", { value: OWN }, "A pattern of your own"));
  select.addEventListener("change", () => {
    setAll(model, fresh);
    put(model, "chosen", Number(select.value));
    redraw();
  });
  const source = html("code", { class: "lab-line", tabindex: "0" });
  return {
    field: html("label", { class: "lab-field lab-request" }, html("span", {}, "Request"), select),
    source,
    show() {
      select.value = String(model.get("chosen"));
      const request = chosenRequest(model);
      if (!request) source.replaceChildren(ownSource());
      else {
        const line = html("span", { class: "lab-line-number" }, `${request.line}`);
        source.replaceChildren(line, request.source);
      }
    },
  };
}

/** @typedef {ReturnType<typeof laneSwitches>} LaneSwitches */

/**
 * Switches for the 32 lanes: one stop of the Tab key, arrows walk from lane to lane. `point` is
 * called with the lane under the pointer or focus, or null.
 * @param {Model<PainterState>} model
 * @param {() => void} redraw
 * @param {(lane: number | null) => void} point
 */
export function laneSwitches(model, redraw, point) {
  const row = html("div", { class: "lab-lanes", role: "group", "aria-label": "Lanes of the warp" });
  /** @param {number[]} off */
  const switchOff = (off) => {
    put(model, "off", off);
    redraw();
  };
  const buttons = Array.from({ length: WARP }, (_, lane) => {
    const node = laneSwitch(lane);
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
    /**
     * @param {number[]} idle lanes that the kernel itself leaves out
     * @param {number[]} [hues] each lane's; default: its number
     * @param {string[]} [notes] what stands below each lane's number
     */
    show(idle, hues = [...buttons.keys()], notes = []) {
      const off = model.get("off");
      all.disabled = !off.length;
      buttons.forEach((node, lane) => {
        showLane(node, lane, {
          idle: idle.includes(lane),
          off: off.includes(lane),
          hue: hues[lane],
          note: notes[lane] ?? "",
        });
      });
    },
  };
}

/** @param {number} lane */
function laneSwitch(lane) {
  const attributes = {
    type: "button",
    class: "lab-lane",
    tabindex: lane ? -1 : 0,
    "data-lane": lane,
  };
  return html("button", attributes, `${lane}`, html("small", {}));
}

/**
 * @param {HTMLButtonElement} node
 * @param {number} lane
 * @param {{ idle: boolean, off: boolean, hue: number, note: string }} state
 */
function showLane(node, lane, { idle, off, hue, note }) {
  const value = `${hue}`; // the same value again would restyle the button
  if (node.style.getPropertyValue("--lane") !== value) node.style.setProperty("--lane", value);
  const below = /** @type {Element} */ (node.lastElementChild);
  write(below, note);
  setAttributes(node, {
    "aria-pressed": !idle && !off,
    "aria-disabled": idle || null,
    "aria-label": `Lane ${lane}${idle ? ", inactive in the kernel" : ""}`,
  });
}

/**
 * Arrow keys walk from lane to lane.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} row
 * @param {HTMLButtonElement[]} buttons
 */
function walkLanes(event, row, buttons) {
  const perRow = getComputedStyle(row).gridTemplateColumns.split(" ").length;
  /** @type {Record<string, number>} */
  const steps = {
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
  const here = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  buttons[within(here + step, 0, WARP - 1)].focus();
}
