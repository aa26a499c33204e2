// What scripts find in the book's pages.

/** The part of an element that has a name: `data-lab`. */
export const part = <T extends HTMLElement = HTMLElement>(element: HTMLElement, name: string) =>
  element.querySelector(`[data-lab="${name}"]`) as T;
