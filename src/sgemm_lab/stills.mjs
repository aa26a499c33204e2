// Draws widgets without a browser. stills.py runs it; JSON on the standard input says what:
//   width     of a widget, in px
//   advances  widths of letters, in em
//   widgets   of each its state, and the path of its bundle as `file`
// The answer is a list with the HTML of each widget, or with the error that it threw.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { parseHTML } from "linkedom";
import { PageModel, withBuffers } from "./widgets/page/model.ts";

const { width, advances, widgets } = JSON.parse(readFileSync(0, "utf-8"));
const window = parseHTML("<!doctype html><html><head></head><body></body></html>");
const { document, Element, HTMLElement, SVGElement, Node, Text, Event } = window;

class Observer {
  observe() {}
  disconnect() {}
}

/** What measures text on a canvas. */
const ruler = {
  font: "",
  measureText(text) {
    const size = Number.parseFloat(this.font);
    return { width: [...text].reduce((sum, one) => sum + (advances[one] ?? 0.6) * size, 0) };
  },
};

Object.assign(globalThis, { document, Element, HTMLElement, SVGElement, Node, Text, Event });
Object.assign(globalThis, {
  window: globalThis,
  ResizeObserver: Observer,
  requestAnimationFrame: (react) => setTimeout(react),
});
Object.defineProperty(HTMLElement.prototype, "clientWidth", { get: () => width });
// The library has a select's value as something to read only.
Object.defineProperty(document.createElement("select").constructor.prototype, "value", {
  set(value) {
    for (const option of this.querySelectorAll("option")) {
      option.toggleAttribute("selected", option.getAttribute("value") === `${value}`);
    }
  },
});
document.createElement("canvas").constructor.prototype.getContext = () => ruler;

const LENGTHS = / (?:d|x|y|[xy][12]|c[xy]|r|width|height|points|transform|viewBox|style)="[^"]*"/g;

/** The lengths of shapes with two decimals. */
function rounded(html) {
  return html.replace(LENGTHS, (one) => one.replace(/(\d\.\d\d)\d+/g, "$1"));
}

async function draw({ file, ...saved }) {
  const { default: widget } = await import(pathToFileURL(file).href);
  const model = new PageModel(withBuffers(saved));
  const el = document.createElement("div");
  document.body.append(el);
  await widget.render({ model, el });
  await new Promise((done) => setTimeout(done, 5)); // redraws that wait for a task
  el.remove();
  // Samples that a widget lays out to measure them, and frames that are not shown.
  const unseen = el.querySelectorAll(".lab-measure, .lab-frame:not(.lab-shown) svg > *");
  for (const one of unseen) one.remove();
  return rounded(el.innerHTML);
}

const drawn = [];
for (const one of widgets) {
  try {
    drawn.push({ html: await draw(one) });
  } catch (error) {
    drawn.push({ error: `${error.stack ?? error}` });
  }
}
process.stdout.write(JSON.stringify(drawn), () => process.exit());
