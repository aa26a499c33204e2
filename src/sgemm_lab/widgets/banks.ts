// One warp's request to shared memory: its lanes queue at the 32 banks, and in each clock every bank
// serves one word. A row of the queue is a wavefront.

import "./banks.css";
import { sharedWavefronts, type Wavefront } from "../formulas/memory.ts";
import { bankWords } from "../formulas/requests.ts";
import { BANKS, WARP, WORD_BYTES } from "../hardware.py";
import { choiceSlider, segments } from "./shared/controls.ts";
import { boxWithText, button, html, say, setAttributes, svg, write } from "./shared/dom.ts";
import { textWidth } from "./shared/labels.ts";
import { availableWidth, keepDrawn, put, redrawer, tool } from "./shared/model.ts";
import type { PainterState } from "./shared/painter.ts";
import {
  chosenRequest,
  lanesText,
  ownPattern,
  requestChooser,
  tokenText,
  WIDTHS,
} from "./shared/painter.ts";
import { Player } from "./shared/player.ts";
import { range, within } from "./shared/scale.ts";
import { fit, Scene } from "./shared/scene.ts";

type State = PainterState & { wavefront: number };

const STATE = ["requests", "chosen", "stride", "bits", "wavefront"] as const;
const WORD_BITS = 8 * WORD_BYTES;
const FLOAT4 = "float4"; // the choice of four words a lane
const CHOICES = { 0: "0", 1: "1", 2: "2", 3: "3", 8: "8", 16: "16", 32: "32", 33: "33" };
const NARROW = 480; // px: below, two rows of 16 banks leave room for the numbers of lanes
/** Rows of banks, and in px the margin and the height of the longest queue; a short one takes less. */
const WIDE = { halves: 1, gutter: 50, queue: 32 * 7 };
const PHONE = { halves: 2, gutter: 44, queue: 32 * 5 };
const TALLEST = 22; // px, of a row of a short one
const LETTERS = 11; // px

/** What is shown: the wavefronts in order, and how many of them are served. */
interface Painted {
  addresses: Lanes;
  bits: number;
  isLoad: boolean;
  wavefronts: Wavefront[];
  served: number;
}

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const chooser = requestChooser(model, () => ownSource(model), { wavefront: 0 });
  const vectors = model.get("requests").length > 0 || model.get("bits") > WORD_BITS;
  const choices = vectors ? { ...CHOICES, [FLOAT4]: FLOAT4 } : CHOICES;
  const first = model.get("requests").length > 0 ? "Or a stride" : "Stride";
  const stride = segments(`${first}: lane i reads word stride · i`, choices, (choice) => {
    player.close();
    const wide = choice === FLOAT4;
    const own = { stride: wide ? 1 : Number(choice), bits: wide ? 128 : WORD_BITS, wavefront: 0 };
    ownPattern(model, chosenRequest(model) && {}, own);
  });
  const last = () => painted(model).wavefronts.length;
  const player = new Player({
    root: () => root,
    at: () => painted(model).served,
    last,
    show: (wavefront) => put(model, "wavefront", wavefront),
    redraw,
    pace: () => within(6000 / Math.max(1, last()), 250, 900),
    end: () => put(model, "wavefront", 0),
  });
  const play = button("Play", () => player.toggle());
  const scrub = choiceSlider("Clock", (value) => player.go(value));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"), html("p"));
  const root = tool(
    el,
    "lab-painter lab-banks",
    model.get("requests").length > 0 && html("div", { class: "lab-bar" }, chooser.field),
    chooser.source,
    stride.element,
    html("div", { class: "lab-steps" }, play, scrub.element),
    [picture, verdict],
  );
  const scene = new Scene(picture);

  function update() {
    const width = availableWidth(root); // asked before anything changes: cheap
    const now = painted(model);
    const own = !chosenRequest(model);
    stride.show(own ? (now.bits > WORD_BITS ? FLOAT4 : model.get("stride")) : "");
    chooser.show();
    const count = now.wavefronts.length;
    scrub.show(now.served, range(0, count), `${now.served} of ${count}`);
    write(play, player.plays ? "Pause" : "Play");
    const words = bankWords(now.addresses, now.bits / 8, now.isLoad);
    say(verdict.children, [clockWords(now), words.join(" ")]);
    setAttributes(picture, { "aria-label": `Lanes queue at 32 banks. ${words.join(" ")}` });
    drawBanks(scene, picture, now, width);
  }

  return keepDrawn(model, STATE, root, update, { redraw, stop: () => player.close() });
}

/** The reader's own pattern as a line of source; words of `s` lie in the banks. */
function ownSource(model: Model<State>) {
  const type = WIDTHS[model.get("bits")];
  const each = type === FLOAT4 ? "  // four floats for each lane" : "";
  return `${type} v = s[${model.get("stride")} * lane];${each}`;
}

