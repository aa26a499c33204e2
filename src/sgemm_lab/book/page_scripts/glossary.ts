// Words of the code and terms of the prose explain themselves where they stand: under the pointer,
// with the focus of the keyboard, at a tap. The links lead to the page of the words without this.
(() => {
  const data = document.getElementById("lab-words")?.textContent;
  if (data && "showPopover" in HTMLElement.prototype) explainWords(JSON.parse(data));
})();

/** What is said about a word: a note over the page, which moves nothing in it. */
function wordNote() {
  const note = document.createElement("span");
  note.id = "lab-meaning";
  note.className = "lab-meaning";
  note.popover = "manual";
  note.setAttribute("role", "tooltip");
  const name = document.createElement("strong");
  const meaning = document.createElement("span");
  const index = document.createElement("a");
  index.textContent = "All words";
  note.append(name, " ", meaning, " ", index);
  return { note, name, meaning, index };
}

/** @param words anchor → what it means */
function explainWords(words: Record<string, [name: string, meaning: string]>) {
  const WORD = ".bd-article :is(a.lab-symbol, a.lab-word)";
  const GAP = 6; // px between a word and what is said about it
  const MARGIN = 8; // px, to the edges of the window
  const PATIENCE = 150; // ms: a pointer that only passes by opens nothing

  const { note, name, meaning, index } = wordNote();

  /** the word that is explained now */
  let open: HTMLElement | null = null;
  let pinned = false; // by tap, click or key; else it goes with pointer or focus
  let timer = 0;
  let returning = false; // the focus comes back from a note that was closed

  const anchorOf = (word: Element) => word.getAttribute("href")?.split("#")[1] ?? "";

  function show(word: HTMLElement, stays: boolean) {
    const entry = words[anchorOf(word)];
    if (!entry) return;
    pinned = stays || (pinned && open === word);
    if (open === word) return;
    hide();
    pinned = stays;
    open = word;
    [name.textContent, meaning.textContent] = entry;
    index.href = word.getAttribute("href") ?? "";
    word.after(note); // so that Tab goes from the word to what it says
    word.setAttribute("aria-describedby", note.id);
    note.showPopover();
    place();
  }

  function hide() {
    clearTimeout(timer);
    if (!open) return;
    open.removeAttribute("aria-describedby");
    open = null;
    pinned = false;
    note.hidePopover();
    note.remove(); // the text of the page stays as it was, to be copied or searched
  }

  /** Below the word, or above it where there is no room; within the window. */
  function place() {
    if (!open) return;
    const [box] = open.getClientRects();
    const { offsetWidth: width, offsetHeight: height } = note;
    const left = Math.min(box.left, innerWidth - width - MARGIN);
    const below = box.bottom + GAP;
    const fits = below + height + MARGIN <= innerHeight;
    note.style.left = `${Math.max(MARGIN, left)}px`;
    note.style.top = `${fits ? below : Math.max(MARGIN, box.top - GAP - height)}px`;
  }

  const wordAt = (event: Event) => {
    const target = event.target as Element;
    return target.closest(WORD) as HTMLElement | null;
  };
  const inside = (place: EventTarget | null) => place instanceof Node && note.contains(place);

  addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const word = wordAt(event);
    clearTimeout(timer);
    if (word && word !== open) timer = setTimeout(() => show(word, false), PATIENCE);
    else if (!word && !inside(event.target) && !pinned) timer = setTimeout(hide, PATIENCE);
  });
  addEventListener("focusin", (event) => {
    const word = wordAt(event);
    if (word?.matches(":focus-visible") && !returning) show(word, false);
    else if (!word && !inside(event.target)) hide();
  });
  addEventListener("click", (event) => {
    if (inside(event.target)) return;
    const word = wordAt(event);
    if (!word || !words[anchorOf(word)]) return hide();
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab of its own
    event.preventDefault();
    if (open === word && pinned) hide();
    else show(word, true);
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !open) return;
    const word = open;
    const within = inside(document.activeElement);
    hide();
    returning = true;
    if (within) word.focus();
    returning = false;
  });
  addEventListener("scroll", place, { capture: true, passive: true });
  addEventListener("resize", hide);
}
