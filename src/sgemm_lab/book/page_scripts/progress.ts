// How many of a chapter's exercises are answered, after its name in the list of chapters.
// Every page holds the names of all exercises, page by page, as JSON. Those of lines count where lines
// can be compiled, or where they have been judged already.

import { storedEntries } from "../storage.ts";

(() => {
  const KEY = "sgemm-lab:answers"; // as in exercises.js

  const asked: { pages?: Record<string, string[]>; lines?: string[] } = JSON.parse(
    document.querySelector("#lab-asked")?.textContent ?? "{}",
  );
  const lines = new Set(asked.lines);
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);

  function show() {
    const answers = storedEntries(KEY);
    for (const [page, all] of Object.entries(asked.pages ?? {})) {
      const names = all.filter((name) => window.labCompiles || !lines.has(name) || name in answers);
      const address = new URL(`${page}.html`, root).href;
      const answered = names.filter((name) => name in answers).length;
      for (const link of document.querySelectorAll(".bd-links a")) {
        if ((link as HTMLAnchorElement).href.split("#")[0] !== address) continue;
        link.querySelector(".lab-done")?.remove();
        if (answered) link.append(done(answered, names.length));
      }
    }
  }

  function done(answered: number, of: number): HTMLElement {
    const note = document.createElement("span");
    note.className = "lab-done";
    note.textContent = `${answered} of ${of}`;
    note.title = `${answered} of ${of} exercises answered`;
    return note;
  }

  show();
  document.addEventListener("lab-answered", show);
})();
