// Elements of a page and of its pictures.

const SVG_NS = "http://www.w3.org/2000/svg";

/** Set what has changed; null takes an attribute away. */
export function setAttributes(node: Element, attributes: Attributes) {
  for (const name in attributes) {
    const value = attributes[name];
    if (value === null) node.removeAttribute(name);
    else {
      const text = `${value}`;
      if (node.getAttribute(name) !== text) node.setAttribute(name, text);
    }
  }
}

/** An HTML element; children may be nodes, strings or lists of them, falsy ones are left out. */
export function html<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  attributes: Attributes = {},
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[T] {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  node.append(...present(children.flat()));
  return node;
}

/** An element inside an <svg>. */
export function svg<T extends keyof SVGElementTagNameMap>(
  tag: T,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[T] {
  const node = document.createElementNS(SVG_NS, tag);
  setAttributes(node, attributes);
  node.append(...present(children));
  return node;
}

/** The box of a <g> and the text in its middle, which are made when it is drawn first. */
export function boxWithText(node: SVGElement, box: Attributes = {}) {
  if (!node.firstChild) node.append(svg("rect", box), svg("text", { "text-anchor": "middle" }));
  return node.children;
}

/** The children that are there. */
export function present(children: Child[]): (Node | string)[] {
  return children.flatMap((child) => (child ? [child] : []));
}

/** A button that says what it does: `words` on it, and `label` where they are only a sign. */
export function button(words: string, act: () => void, label?: string) {
  const named = label && { "aria-label": label, title: label };
  const node = html("button", { type: "button", class: "lab-button", ...named }, words);
  node.addEventListener("click", act);
  return node;
}

/**
 * Write the text of a shape. A text that is there changes: a new one would be laid out from
 * nothing.
 */
export function write(node: Element, text: string) {
  const { firstChild } = node;
  if (firstChild instanceof Text && !firstChild.nextSibling) {
    if (firstChild.data !== text) firstChild.data = text;
  } else if (node.textContent !== text) node.textContent = text;
}

/** Words for a line of text, unless they stand there already: they would be read aloud again. */
export function say(lines: Iterable<Element>, words: string[]) {
  [...lines].forEach((line, i) => {
    if (line.textContent !== words[i]) line.textContent = words[i];
  });
}
