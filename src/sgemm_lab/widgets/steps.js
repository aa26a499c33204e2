// A kernel at a toy size, access by access: matrices, shared tiles and one thread's registers.
// A fragment: see module() in base.py. Needs common.js, controls.js and walk.js.

const STATE = ["walk", "step", "block", "thread", "who", "cells"];
const [PACE, WHOLE] = [700, 30_000]; // ms per step while playing, and for all steps, at most

function render({ model, el }) {
  const redraw = redrawer(update);
  const button = (text, label, act) => {
    const node = html("button", { type: "button", class: "lab-button", "aria-label": label }, text);
    node.addEventListener("click", act);
    return node;
  };
  const toStage = (by) => () => {
    const here = tour.stages.findIndex(({ first, last }) => at() >= first && at() <= last);
    // From inside a stage, back leads to its own beginning first.
    const to = by < 0 && here >= 0 && at() > tour.stages[here].first ? here : here + by;
    go(tour.stages[Math.min(tour.stages.length - 1, Math.max(0, to))].first);
  };
  const buttons = [
    button("|◀", "Back to the last barrier", toStage(-1)),
    button("◀", "One step back", () => go(at() - 1)),
    button("Play", "Play", () => (timer ? stop() : start())),
    button("▶", "One step on", () => go(at() + 1)),
    button("▶|", "On to the next barrier", toStage(1)),
  ];
  const play = buttons[2];
  const stages = html("select", { class: "lab-select" });
  stages.addEventListener("change", () => go(Number(stages.value)));
  const scrub = choiceSlider("Step", go);
  const ribbon = svg("svg", { class: "lab-ribbon", "aria-hidden": "true" });
  const who = segments("Show what is done by", { thread: "one thread", warp: "its warp", block: "all" },
    (value) => change("who", value));
  const cells = segments("Cells show", { names: "names", values: "values" }, (value) => change("cells", value));
  const thread = choiceSlider("Thread", (value) => change("thread", value));
  const block = choiceSlider("Block", (value) => change("block", value));
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const source = html("code", { class: "lab-line" });
  const said = html("p", { class: "lab-said" });
  const danger = html("p", { class: "lab-danger" });
  const code = html("ol", { class: "lab-code", tabindex: "0", "aria-label": "Source of the kernel", role: "list" });
  const root = html("div", { class: "sgemm-lab lab-tool lab-steps" },
    html("div", { class: "lab-bar lab-drive" }, html("div", { class: "lab-buttons" }, buttons),
      html("label", { class: "lab-field" }, html("span", {}, "Go to"), stages)),
    html("div", { class: "lab-scrub" }, ribbon, scrub.element),
    html("div", { class: "lab-told", role: "status" }, source, said, danger),
    picture, key(keyOf(model.get("walk"))),
    code,
    html("div", { class: "lab-controls" }, who.element, cells.element, thread.element, block.element));
  el.append(root);
  const scene = new Scene(picture);
  const ribbonScene = new Scene(ribbon);
  let tour; // the chosen block's steps, understood
  let timer = null;
  let shown; // the step of the last drawing

  const at = () => Math.min(model.get("step"), tour.steps.length);

  function change(name, value) {
    put(model, name, value);
    redraw();
  }

  function go(step) {
    stop();
    change("step", Math.min(tour.steps.length, Math.max(0, step)));
  }

  function start() {
    if (at() === tour.steps.length) model.set("step", 0);
    const step = () => {
      if (at() === tour.steps.length) return stop();
      change("step", at() + 1);
    };
    timer = setInterval(step, Math.min(PACE, WHOLE / tour.steps.length));
    step();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    redraw();
  }

  function update() {
    const width = Math.max(270, roomIn(root)); // asked before anything changes: cheap
    const walk = model.get("walk");
    if (tour?.walk !== walk || tour.block !== model.get("block")) {
      tour = understand(walk, model.get("block"));
      showSource(walk);
      stages.replaceChildren(...tour.stages.map(({ name, first }) => html("option", { value: first }, name)));
    }
    const step = at();
    const stage = tour.stages.findLast(({ first }) => first <= step) ?? tour.stages[0];
    const now = tour.steps[step - 1];
    const seen = stateAt(tour, step, model.get("thread"), model.get("who"));
    stages.value = stage.first;
    const threads = walk.block[0] * walk.block[1];
    const blocks = walk.blocks.length;
    scrub.show(step, [...Array(tour.steps.length + 1).keys()], `${step} of ${tour.steps.length}`);
    thread.show(model.get("thread"), [...Array(threads).keys()], placeName(model.get("thread"), walk.block));
    block.show(model.get("block"), [...Array(blocks).keys()], placeName(model.get("block"), walk.grid));
    block.element.hidden = blocks < 2;
    thread.element.hidden = threads < 2;
    who.show(model.get("who"));
    cells.show(model.get("cells"));
    setAttributes(play, { "aria-label": timer ? "Pause" : "Play" });
    play.textContent = timer ? "Pause" : "Play";
    buttons[0].disabled = buttons[1].disabled = step === 0;
    buttons[3].disabled = step === tour.steps.length;
    buttons[4].disabled = stage === tour.stages.at(-1);
    drawRibbon(ribbonScene, ribbon, tour, step, width);
    picture.classList.toggle("lab-jump", Math.abs(step - (shown ?? step)) > 1); // many cells change at once
    shown = step;
    drawWalk(scene, picture, tour, seen, model.get("cells"), width);
    const words = stepWords(tour, step, seen);
    source.replaceChildren(...(now
      ? [html("span", { class: "lab-line-number" }, `${now.line}`), walk.source[now.line - walk.first_line].trim()]
      : [html("span", { class: "lab-line-number" }, "–")]));
    say([said, danger], [words, dangerWords(tour, seen)]);
    root.classList.toggle("lab-unsafe", tour.unsafe);
    root.classList.toggle("lab-failed", Boolean(now?.fault));
    setAttributes(picture, { "aria-label": `A, B, C, shared memory and registers after step ${step}. ${words}` });
    light(now); // last: it asks for the layout
  }

  // The source, with the line of the present step lit.

  function showSource(walk) {
    code.replaceChildren(...walk.source.map((text, i) => html("li", { "data-line": walk.first_line + i },
      html("span", { class: "lab-line-number", "aria-hidden": "true" }, `${walk.first_line + i}`), text || " ")));
  }

  function light(now) {
    for (const line of code.children) {
      const lit = Number(line.dataset.line) === now?.line;
      if (lit === line.classList.contains("lab-lit")) continue;
      line.classList.toggle("lab-lit", lit);
      setAttributes(line, { "aria-current": lit ? "step" : null });
      if (lit) bringIntoView(line);
    }
  }

  /** Only the list scrolls, never the page, and only for a line that is not well inside it. */
  function bringIntoView(line) {
    const [height, above] = [line.offsetHeight, line.offsetTop - code.scrollTop];
    if (above < height || above > code.clientHeight - 2 * height) {
      code.scrollTop = line.offsetTop - (code.clientHeight - height) / 2;
    }
  }

  /** A click on an element of C chooses the thread that computes it. */
  picture.addEventListener("click", (event) => {
    const owner = event.target.closest("[data-owner]")?.dataset.owner;
    if (owner !== undefined) change("thread", Number(owner));
  });
  /** A click on the ribbon goes to the step under the pointer. */
  ribbon.addEventListener("click", (event) => {
    const box = ribbon.getBoundingClientRect();
    go(Math.ceil((tour.steps.length * (event.clientX - box.left)) / box.width));
  });
  update();
  const stops = [listen(model, STATE, redraw), onResize(root, redraw), () => clearInterval(timer)];
  return () => stops.forEach((stop) => stop());
}
