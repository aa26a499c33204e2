// One choice of GPU for a page: boxes, tables and figures that were computed for several (`data-gpu`,
// all but the first hidden) show that of the choice, and so do widgets. What is of one GPU alone
// (`data-gpu-alone`), the text included, says so where another is chosen. This browser remembers it.
// Predictions hear of it by the event "lab-gpu" on the document.

import { storedText, storeText } from "../storage.ts";

(() => {
  const KEY = "sgemm-lab:gpu";
  const MODEL = /\b[A-Z]+\d+/; // in the name of a GPU: "H200"

  type Place = HTMLElement & { labDrawn?: { model: object } };

  interface Gpus {
    get(name: "gpus"): { id: string; name: string }[] | undefined;
    get(name: "gpu"): string;
    set(name: "gpu", id: string): void;
  }

  const parts: NodeListOf<HTMLElement> = document.querySelectorAll("[data-gpu]");
  const names = [...new Set([...parts].map((part) => part.dataset.gpu ?? ""))];
  const header = document.querySelector(".article-header-buttons");
  if (names.length < 2 || !header) return;

  const modelOf = (name = "") => MODEL.exec(name)?.[0];
  const select = document.createElement("select");
  select.className = "lab-gpu-choice";
  select.append(...names.map((name) => new Option(modelOf(name) ?? name, name)));
  select.setAttribute("aria-label", "GPU of boxes, tables, figures and widgets");
  header.prepend(select);

  const quoted = modelOf(names[0]) ?? names[0];
  const notes: { line: HTMLElement; gpu: string; put: () => void }[] = [];
  note(document.querySelector("article h1"), "after", `The text quotes the ${quoted}.`, names[0]);
  const single: NodeListOf<HTMLElement> = document.querySelectorAll("[data-gpu-alone]");
  for (const part of single) {
    const name = part.dataset.gpuAlone ?? "";
    note(part, "append", `Recorded on the ${modelOf(name) ?? name} only.`, name);
  }

  select.addEventListener("change", () => {
    storeText(KEY, select.value);
    show();
  });
  document.addEventListener("lab-drawn", ({ target }) => follow(target as Place));
  if (names.includes(storedText(KEY))) select.value = storedText(KEY);
  show();

  /** Write a line before an element, to be shown where another GPU is chosen than the element's. */
  function note(place: Element | null, where: "after" | "append", text: string, gpu: string) {
    const line = document.createElement("p");
    line.className = "lab-provenance";
    line.textContent = text;
    notes.push({ line, gpu, put: () => place?.[where](line) });
  }

  function show() {
    for (const part of parts) part.hidden = part.dataset.gpu !== select.value;
    for (const { line, gpu, put } of notes) {
      line.hidden = gpu === select.value;
      if (!line.hidden && !line.isConnected) put(); // before, the page is not laid out anew for it
    }
    document.dispatchEvent(new CustomEvent("lab-gpu", { detail: select.value }));
    const places: NodeListOf<Place> = document.querySelectorAll(".lab-widget");
    places.forEach(follow);
  }

  /** Set the GPU of a widget that shows one of the page's; one with another GPU stays as it is. */
  function follow({ labDrawn }: Place) {
    const model = labDrawn?.model as Gpus | undefined;
    const gpus = model?.get("gpus");
    if (!model || !Array.isArray(gpus)) return;
    const now = modelOf(gpus.find(({ id }) => id === model.get("gpu"))?.name);
    const wanted = gpus.find(({ name }) => modelOf(name) === modelOf(select.value));
    if (wanted && names.some((name) => modelOf(name) === now)) model.set("gpu", wanted.id);
  }
})();
