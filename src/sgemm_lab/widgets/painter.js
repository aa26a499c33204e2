// What the two painters of memory requests share: the choice among a kernel's own requests and the
// reader's pattern, and the 32 lanes as switches. A fragment: see module() in base.py. Needs
// common.js, controls.js and memory_model.js.

const OWN = -1; // `chosen` where the reader's own pattern is shown
const STRIDES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64, 128, 256, 1024, 4096];
const WIDTHS = { 32: "float", 64: "float2", 128: "float4" };

/** With at most one digit behind the point. */
const tenths = (value) => Math.floor(value * 10 + 0.5) / 10;
const shareText = (share) => `${tenths(share * 100)} %`;

/** The request chosen, or null where it is the reader's own. */
const chosenRequest = (model) => model.get("requests")[model.get("chosen")] ?? null;

/** Change the reader's own pattern, which starts as `start` where a kernel's request was shown. */
function ownPattern(model, start, change) {
  if (chosenRequest(model)) {
    for (const [name, value] of Object.entries(start)) model.set(name, value);
    model.set("chosen", OWN);
  }
  for (const [name, value] of Object.entries(change)) model.set(name, value);
  model.save_changes();
}

/** The width of an element of the reader's own pattern. */
const widthChoice = (own) => segments("Each lane asks for",
  Object.fromEntries(Object.keys(WIDTHS).map((bits) => [bits, `${bits} bit`])),
  (bits) => own({ bits: Number(bits) }));

/** Call `point` with the lane whose token is under the pointer, or null. */
function pointAtTokens(picture, point) {
  picture.addEventListener("pointermove", (event) => {
    const token = event.target.closest(".lab-token");
    point(token ? Number(token.dataset.lane) : null);
  });
  picture.addEventListener("pointerleave", () => point(null));
}

/** Lanes that a kernel leaves out of its request. */
const idleLanes = (request) =>
  request ? request.addresses.flatMap((address, lane) => (address === null ? lane : [])) : [];

/** "Number of lanes" or the number of the only one, for a token. */
const tokenText = (lanes) => (lanes.length > 1 ? `×${lanes.length}` : `${lanes[0]}`);

/** Facts as [name, value]; the last has a bar that shows `share`. */
function showFacts(list, facts, share) {
  const bar = html("span", { class: "lab-bar-fill" });
  bar.style.width = `${100 * share}%`;
  list.replaceChildren(...facts.map(([name, value], i) =>
    html("div", {}, html("dt", {}, name), html("dd", {}, `${value}`, i === facts.length - 1 &&
      html("span", { class: "lab-bar-track", "aria-hidden": "true" }, bar)))));
}

/** A zigzag from (x, y) to the right: what lies between is not drawn. */
function zigzag(x, y, width) {
  const steps = Math.round(width / 16);
  const points = Array.from({ length: steps }, (_, i) =>
    `L${x + (width * (i + 1)) / steps} ${y + (i % 2 ? 2 : -2)}`);
  return `M${x} ${y}${points.join("")}`;
}

/** The lanes' addresses without those that the reader has switched off. */
function withoutOff(addresses, off) {
  return addresses.map((address, lane) => (off.includes(lane) ? null : address));
}

/** Stride and offset, in elements, of a request whose lanes all stand at even distances. */
function evenly(request) {
  const bytes = request.bits / 8;
  const [first, second] = request.addresses;
  if (request.addresses.includes(null) || second < first) return null;
  if (request.addresses.some((address, lane) => address !== first + lane * (second - first))) return null;
  return { stride: (second - first) / bytes, offset: first / bytes };
}

/** "As[3][5]": the element of a request's array that starts at a byte. */
function elementName(request, address) {
  let index = (address - request.start) / 4;
  const indices = [];
  for (const side of request.shape.slice(1).reverse()) {
    indices.unshift(index % side);
    index = Math.floor(index / side);
  }
  return `${request.array}${[index, ...indices].map((i) => `[${i}]`).join("")}`;
}

