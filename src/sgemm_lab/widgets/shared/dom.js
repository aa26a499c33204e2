// @ts-check
// Elements of a page and of its pictures.

const SVG_NS = "http://www.w3.org/2000/svg";

/**
 * Set what has changed; null takes an attribute away.
 * @param {Element} node
 * @param {Attributes} attributes
 */
export function setAttributes(node, attributes) {
  for (const name in attributes) {
    const value = attributes[name];
    if (value === null) node.removeAttribute(name);
    else {
      const text = `${value}`;
      if (node.getAttribute(name) !== text) node.setAttribute(name, text);
    }
  }
}

/**
 * An HTML element; children may be nodes, strings or lists of them, falsy ones are left out.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function html(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  node.append(...present(children.flat()));
  return node;
}

/**
 * An element inside an <svg>.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NS, tag);
  setAttributes(node, attributes);
  node.append(...present(children));
  return node;
}

/**
 * The children that are there.
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
export function present(children) {
  return children.flatMap((child) => (child ? [child] : []));
}

/**
 * A button that says what it does: `words` on it, and `label` where they are only a sign.
 * @param {string} words
 * @param {() => void} act
 * @param {string} [label]
 */
export function button(words, act, label) {
  const attributes = { type: "button", class: "lab-button", ...(label && { "aria-label": label }) };
  const node = html("button", attributes, words);
  node.addEventListener("click", act);
  return node;
}

/**
 * Write the text of a shape. A text that is there changes: a new one would be laid out from nothing.
 * @param {Element} node
 * @param {string} text
 */
export function write(node, text) {
  const { firstChild } = node;
  if (firstChild instanceof Text && !firstChild.nextSibling) {
    if (firstChild.data !== text) firstChild.data = text;
  } else if (node.textContent !== text) node.textContent = text;
}

/**
 * Words for a line of text, unless they stand there already: they would be read aloud again.
 * @param {Iterable<Element>} lines
 * @param {string[]} words
 */
export function say(lines, words) {
  [...lines].forEach((line, i) => {
    if (line.textContent !== words[i]) line.textContent = words[i];
  });
}
