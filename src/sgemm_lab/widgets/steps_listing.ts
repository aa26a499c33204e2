import type { StepTrace } from "../counting/step_trace.ts";
import { html, setAttributes } from "./shared/dom.ts";

/** The source, with the line of the present step lit. */
export class Listing {
  element = html("ol", {
    ...{ class: "lab-code", role: "list", tabindex: "0" },
    "aria-label": "Source of the kernel",
  });
  /** by number */
  lines: Map<number, HTMLElement> = new Map();

  constructor(trace: StepTrace) {
    this.fill(trace);
  }

  fill({ source, first_line: first }: StepTrace) {
    const lines = source.map((text, i) => {
      const number = { class: "lab-line-number", "aria-hidden": "true" };
      const indent = text.length - text.trimStart().length;
      const words = [
        html("span", number, `${first + i}`),
        html("span", { class: "lab-indent" }, text.slice(0, indent)),
        text.slice(indent) || " ",
      ];
      return html("li", { "data-line": first + i }, words);
    });
    this.lines = new Map(lines.map((line, i) => [first + i, line]));
    this.element.replaceChildren(...lines);
  }

  /** Light one line, or none: then the first step's is brought into sight. Strike the one left out. */
  light(number: number | undefined, first: number | undefined, leftOut: number) {
    const start = number === undefined && first !== undefined ? this.lines.get(first) : undefined;
    if (start) this.bringIntoView(start);
    for (const [at, line] of this.lines) {
      const lit = at === number;
      line.classList.toggle("lab-left-out", at === leftOut);
      if (lit) this.bringIntoView(line); // also after the pane has changed its size
      if (lit === line.classList.contains("lab-lit")) continue;
      line.classList.toggle("lab-lit", lit);
      setAttributes(line, { "aria-current": lit ? "step" : null });
    }
  }

  /** Only the list scrolls, never the page, and only for a line that is not well inside it. */
  bringIntoView(line: HTMLElement) {
    const { element } = this;
    const [height, above] = [line.offsetHeight, line.offsetTop - element.scrollTop];
    if (above < height || above > element.clientHeight - 2 * height) {
      const half = Math.floor((element.clientHeight / height - 1) / 2) * height;
      const lines = [...this.lines.values()];
      const top = lines.find(({ offsetTop }) => offsetTop >= line.offsetTop - half);
      element.scrollTop = (top ?? line).offsetTop; // a line that wraps is not cut
    }
  }
}
