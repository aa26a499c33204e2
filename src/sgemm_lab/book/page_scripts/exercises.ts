// Exercises and predictions of a page take an answer, judge it and keep it for the reader's return.
//
// A box (data-lab="exercise" or "prediction") holds a form, a place for the verdict and, as JSON,
// what judges an answer. Its state stands in data-state: empty, wrong, right or passed. Whoever
// must know hears the event "lab-answered" on the document, with the box's name and state. What
// has data-lab-after="name name" waits until those boxes are answered or passed: unseen, or where it
// is a <details>, closed. A prediction lets what tells its answer wait.
// A prediction can pass all of the book at once.
// An exercise of lines has an editor for a form; panel-lines.ts, which comes when the reader turns to
// it, runs and judges what is written there.

import {
  answerNumbers,
  type JudgingData,
  judge,
  onGpu,
  skippedText,
} from "../../exercises/judging.ts";
import { html } from "../../widgets/shared/dom.ts";
import { storedEntries, storeText } from "../storage.ts";

const KEY = "sgemm-lab:answers";
const ALL = "all predictions"; // an entry among the answers: they are passed
const DRAFTS = "sgemm-lab:lines";
const ASKED = ':is([data-lab="exercise"], [data-lab="prediction"])';
const SIGNS = { right: "✓", wrong: "✗", passed: "", empty: "" };

interface StoredAnswer {
  answer: string;
  passed?: boolean;
}

interface StoredLines {
  answer: string;
  right: boolean;
  text: string;
  by: string;
}

interface LinesData {
  kind: "lines";
}

type State = keyof typeof SIGNS;

interface Box {
  element: HTMLElement;
  name: string;
  prediction: boolean;
  form: HTMLElement;
  said: HTMLElement;
  solution: HTMLDetailsElement | null;
  data: JudgingData | LinesData;
}

/** The GPU of which the page shows the measurements. */
const chosenGpu = () =>
  document.querySelector<HTMLSelectElement>("select.lab-gpu-choice")?.value ?? "";

const own = document.currentScript;
let bench: Promise<void> | null = null;

function keep(
  change: (stored: Record<string, StoredAnswer | StoredLines | string>) => void,
  key: string = KEY,
): void {
  const stored = storedEntries<StoredAnswer | StoredLines | string>(key);
  change(stored);
  storeText(key, JSON.stringify(stored));
}

/** A sentence in which code stands between backticks. */
function sentence(text: string) {
  const parts = text.split("`");
  return parts.map((part, place) => (place % 2 ? html("code", {}, part) : part));
}

function boxOf(element: HTMLElement): Box | null {
  const part = <T extends HTMLElement>(name: string) =>
    element.querySelector<T>(`[data-lab="${name}"]`);
  const [form, said, judging] = [part("form"), part("verdict"), part("judging")];
  if (!form || !said || !judging) return null;
  return {
    element,
    form,
    said,
    name: element.dataset.name ?? "",
    prediction: element.dataset.lab === "prediction",
    solution: part<HTMLDetailsElement>("solution"),
    data: JSON.parse(judging.textContent ?? ""),
  };
}

const fields = (box: Box) =>
  [...box.form.querySelectorAll('[data-lab="answer"]')] as HTMLInputElement[];

function typed(box: Box) {
  const [first, ...more] = fields(box);
  if (first.type === "text") return first.value;
  return [first, ...more].find((field) => field.checked)?.value ?? "";
}

function fill(box: Box, answer: string): void {
  for (const field of fields(box)) {
    if (field.type === "text") field.value = answer;
    else field.checked = field.value === answer;
  }
}

/** Whether an answer tells what was measured, so that there is one try. */
const tellsAll = (
  data: JudgingData | LinesData,
): data is Exclude<JudgingData, { kind: "number" }> =>
  data.kind === "estimate" || data.kind === "choice";

function say(box: Box, state: State, source: string, ...inside: (Node | string)[]): void {
  const sign = SIGNS[state];
  const line = html("p", {}, ...inside);
  if (sign) line.prepend(html("b", { class: "lab-sign" }, sign), " ");
  box.said.replaceChildren(line);
  if (source) box.said.append(html("p", { class: "lab-provenance" }, source));
}

