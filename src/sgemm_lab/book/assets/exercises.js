// @ts-check
// Exercises and predictions of a page take an answer, judge it and keep it for the reader's return.
//
// A box (data-lab="exercise" or "prediction") holds a form, a place for the verdict and, as JSON,
// what judges an answer. Its state stands in data-state: empty, wrong, right, or passed. Whoever
// must know hears the event "lab-answered" on the document, with the box's name and state. What
// has data-lab-after="name name" waits until those boxes are answered or passed: unseen, or where it
// is a <details>, closed. A prediction with data-folds lets what tells its answer wait.

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the scope of a script, not a function
(() => {
  const KEY = "sgemm-lab:answers";
  const SIGNS = { right: "✓", wrong: "✗", passed: "", empty: "" };

  /**
   * @typedef {{answer: string, passed?: boolean}} Kept
   * @typedef {"empty" | "wrong" | "right" | "passed"} State
   * @typedef {object} Box
   * @property {HTMLElement} element
   * @property {string} name
   * @property {boolean} prediction
   * @property {HTMLFormElement} form
   * @property {HTMLElement} said
   * @property {HTMLDetailsElement | null} solution
   * @property {JudgingData} data
   */

  /** @returns {Record<string, Kept>} */
  function keptAnswers() {
    try {
      return Object(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
    } catch {
      return {}; // kept by nobody, or not by us
    }
  }

  /** @param {(kept: Record<string, Kept>) => void} change */
  function keep(change) {
    const kept = keptAnswers();
    change(kept);
    try {
      localStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      // A browser that keeps nothing still judges.
    }
  }

  /**
   * @param {string} tag
   * @param {Record<string, string>} attributes
   * @param {(Node | string)[]} inside
   */
  function make(tag, attributes, ...inside) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...inside);
    return element;
  }

  /**
   * A sentence in which code stands between backticks.
   * @param {string} text
   */
  function sentence(text) {
    const parts = text.split("`");
    return parts.map((part, place) => (place % 2 ? make("code", {}, part) : part));
  }

  /**
   * @param {HTMLElement} element
   * @returns {Box | null}
   */
  function boxOf(element) {
    /** @type {(name: string) => any} */
    const part = (name) => element.querySelector(`[data-lab="${name}"]`);
    const [form, said, judging] = [part("form"), part("verdict"), part("judging")];
    if (!form || !said || !judging) return null;
    return {
      element,
      form,
      said,
      name: element.dataset.name ?? "",
      prediction: element.dataset.lab === "prediction",
      solution: part("solution"),
      data: JSON.parse(judging.textContent),
    };
  }

  /** @param {Box} box */
  const fields = (box) =>
    /** @type {HTMLInputElement[]} */ ([...box.form.querySelectorAll('[data-lab="answer"]')]);

  /** @param {Box} box */
  function typed(box) {
    const [first, ...more] = fields(box);
    if (first.type === "text") return first.value;
    return [first, ...more].find((field) => field.checked)?.value ?? "";
  }

  /** @type {(box: Box, answer: string) => void} */
  function fill(box, answer) {
    for (const field of fields(box)) {
      if (field.type === "text") field.value = answer;
      else field.checked = field.value === answer;
    }
  }

  /** @type {(box: Box, state: State, ...inside: (Node | string)[]) => void} */
  function say(box, state, ...inside) {
    const sign = SIGNS[state];
    const source = state !== "empty" && box.data.kind !== "number" ? box.data.source : "";
    const line = make("p", {}, ...inside);
    if (sign) line.prepend(make("b", { class: "lab-sign" }, sign), " ");
    box.said.replaceChildren(line);
    if (source) box.said.append(make("p", { class: "lab-provenance" }, source));
  }

  /**
   * Whoever has heard what was measured cannot commit any more.
   * @param {Box} box
   */
  function close(box) {
    box.form.classList.add("is-closed");
    for (const field of fields(box)) {
      if (field.type === "text") field.readOnly = true;
      else field.disabled = true;
    }
    for (const button of box.form.querySelectorAll("button")) button.hidden = true;
  }

  /** @param {string} name of a box */
  function isAnswered(name) {
    /** @type {HTMLElement | null} */
    const element = document.querySelector(`[data-lab][data-name="${name}"]`);
    return element !== null && (element.dataset.state ?? "empty") !== "empty";
  }

  /** @type {(box: Box, state: State) => void} */
  function setState(box, state) {
    box.element.dataset.state = state;
    if (box.solution) box.solution.hidden = state === "empty";
    if (state !== "empty" && box.data.kind !== "number") close(box);
    for (const waiting of document.querySelectorAll(`[data-lab-after~="${box.name}"]`)) {
      const names = waiting.getAttribute("data-lab-after")?.split(" ") ?? [];
      const waits = !names.every(isAnswered);
      if (waiting instanceof HTMLDetailsElement) waiting.open = !waits;
      else waiting.toggleAttribute("data-lab-waits", waits);
    }
    const detail = { name: box.name, state };
    document.dispatchEvent(new CustomEvent("lab-answered", { detail }));
  }

  /** @type {(box: Box, verdict: {right: boolean | null, text: string}) => void} */
  function show(box, { right, text }) {
    /** @type {State} */
    const state = right === null ? "empty" : right ? "right" : "wrong";
    say(box, state, ...sentence(text));
    if (right !== null) setState(box, state);
  }

  /** @param {Box} box */
  function pass(box) {
    say(box, "passed", ...sentence(labJudging.untold(box.data)));
    setState(box, "passed");
    close(box);
  }

  /** @param {Box} box */
  function check(box) {
    const answer = typed(box);
    const verdict = labJudging.judge(box.data, answer);
    if (verdict.right !== null) {
      keep((kept) => {
        kept[box.name] = { answer };
      });
    }
    show(box, verdict);
    if (box.form.classList.contains("is-closed")) moveOn(box);
  }

  /**
   * The button that had the focus is gone: the focus goes on to what was said.
   * @param {Box} box
   */
  function moveOn(box) {
    box.said.tabIndex = -1;
    box.said.focus({ preventScroll: true });
  }

  /**
   * What follows a prediction in its section, up to the next, and the bodies of sections after it.
   * @type {(element: HTMLElement, sections: number) => Element[]}
   */
  function following(element, sections) {
    /** @type {Element[]} */
    const rest = [];
    let next = element.nextElementSibling;
    while (next && next.tagName !== "SECTION" && !next.matches('[data-lab="prediction"]')) {
      rest.push(next);
      next = next.nextElementSibling;
    }
    let section = element.closest("section");
    for (let more = 0; more < sections && section; more += 1) {
      section = /** @type {HTMLElement | null} */ (section.nextElementSibling);
      const body = [...(section?.children ?? [])];
      rest.push(...body.filter((one) => !/^H\d$/.test(one.tagName)));
    }
    return rest;
  }

  /** @param {Box} box */
  function fold(box) {
    const note = make("p", { class: "lab-folded" }, "The page goes on here after Check or Pass.");
    box.element.append(note);
    for (const part of following(box.element, Number(box.element.dataset.folds))) {
      part.setAttribute("data-lab-after", box.name);
    }
    document.addEventListener("lab-answered", () => {
      note.hidden = box.element.dataset.state !== "empty";
    });
  }

  /** @param {Box} box */
  function setUp(box) {
    if ("folds" in box.element.dataset) fold(box);
    box.form.hidden = false;
    box.form.addEventListener("submit", (event) => {
      event.preventDefault();
      check(box);
    });
    if (box.prediction) {
      const button = make("button", { type: "button", "data-lab": "pass" }, "Pass");
      button.addEventListener("click", () => {
        keep((kept) => {
          kept[box.name] = { answer: "", passed: true };
        });
        pass(box);
        moveOn(box);
      });
      box.form.append(button);
    }
    setState(box, "empty");
    const kept = keptAnswers()[box.name];
    if (kept?.passed) pass(box);
    else if (kept) {
      const answer = String(kept.answer);
      const verdict = labJudging.judge(box.data, answer);
      if (verdict.right === null) return;
      fill(box, answer);
      show(box, verdict);
    }
  }

  /**
   * How many exercises of the page are answered, and the way to begin anew.
   * @param {Box[]} boxes
   */
  function addProgress(boxes) {
    const asked = boxes.filter((box) => !box.prediction);
    if (!asked.length) return;
    const signs = make("span", { class: "lab-signs", "aria-hidden": "true" });
    const count = make("span", { "data-lab": "count" });
    const forget = make("button", { type: "button", "data-lab": "forget" }, "Forget my answers");
    const hint = make("span", {}, "A solution opens after a try. Answers stay in this browser.");
    const line = make("div", { class: "lab-progress", "data-lab": "progress" });
    line.append(signs, count, hint, forget);
    const show = () => {
      const states = asked.map((box) => /** @type {State} */ (box.element.dataset.state));
      const answered = states.filter((state) => state !== "empty").length;
      const right = states.filter((state) => state === "right").length;
      signs.replaceChildren(
        ...states.map((state) => make("i", { "data-state": state }, SIGNS[state] || "·")),
      );
      count.textContent = `${answered} of ${asked.length} answered here, ${right} right.`;
      forget.hidden = boxes.every((box) => box.element.dataset.state === "empty");
    };
    forget.addEventListener("click", () => {
      keep((kept) => {
        for (const box of boxes) delete kept[box.name];
      });
      location.reload();
    });
    const first = document.querySelector('[data-lab="exercise"]');
    first?.before(line);
    document.addEventListener("lab-answered", show);
    show();
  }

  /** On paper every solution is open; afterwards each is as it was. */
  function openOnPaper() {
    /** @type {HTMLDetailsElement[]} */
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details")].filter(
        (details) => details.dataset.lab === "solution" && !details.open,
      );
      for (const details of closed) details.open = true;
    });
    addEventListener("afterprint", () => {
      for (const details of closed) details.open = false;
    });
  }

  const boxes = [...document.querySelectorAll("[data-lab=exercise], [data-lab=prediction]")]
    .map((element) => boxOf(/** @type {HTMLElement} */ (element)))
    .filter((box) => box !== null);
  boxes.forEach(setUp);
  addProgress(boxes);
  openOnPaper();
})();
