// Uses the controls of the widget on this page and times what follows: from the event until its
// scripts are through and the page is laid out, and once more in the frame after it. Waiting for
// that frame does not count. Each use is a performance.measure, named like the control.

const root = document.getElementById("widget");
const layout = () => root.getBoundingClientRect();
const frame = (work) => new Promise((done) => requestAnimationFrame(() => done(work())));
const send = (node, type, init = {}, Event = window.Event) =>
  node.dispatchEvent(new Event(type, { bubbles: true, cancelable: true, ...init }));
const press = (node, key) => send(node, "keydown", { key }, KeyboardEvent);

async function timed(name, act) {
  const first = frame(() => performance.now()); // before what the widget does in that frame
  const start = performance.now();
  act();
  await null; // redraws wait for the end of the event, then for one another
  await null;
  layout();
  const script = performance.now() - start;
  const last = frame(() => {
    layout();
    return performance.now();
  });
  const time = script + (await last) - (await first);
  performance.measure(name, { start, duration: time });
  return time;
}

/** What each kind of control is, and how to use it for the i-th time; null where it cannot be. */
const KINDS = [
  [
    "select",
    (node) => {
      if (node.options.length < 2) return null;
      return () => {
        node.selectedIndex = (node.selectedIndex + 1) % node.options.length;
        send(node, "change");
      };
    },
  ],
  [
    "input[type=range]",
    (node, i) => () => {
      const [min, max, step] = [Number(node.min), Number(node.max || 100), Number(node.step) || 1];
      const steps = Math.floor((max - min) / step);
      node.value = min + step * Math.round(steps * ((0.38 * (i + 1)) % 1));
      send(node, "input");
      send(node, "change");
    },
  ],
  [
    "input[type=number]",
    (node, i) => () => {
      node.value = Math.max(Number(node.min), 32 * (1 + (i % 8)));
      send(node, "input");
      send(node, "change");
    },
  ],
  ["input:is([type=radio], [type=checkbox])", (node) => () => node.click()],
  ["button", (node) => () => node.click()],
  [
    "[tabindex='0']:not(code, pre)",
    (node, i) => () => {
      if (!node.contains(document.activeElement)) node.focus();
      press(
        document.activeElement,
        ["ArrowRight", "ArrowDown", "ArrowRight", "Home", "End", "ArrowLeft"][i % 6],
      );
    },
  ],
  [
    "svg.lab-chart",
    (node, i) => () => {
      const box = node.getBoundingClientRect();
      const [clientX, clientY] = [
        box.left + box.width * ((0.38 * i) % 1),
        box.top + box.height * ((0.23 * i) % 1),
      ];
      const under = document.elementFromPoint(clientX, clientY);
      send(node.contains(under) ? under : node, "pointermove", { clientX, clientY }, PointerEvent);
    },
  ],
];

/** What a reader would call a control. Alike ones in a row, such as the 32 lanes, are one. */
function nameOf(node, kind) {
  if (kind === "svg.lab-chart") return "pointer on the picture";
  const keys = kind.startsWith("[tabindex") ? "arrow keys on " : "";
  if (node instanceof SVGElement) return `${keys}${node.getAttribute("class").split(" ")[0]}`;
  const label = node.closest("label");
  const words =
    node.closest("fieldset")?.querySelector("legend")?.textContent ??
    node.getAttribute("aria-label") ??
    label?.querySelector(".lab-slider-name")?.textContent ??
    label?.firstChild.textContent ??
    node.textContent;
  return keys + words.replaceAll(/\d+/g, "#").replaceAll(/\s+/g, " ").trim().slice(0, 40);
}

const shown = (node) => node.checkVisibility();

const named = (kind, name) =>
  [...root.querySelectorAll(kind)].filter(
    (node) => shown(node) && !node.disabled && nameOf(node, kind) === name,
  );

/** Controls as [kind, name]. */
window.controls = () =>
  KINDS.flatMap(([kind]) => {
    const nodes = [...root.querySelectorAll(kind)].filter(shown);
    return [...new Set(nodes.map((node) => nameOf(node, kind)))].map((name) => [kind, name]);
  });

/** Use a control for the i-th time; milliseconds, or null where it cannot be used now. */
window.useControl = async (kind, name, i) => {
  const nodes = named(kind, name); // found anew: a redraw may have made others
  const act = nodes.length && new Map(KINDS).get(kind)(nodes[i % nodes.length], i);
  return act ? timed(name, act) : null;
};

/** What timing itself takes. */
window.useNothing = () => timed("nothing", () => {});
