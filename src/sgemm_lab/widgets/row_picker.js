// Picks one row of a picture by pointer, finger or keyboard, and tells about it in words.
// A fragment: see module() in base.py. Needs common.js.

const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

/**
 * Rows are the elements of class `row`, each with its name in data-name, in the order of the arrow
 * keys. The row with focus is the model's `selected`; one under the pointer goes before it. `told`
 * (see steadyVerdict) shows words(name), name undefined where no row is active. `open` is called
 * for a row that is chosen once more, or with Enter.
 *
 * Returns a function to call after each drawing and when `selected` has changed; it is cheap.
 */
function rowPicker({ model, root, picture, row, told, words, open = () => {} }) {
  let hovered = null; // name of the row under the pointer
  const rows = () => [...picture.querySelectorAll(`.${row}`)];
  const rowOf = (event) => event.target.closest?.(`.${row}`)?.dataset.name ?? null;

  function point() {
    const shown = rows();
    const find = (name) => shown.find((node) => node.dataset.name === name);
    const active = find(hovered) ?? find(model.get("selected"));
    told.show(words(active?.dataset.name));
    const stop = find(model.get("selected")) ?? shown[0]; // one stop for Tab, arrow keys do the rest
    for (const node of shown) {
      node.classList.toggle("lab-current", node === active);
      node.setAttribute("tabindex", node === stop ? 0 : -1);
    }
  }

  function select(name) {
    if (model.get("selected") !== name) put(model, "selected", name);
    point();
  }

  picture.addEventListener("pointermove", (event) => {
    if (rowOf(event) === hovered) return;
    hovered = rowOf(event);
    told.element.setAttribute("aria-live", "off"); // a mouse would make it talk without end
    point();
  });
  picture.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return; // a lifted finger still wants to read
    hovered = null;
    point();
  });
  let known = null; // what the reader had read when the pointer went down: a finger reads first
  picture.addEventListener("pointerdown", (event) => {
    known = event.pointerType === "touch" ? model.get("selected") : rowOf(event);
  });
  picture.addEventListener("click", (event) => {
    const name = rowOf(event);
    select(name ?? "");
    if (name && known === name) open();
  });
  // On the root, because Chromium makes an <svg> that listens for focus a stop of its own.
  root.addEventListener("focusin", (event) => {
    if (!picture.contains(event.target) || !rowOf(event) || !event.target.matches(":focus-visible")) return;
    told.element.setAttribute("aria-live", "polite");
    select(rowOf(event));
  });
  picture.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (!(event.key in STEPS) && !["Enter", "Escape"].includes(event.key)) return;
    hovered = null;
    if (event.key === "Enter") {
      select(rowOf(event));
      open();
    } else if (event.key === "Escape") select("");
    else {
      const all = rows();
      const target = all.findIndex((node) => node.dataset.name === rowOf(event)) + STEPS[event.key];
      all[Math.min(all.length - 1, Math.max(0, target))].focus();
      point();
    }
    event.preventDefault();
    event.stopPropagation(); // JupyterLab and the book's page turn use arrow keys too
  });
  return point;
}
