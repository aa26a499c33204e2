// Runs the ladder in WGSL, or one step of a chapter, on the reader's GPU, and shows the speeds beside
// the book's.

import { LabError } from "../../errors.ts";
import { number, sizeText } from "../../text.ts";
import { programsOf } from "../../wgsl/products.ts";
import { benchmark, type Measured } from "../../wgsl/webgpu_benchmark.ts";
import { type Card, openCard } from "../../wgsl/webgpu_device.ts";
import { button, html } from "../../widgets/shared/dom.ts";
import { part } from "../page_elements.ts";

/** GFLOP/s by program, of products with M = N = K = `size`. */
interface Speeds {
  size: number;
  gflops: Record<string, number>;
}

interface Step {
  name: string;
  title: string;
  /** the step that it builds on */
  parent: string | null;
  href: string;
  fingerprint: string;
}

/** The programs, and how fast they are on the book's GPU: reader_cards.py writes both. */
interface Book {
  name: string;
  cuda: Speeds;
  wgsl: Speeds | null;
  steps: Step[];
  programs: { name: string; source: string }[];
}

const FORM = "sgemm-lab card 1";
const STOPPED = "Stopped.";
const HIDDEN =
  "Stopped, because you turned to another tab: browsers slow down pages in the background. " +
  "Measure again, and stay here until it is done.";
const BROKEN = "The card did something that this page does not expect";

/** Bring the places on the page to life. */
export function setUp(book: Book) {
  const places: NodeListOf<HTMLElement> = document.querySelectorAll('[data-lab="reader-card"]');
  for (const place of places) setUpPlace(place, book);
}

function setUpPlace(place: HTMLElement, book: Book) {
  const [measure, told] = [part<HTMLButtonElement>(place, "measure"), part(place, "told")];
  const words = measure.textContent;
  const steps = stepsOf(book, place.dataset.program);
  /** that is being measured */
  let card: Card | null = null;
  measure.addEventListener("click", async () => {
    if (card) return card.stop(STOPPED);
    measure.disabled = true;
    try {
      card = await openCard();
      measure.disabled = false;
      measure.textContent = "Stop";
      const bar = html("progress", { max: 1, value: 0, "aria-label": "How much is measured" });
      const text = html("span", {}, "");
      told.replaceChildren(html("p", {}, html("b", {}, card.name), ": ", text), bar);
      const named = new Set(steps.map(({ name }) => name));
      const programs = book.programs
        .flatMap(({ name, source }) => programsOf(name, source))
        .filter(({ name }) => named.has(name));
      const measured = await benchmark(card, programs, (doing, share) => {
        text.textContent = `${doing} …`;
        bar.value = share;
      });
      const save = button("Save as a file", () => download(measured, steps));
      const whole = !place.dataset.program;
      told.replaceChildren(table(measured, book, steps), ...(whole ? [save] : []));
    } catch (fault) {
      if (!(fault instanceof LabError)) console.error(fault);
      told.textContent = fault instanceof LabError ? fault.message : `${BROKEN}: ${fault}`;
    }
    card?.close();
    card = null;
    measure.disabled = false;
    measure.textContent = words;
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) card?.stop(HIDDEN);
  });
  place.dataset.ready = "true";
  // It was pressed while the script came.
  if (place.dataset.pressed === "measure") measure.click();
}

/** All steps, or a step and the one that it builds on. */
function stepsOf({ steps }: Book, name: string | undefined) {
  if (!name) return steps;
  const parent = steps.find((step) => step.name === name)?.parent;
  return steps.filter((step) => step.name === name || step.name === parent);
}

function table(measured: Measured, book: Book, steps: Step[]) {
  const { card, date, seconds, size } = measured;
  const flop = 2 * size ** 3;
  const mine = Object.entries(seconds).map(([name, all]) => [name, flop / median(all) / 1e9]);
  const columns: [string, Speeds][] = [
    ["This GPU, WGSL", { size, gflops: Object.fromEntries(mine) }],
    [`${book.name}, CUDA`, book.cuda],
  ];
  if (book.wgsl) columns.splice(1, 0, [`${book.name}, WGSL`, book.wgsl]);
  const heads = columns.map(([words, speeds]) => `${words}, ${sizeText([speeds.size])}`);
  const caption =
    `${card}, ${date.slice(0, 10)}, by the browser's clock. ` +
    "GFLOP/s, and how many times as fast as the step that it builds on. Each is the median of " +
    "samples of several runs; every program was checked against exact products first.";
  const rows = steps.map(({ name, title, parent, href }) => {
    const head = html("th", { scope: "row" }, href ? html("a", { href }, title) : title);
    const cells = columns.map(([, { gflops }]) => {
      const before = gflops[parent ?? ""];
      const factor = gflops[name] && before ? ` ×${(gflops[name] / before).toFixed(2)}` : "";
      return html("td", {}, gflops[name] ? number(gflops[name]) + factor : "–");
    });
    return html("tr", {}, head, ...cells);
  });
  const names = ["Step", ...heads].map((words) => html("th", { scope: "col" }, words));
  return html(
    "div",
    { class: "lab-scroll" },
    html(
      "table",
      { class: "lab-table" },
      html("caption", {}, caption),
      html("thead", {}, html("tr", {}, ...names)),
      html("tbody", {}, ...rows),
    ),
  );
}

/** @param samples an odd number of them */
const median = (samples: number[]) => samples.toSorted((a, b) => a - b)[samples.length >> 1];

/** Save what was measured as a file for `records/wgsl`. */
function download({ seconds, ...measured }: Measured, steps: Step[]) {
  const rungs = steps.map(({ name, fingerprint }) => {
    return { name, fingerprint, seconds: seconds[name] };
  });
  const text = JSON.stringify({ form: FORM, clock: "wall clock", ...measured, rungs }, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/json" }));
  link.download = "sgemm-lab-card.json";
  link.click();
  URL.revokeObjectURL(link.href);
}
