// How an edit comes along to the chapter's notebook, where a GPU can run it: as a cell.

/**
 * The cell that checks and times a source in the chapter's notebook.
 * @param name of the book's kernel that it is raced against
 */
export function cellOf(source: string, name: string) {
  const text = source.includes('"""') ? JSON.stringify(source) : `r"""\n${source}"""`;
  return `mine = lab.mine(${text})\nlab.check(mine)\n`.concat(`lab.compare(mine, "${name}")\n`);
}

/**
 * Let a button copy the cell, and say so; where the browser refuses, the text is there to be
 * copied.
 */
export function letCopy(along: HTMLElement, cell: () => string) {
  const button = along.querySelector("button") as HTMLButtonElement;
  const said = along.querySelector('[role="status"]') as HTMLElement;
  button.addEventListener("click", async () => {
    const text = cell();
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied.";
    } catch {
      const area = document.createElement("textarea");
      area.readOnly = true;
      area.value = text;
      area.setAttribute("aria-label", "The cell");
      said.replaceChildren(area);
      area.select();
    }
  });
}