function painted(model: Model<State>): Painted {
  const request = chosenRequest(model);
  const bits = request?.bits ?? model.get("bits");
  const bytes = bits / 8;
  const addresses =
    request?.addresses ?? range(0, WARP - 1).map((lane) => lane * model.get("stride") * bytes);
  const isLoad = request?.op !== "store";
  const wavefronts = sharedWavefronts(addresses, bytes, isLoad);
  const served = Math.min(model.get("wavefront"), wavefronts.length);
  return { addresses, bits, isLoad, wavefronts, served };
}

/** What happens in the clock shown. */
function clockWords({ wavefronts, served, bits }: Painted) {
  const count = wavefronts.length;
  const rows = count === 1 ? "One row: 1 clock." : `${count} rows: ${count} clocks.`;
  if (!served) return `Each column is the queue of a bank. ${rows}`;
  const busy = (wavefronts[served - 1].words.size * bits) / WORD_BITS;
  const rest = count - served;
  return `Clock ${served} of ${count}: ${busy} of ${BANKS} banks work. ${rest ? `${rest} to go.` : "Done."}`;
}

function drawBanks(scene: Scene, picture: SVGSVGElement, now: Painted, width: number) {
  const { wavefronts, served, bits } = now;
  const { halves, gutter, queue } = width < NARROW ? PHONE : WIDE;
  const inRow = BANKS / halves;
  const cell = (width - gutter - 2) / inRow;
  const tall = within(queue / Math.max(1, wavefronts.length), queue / BANKS, TALLEST);
  const box = TALLEST + 4;
  /** the top of the banks of each row: below its longest queue */
  const tops: number[] = [];
  let height = 0;
  for (const half of range(0, halves - 1)) {
    const waits = ({ words }: Wavefront) =>
      [...words.keys()].some((word) => Math.floor((word % BANKS) / inRow) === half);
    tops.push(height + (wavefronts.findLastIndex(waits) + 1) * tall + (half ? 32 : 20));
    height = tops[half] + box + 34;
  }
  fit(picture, width, height);
  /** the left edge and the top of a bank */
  const place = (bank: number) => ({
    x: gutter + (bank % inRow) * cell,
    top: tops[Math.floor(bank / inRow)],
  });
  const name = { class: "lab-tick", x: gutter - 6, "text-anchor": "end" };
  for (const half of range(0, halves - 1)) {
    const { top } = place(half * inRow);
    scene.draw(`queue${half}`, "text", { ...name, y: top - 12 }, "queue");
    scene.draw(`served${half}`, "text", { ...name, y: top + box / 2 + 4 }, "served");
    scene.draw(`banks${half}`, "text", { ...name, y: top + box + 18 }, "bank");
  }
  for (const bank of range(0, BANKS - 1)) {
    const { x, top } = place(bank);
    const frame = { x: x + 0.5, y: top, width: cell - 1, height: box, rx: 3 };
    scene.draw(`bank${bank}`, "rect", { class: "lab-bank", ...frame });
    if (cell < 18 && bank % 4) continue;
    const at = { x: x + cell / 2, y: top + box + 18, "text-anchor": "middle" };
    scene.draw(`head${bank}`, "text", { class: "lab-tick", ...at }, `${bank}`);
  }
  wavefronts.forEach(({ words }, wave) => {
    if (wave < served - 1) return;
    const isServed = wave === served - 1;
    for (const [word, lanes] of words) {
      const { x, top } = place(word % BANKS);
      const y = isServed ? top + 2 : top - 8 - (wave - served + 1) * tall;
      const size = { width: (cell * bits) / WORD_BITS - 1, height: isServed ? TALLEST : tall - 1 };
      drawToken(scene, `${wave}-${word}`, lanes, { x, y, ...size }, isServed);
      // Lanes too many for a cell are named beside it, and of a queue too long for numbers its ends.
      const isEnd = wave === served || wave === wavefronts.length - 1;
      const many = lanes.length > 9 && lanes.length < WARP && bits === WORD_BITS;
      if (isServed || (!many && (tall > LETTERS || !isEnd || lanes.length > 1))) continue;
      const last = x > width - 80; // no room at its right
      const at = last ? { x: x - 4, "text-anchor": "end" } : { x: x + cell + 4 };
      const beside = { class: "lab-tick", ...at, y: y + size.height / 2 + 4 };
      const text = `${many ? "lanes" : "lane"} ${lanesText(lanes)}`;
      scene.draw(`end${wave}-${word}`, "text", beside, text);
    }
  });
  scene.finish();
}

function drawToken(
  scene: Scene,
  key: string,
  lanes: number[],
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
  isServed: boolean,
) {
  const node = scene.draw(`token${key}`, "g", {
    class: `lab-token${isServed ? " lab-served" : ""}`,
    style: `transform:translate(${x}px,${y}px)`,
  });
  const [rect, name] = boxWithText(node, { rx: 3 });
  setAttributes(rect, { width, height });
  const text = tokenText(lanes, width, LETTERS);
  setAttributes(name, { x: width / 2, y: height / 2 + 4 });
  const fits = height > LETTERS && textWidth(text, LETTERS) < width - 2;
  write(name, fits ? text : "");
}
