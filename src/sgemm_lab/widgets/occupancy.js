// The occupancy calculator: what a block takes, how many fit on an SM, and what decides it.
// A fragment: see module() in base.py. Needs common.js, controls.js and occupancy_math.js.

const STATE = ["gpus", "gpu", "threads", "registers", "shared", "kernels", "kernel"];

// The three numbers of a launch. `step` is what a slider or a drag moves by, `ticks` stand in the
// what-if curve, `per` is the unit of the field.
const QUANTITIES = [
  { name: "threads", label: "Threads per block", hue: "peak", low: 1, step: 32, per: 1, unit: "threads",
    ticks: [256, 512, 1024], high: () => THREADS_PER_BLOCK },
  { name: "registers", label: "Registers per thread", hue: "register", low: 1, step: 1, per: 1,
    unit: "registers", ticks: [64, 128, 255], high: () => REGISTERS_PER_THREAD },
  { name: "shared", label: "Shared KB per block", hue: "shared", low: 0, step: 1024, per: 1024,
    unit: "KB", ticks: [0, 64, 128, 192],
    high: (gpus) => Math.max(...gpus.map((gpu) => gpu.shared_per_block)) },
];

const RESOURCES = [
  { name: "blocks", label: "Block slots", hue: "peak" },
  { name: "warps", label: "Warp slots", hue: "peak" },
  { name: "registers", label: "Registers", hue: "register" },
  { name: "shared", label: "Shared memory", hue: "shared" },
];

function render({ model, el }) {
  const chooser = gpuChooser(model);
  const start = html("select", { class: "lab-select" });
  const startField = html("label", { class: "lab-field" }, html("span", {}, "Start from"), start);
  const panels = QUANTITIES.map((quantity) => whatIfPanel(quantity, change));
  const words = html("div", { class: "lab-verdict", role: "status", "aria-live": "polite" },
    html("p", {}, html("strong")), html("p"));
  const rooms = html("dl", { class: "lab-rooms" });
  const slots = svg("svg", { class: "lab-slots", role: "img" });
  const caption = html("p", { class: "lab-about" });
  const root = html("div", { class: "sgemm-lab lab-tool lab-occupancy" },
    html("div", { class: "lab-bar" }, chooser.field, startField),
    html("div", { class: "lab-panels" }, panels.map((panel) => panel.element)),
    words,
    html("div", { class: "lab-columns" }, rooms, html("div", {}, slots, caption)));
  el.append(root);
  const slotScene = new Scene(slots);

  const chosenGpu = () => model.get("gpus").find((gpu) => gpu.id === model.get("gpu"));
  const launchNow = () => ({
    threads: model.get("threads"), registers: model.get("registers"), shared: model.get("shared"),
  });

  /** The kernel that the three numbers are of, or undefined where they are the reader's own. */
  function kernelNow() {
    const kernel = model.get("kernels").find((entry) => entry.name === model.get("kernel"));
    const now = launchNow();
    const same = kernel && now.threads === kernel.threads && now.shared === kernel.shared &&
      now.registers === kernel.registers[chosenGpu().compute_capability];
    return same ? kernel : undefined;
  }

  function change(name, value) {
    if (model.get(name) === value) return;
    put(model, name, value);
    redraw();
  }

  function startFrom(kernel, gpu) {
    const registers = kernel?.registers[gpu.compute_capability];
    model.set("kernel", registers ? kernel.name : "");
    if (registers) {
      model.set("threads", kernel.threads);
      model.set("registers", registers);
      model.set("shared", kernel.shared);
    }
  }

  start.addEventListener("change", () => {
    startFrom(model.get("kernels").find((entry) => entry.name === start.value), chosenGpu());
    model.save_changes();
    redraw();
  });
  // Before the chooser acts: another compiler target may take other registers for the same kernel.
  chooser.field.addEventListener("change", ({ target }) => {
    const gpu = model.get("gpus").find((entry) => entry.id === target.value);
    if (kernelNow()) startFrom(kernelNow(), gpu);
  }, true);
  chooser.field.addEventListener("change", () => redraw());

  function update() {
    const gpu = chosenGpu();
    const launch = launchNow();
    const width = Math.max(270, roomIn(root));
    const wide = width >= 540;
    root.classList.toggle("lab-wide", wide);
    chooser.show();
    showStart(gpu);
    const panelWidth = wide ? (width - 2 * 20) / 3 : width;
    for (const panel of panels) panel.show(gpu, model.get("gpus"), launch, panelWidth);
    showWords(gpu, launch);
    showRooms(rooms, gpu, launch);
    drawSlots(slotScene, slots, gpu, launch, wide ? 240 : width, wide ? 8 : 4);
    caption.textContent = `The ${gpu.warps_per_sm} warp slots of an SM, each with the number of its block.`;
  }

  function showStart(gpu) {
    const kernels = model.get("kernels");
    const key = JSON.stringify([kernels, gpu.compute_capability]);
    if (start.dataset.key !== key) {
      start.dataset.key = key;
      start.replaceChildren(html("option", { value: "" }, "my own numbers"),
        ...kernels.map(({ name, registers }) => html("option", {
          value: name, disabled: registers[gpu.compute_capability] ? null : "",
        }, name)));
    }
    startField.hidden = !kernels.length;
    start.value = kernelNow()?.name ?? "";
  }

  function showWords(gpu, launch) {
    const [conclusion, ...reasons] = fitWords(gpu, launch);
    words.classList.toggle("lab-impossible", fitOf(gpu, launch).blocks === 0);
    say([words.querySelector("strong"), words.lastChild], [conclusion, reasons.join(" ")]);
  }

  const redraw = redrawer(update);
  update();
  const stops = [listen(model, STATE, redraw), onResize(root, redraw)];
  return () => stops.forEach((stop) => stop());
}

