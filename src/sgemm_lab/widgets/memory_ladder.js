// The memory ladder: latency and bandwidth of each level of memory on one GPU, on log scales, and
// in words what a number means for the arithmetic units. A fragment: see module() in base.py.
// Needs common.js, chart.js, controls.js and row_picker.js.

const STATE = ["gpus", "gpu", "show"];
const KINDS = {
  latency: { unit: "cycles", title: "Latency, cycles until the value is there",
    levels: ["register", "shared", "constant", "l1", "l2", "dram"] },
  bandwidth: { unit: "GB/s", title: "Bandwidth, GB/s of all SMs together",
    levels: ["shared", "l1", "l2", "dram", "copy"] },
};
const NAMES = { register: "registers, a dependent FMA", shared: "shared memory",
  constant: "constant memory, cached", l1: "L1 cache", l2: "L2 cache", dram: "DRAM",
  copy: "DRAM, read and written" };
const [ROW, TOP, FOOT] = [42, 26, 30];

function render({ model, el }) {
  const redraw = redrawer(update);
  const chooser = gpuChooser(model);
  const show = segments("Show", { both: "both", latency: "latency", bandwidth: "bandwidth" }, (value) => {
    put(model, "show", value);
    redraw();
  });
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const told = steadyVerdict();
  const root = html("div", { class: "sgemm-lab lab-tool lab-memory" },
    html("div", { class: "lab-bar" }, chooser.field, show.element), picture, told.element, told.measure);
  el.append(root);
  const scene = new Scene(picture);
  const point = rowPicker({ model, root, picture, row: "lab-level", told, words: wordsOf });
  let spots = []; // the rows drawn last: { id, kind, level }

  chooser.field.addEventListener("change", redraw);

  function update() {
    const width = Math.max(270, roomIn(root)); // asked before anything changes: cheap
    const gpu = gpuOf(model);
    chooser.show();
    show.show(model.get("show"));
    const kinds = Object.keys(KINDS).filter((kind) => ["both", kind].includes(model.get("show")));
    spots = kinds.flatMap((kind) => KINDS[kind].levels.map((level) => ({ id: `${kind} ${level}`, kind, level })));
    const beside = kinds.length > 1 && width >= 560;
    const panel = beside ? (width - 36) / 2 : width;
    const tall = (kind) => TOP + ROW * KINDS[kind].levels.length + FOOT;
    const height = beside ? Math.max(...kinds.map(tall)) : kinds.reduce((sum, kind) => sum + tall(kind) + 10, 0);
    setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height,
      "aria-label": `${kinds.join(" and ")} of memory on ${gpu.name}` });
    let y = 0;
    kinds.forEach((kind, i) => {
      drawPanel(scene, kind, gpu[kind], limits(model.get("gpus"), kind), { x: beside ? i * (panel + 36) : 0, y, width: panel });
      if (!beside) y += tall(kind) + 10;
    });
    scene.finish();
    told.reserve(`${width} ${kinds}`, () => model.get("gpus").flatMap((any) =>
      [conclusion(any), ...spots.map((spot) => levelText(any, spot))]));
    point();
  }

  function wordsOf(id) {
    const active = spots.find((spot) => spot.id === id);
    return active ? levelText(gpuOf(model), active) : conclusion(gpuOf(model));
  }

  update();
  const stops = [listen(model, STATE, redraw), listen(model, ["selected"], point), onResize(root, redraw)];
  return () => stops.forEach((stop) => stop());
}

function gpuOf(model) {
  return model.get("gpus").find((gpu) => gpu.id === model.get("gpu"));
}

/** Whole decades that hold every GPU, so that nothing moves but the marks. */
function limits(gpus, kind) {
  const values = gpus.flatMap((gpu) => KINDS[kind].levels.map((level) => gpu[kind][level]));
  return [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))];
}