/** "A[1][0] to A[1][3], bytes 256 to 271": what one lane asks for; without a request just bytes. */
function asked(request, address, bytes) {
  const comma = (value) => wholeNumbers.format(value);
  const span = `bytes ${comma(address)} to ${comma(address + bytes - 1)}`;
  if (!request?.shape.length) return span;
  const names = [elementName(request, address), elementName(request, address + bytes - 4)];
  return `${[...new Set(names)].join(" to ")}, ${span}`;
}

/**
 * The choice among requests, with the source line of the one chosen, or `ownSource()`. A choice
 * also sets `fresh`: what the reader did to the request before.
 */
function requestChooser(model, redraw, ownSource, fresh) {
  const select = html("select", { class: "lab-select" });
  model.get("requests").forEach(({ label }, index) =>
    select.append(html("option", { value: index }, label)));
  select.append(html("option", { value: OWN }, "A pattern of your own"));
  select.addEventListener("change", () => {
    for (const [name, value] of Object.entries(fresh)) model.set(name, value);
    put(model, "chosen", Number(select.value));
    redraw();
  });
  const source = html("code", { class: "lab-line", tabindex: "0" });
  return {
    field: html("label", { class: "lab-field lab-request" }, html("span", {}, "Request"), select),
    source,
    show() {
      select.value = model.get("chosen");
      const request = chosenRequest(model);
      source.replaceChildren(...(request
        ? [html("span", { class: "lab-line-number" }, `${request.line}`), request.source]
        : [ownSource()]));
    },
  };
}

/**
 * Switches for the 32 lanes: one stop of the Tab key, arrows walk from lane to lane. `point` is
 * called with the lane under the pointer or focus, or null.
 */
function laneSwitches(model, redraw, point) {
  const row = html("div", { class: "lab-lanes", role: "group", "aria-label": "Lanes of the warp" });
  const buttons = Array.from({ length: LANES }, (_, lane) => {
    const button = html("button", {
      type: "button", class: "lab-lane", tabindex: lane ? -1 : 0, "data-lane": lane,
    }, `${lane}`);
    button.addEventListener("click", () => {
      const off = model.get("off");
      put(model, "off", off.includes(lane)
        ? off.filter((one) => one !== lane) : [...off, lane].sort((a, b) => a - b));
      redraw();
    });
    button.addEventListener("pointerenter", () => point(lane));
    button.addEventListener("pointerleave", () => point(null));
    button.addEventListener("focus", () => {
      for (const other of buttons) other.tabIndex = other === button ? 0 : -1;
      point(lane);
    });
    button.addEventListener("blur", () => point(null));
    return button;
  });
  row.append(...buttons);
  row.addEventListener("keydown", (event) => {
    const perRow = getComputedStyle(row).gridTemplateColumns.split(" ").length;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: perRow, ArrowUp: -perRow, Home: -LANES, End: LANES };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const here = buttons.indexOf(document.activeElement);
    buttons[Math.min(LANES - 1, Math.max(0, here + step))].focus();
  });
  const all = html("button", { type: "button", class: "lab-button" }, "All lanes on");
  all.addEventListener("click", () => {
    put(model, "off", []);
    redraw();
  });
  return {
    row, all,
    /** `idle`: lanes that the kernel itself leaves out. `hues`: each lane's, default its number. */
    show(idle, hues = [...buttons.keys()]) {
      const off = model.get("off");
      all.disabled = !off.length;
      buttons.forEach((button, lane) => {
        const hue = `${hues[lane]}`; // the same value again would restyle the button
        if (button.style.getPropertyValue("--lane") !== hue) button.style.setProperty("--lane", hue);
        const out = idle.includes(lane);
        setAttributes(button, {
          "aria-pressed": !out && !off.includes(lane),
          "aria-disabled": out || null,
          "aria-label": `Lane ${lane}${out ? ", inactive in the kernel" : ""}`,
        });
      });
    },
  };
}