/** Whoever has heard what was measured cannot commit any more. */
function close(box: Box) {
  box.form.classList.add("is-closed");
  for (const field of fields(box)) {
    if (field.type === "text") field.readOnly = true;
    else field.disabled = true;
  }
  const asking: NodeListOf<HTMLElement> = box.form.querySelectorAll("button, .lab-note");
  for (const one of asking) one.hidden = true;
}

/** @param name of a box */
function isAnswered(name: string) {
  const box = boxes.find((one) => one.name === name);
  return (box?.element.dataset.state ?? "empty") !== "empty";
}

/** Say what a hidden part waits for, and lead to the first of it. */
function sayHidden(part: Element, open: string[]) {
  const first = boxes.find(({ name }) => open.includes(name));
  if (!first) return;
  const heading = first.element.closest("section")?.querySelector("h1, h2, h3")?.textContent ?? "";
  const what =
    open.length > 1 ? `${open.length} predictions are answered, the first` : "you predict";
  const says = `Hidden until ${what} in “${heading.replace(/[#¶]$/, "")}”.`;
  part.setAttribute("data-lab-says", says);
  const note = part.querySelector<HTMLAnchorElement>(":scope > .lab-hidden-note");
  note?.setAttribute("href", `#${first.element.id}`);
  note?.replaceChildren(says);
}

function setState(box: Box, state: State): void {
  box.element.dataset.state = state;
  if (box.solution) box.solution.hidden = state === "empty";
  if (state !== "empty" && tellsAll(box.data)) close(box);
  for (const waiting of document.querySelectorAll(`[data-lab-after~="${box.name}"]`)) {
    const names = waiting.getAttribute("data-lab-after")?.split(" ") ?? [];
    const open = names.filter((name) => !isAnswered(name));
    const waits = open.length > 0;
    if (waits) sayHidden(waiting, open);
    waiting.toggleAttribute("data-lab-waits", waits);
  }
  const detail = { name: box.name, state };
  document.dispatchEvent(new CustomEvent("lab-answered", { detail }));
}

function show(
  box: Box,
  { right, text, by }: { right: boolean | null; text: string; by?: string },
): void {
  const state: State = right === null ? "empty" : right ? "right" : "wrong";
  say(box, state, by ?? "", ...sentence(text));
  if (right !== null) setState(box, state);
}

function pass(box: Box) {
  if (!tellsAll(box.data)) return;
  say(box, "passed", "", ...sentence(skippedText(onGpu(box.data, chosenGpu()))));
  setState(box, "passed");
  close(box);
}

function check(box: Box) {
  if (box.data.kind === "lines") return;
  const answer = typed(box);
  const verdict = judge(onGpu(box.data, chosenGpu()), answer);
  if (verdict.right !== null) {
    keep((stored) => {
      stored[box.name] = { answer };
    });
  }
  show(box, verdict);
  if (box.form.classList.contains("is-closed")) moveOn(box);
}

/** The button that had the focus is gone: the focus goes on to what was said. */
function moveOn(box: Box) {
  box.said.tabIndex = -1;
  box.said.focus({ preventScroll: true });
}

/** What follows in a section, or the next section where nothing does, up to the next question. */
function resultOf(element: HTMLElement): Element[] {
  const upToNext = (parts: Element[]) => {
    const end = parts.findIndex((part) => part.matches(`section, .takeaway, ${ASKED}`));
    return end < 0 ? parts : parts.slice(0, end);
  };
  const parts = [...(element.parentElement?.children ?? [])];
  const rest = parts.slice(parts.indexOf(element) + 1);
  if (rest.length) return upToNext(rest);
  const [, ...next] = element.closest("section")?.nextElementSibling?.children ?? [];
  return upToNext(next);
}

/** The text of a part, with a space between any two of its elements: between cells, for one. */
function textOf(part: Element) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const texts: string[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode.textContent ?? "");
  return texts.join(" ");
}

/** What may say an answer: paragraphs, rows, pictures and boxes, each with its text. */
let telling: { part: Element; text: string }[] | undefined;

function findTelling() {
  const LARGE = "figure, .lab-closing, .lab-widget";
  const parts = document.querySelectorAll(`.bd-article :is(p, li, tr, dd, ${LARGE})`);
  return [...parts]
    .filter((part) => part.matches(LARGE) || !part.querySelector("p, li, tr"))
    .filter((part) => !part.closest(ASKED))
    .map((part) => ({ part, text: textOf(part) }));
}

