// The form with which a reader runs kernels on their own GPU. It stays hidden until Python has
// answered, so on a page without a kernel there is none. A fragment: see module() in base.py.
// Needs common.js.

const ALL = ""; // of the kernels: all of them, one after another

function ladderForm(model) {
  const kernel = html("select", { class: "lab-select" });
  const size = html("select", { class: "lab-select" });
  const run = html("button", { type: "submit", class: "lab-button" }, "Run");
  const stop = html("button", { type: "button", class: "lab-button" }, "Stop");
  const told = html("p", { class: "lab-told", role: "status" });
  const problem = html("p", { class: "lab-complaint", role: "alert" });
  const progress = html("progress", { class: "lab-progress", "aria-label": "Progress" });
  const field = (words, control) => html("label", { class: "lab-field" }, html("span", {}, words), control);
  const element = html("form", { class: "lab-form", "aria-label": "Run on your GPU", hidden: "" },
    html("p", { class: "lab-form-head" }, "Run on your GPU"),
    html("div", { class: "lab-bar" }, field("Kernel", kernel), field("Size", size), run, stop),
    progress, told, problem);

  let queue = []; // messages to Python that wait for their turn
  let asked = 0; // how many of them were sent, with the one under way
  let current = ""; // title of the kernel under way

  function fill() {
    const rungs = model.get("kernels");
    const options = [[ALL, "all, one after another"], ...rungs.map((rung) => [rung.name, rung.title])];
    kernel.replaceChildren(...options.map(([value, text]) => html("option", { value }, text)));
    kernel.value = model.get("selected") || rungs[0].name;
    const sizes = model.get("sizes");
    size.replaceChildren(...sizes.map((entry, i) => html("option", { value: i }, sizeText(entry))));
    size.value = sizes.findIndex((entry) => sizeText(entry) === sizeText(model.get("size")));
  }

  function busy(on) {
    for (const control of [run, kernel, size]) control.disabled = on;
    stop.hidden = progress.hidden = !on;
    if (asked) setAttributes(progress, { max: asked + queue.length, value: asked - 1 });
    else progress.removeAttribute("value"); // another view of this ladder runs
  }

  function next() {
    const message = queue.shift();
    if (message) {
      asked += 1;
      current = model.get("kernels").find((rung) => rung.name === message.kernel).title;
      told.textContent = `${current}: waiting for Python`;
      model.send(message);
    } else {
      if (asked) told.textContent = "Done.";
      asked = 0;
    }
    busy(Boolean(message));
  }

  element.addEventListener("submit", (event) => {
    event.preventDefault();
    problem.textContent = "";
    const names = kernel.value === ALL ? model.get("kernels").map((rung) => rung.name) : [kernel.value];
    queue = names.map((name) => ({ kind: "run", kernel: name, size: model.get("sizes")[size.value] }));
    next();
  });
  stop.addEventListener("click", () => {
    queue = [];
    stop.hidden = true;
    told.textContent = `${told.textContent}. It stops after this kernel.`;
  });

  function receive({ kind, text }) {
    if (kind === "ready" && element.hidden) {
      fill();
      busy(false);
      element.hidden = false;
    } else if (kind === "progress") {
      told.textContent = current ? `${current}: ${text}` : text;
      busy(true);
    } else if (kind === "problem") {
      problem.textContent = [problem.textContent, text].filter(Boolean).join(" ");
      next();
    } else if (kind === "done") next();
  }

  model.on("msg:custom", receive);
  model.send?.({ kind: "hello" });
  return { element, stop: () => model.off("msg:custom", receive) };
}