/** One row per level: its name and number above, a stem on a log scale below. */
function drawPanel(scene, kind, values, [low, high], { x: left, y: top, width }) {
  const { unit, title, levels } = KINDS[kind];
  const x = logScale(low, high, left + 2, left + width - 16);
  const bottom = top + TOP + ROW * levels.length;
  scene.draw(`${kind}-title`, "text", { class: "lab-panel-title", x: left, y: top + 13 }, title);
  for (const decade of x.decades) {
    scene.draw(`${kind}-line-${decade}`, "path", { class: "lab-grid", d: `M${x(decade)} ${top + TOP}V${bottom}` });
    const anchor = decade === low ? "start" : decade === high ? "end" : "middle";
    scene.draw(`${kind}-tick-${decade}`, "text",
      { class: "lab-tick", x: x(decade), y: bottom + 16, "text-anchor": anchor }, number(decade));
  }
  scene.draw(`${kind}-axis`, "path", { class: "lab-axis", d: `M${x(low)} ${bottom}H${x(high)}` });
  levels.forEach((level, i) => {
    const value = values[level];
    const times = i ? `×${ratio(value, values[levels[i - 1]])}` : "";
    const node = scene.draw(`${kind} ${level}`, "g", {
      class: `lab-level ${hueOf(level)}`, role: "img", "data-name": `${kind} ${level}`,
      "aria-label": `${NAMES[level]}, ${number(value)} ${unit}`,
      transform: `translate(0 ${top + TOP + ROW * i})`,
    });
    if (!node.firstChild) {
      node.append(svg("rect", { class: "lab-hit" }), svg("text", { class: "lab-level-name" }),
        svg("text", { class: "lab-level-value", "text-anchor": "end" }), svg("text", { class: "lab-ratio", "text-anchor": "end" }),
        svg("path", { class: "lab-stem" }), svg("g", { class: "lab-spot" }, svg("path", { d: mark(level, 6) })));
    }
    const [hit, name, amount, above, stem, spot] = node.children;
    setAttributes(hit, { x: left - 6, y: 1, width: width + 12, height: ROW - 2 });
    setAttributes(name, { x: left + 2, y: 17 });
    name.textContent = NAMES[level];
    setAttributes(amount, { x: left + width - 54, y: 17 });
    amount.textContent = `${number(value)} ${unit}`;
    setAttributes(above, { x: left + width - 4, y: 17 });
    above.textContent = times;
    setAttributes(stem, { d: `M${x(low)} 30H${x(value)}` });
    spot.style.transform = `translate(${x(value).toFixed(1)}px,30px)`;
  });
}

const ratio = (a, b) => number(Number((a / b).toPrecision(2)));
const hueOf = (level) => (level === "constant" ? "lab-other" : `lab-${HUES[level] ?? "dram"}`);

/** The conclusion; Python's `alt` says the same. */
function conclusion(gpu) {
  const { latency, bandwidth } = gpu;
  return [
    html("p", {}, `On ${gpu.name} a load takes ${number(latency.l1)} cycles where L1 has the value, ` +
      `${number(latency.l2)} from L2 and ${number(latency.dram)} from DRAM: ` +
      `${ratio(latency.dram, latency.shared)} times as long as from shared memory. ` +
      `All SMs together read ${ratio(bandwidth.shared, bandwidth.dram)} times as many bytes per ` +
      "second from shared memory as from DRAM."),
    html("p", { class: "lab-note" }, "× is the number of the row above. Point at a row, or Tab to it, for what it means."),
  ];
}

/** What one number means. FMAs per clock and SM are the measured rate, not the data sheet's. */
function levelText(gpu, { kind, level }) {
  const value = gpu[kind][level];
  const fmas = (gpu.fma_gflops * 1e3) / 2 / gpu.sms / gpu.clock_mhz;
  const head = (...words) => html("p", {}, html("strong", { class: `lab-swatch ${hueOf(level)}` }, NAMES[level]), ...words);
  const [first, meaning] = kind === "latency" ? latencyText(value) : bandwidthText(value);
  return [first, html("p", {}, meaning), html("p", { class: "lab-note" }, gpu.note)];

  function latencyText(cycles) {
    const ns = (cycles * 1e3) / gpu.clock_mhz;
    const meantime = number(Math.round(cycles * fmas));
    return [
      head(` · ${number(cycles)} cycles, ${number(ns)} ns`),
      level === "register"
        ? `The SM does ${number(fmas)} multiply-adds per clock. To keep it busy, ${meantime} must be under way ` +
          `that do not wait for each other: one each of ${Math.ceil((cycles * fmas) / 32)} warps.`
        : `While one value is on its way, the SM could do ${meantime} multiply-adds. Other warps must have that ` +
          "work ready, or the SM waits.",
    ];
  }

  function bandwidthText(gbs) {
    const bytes = (gbs * 1e3) / gpu.sms / gpu.clock_mhz;
    return [
      head(` · ${number(gbs)} GB/s, ${number(bytes)} bytes per clock and SM`),
      `That is ${number(bytes / 4)} floats per clock, and the SM does ${number(fmas)} multiply-adds in it. ` +
        `To keep the SM busy, each float must be used in ${number((4 * fmas) / bytes)} of them.` +
        (level === "copy" ? " Half of these bytes are read, half are written." : ""),
    ];
  }
}
