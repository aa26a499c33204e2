// The ladder: one bar per kernel at one size on one GPU, cuBLAS of the same run as the line to
// reach. A fragment: see module() in base.py. Needs common.js, controls.js,
// row_picker.js and ladder_form.js.

const STATE = ["rows", "gpu", "size", "measure", "variants"];
const LIBRARY = "cublas";

const sizeText = (size) => (new Set(size).size === 1 ? `${size[0]}³` : size.join("×"));
const isSquare = (size) => new Set(size).size === 1;

function render({ model, el }) {
  const redraw = redrawer(update);
  const change = (name, value) => {
    put(model, name, value);
    redraw();
  };
  const chooser = gpuChooser(model);
  const square = choiceSlider("M = N = K", (side) => change("size", [side, side, side]));
  const shape = html("select", { class: "lab-select", "aria-label": "Other shapes, M×N×K" });
  const measure = segments("Bars show", { share: "share of cuBLAS", gflops: "GFLOP/s" },
    (value) => change("measure", value));
  const variants = html("button", { type: "button", class: "lab-chip" }, "variants");
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const told = steadyVerdict();
  const form = ladderForm(model);
  const root = html("div", { class: "sgemm-lab lab-tool lab-ladder" },
    html("div", { class: "lab-bar" }, chooser.field),
    html("div", { class: "lab-controls" }, square.element,
      html("label", { class: "lab-shape" }, html("span", { class: "lab-slider-name" }, "Other shapes"), shape),
      measure.element, html("div", { class: "lab-chips" }, variants)),
    picture, told.element, told.measure, form.element);
  el.append(root);
  const scene = new Scene(picture);
  const point = rowPicker({ model, root, picture, row: "lab-rung", told, words: wordsOf,
    open: () => told.element.querySelector("a")?.click() });

  let shown = []; // the rungs drawn last, each with its result
  let side = null; // where the slider stands while another shape is chosen

  chooser.field.addEventListener("change", redraw);
  variants.addEventListener("click", () => change("variants", !model.get("variants")));
  shape.addEventListener("change", () => change("size",
    shape.value ? model.get("sizes")[shape.value] : [side, side, side]));

  function update() {
    const width = Math.max(270, roomIn(root)); // asked before anything changes: cheap
    showControls();
    shown = rungs(model);
    drawLadder(scene, picture, shown, model.get("measure") === "share", width);
    setAttributes(picture, { "aria-label":
      `Kernels at ${sizeText(model.get("size"))} on ${gpuName(model)}, ${shown.length} bars` });
    told.reserve([width, model.get("gpu"), model.get("variants")].join(), () => [ladderText(), ...shown.map(rungText)]);
    point();
  }

  function showControls() {
    chooser.show();
    const [size, sizes] = [model.get("size"), model.get("sizes")];
    const sides = sizes.filter(isSquare).map(([m]) => m);
    if (isSquare(size)) [side] = size;
    side ??= sides.at(-1) ?? size[0];
    square.show(side, sides, isSquare(size) ? `${side}` : "not now");
    root.classList.toggle("lab-uneven", !isSquare(size));
    if (shape.dataset.sizes !== String(sizes)) {
      shape.dataset.sizes = sizes;
      const others = sizes.map((entry, i) => [i, entry]).filter(([, entry]) => !isSquare(entry));
      shape.replaceChildren(html("option", { value: "" }, "none, a square"),
        ...others.map(([i, entry]) => html("option", { value: i }, sizeText(entry))));
    }
    shape.value = isSquare(size) ? "" : sizes.findIndex((entry) => String(entry) === String(size));
    measure.show(model.get("measure"));
    const hasVariants = model.get("kernels").some((rung) => rung.variant);
    variants.parentNode.hidden = !hasVariants;
    variants.setAttribute("aria-pressed", model.get("variants"));
  }

  function wordsOf(name) {
    const active = shown.find((rung) => rung.name === name);
    return active ? rungText(active) : ladderText();
  }

  /** The conclusion; Python's `alt` says the same. */
  function ladderText() {
    const measured = shown.filter((rung) => rung.result && rung.name !== LIBRARY);
    const place = `At ${sizeText(model.get("size"))} on ${gpuName(model)}`;
    const hint = html("p", { class: "lab-hint" }, "Point at a bar for its numbers, or Tab to it and use the arrow keys. " +
      "The mark on its end spans all samples, the thick part the middle half.");
    if (!measured.length) return [html("p", {}, `${place} nothing was measured.`), hint];
    const [first] = measured;
    const best = measured.reduce((a, b) => (b.result.median > a.result.median ? b : a));
    const start = `${place} “${first.title}” reaches ${percent(share(first.result))} of cuBLAS`;
    const more = best === first ? "." : ` and “${best.title}” ${percent(share(best.result))}: ` +
      `${ratio(best.result.median, first.result.median)} times as much for the same arithmetic.`;
    return [html("p", {}, start + more), hint];
  }

  function rungText({ name, title, result, chapter, href }) {
    const page = href && root.closest(".lab-widget"); // a page of the book, not a notebook
    const source = chapter && html("p", {}, page ? html("a", { href }, `Read ${chapter}`) : `See ${chapter}.`);
    if (!result) {
      return [html("p", {}, html("strong", {}, title), ` · not measured at ${sizeText(model.get("size"))}`), source]
        .filter(Boolean);
    }
    const { samples, min, p25, median, p75, max, cublas, note } = result;
    const beside = name === LIBRARY ? "" : ` · ${percent(median / cublas)} of cuBLAS, ${number(cublas)} in the same run`;
    return [
      html("p", {}, html("strong", {}, title), " · ", html("strong", {}, `${number(median)} GFLOP/s`), beside),
      html("p", {}, `Median of ${plural(samples, "sample")}: all from ${number(min)} to ${number(max)}, ` +
        `the middle half from ${number(p25)} to ${number(p75)}.`),
      source,
      html("p", { class: "lab-note" }, note),
    ].filter(Boolean);
  }

  update();
  const stops = [listen(model, STATE, redraw), listen(model, ["selected"], point), onResize(root, redraw), form.stop];
  return () => stops.forEach((stop) => stop());
}

