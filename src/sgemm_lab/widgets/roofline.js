// The roofline: roofs of one GPU at several memory levels, kernels as points, a probe that reads
// the roofs at any intensity, a path from kernel to kernel. A fragment: see module() in base.py.
// Needs common.js, chart.js and limits.js.

const STATE = ["gpus", "gpu", "points", "hidden_levels", "hidden_kernels", "path"];
const REACH = 26; // px within which the pointer takes hold of a point

function render({ model, el }) {
  const chooser = gpuChooser(model);
  const levels = html("div", { class: "lab-chips", role: "group", "aria-label": "Memory levels" });
  const kernels = html("div", { class: "lab-chips", role: "group", "aria-label": "Kernels" });
  const path = html("select", { class: "lab-select" });
  const pathField = html("label", { class: "lab-field" }, html("span", {}, "Path at"), path);
  const key = html("div", { class: "lab-key" });
  const picture = svg("svg", { class: "lab-chart", role: "group" });
  const readout = html("div", { class: "lab-readout", role: "status" });
  const measure = html("div", { class: "lab-readout lab-measure", "aria-hidden": "true" });
  const bar = html("div", { class: "lab-bar" }, chooser.field, levels, kernels, pathField);
  const root = html("div", { class: "sgemm-lab lab-roofline" }, bar, picture, key, readout, measure);
  el.append(root);

  const layers = Object.fromEntries(
    ["roofs", "probe", "links", "points", "labels"].map((name) => {
      const layer = svg("g", { class: `lab-layer-${name}` });
      picture.append(layer);
      return [name, new Scene(layer)];
    }),
  );
  const handle = probeHandle();
  picture.append(handle);

  let axes, box, gpu, here, visible; // what the last drawing left for the pointer to use
  let steps = []; // points of the path, in the order of the kernels
  let offered; // the roofs that are shown, one per level
  let hovered = -1; // index of the point under the pointer; `selected` is the one with focus
  let probe = 1; // FLOP/B read by the probe
  let probing = false;

  function update() {
    chooser.show();
    const gpus = model.get("gpus");
    const changed = gpu && gpu.id !== model.get("gpu");
    gpu = gpus.find((entry) => entry.id === model.get("gpu")) ?? gpus[0];
    const hiddenLevels = model.get("hidden_levels");
    const hiddenKernels = model.get("hidden_kernels");
    here = model.get("points").map((point, index) => ({ ...point, index }))
      .filter((point) => point.gpu === gpu.id);
    visible = here.filter(
      (point) => !hiddenLevels.includes(point.level) && !hiddenKernels.includes(point.kernel),
    );
    showChips(here, hiddenLevels, hiddenKernels);
    showPath();
    showKey(visible);
    offered = referenceLevels(gpu).filter(({ id }) => (steps.length ? id === steps[0].level : !hiddenLevels.includes(id)));

    const width = Math.max(280, roomIn(root));
    const height = Math.round(Math.min(500, Math.max(340, width * 0.64)));
    setAttributes(picture, {
      viewBox: `0 0 ${width} ${height}`,
      height,
      "aria-label": `Roofline of ${gpu.name}, ${visible.length} points`,
    });
    box = { left: 60, top: 26, right: width - 14, bottom: height - 50 };
    if (changed) glide(picture);
    axes = drawAxes(layers.roofs, box,
      steps.length ? pathLimits(gpu, steps) : chartLimits(gpus, model.get("points")));
    const hidden = gpu.levels.map(({ id }) => id).filter((id) => offered.every((one) => one.id !== id));
    const labels = new Labels(box.left + 2, box.top - 4, box.right, box.bottom - 2);
    const roofs = drawRoofs(layers.roofs, axes, gpu, hidden, labels);
    layers.roofs.finish();
    drawLinks(labels);
    drawPoints(labels);
    labelRoofs(layers.labels, axes, roofs.filter((roof) => roof.main), labels);
    labelKernels(labels);
    labelRoofs(layers.labels, axes, roofs.filter((roof) => !roof.main), labels);
    layers.labels.finish();
    reserveReadout();
    point();
  }

  // Points, and the lines that tie them together.

  function at({ intensity, gflops }) {
    return [axes.x(intensity), axes.y(gflops)];
  }

  /** Lead from kernel to kernel, or join each kernel's levels and lead from what was predicted. */
  function drawLinks(labels) {
    steps.forEach((to, i) => {
      const from = steps[i - 1];
      const d = from && arrow(...at(from), ...at(to), 7);
      if (!d) return;
      layers.links.draw(`step-${to.kernel}`, "path", { class: `lab-step lab-${HUES[to.level]}`, d });
      labels.blockLine(...at(from), ...at(to), true);
    });
    if (!steps.length) joinLevels(labels);
    layers.links.finish();
  }

  function joinLevels(labels) {
    for (const kernel of new Set(visible.map((p) => p.kernel))) {
      const mine = visible.filter((p) => p.kernel === kernel);
      for (const kind of ["predicted", "measured"]) {
        const row = mine.filter((p) => p.kind === kind).sort((a, b) => a.intensity - b.intensity);
        for (let i = 1; i < row.length; i++) {
          const [[x1, y1], [x2, y2]] = [at(row[i - 1]), at(row[i])];
          layers.links.draw(`${kernel}-${kind}-${i}`, "path", {
            class: `lab-join lab-${kind}`, "data-kernel": kernel, d: `M${x1} ${y1}L${x2} ${y2}`,
          });
          labels.blockLine(x1, y1, x2, y2, true);
        }
      }
      for (const from of mine.filter((p) => p.kind === "predicted")) {
        const to = mine.find((p) => p.kind === "measured" && p.level === from.level);
        const d = to && arrow(...at(from), ...at(to));
        if (!d) continue;
        layers.links.draw(`${kernel}-${from.level}-arrow`, "path", {
          class: "lab-arrow", "data-kernel": kernel, d,
        });
        labels.blockLine(...at(from), ...at(to), true);
      }
    }
  }

  function drawPoints(labels) {
    for (const p of visible) {
      const [x, y] = at(p);
      const node = layers.points.draw(p.index, "g", {
        class: `lab-point lab-${p.kind} lab-${HUES[p.level]}`,
        role: "img",
        "data-index": p.index,
        "data-kernel": p.kernel,
        "aria-label": `${p.label}, ${levelName(p.level)}, ${p.kind}`,
        style: `transform:translate(${x.toFixed(1)}px,${y.toFixed(1)}px)`,
      });
      if (!node.firstChild) node.append(svg("circle", { class: "lab-ring", r: 13 }), svg("path"));
      setAttributes(node.lastChild, { d: mark(p.level, 6) });
      labels.block(x, y, 9);
    }
    layers.points.finish();
  }

  /** Name each kernel once, beside one of its points, where there is room. */
  function labelKernels(labels) {
    for (const kernel of new Set(visible.map((p) => p.kernel))) {
      const mine = visible.filter((p) => p.kernel === kernel);
      const done = mine.filter((p) => p.kind === "measured");
      const row = (done.length ? done : mine).sort((a, b) => b.intensity - a.intensity);
      const spots = row.map(at).flatMap(([x, y]) => [
        { x: x + 12, y: y + 4, anchor: "start" },
        { x: x - 12, y: y + 4, anchor: "end" },
        { x, y: y + 25, anchor: "middle" },
        { x, y: y - 14, anchor: "middle" },
        { x: x + 8, y: y + 21, anchor: "start" },
        { x: x - 8, y: y + 21, anchor: "end" },
        { x: x + 8, y: y - 12, anchor: "start" },
        { x: x - 8, y: y - 12, anchor: "end" },
        { x: x + 4, y: y + 38, anchor: "middle" },
        { x: x + 4, y: y - 28, anchor: "middle" },
        { x: x + 16, y: y - 28, anchor: "end" },
      ]);
      const spot = labels.place(row[0].label, 12.5, spots);
      if (!spot) continue;
      layers.labels.draw(`kernel-${kernel}`, "text", {
        class: "lab-label lab-name", "data-kernel": kernel, "text-anchor": spot.anchor,
        "font-size": 12.5, transform: `translate(${spot.x} ${spot.y})`,
      }, row[0].label);
    }
  }

  // Controls and key.

  function showChips(here, hiddenLevels, hiddenKernels) {
    const shown = referenceLevels(gpu).map((roof) => [roof.id, roof.label, roof.id]);
    fillChips(levels, shown, hiddenLevels, "hidden_levels");
    const names = new Map(here.map((p) => [p.kernel, p.label]));
    fillChips(kernels, [...names], hiddenKernels, "hidden_kernels");
    kernels.hidden = names.size < 2;
  }

  /** The path goes through one point per kernel at one level: measured where there are such. */
  function showPath() {
    const choices = referenceLevels(gpu).map(({ id, label }) => [id, label, pathAt(id)])
      .filter(([, , points]) => points.length > 1);
    const ids = choices.map(([id]) => id).join();
    if (path.dataset.ids !== ids) {
      path.dataset.ids = ids;
      path.replaceChildren(html("option", { value: "" }, "none"),
        ...choices.map(([id, label]) => html("option", { value: id }, label)));
    }
    pathField.hidden = !choices.length;
    const chosen = choices.find(([id]) => id === model.get("path"));
    path.value = chosen ? chosen[0] : "";
    steps = chosen ? chosen[2] : [];
    levels.hidden = steps.length > 0; // a path is at one level
    if (steps.length) visible = steps;
  }

  function pathAt(level) {
    const there = visible.filter((p) => p.level === level);
    const kinds = there.some((p) => p.kind === "measured") ? "measured" : "predicted";
    return there.filter((p) => p.kind === kinds);
  }

  path.addEventListener("change", () => {
    put(model, "path", path.value);
    redraw();
  });

  /** One toggle per entry [id, label, level?]; pressed means shown. */
  function fillChips(group, entries, hidden, state) {
    const ids = entries.map(([id]) => id).join("\n");
    if (group.dataset.ids !== ids) {
      group.dataset.ids = ids;
      group.replaceChildren(...entries.map(([id, label, level]) => chip(id, label, level, state)));
    }
    for (const button of group.children) {
      button.setAttribute("aria-pressed", !hidden.includes(button.dataset.id));
    }
  }

  function chip(id, label, level, state) {
    const shape = level && svg("svg", { viewBox: "-8 -8 16 16", width: 14, "aria-hidden": true },
      svg("path", { d: mark(level, 5.5) }));
    const attributes = { type: "button", class: "lab-chip", "data-id": id };
    const button = html("button", attributes, shape, label);
    if (level) button.classList.add(`lab-${HUES[level]}`);
    button.addEventListener("click", () => {
      const hidden = model.get(state);
      const without = hidden.filter((entry) => entry !== id);
      put(model, state, without.length < hidden.length ? without : [...hidden, id]);
      redraw();
    });
    return button;
  }

  /** Explain only those signs that the picture uses in two forms. */
  function showKey(points) {
    const kinds = new Set(points.map((p) => p.kind));
    const roofs = new Set([...gpu.levels, ...gpu.peaks].map((roof) => roof.measured));
    const sample = (name, shape) =>
      svg("svg", { class: `lab-sample ${name}`, viewBox: "0 0 26 14", width: 26, "aria-hidden": true }, shape);
    const disc = () => svg("circle", { cx: 13, cy: 7, r: 5.5 });
    const line = () => svg("path", { d: "M1 7H25" });
    const parts = [];
    if (kinds.has("predicted")) parts.push([sample("lab-predicted", disc()), "predicted"]);
    if (kinds.has("measured")) parts.push([sample("lab-measured", disc()), "measured"]);
    if (roofs.size > 1) {
      parts.push([sample("lab-solid", line()), "measured roof"], [sample("lab-dashed", line()), "data sheet"]);
    } else parts.push([roofs.has(true) ? "Roofs: measured" : "Roofs: data sheet"]);
    key.replaceChildren(...parts.map((part) => html("span", {}, part)));
  }

  // The readout: what the pointer, the focus or the probe is on.

  const active = () => visible.find((p) => p.index === hovered)
    ?? (probing ? undefined : visible.find((p) => p.index === model.get("selected")));

  /** Show the readout and the highlights for what is active now; cheap, runs on every move. */
  function point() {
    const current = active();
    probe = Math.min(axes.x.high, Math.max(axes.x.low, probe));
    readout.replaceChildren(...(current ? pointText(current) : probeText()));
    picture.classList.toggle("lab-has-active", Boolean(current));
    for (const node of picture.querySelectorAll("[data-kernel]")) {
      node.classList.toggle("lab-active", node.dataset.kernel === current?.kernel);
    }
    // One stop for Tab, where the reader last was; arrow keys do the rest.
    const stop = visible.find((p) => p.index === model.get("selected")) ?? visible[0];
    for (const node of layers.points.root.children) {
      node.classList.toggle("lab-current", Number(node.dataset.index) === current?.index);
      node.setAttribute("tabindex", Number(node.dataset.index) === stop?.index ? 0 : -1);
    }
    drawProbe(current);
  }

  function pointText(p) {
    const roof = roofAt(gpu, p.level, p.intensity);
    const limit = roof.capped ? `FP32 peak, ${gpu.peak_source}` : roof.roof.source;
    return [
      html("p", { class: "lab-headline" }, html("strong", {}, p.label), ` · ${p.kind}`),
      html("p", {},
        html("span", { class: `lab-swatch lab-${HUES[p.level]}` }, levelName(p.level)),
        ` · ${number(p.intensity)} FLOP/B · `,
        html("strong", {}, `${number(p.gflops)} GFLOP/s`),
        ` · ${percent(p.gflops / roof.gflops)} of the roof there, ${number(roof.gflops)} (${limit})`),
      html("p", {}, limitWords(gpu, here.filter((one) => one.kernel === p.kernel))),
      stepWords(p) && html("p", {}, stepWords(p)),
      p.note && html("p", { class: "lab-note" }, p.note),
      p.href && html("a", { href: p.href }, `Read about ${p.label}`),
    ].filter(Boolean);
  }

  /** How far the path has come from the kernel before. */
  function stepWords(p) {
    const before = steps[steps.indexOf(p) - 1];
    return before && `From ${before.label} to here: ${number(p.gflops / before.gflops)} times the speed at ` +
      `${number(p.intensity / before.intensity)} times the FLOP/B.`;
  }

  function probeText() {
    return [
      html("p", { class: "lab-headline" }, "At ", html("strong", {}, `${number(probe)} FLOP/B`),
        ` the roof of ${gpu.name} is`),
      html("ul", { class: "lab-roofs" }, offered.map((level) => {
        const { gflops, capped } = roofAt(gpu, level.id, probe);
        return html("li", {},
          html("span", { class: `lab-swatch lab-${HUES[level.id]}` }, level.label), " ",
          html("strong", {}, `${number(gflops)} GFLOP/s`), capped && " (FP32 peak)");
      }), html("li", {}, html("span", { class: "lab-swatch lab-peak" }, "Registers"), " ",
        html("strong", {}, `${number(gpu.peak_gflops)} GFLOP/s`), " (FP32 peak, operands in registers)")),
      visible.length && html("p", { class: "lab-hint" },
        "Point at the chart or drag in it. By keyboard: Tab to the points or the probe, then arrow keys."),
    ].filter(Boolean);
  }

  /** Keep room for the longest readouts, so that nothing below the widget ever moves. */
  function reserveReadout() {
    const texts = [probeText(), ...visible.map(pointText)].map((text) => html("div", {}, text));
    texts.sort((a, b) => b.textContent.length - a.textContent.length);
    measure.replaceChildren(...texts.slice(0, 4));
    const tallest = Math.max(...[...measure.children].map((text) => text.offsetHeight)) + 11;
    measure.replaceChildren();
    readout.style.minHeight = `${tallest}px`;
  }

  // The probe: a vertical line that reads all roofs at one intensity.

  function probeHandle() {
    return svg("g", {
      class: "lab-handle", role: "slider", tabindex: 0,
      "aria-label": "Arithmetic intensity of the probe", "aria-orientation": "horizontal",
    }, svg("rect", { x: -20, y: -6, width: 40, height: 32, class: "lab-hit" }),
    svg("circle", { class: "lab-ring", cy: 4, r: 11 }), svg("path", { d: "M0 -2L6 9H-6Z" }));
  }

  function drawProbe(current) {
    const { low, high } = axes.x;
    const x = axes.x(current ? current.intensity : probe);
    if (current || probing) {
      layers.probe.draw("line", "path", { class: "lab-cross", d: `M${x} ${box.top}V${box.bottom}` });
      for (const level of current ? offered.filter((r) => r.id === current.level) : offered) {
        layers.probe.draw(`dot-${level.id}`, "circle", {
          class: `lab-dot lab-${HUES[level.id]}`, r: 4, cx: x,
          cy: axes.y(roofAt(gpu, level.id, axes.x.invert(x)).gflops),
        });
      }
    }
    layers.probe.finish();
    setAttributes(handle, {
      transform: `translate(${axes.x(probe)} ${box.bottom})`,
      "aria-valuemin": Number(low.toPrecision(2)),
      "aria-valuemax": Number(high.toPrecision(2)),
      "aria-valuenow": Number(probe.toPrecision(3)),
      "aria-valuetext": `${number(probe)} FLOP/B: ${offered.map((level) =>
        `${level.label} ${number(roofAt(gpu, level.id, probe).gflops)} GFLOP/s`).join(", ")}`,
    });
  }

  // Pointer.

  function nearest(event) {
    const frame = picture.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const distance = (p) => Math.hypot(at(p)[0] - x, at(p)[1] - y);
    const found = visible.reduce((best, p) => (distance(p) < distance(best) ? p : best), visible[0]);
    return { x, y, point: found && distance(found) <= REACH ? found : null };
  }

  function hover(event) {
    const { x, point: found } = nearest(event);
    hovered = found ? found.index : -1;
    probing = !found;
    if (!found) probe = axes.x.invert(x);
    readout.setAttribute("aria-live", "off"); // a mouse would make it talk without end
    point();
  }

  picture.addEventListener("pointermove", hover);
  picture.addEventListener("pointerdown", (event) => {
    hover(event);
    if (hovered >= 0) focusPoint(hovered);
    else select(-1);
    event.preventDefault(); // the browser would move the focus away again
  });
  picture.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return; // a lifted finger still wants to read
    hovered = -1;
    probing = false;
    point();
  });

  // Keyboard.

  function select(index) {
    if (model.get("selected") === index) return;
    put(model, "selected", index);
    point();
  }

  /** Select the point of the same kernel on the GPU just chosen: of the same level where it can be. */
  function follow() {
    const points = model.get("points");
    const was = points[model.get("selected")];
    if (!was) return;
    const twins = points.map((point, index) => ({ ...point, index }))
      .filter((p) => p.gpu === model.get("gpu") && p.kernel === was.kernel);
    const twin = twins.find((p) => p.level === was.level && p.kind === was.kind) ?? twins[0];
    put(model, "selected", twin?.index ?? -1);
  }

  function focusPoint(index) {
    layers.points.nodes.get(index)?.focus({ preventScroll: true });
  }

  // On the root, because Chromium makes an <svg> that listens for focus a stop of its own.
  root.addEventListener("focusin", (event) => {
    if (!picture.contains(event.target)) return;
    readout.setAttribute("aria-live", "polite");
    probing = event.target === handle && handle.matches(":focus-visible");
    const index = event.target.closest(".lab-point")?.dataset.index;
    select(index === undefined ? -1 : Number(index));
    point();
  });
  root.addEventListener("focusout", (event) => {
    if (!picture.contains(event.target)) return;
    probing = false;
    point();
  });
  picture.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const forward = ["ArrowRight", "ArrowUp"].includes(event.key);
    const move = forward ? 1 : ["ArrowLeft", "ArrowDown"].includes(event.key) ? -1 : 0;
    const used = event.target === handle ? keyOnProbe(event.key, move) : keyOnPoint(event.key, move);
    if (!used) return;
    hovered = -1;
    event.preventDefault();
    event.stopPropagation(); // JupyterLab and the book's page turn use arrow keys too
    point();
  });

  function keyOnProbe(name, move) {
    const { low, high } = axes.x;
    if (move) probe *= 10 ** (move / 20);
    else if (name === "PageUp" || name === "PageDown") probe *= name === "PageUp" ? 2 : 0.5;
    else if (name === "Home" || name === "End") probe = name === "Home" ? low : high;
    else return false;
    probing = true;
    return true;
  }

  function keyOnPoint(name, move) {
    const place = visible.findIndex((p) => p.index === model.get("selected"));
    const last = visible.length - 1;
    if (name === "Enter" && visible[place]?.href) readout.querySelector("a").click();
    else if (name === "Escape") select(-1);
    else if (name === "Home") focusPoint(visible[0].index);
    else if (name === "End") focusPoint(visible[last].index);
    else if (move) focusPoint(visible[Math.min(last, Math.max(0, place + move))].index);
    else return false;
    return true;
  }

  const redraw = redrawer(update);
  chooser.field.addEventListener("change", () => {
    follow();
    redraw();
  });
  update();
  const stops = [listen(model, STATE, redraw), listen(model, ["selected"], point), onResize(root, redraw)];
  return () => stops.forEach((stop) => stop());
}