/**
 * One number of the launch: a field, a slider, and above the slider the occupancy that each of its
 * places would give. `react` gets the name and the new value.
 */
function whatIfPanel(quantity, react) {
  const { name, label, hue, low, step, per } = quantity;
  const field = html("input", { type: "number", step: "any", class: "lab-input", inputmode: "decimal",
    "aria-label": label });
  const range = html("input", { type: "range", step: "any", class: "lab-range", "aria-label": label });
  const picture = svg("svg", { class: "lab-what-if", role: "img" });
  const scene = new Scene(picture);
  let [value, high, scale] = [0, 1, null];

  const within = (wanted) => Math.min(high, Math.max(low, wanted));
  const stepped = (wanted) => within(Math.round(wanted / step) * step);
  const move = (wanted) => react(name, stepped(wanted));

  field.addEventListener("change", () => {
    const typed = Number(field.value);
    const good = field.value !== "" && Number.isFinite(typed);
    if (good) react(name, within(Math.round(typed * per)));
    field.value = shown(good ? within(Math.round(typed * per)) : value);
  });
  range.addEventListener("input", () => {
    move(Number(range.value));
    range.value = value; // the thumb rests where it was snapped to, once that is drawn
  });
  range.addEventListener("keydown", (event) => {
    const up = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!up) return;
    event.preventDefault();
    // From between two steps to the next of them.
    const steps = value / step;
    move(step * (up > 0 ? Math.floor(steps) + 1 : Math.ceil(steps) - 1));
  });
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault(); // no selection; the slider takes the focus instead
    range.focus({ preventScroll: true });
    picture.setPointerCapture(event.pointerId);
    drag(event);
  });
  picture.addEventListener("pointermove", (event) => {
    if (picture.hasPointerCapture(event.pointerId)) drag(event);
  });
  const drag = (event) => {
    const { left, width } = picture.getBoundingClientRect();
    move(scale.invert(((event.clientX - left) * scale.width) / width));
  };
  const shown = (bytes) => String(Number((bytes / per).toFixed(2)));

  return {
    element: html("div", { class: `lab-panel lab-${hue}`, "data-name": name },
      html("div", { class: "lab-panel-head" }, html("span", { class: "lab-slider-name" }, label), field),
      picture, range),
    show(gpu, gpus, launch, width) {
      high = quantity.high(gpus);
      value = launch[name];
      setAttributes(range, { min: low, max: high,
        "aria-valuetext": `${shown(value)} ${quantity.unit}` });
      setAttributes(field, { min: low / per, max: high / per });
      range.value = value;
      range.style.setProperty("--at", `${(100 * (value - low)) / (high - low)}%`);
      if (document.activeElement !== field) field.value = shown(value);
      scale = drawWhatIf(scene, picture, quantity, gpu, launch, high, width);
    },
  };
}