const ratio = (a, b) => number(Number((a / b).toPrecision(2)));
const share = (result) => result.median / result.cublas;

function gpuName(model) {
  return model.get("gpus").find((gpu) => gpu.id === model.get("gpu")).name;
}

/** The kernels to draw, cuBLAS last, each with its result at the chosen size and GPU, if any. */
function rungs(model) {
  const gpu = model.get("gpus").findIndex((entry) => entry.id === model.get("gpu"));
  const at = model.get("sizes").findIndex((entry) => String(entry) === String(model.get("size")));
  const results = new Map();
  for (const [card, kernel, size, note, samples, min, p25, median, p75, max, cublas] of model.get("rows")) {
    if (card !== gpu || size !== at) continue;
    results.set(kernel, { samples, min, p25, median, p75, max, cublas, note: model.get("notes")[note] });
  }
  const library = { name: LIBRARY, title: "cuBLAS", variant: false, chapter: "", href: "" };
  return [...model.get("kernels").map((rung, i) => ({ ...rung, result: results.get(i) })),
    { ...library, result: results.get(-1) }]
    .filter((rung) => !rung.variant || model.get("variants"));
}

/** One row per rung: name, bar to the median, and on its end the spread of the samples. */
function drawLadder(scene, picture, shown, asShare, width) {
  const wide = width >= 560;
  const names = Math.max(...shown.map((rung) => textWidth(rung.title, 13.5))) + 14;
  const [left, right] = [wide ? names : 0, width - 58];
  const [row, bar, above] = wide ? [27, 17, 5] : [40, 15, 21];
  const top = 24;
  const measured = shown.filter((rung) => rung.result);
  const unit = ({ result }) => (asShare ? result.cublas : 1);
  const reference = asShare ? 1 : measured.find((rung) => rung.name === LIBRARY)?.result.median;
  const most = Math.max(reference ?? 0, ...measured.map((rung) => rung.result.max / unit(rung))) || 1;
  const x = (value) => left + ((right - left) * value) / most;
  const height = top + row * shown.length + 4;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });

  if (reference) {
    const at = x(reference);
    scene.draw("reference", "path", { class: "lab-reference", d: `M${at} ${top - 6}V${height}` });
    scene.draw("reference-name", "text", { class: "lab-reference-name", x: at, y: top - 11, "text-anchor": "end" },
      asShare ? "cuBLAS in the same run" : "cuBLAS");
  }
  shown.forEach((rung, i) => {
    const { result } = rung;
    const node = scene.draw(`rung-${rung.name}`, "g", {
      class: `lab-rung${rung.name === LIBRARY ? " lab-library" : ""}`,
      role: "img",
      "data-name": rung.name,
      "aria-label": rungLabel(rung),
      transform: `translate(0 ${top + i * row})`,
    });
    if (!node.firstChild) {
      node.append(...["hit", "name", "speed", "all", "half", "value"].map((part) =>
        svg({ name: "text", value: "text", all: "path" }[part] ?? "rect", { class: `lab-${part}` })));
    }
    const [hit, name, body, all, half, value] = node.children;
    setAttributes(hit, { x: -6, width: width + 12, height: row });
    setAttributes(name, { x: wide ? left - 10 : 0, y: wide ? above + 13 : 15, "text-anchor": wide ? "end" : "start" });
    name.textContent = rung.title;
    const [min, p25, median, p75, max] = result
      ? ["min", "p25", "median", "p75", "max"].map((key) => x(result[key] / unit(rung))) : Array(5).fill(left);
    const middle = above + bar / 2;
    setAttributes(body, { x: left, y: above, height: bar, width: median - left });
    setAttributes(all, { d: result ? `M${min} ${middle}H${max}M${min} ${middle - 4}V${middle + 4}M${max} ${middle - 4}V${middle + 4}` : "" });
    setAttributes(half, { x: p25, y: middle - 2.5, height: 5, width: p75 - p25 });
    setAttributes(value, { x: max + (result ? 7 : 0), y: middle + 4.5, class: result ? "lab-value" : "lab-value lab-missing" });
    value.textContent = !result ? "not measured at this size"
      : asShare ? percent(share(result)) : number(result.median);
  });
  scene.finish();
}

function rungLabel({ name, title, result }) {
  if (!result) return `${title}, not measured at this size`;
  const speed = `${title}, ${number(result.median)} GFLOP/s`;
  return name === LIBRARY ? speed : `${speed}, ${percent(share(result))} of cuBLAS`;
}