/** Axis limits around a path, with the peak and the ridge of its level in sight. */
function pathLimits(gpu, steps) {
  const xs = [...steps.map((p) => p.intensity), gpu.peak_gflops / levelRoof(gpu, steps[0].level).gbs];
  const ys = [...steps.map((p) => p.gflops), ...gpu.peaks.map((peak) => peak.gflops)];
  return { x: [Math.min(...xs) / 2.5, Math.max(...xs) * 2.5], y: [Math.min(...ys) / 3, Math.max(...ys) * 1.6] };
}

function levelName(level) {
  return { dram: "DRAM", l2: "L2", l1: "L1", shared: "shared memory", register: "registers" }[level];
}

/** A thin arrow that ends `clear` of both marks; null where they are too close for one. */
function arrow(x1, y1, x2, y2, clear = 11) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 2 * clear + 8) return null;
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [tx, ty] = [x2 - clear * ux, y2 - clear * uy];
  const barb = (side) => `${tx - 7 * ux + side * 3.5 * uy} ${ty - 7 * uy - side * 3.5 * ux}`;
  return `M${x1 + clear * ux} ${y1 + clear * uy}L${tx} ${ty}M${barb(1)}L${tx} ${ty}L${barb(-1)}`;
}

/** Let shapes glide to their new places once; CSS does it only where motion is welcome. */
function glide(picture) {
  picture.classList.add("lab-glide");
  setTimeout(() => picture.classList.remove("lab-glide"), 500);
}