/** Where occupancy changes along one number of the launch: [from, to, share] left to right. */
function whatIf(gpu, launch, name, low, high) {
  // Threads and registers are handed out in units, within which nothing changes; 512 bytes of
  // shared memory are less than a pixel.
  const unit = { threads: WARP, registers: REGISTER_UNIT / WARP, shared: 512 }[name];
  const runs = [];
  for (let from = 0; from < high; from += unit) {
    const to = Math.min(high, from + unit);
    const { share } = fitOf(gpu, { ...launch, [name]: to });
    // What cannot run cannot run with more either.
    if (share === 0) return [...runs, [Math.max(low, from), high, 0]];
    const last = runs.at(-1);
    if (last?.[2] === share) last[1] = to;
    else runs.push([Math.max(low, from), to, share]);
  }
  return runs;
}

/** The curve of one number, and the present value on it. Returns the scale from value to pixel. */
function drawWhatIf(scene, picture, quantity, gpu, launch, high, width) {
  const { name, label, low, ticks, per, hue } = quantity;
  const height = 112;
  const box = { left: 44, top: 12, right: width - 12, bottom: height - 24 };
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  const x = (value) => box.left + ((value - low) / (high - low)) * (box.right - box.left);
  const y = (share) => box.bottom - share * (box.bottom - box.top);
  const runs = whatIf(gpu, launch, name, low, high);

  for (const share of [0, 0.5, 1]) {
    scene.draw(`y${share}`, "path", { class: share ? "lab-grid" : "lab-axis",
      d: `M${box.left} ${y(share)}H${box.right}` });
    scene.draw(`ty${share}`, "text", { class: "lab-tick", x: box.left - 6, y: y(share) + 4,
      "text-anchor": "end" }, percentOf(share));
  }
  const barred = runs.find(([, , share]) => share === 0);
  if (barred) {
    scene.draw("barred", "rect", { class: "lab-barred", x: x(barred[0]), y: box.top,
      width: x(high) - x(barred[0]), height: box.bottom - box.top });
  }
  const steps = runs.map(([from, to, share]) => `L${x(from)} ${y(share)}L${x(to)} ${y(share)}`).join("");
  scene.draw("area", "path", { class: "lab-area", d: `M${x(low)} ${y(0)}${steps}L${x(high)} ${y(0)}Z` });
  scene.draw("curve", "path", { class: "lab-curve", d: `M${steps.slice(1)}` });
  for (const tick of ticks) {
    scene.draw(`x${tick}`, "text", { class: "lab-tick", x: x(tick * per), y: box.bottom + 17,
      "text-anchor": tick * per === high ? "end" : "middle" }, number(tick));
  }
  const share = fitOf(gpu, launch).share;
  scene.draw("now", "path", { class: "lab-now", d: `M${x(launch[name])} ${box.top}V${box.bottom}` });
  if (barred && x(high) - x(barred[0]) > textWidth("cannot run", 12) + 8) {
    scene.draw("barred-label", "text", { class: "lab-tick lab-barred-label", "text-anchor": "middle",
      x: (x(barred[0]) + x(high)) / 2, y: y(0.5) + 4 }, "cannot run");
  }
  scene.draw("here", "circle", { class: `lab-here lab-${hue}`, r: 5, cx: x(launch[name]), cy: y(share) });
  scene.finish();
  const best = Math.max(...runs.map((run) => run[2]));
  const over = label[0].toLowerCase() + label.slice(1);
  picture.setAttribute("aria-label", `Occupancy over ${over}: ${percentOf(share)} now, ` +
    `${percentOf(best)} at best.`);
  const invert = (pixel) => low + ((pixel - box.left) / (box.right - box.left)) * (high - low);
  return { width, invert };
}

