// Controls and words of the painters and the step-through. A fragment: see module() in base.py.
// Needs common.js.

const plural = (count, word) => `${wholeNumbers.format(count)} ${word}${count === 1 ? "" : "s"}`;

/** A slider over `choices`; `react` gets the choice. */
function choiceSlider(label, react) {
  const input = html("input", { type: "range", min: 0, step: 1, class: "lab-range" });
  const value = html("span", { class: "lab-value" });
  let choices = [];
  input.addEventListener("input", () => react(choices[input.value]));
  return {
    element: html("label", { class: "lab-slider" },
      html("span", { class: "lab-slider-name" }, label), value, input),
    show(now, among, words) {
      choices = among.includes(now) ? among : [...among, now].sort((a, b) => a - b);
      setAttributes(input, { max: choices.length - 1, "aria-valuetext": words });
      input.value = choices.indexOf(now);
      input.style.setProperty("--at", `${(100 * input.value) / Math.max(1, choices.length - 1)}%`);
      value.textContent = words;
    },
  };
}

/** A choice of few, as radio buttons side by side. `choices` maps value to label. */
function segments(legend, choices, react) {
  const name = `lab-${Math.random().toString(36).slice(2)}`; // radio groups share the page
  const inputs = Object.entries(choices).map(([value, text]) => {
    const input = html("input", { type: "radio", name, value });
    input.addEventListener("change", () => react(value));
    return [input, html("label", { class: "lab-segment" }, input, html("span", {}, text))];
  });
  return {
    element: html("fieldset", { class: "lab-segments" },
      html("legend", {}, legend), inputs.map(([, label]) => label)),
    show: (now) => inputs.forEach(([input]) => (input.checked = input.value === String(now))),
  };
}

/** Explains the looks of a picture: [class of the swatch, words] each. */
function key(entries) {
  return html("div", { class: "lab-key" }, entries.map(([name, words]) =>
    html("span", {}, html("span", { class: `lab-swatch-box ${name}` }), words)));
}

/**
 * A verdict that keeps room for the longest of its texts, so that nothing below it ever moves.
 * `reserve` takes what the room depends on, and a function that returns the texts, each a list of
 * nodes; it measures them only when the first has changed. `show` takes the text to show.
 */
function steadyVerdict() {
  const element = html("div", { class: "lab-verdict", role: "status" });
  const measure = html("div", { class: "lab-measure", "aria-hidden": "true" });
  let known;
  return {
    element,
    measure,
    reserve(cause, texts) {
      if (cause === known) return;
      known = cause;
      measure.replaceChildren(...texts().map((text) => html("div", { class: "lab-verdict" }, text)));
      const tallest = Math.max(...[...measure.children].map((child) => child.offsetHeight));
      measure.replaceChildren();
      element.style.minHeight = `${tallest}px`;
    },
    show: (text) => element.replaceChildren(...text),
  };
}

/** The same words again would be read aloud again. */
function say(lines, words) {
  [...lines].forEach((line, i) => {
    if (line.textContent !== words[i]) line.textContent = words[i];
  });
}