/** What says the answer further down, by one of its numbers. */
function mentionsOf(box: Box, data: JudgingData): Element[] {
  const numbers = new RegExp(`(?<![\\d.,])(${answerNumbers(data).join("|")})(?![\\d³×])`);
  const after = (part: Element) =>
    box.element.compareDocumentPosition(part) & Node.DOCUMENT_POSITION_FOLLOWING;
  telling ??= findTelling();
  const found = telling.filter(({ part, text }) => after(part) && numbers.test(text));
  return found.flatMap(({ part }) => onEachGpu(part.closest(".lab-closing, figure") ?? part));
}

/** A part of a page, with those in its place for other GPUs. */
function onEachGpu(part: Element): Element[] {
  const own = part.closest("[data-gpu]");
  const places = own?.parentElement?.querySelectorAll(":scope > [data-gpu]");
  if (!own || !places) return [part];
  const at = [...own.querySelectorAll(part.localName)].indexOf(part);
  return [...places].flatMap((place) => place.querySelectorAll(part.localName)[at] ?? []);
}

/** Sections in which a line says that something is hidden, and of which GPU's copy it is. */
const noted: { section: Element | null; gpu?: string }[] = [];

/** Let what tells the answer to a prediction wait for the reader's. One line per section says so. */
function hideResult(box: Box, data: JudgingData) {
  const hide = (parts: Iterable<Element>, as: string) => {
    for (const part of parts) {
      const others = (part.getAttribute("data-lab-after") ?? "").split(" ");
      part.setAttribute("data-lab-after", [...new Set([...others, box.name])].join(" ").trim());
      if (part.hasAttribute("data-lab-hides")) continue;
      const section = part.parentElement?.closest("section") ?? null; // a closing box is one itself
      const gpu = part.closest<HTMLElement>("[data-gpu]")?.dataset.gpu;
      const copies = [undefined, gpu];
      const said = noted.some((one) => one.section === section && copies.includes(one.gpu));
      const silent = as === "later" && (said || section === box.element.closest("section"));
      part.setAttribute("data-lab-hides", silent ? "silently" : as);
      if (silent || part.matches("tr")) continue;
      noted.push({ section, gpu });
      if (!part.matches(".lab-widget")) part.prepend(html("a", { class: "lab-hidden-note" }));
    }
  };
  hide(resultOf(box.element), "result");
  hide(document.querySelectorAll(`.tag_after-${box.name}, .after-${box.name}`), "later");
  hide(mentionsOf(box, data), "later");
}

/** Load what runs lines, once. */
function loadBench() {
  bench ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = new URL("panel-lines.js", own instanceof HTMLScriptElement ? own.src : "").href;
    script.onload = () => done();
    document.head.append(script);
  });
  return bench;
}

function keepDraft(name: string, text: string): void {
  keep((drafts) => {
    drafts[name] = text;
  }, DRAFTS);
}

/** What an editor tells its box. */
function hearing(
  box: Box,
  showWayOn: (shown: boolean) => void,
): Parameters<typeof window.labLinesBench>[2] {
  return {
    edited: (text) => keepDraft(box.name, text),
    busy: (text) => say(box, "empty", "", text),
    judged: (answer, { right, text, by }) => {
      keep((stored) => {
        stored[box.name] = { answer, right, text, by };
      });
      show(box, { right, text, by });
    },
    notRun: (why, final) => {
      say(box, "empty", "", ...sentence(why));
      if (final) showWayOn(true);
    },
  };
}

