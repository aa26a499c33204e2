// Draws the widgets of a page that has no kernel: reads the saved state, hands each widget a
// plain model, and calls the same initialize and render that Jupyter calls.
(() => {
  const STATE = 'script[type="application/vnd.sgemm-lab.page-widgets+json"]';

  class Model {
    #state;
    #listeners = new Map();

    constructor(state) {
      this.#state = state;
    }
    get(name) {
      return this.#state[name];
    }
    set(name, value) {
      const changes = typeof name === "object" ? name : { [name]: value };
      const changed = Object.keys(changes).filter((key) => this.#state[key] !== changes[key]);
      Object.assign(this.#state, changes);
      for (const key of changed) this.#emit(`change:${key}`, this.#state[key]);
      if (changed.length) this.#emit("change");
    }
    on(names, callback) {
      for (const name of names.split(/\s+/)) {
        if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
        this.#listeners.get(name).add(callback);
      }
    }
    off(names, callback) {
      for (const name of names ? names.split(/\s+/) : [...this.#listeners.keys()]) {
        if (callback) this.#listeners.get(name)?.delete(callback);
        else this.#listeners.delete(name);
      }
    }
    save_changes() {} // Nobody to save for: there is no kernel.
    send() {}
    #emit(name, ...values) {
      for (const callback of [...(this.#listeners.get(name) ?? [])]) callback(this, ...values);
    }
  }

  function withBuffers({ state, buffers }) {
    for (const { path, data } of buffers) {
      const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
      const last = path[path.length - 1];
      const owner = path.slice(0, -1).reduce((value, key) => value[key], state);
      owner[last] = new DataView(bytes.buffer);
    }
    return state;
  }

  async function load({ esm, css }) {
    if (css) document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
    const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
    try {
      const { default: widget } = await import(url);
      return typeof widget === "function" ? await widget() : widget;
    } finally {
      URL.revokeObjectURL(url);
    }
  }

  /** Elements with their distance from what the reader sees, in px; what is seen comes first. */
  function nearestFirst(elements) {
    return [...elements].map((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return [Math.max(0, top - innerHeight, -bottom), element];
    }).sort(([one], [other]) => one - other);
  }

  async function drawAll() {
    const page = JSON.parse(document.querySelector(STATE).textContent);
    const once = (make) => {
      const made = new Map();
      return (key) => made.get(key) ?? made.set(key, make(key)).get(key);
    };
    const signal = new AbortController().signal;
    const code = once((kind) => load(page.code[kind]));
    const model = once(async (id) => {
      const saved = page.models[id];
      const model = new Model(withBuffers(saved));
      const widget = await code(saved.kind);
      await widget.initialize?.({ model, signal });
      return { model, widget };
    });

    for (const [distance, place] of nearestFirst(document.querySelectorAll(".lab-widget"))) {
      if (distance) await new Promise((done) => setTimeout(done)); // meanwhile the page answers
      const el = place.querySelector(".lab-widget-live");
      try {
        const { model: its, widget } = await model(place.dataset.modelId);
        place.classList.add("is-drawing"); // visible, so that the widget can measure itself
        await widget.render({ model: its, el, signal });
        place.classList.add("is-live");
      } catch (error) {
        el.replaceChildren();
        console.error(`The widget ${place.dataset.modelId} could not be drawn.`, error);
      } finally {
        place.classList.remove("is-drawing");
      }
    }
  }

  // Whoever needs the finished page can wait for this.
  window.labWidgetsDrawn = drawAll().then(() => true);
})();