/** A row per resource: its room in words, and a bar of what the blocks take of it. */
function showRooms(list, gpu, launch) {
  const fit = fitOf(gpu, launch);
  const [takes, has] = [blockTakes(gpu, launch), smHas(gpu)];
  const lacking = {
    registers: takes.warps > takes.warpsByRegisters,
    shared: launch.shared > gpu.shared_per_block,
  };
  list.replaceChildren(...RESOURCES.map(({ name, label, hue }) => {
    const room = fit.room[name];
    const amount = (value) => (name === "shared" ? `${comma(value / 1024)} KB` : comma(value));
    const many = room === null ? "no limit" : `room for ${plural(room, "block")}`;
    const limit = fit.blocks ? fit.binding.includes(name) : lacking[name];
    return html("div", { class: `lab-room lab-${hue}${limit ? " lab-limit" : ""}`, "data-name": name },
      html("dt", {}, label),
      html("dd", {},
        html("span", { class: "lab-many" }, limit && html("strong", {}, "limit: "),
          (limit || fit.blocks > 0) && many),
        roomBar(takes[name] / has[name], fit.blocks, room ?? 0),
        html("span", { class: "lab-takes" },
          `a block takes ${amount(takes[name])} of ${amount(has[name])}`)));
  }));
}

/** A bar of width 1: `blocks` pieces filled, those that it has room for besides outlined. */
function roomBar(piece, blocks, room) {
  const pieces = (from, to) => {
    let d = "";
    for (let i = from; i < to; i++) d += `M${1000 * piece * i} 0h${1000 * piece}v12h${-1000 * piece}z`;
    return d || "M0 0";
  };
  return svg("svg", { class: "lab-room-bar", viewBox: "0 0 1000 12", preserveAspectRatio: "none",
    "aria-hidden": "true" },
  svg("path", { class: "lab-room-left", d: pieces(blocks, room) }),
  svg("path", { class: "lab-room-taken", d: pieces(0, blocks) }));
}

/** The warp slots, column by column: every other block is dark, each warp bears its number. */
function drawSlots(scene, picture, gpu, launch, width, rows) {
  const fit = fitOf(gpu, launch);
  const { warps } = blockTakes(gpu, launch);
  const side = Math.min(30, Math.floor((width * rows) / gpu.warps_per_sm));
  setAttributes(picture, { viewBox: `0 0 ${width} ${side * rows}`, height: side * rows,
    "aria-label": `${fit.warps} of ${gpu.warps_per_sm} warp slots are taken, by ` +
      `${plural(fit.blocks, "block")} of ${plural(warps, "warp")}.` });
  for (let slot = 0; slot < gpu.warps_per_sm; slot++) {
    const block = Math.floor(slot / warps);
    const taken = block < fit.blocks;
    const node = scene.draw(`slot${slot}`, "g", {
      class: taken ? `lab-slot lab-taken${block % 2 ? "" : " lab-dark"}` : "lab-slot",
      transform: `translate(${Math.floor(slot / rows) * side} ${(slot % rows) * side})`,
    });
    if (!node.firstChild) {
      node.append(svg("rect", { x: 1, y: 1, rx: 2 }), svg("text", { "text-anchor": "middle" }));
    }
    setAttributes(node.firstChild, { width: side - 2, height: side - 2 });
    setAttributes(node.lastChild, { x: side / 2, y: side / 2 + 4 });
    node.lastChild.textContent = taken ? block + 1 : "";
  }
  scene.finish();
}