/** An editor in place of the lines that the exercise starts with. */
function setUpLines(box: Box) {
  const { element, form, name } = box;
  const [wayOn, start]: NodeListOf<HTMLElement> =
    element.querySelectorAll(".lab-go-on, .lab-start");
  const [first, second] = wayOn.matches(".lab-go-on") ? [wayOn, start] : [start, wayOn];
  const showWayOn = (shown: boolean) => {
    first.hidden = !shown;
    if (shown && box.solution) box.solution.hidden = false;
  };
  showWayOn(false);
  second.hidden = true;
  form.hidden = false;
  setState(box, "empty");
  const area = form.querySelector("textarea") as HTMLTextAreaElement;
  const draft = storedEntries<string>(DRAFTS)[name];
  const stored = storedEntries<StoredLines>(KEY)[name];
  if (typeof stored?.right === "boolean") show(box, { ...stored, text: String(stored.text) });
  if (typeof draft === "string") area.value = draft;
  // Also what is typed before the editor's script is there.
  area.addEventListener("input", () => keepDraft(name, area.value));
  const load = async () => {
    if (form.dataset.asked) return;
    form.dataset.asked = "true";
    await loadBench();
    window.labLinesBench(form, name, hearing(box, showWayOn));
  };
  for (const event of ["focusin", "pointerenter"]) form.addEventListener(event, load);
  form.addEventListener("click", async ({ target }) => {
    if (form.dataset.ready || !(target instanceof HTMLButtonElement)) return;
    form.dataset.asked ??= "";
    await load();
    await loadBench();
    target.click();
  });
  if (area.value !== area.defaultValue) load();
}

function setUp(box: Box) {
  if (box.data.kind === "lines") {
    setUpLines(box);
    return;
  }
  box.form.hidden = false;
  box.form.addEventListener("submit", (event) => {
    event.preventDefault();
    check(box);
  });
  if (box.prediction) {
    hideResult(box, box.data);
    const says = "Show the result without predicting";
    const button = html("button", { type: "button", "data-lab": "pass" }, says);
    button.addEventListener("click", () => {
      keep((stored) => {
        stored[box.name] = { answer: "", passed: true };
      });
      pass(box);
      moveOn(box);
    });
    const note = "Until then the result is hidden, here and further down.";
    const saysAll = "Show all results in the book";
    const all = html("button", { type: "button", "data-lab": "pass-all" }, saysAll);
    all.addEventListener("click", () => {
      keep((stored) => {
        stored[ALL] = { answer: "", passed: true };
      });
      for (const one of boxes)
        if (one.element.dataset.state === "empty" && one.prediction) pass(one);
      moveOn(box);
    });
    box.form.append(button, all, html("p", { class: "lab-allows lab-note" }, note));
  }
  setState(box, "empty");
  const answers = storedEntries<StoredAnswer>(KEY);
  const stored = answers[box.name] ?? (box.prediction ? answers[ALL] : undefined);
  if (stored?.passed) pass(box);
  else if (stored) {
    const answer = String(stored.answer);
    const verdict = judge(onGpu(box.data, chosenGpu()), answer);
    if (verdict.right === null) return;
    fill(box, answer);
    show(box, verdict);
  }
}

/** Judge by what was measured on the GPU that the reader chose. */
function followGpu(box: Box) {
  if (box.data.kind === "lines" || !tellsAll(box.data)) return;
  const data = onGpu(box.data, chosenGpu());
  const source = box.form.querySelector('[data-lab="source"]');
  if (source && tellsAll(data)) source.textContent = `${data.source.split(",")[0]}.`;
  const { state } = box.element.dataset;
  if (state === "passed") pass(box);
  else if (state !== "empty") show(box, judge(data, typed(box)));
}

/** The way to begin anew. */
function addForget(boxes: Box[]) {
  const first = document.querySelector('[data-lab="exercise"]');
  const hint = "Solutions unlock after a try where one is possible. Answers stay in this browser.";
  const forget = html("button", { type: "button", "data-lab": "forget" }, "Forget my answers");
  first?.before(html("p", { class: "lab-progress" }, hint, forget));
  const show = () => {
    forget.hidden = boxes.every((box) => box.element.dataset.state === "empty");
  };
  forget.addEventListener("click", () => {
    for (const key of [KEY, DRAFTS]) {
      keep((stored) => {
        for (const name of [ALL, ...boxes.map((box) => box.name)]) delete stored[name];
      }, key);
    }
    location.reload();
  });
  document.addEventListener("lab-answered", show);
  show();
}

const boxes = [...document.querySelectorAll(ASKED)]
  .map((element) => boxOf(element as HTMLElement))
  .filter((box) => box !== null)
  .filter((box) => box.data.kind !== "lines" || window.labCompiles);
boxes.forEach(setUp);
boxes.forEach(followGpu);
document.addEventListener("lab-gpu", () => boxes.forEach(followGpu));
addForget(boxes);
