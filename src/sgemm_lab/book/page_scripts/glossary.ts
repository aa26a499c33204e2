// Words of the code and terms of the prose explain themselves where they stand: under the pointer,
// with the focus of the keyboard, at a first tap. The links lead to the page of the words.

const WORD = ".bd-article :is(a.lab-symbol, a.lab-word)";
const GAP = 6; // px between a word and what is said about it
const MARGIN = 8; // px, to the edges of the window
const PATIENCE = 150; // ms: a pointer that only passes by opens nothing

/** @param words anchor → what it means */
function explainWords(words: Record<string, [name: string, meaning: string]>) {
  /** What is said about a word: over the page, which it does not move. */
  const note = document.createElement("span");
  Object.assign(note, { id: "lab-meaning", className: "lab-meaning", popover: "manual" });
  note.setAttribute("role", "tooltip");
  /** the word that is explained now */
  let open: HTMLElement | null = null;
  let timer = 0;
  let touched = false;

  function show(word: HTMLElement) {
    const [, anchor] = word.getAttribute("href")?.split("#") ?? [];
    if (!words[anchor] || open === word) return;
    hide();
    open = word;
    const name = document.createElement("strong");
    name.textContent = words[anchor][0];
    note.replaceChildren(name, ` ${words[anchor][1]}`);
    word.after(note);
    word.setAttribute("aria-describedby", note.id);
    note.showPopover();
    place();
  }

  function hide() {
    clearTimeout(timer);
    open?.removeAttribute("aria-describedby");
    open = null;
    note.remove(); // the text of the page stays as it was, to be copied or searched
  }

  /** Below the word, or above it where there is no room; within the window. */
  function place() {
    if (!open) return;
    const [box] = open.getClientRects();
    const { offsetWidth: width, offsetHeight: height } = note;
    const below = box.bottom + GAP;
    const fits = below + height + MARGIN <= innerHeight;
    note.style.left = `${Math.max(MARGIN, Math.min(box.left, innerWidth - width - MARGIN))}px`;
    note.style.top = `${fits ? below : Math.max(MARGIN, box.top - GAP - height)}px`;
  }

  const wordAt = ({ target }: Event) => (target as Element).closest<HTMLElement>(WORD);
  addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse" || note.contains(event.target as Node)) return;
    clearTimeout(timer);
    const word = wordAt(event);
    if (word !== open) timer = setTimeout(word ? () => show(word) : hide, PATIENCE);
  });
  addEventListener("focusin", (event) => {
    const word = wordAt(event);
    if (word?.matches(":focus-visible")) show(word);
    else if (!word) hide();
  });
  addEventListener("pointerdown", ({ pointerType }) => {
    touched = pointerType === "touch";
  });
  addEventListener("click", (event) => {
    const word = wordAt(event);
    if (!word) return hide();
    if (!touched || open === word) return; // the link is followed
    event.preventDefault();
    show(word);
  });
  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
  addEventListener("scroll", place, { capture: true, passive: true });
  addEventListener("resize", hide);
}

const data = document.getElementById("lab-words")?.textContent;
if (data) explainWords(JSON.parse(data));
