// Little's law: how many bytes must be on their way to hide a latency.

import "./in_flight.css";
import { sentence } from "../formulas/sentences.ts";
import { comma, number } from "../text.ts";
import { choiceSlider } from "./shared/controls.ts";
import { html, say } from "./shared/dom.ts";
import { HUES } from "./shared/levels.ts";
import { changer, keepDrawn, redrawer } from "./shared/model.ts";

/** A level of memory as one SM sees it: clocks, and bytes per clock. */
interface Source {
  id: string;
  name: string;
  latency: number;
  most: number;
}

interface State {
  sources: Source[];
  threads: number;
  bytes: number;
  thread_choices: number[];
  byte_choices: number[];
}

export function render({ model, el }: View<State>) {
  const redraw = redrawer(update);
  const change = changer(model, redraw);
  const choose =
    (name: "threads" | "bytes"): ((value: number) => void) =>
    (value) =>
      change(name, value);
  const threads = choiceSlider("Threads on an SM", choose("threads"));
  const bytes = choiceSlider("Bytes on their way for each", choose("bytes"));
  const bars = html("div", { class: "lab-flights", role: "list" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"));
  const controls = html("div", { class: "lab-controls" }, threads.element, bytes.element);
  const root = html("div", { class: "sgemm-lab lab-tool lab-in-flight" }, [
    controls,
    bars,
    verdict,
  ]);
  el.append(root);

  function update() {
    const [many, each, sources] = [model.get("threads"), model.get("bytes"), model.get("sources")];
    threads.show(many, model.get("thread_choices"), comma(many));
    bytes.show(each, model.get("byte_choices"), `${each}`);
    bars.replaceChildren(...sources.map((source) => row(source, many * each)));
    say(verdict.children, [words(sources[sources.length - 1], many, each)]);
  }
  return keepDrawn(model, ["sources", "threads", "bytes"], root, update, redraw);
}

/** What the last level gives, and what holds it back. */
function words({ name, latency, most }: Source, threads: number, each: number) {
  const way = threads * each;
  const arrives = way / latency;
  const key = arrives < most ? "flight.short" : "flight.enough";
  const share = arrives / most;
  return sentence(key, { threads, each, way, latency, arrives, name, most, share });
}

/** @param way bytes on their way */
function row({ id, name, latency, most }: Source, way: number) {
  const arrives = way / latency;
  const style = `width:${(100 * Math.min(1, arrives / most)).toFixed(2)}%`;
  const fill = html("span", { class: "lab-fill", style });
  const track = html("span", { class: `lab-track lab-${HUES[id]}`, "aria-hidden": "true" }, fill);
  const many = html("strong", {}, number(Math.min(arrives, most)));
  const rest = arrives < most ? ` of at most ${number(most)} bytes a clock` : " bytes a clock: all";
  const text = html("span", {}, many, rest);
  const head = html("span", { class: "lab-of" }, name);
  return html("div", { role: "listitem" }, head, track, text);
}
