// Sliders over a kernel's tile constants: what the tile reuses, what it takes, and the roof it
// meets. A fragment: see module() in base.py. Needs common.js, chart.js and tile_math.js.

const STATE = ["gpus", "gpu", "constants", "matrix", "predict", "guess", "revealed"];

function render({ model, el }) {
  const chooser = gpuChooser(model);
  const reset = html("button", { type: "button", class: "lab-button" }, "Reset");
  const sliders = html("div", { class: "lab-sliders", role: "group", "aria-label": "Tile constants" });
  const tilePicture = svg("svg", { class: "lab-tile", role: "img" });
  const tileKey = html("p", { class: "lab-tile-key" });
  const verdict = html("div", { class: "lab-verdict", role: "status", "aria-live": "polite" });
  const numbers = html("dl", { class: "lab-numbers" });
  const roofPicture = svg("svg", { class: "lab-chart", role: "img" });
  const form = guessForm();
  const root = html("div", { class: "sgemm-lab lab-intensity" },
    html("div", { class: "lab-bar" }, chooser.field, reset),
    html("div", { class: "lab-columns" },
      html("div", {}, sliders, form.element),
      html("div", {}, tilePicture, tileKey)),
    verdict,
    html("div", { class: "lab-columns" }, numbers, html("div", {}, roofPicture)));
  el.append(root);
  const tileScene = new Scene(tilePicture);
  const roofScene = new Scene(roofPicture);

  function update() {
    const gpus = model.get("gpus");
    const gpu = gpus.find((entry) => entry.id === model.get("gpu")) ?? gpus[0];
    const constants = model.get("constants");
    const tile = tileOf(constants);
    const report = tileReport(tile, gpu, model.get("matrix"));
    const secret = model.get("predict") && !model.get("revealed");
    const width = Math.max(270, roomIn(root));
    const wide = width >= 600;
    root.classList.toggle("lab-wide", wide);
    const half = wide ? (width - 28) / 2 : width;
    chooser.show();
    const raises = secret || report.problems.length ? [] : raising(constants, gpu, model.get("matrix"));
    showSliders(constants, raises);
    form.show(report);
    drawTile(tileScene, tilePicture, tile, constants, half);
    tileKey.replaceChildren(...tileWords(tile, report));
    showVerdict(report, gpu, secret, raises);
    showNumbers(numbers, tile, report, gpu, secret);
    drawLanding(roofScene, roofPicture, report, gpu, gpus, secret ? null : model.get("guess"), secret, half);
    picturesSay(tile, report, gpu, secret);
  }

  // Sliders.

  function showSliders(constants, raises) {
    const names = constants.map(({ name, choices }) => `${name}:${choices}`).join(" ");
    if (sliders.dataset.names !== names) {
      sliders.dataset.names = names;
      sliders.replaceChildren(...constants.map(slider));
    }
    constants.forEach(({ name, value, choices }, i) => {
      const input = sliders.children[i].querySelector("input");
      input.value = choices.indexOf(value);
      const up = raises.includes(name);
      input.setAttribute("aria-valuetext", `${name} = ${value}${up ? ", larger raises the bound" : ""}`);
      input.style.setProperty("--at", `${(100 * input.value) / Math.max(1, choices.length - 1)}%`);
      sliders.children[i].querySelector(".lab-value").textContent = `${up ? "▲ " : ""}${value}`;
    });
  }

  function slider({ name, label, choices }) {
    const input = html("input", {
      type: "range", min: 0, max: choices.length - 1, step: 1, class: "lab-range",
    });
    input.addEventListener("input", () => change(name, choices[input.value]));
    return html("label", { class: "lab-slider" },
      html("span", { class: "lab-slider-name" }, html("code", {}, name), label && ` ${label}`),
      html("span", { class: "lab-value" }), input);
  }

  function change(name, value) {
    put(model, "constants", model.get("constants")
      .map((constant) => (constant.name === name ? { ...constant, value } : constant)));
    redraw();
  }

  reset.addEventListener("click", () => {
    put(model, "constants", model.get("constants").map((c) => ({ ...c, value: c.default })));
    redraw();
  });

  // Predict first: the answer stays covered until the reader has committed to a number.

  function guessForm() {
    const input = html("input", {
      type: "number", min: 1, step: "any", inputmode: "decimal", class: "lab-input",
    });
    const button = html("button", { type: "submit", class: "lab-button" });
    const complaint = html("p", { class: "lab-complaint", role: "alert" });
    const element = html("form", { class: "lab-guess", novalidate: "" },
      html("label", {}, html("span", {}, "Your guess for the bound, GFLOP/s"), input), button, complaint);
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      const guess = Number(input.value);
      const again = model.get("revealed");
      const good = again || guess > 0;
      complaint.textContent = good ? "" : "Type a number of GFLOP/s above zero first.";
      if (!good) return input.focus();
      model.set("guess", again ? null : guess);
      put(model, "revealed", !again);
      if (again) input.value = "";
      redraw();
      input.focus();
    });
    return {
      element,
      show() {
        element.hidden = !model.get("predict");
        input.readOnly = model.get("revealed");
        if (model.get("guess") !== null) input.value = model.get("guess");
        button.textContent = model.get("revealed") ? "Guess again" : "Commit and reveal";
      },
    };
  }

  // Words.

  function showVerdict(report, gpu, secret, raises) {
    const guess = model.get("guess");
    const lines = [];
    if (report.problems.length) {
      lines.push(html("p", {}, html("strong", {}, "This tile does not fit. "), report.problems.join(" ")));
    } else if (secret) {
      lines.push(html("p", {}, "Commit to a number first: how many GFLOP/s do the roofs leave to this tile?"));
    } else {
      if (guess) lines.push(html("p", {}, html("strong", {}, compared(guess, report.gflops))));
      lines.push(html("p", {}, verdictOf(report, gpu)), html("p", {}, changeWords(report, gpu, raises)));
    }
    verdict.classList.toggle("lab-impossible", report.problems.length > 0);
    // The same words again would be read aloud again.
    const words = lines.map((line) => line.textContent).join("\n");
    if (verdict.dataset.words === words) return;
    verdict.dataset.words = words;
    verdict.replaceChildren(...lines);
  }

  function picturesSay(tile, report, gpu, secret) {
    tilePicture.setAttribute("aria-label", `A block computes ${tile.bm} by ${tile.bn} elements of C ` +
      `from strips ${tile.bk} deep; each thread computes ${tile.tm} by ${tile.tn} of them.`);
    roofPicture.setAttribute("aria-label", `Roofline of ${gpu.name}. ` +
      (secret ? "The tile's place is covered until you commit." : verdictOf(report, gpu)));
  }

  const redraw = redrawer(update);
  chooser.field.addEventListener("change", redraw);
  update();
  const stops = [listen(model, STATE, redraw), onResize(root, redraw)];
  return () => stops.forEach((stop) => stop());
}

/** The roof that bounds the tile, and what the others would leave. */
function verdictOf(report, gpu) {
  const others = report.roofs.filter(({ level }) => level !== report.limit)
    .map(({ level, gflops }) => `${inside(gpu, level)} alone would leave ${number(gflops)}`);
  if (report.limit === "peak") {
    return `Memory keeps up on ${gpu.name}: only arithmetic bounds this tile, at the FP32 peak of ` +
      `${number(report.gflops)} GFLOP/s${others.length ? ` (${others.join(", ")})` : ""}.`;
  }
  const { roof, intensity } = report.roofs.find(({ level }) => level === report.limit);
  return `${roof.label} bounds this tile on ${gpu.name}: ${number(intensity)} FLOP/B × ` +
    `${number(roof.gbs)} GB/s = ${number(report.gflops)} GFLOP/s, ` +
    `${percent(report.gflops / gpu.peak_gflops)} of the FP32 peak` +
    `${others.length ? `; ${others.join(", ")}` : ""}.`;
}

/** What the reader must change to raise the bound. `raises` names the sliders that do. */
function changeWords({ limit, roofs }, gpu, raises) {
  if (limit === "peak") return "The tile is large enough: a larger one cannot raise this bound.";
  const { roof } = roofs.find(({ level }) => level === limit);
  const part = limit === "dram" ? "block tile" : "thread tile";
  const need = `the ${part} needs ${number(gpu.peak_gflops / roof.gbs)} FLOP/B to reach the peak.`;
  // One wavefront per 32 words of the threads' fragments is assumed; a float4 that lanes share takes fewer.
  const share = limit === "shared" ? " Lanes that read the same float4 share wavefronts, so a kernel can pass this bound." : "";
  if (raises.length) return `▲ A larger ${raises.join(" or ")} raises it: ${need}${share}`;
  return `No slider raises it from here: ${need}${share}`;
}

/** A level's name as it stands within a sentence. */
function inside(gpu, level) {
  return level === "shared" ? "shared memory" : levelRoof(gpu, level).label;
}

function compared(guess, truth) {
  const times = `${Number(Math.max(guess / truth, truth / guess).toPrecision(2))} times`;
  const said = `You said ${number(guess)} GFLOP/s; the bound is ${number(truth)}`;
  if (Math.abs(guess / truth - 1) < 0.1) return `${said}. Well judged.`;
  return guess < truth ? `${said}, ${times} your guess.` : `${said}. Your guess is ${times} that.`;
}

/** One row per quantity: name, value, what it is measured against, and a bar of that share. */
function showNumbers(list, tile, report, gpu, secret) {
  const ridge = (level) => {
    const roof = levelRoof(gpu, level);
    return roof ? gpu.peak_gflops / roof.gbs : null;
  };
  const needs = (value) => (value ? `ridge ${number(value)}` : "");
  const of = (value, whole) => (whole ? `${value > whole ? "more than" : "of"} ${number(whole)}` : "");
  const shared = gpu.shared_per_block_bytes;
  const rows = [
    ["dram", "Reuse of global memory", report.global, "FLOP/B", needs(ridge("dram")), ridge("dram")],
    report.usesShared &&
      ["shared", "Reuse of shared memory", report.thread, "FLOP/B", needs(ridge("shared")), ridge("shared")],
    ["shared", "Shared memory per block", report.sharedBytes, "bytes", of(report.sharedBytes, shared), shared],
    ["peak", "Threads per block", report.threads, "", of(report.threads, gpu.max_threads_per_block), gpu.max_threads_per_block],
    ["register", "Sums per thread", report.accumulators, "registers", of(report.accumulators, MAX_REGISTERS), MAX_REGISTERS],
    ["peak", "Bound", report.gflops, "GFLOP/s", `peak ${number(gpu.peak_gflops)}`, gpu.peak_gflops],
  ].filter(Boolean);
  list.replaceChildren(...rows.map(([hue, name, value, unit, context, whole]) => {
    const isAnswer = unit === "FLOP/B" || unit === "GFLOP/s";
    const blank = secret && isAnswer ? "?" : report.problems.length && unit === "GFLOP/s" ? "none" : "";
    const bar = html("span", { class: "lab-bar-fill" });
    bar.style.width = `${blank || !whole ? 0 : Math.min(100, (100 * value) / whole)}%`;
    return html("div", { class: `lab-number lab-${hue}` },
      html("dt", {}, name),
      html("dd", {}, html("strong", {}, blank || number(value)), blank !== "none" && ` ${unit}`,
        context && html("span", { class: "lab-context" }, ` ${context}`),
        html("span", { class: "lab-bar-track", "aria-hidden": "true" }, bar)));
  }));
}

/** A small roofline with the tile on it: one mark per memory level, the lower one rules. */
function drawLanding(scene, picture, report, gpu, gpus, guess, secret, width) {
  const height = Math.round(Math.min(320, Math.max(250, width * 0.8)));
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  const box = { left: 58, top: 24, right: width - 8, bottom: height - 48 };
  const hidden = ["l2", "l1", "register", ...(report.usesShared ? [] : ["shared"])];
  const reach = { intensity: report.compulsory / 3, gflops: gpu.peak_gflops };
  const axes = drawAxes(scene, box, chartLimits(gpus, [reach]));
  const labels = new Labels(box.left + 2, box.top - 6, box.right, box.bottom - 2);
  const roofs = drawRoofs(scene, axes, gpu, hidden, labels).filter((roof) => roof.main);
  const line = (key, name, d) => scene.draw(key, "path", { class: `lab-aid ${name}`, d });
  const word = (key, text, candidates) => {
    const spot = labels.place(text, 11.5, candidates);
    if (!spot) return;
    scene.draw(key, "text", { class: "lab-label lab-aid-label", "font-size": 11.5,
      "text-anchor": spot.anchor, transform: `translate(${spot.x} ${spot.y})` }, text);
  };

  const limit = axes.x(report.compulsory);
  line("compulsory", "lab-limit", `M${limit} ${axes.y(gpu.peak_gflops)}V${box.bottom}`);
  labels.blockLine(limit, axes.y(gpu.peak_gflops), limit, box.bottom, true);
  const marks = secret ? [] : [["dram", report.global], ["shared", report.thread]]
    .filter(([level]) => !hidden.includes(level) && levelRoof(gpu, level));
  const places = marks.map(([level, intensity]) =>
    [level, axes.x(intensity), axes.y(roofAt(gpu, level, intensity).gflops)]);
  for (const [, x, y] of places) labels.block(x, y, 10);
  if (!secret) {
    const y = axes.y(report.gflops);
    const from = places.find(([level]) => level === report.limit)?.[1] ?? box.left;
    line("bound", "lab-bound", `M${from} ${y}H${box.right}`);
    if (report.limit !== "peak") {
      word("bound-label", `bound ${number(report.gflops)}`, both(box, y));
      labels.blockLine(from, y, box.right, y, true);
    }
  }
  if (guess) {
    const y = Math.min(box.bottom, Math.max(box.top, axes.y(guess)));
    line("guess", "lab-guessed", `M${box.left} ${y}H${box.right}`);
    word("guess-label", `your guess ${number(guess)}`, both(box, y));
  }
  for (const [level, x, y] of places) {
    const node = scene.draw(`mark-${level}`, "g", {
      class: `lab-spot lab-${HUES[level]}`, style: `transform:translate(${x}px,${y}px)`,
    });
    if (!node.firstChild) node.append(svg("circle", { r: 12 }), svg("path", { d: mark(level, 6) }));
    node.classList.toggle("lab-rules", level === report.limit);
  }
  for (const [level, x, y] of places) {
    word(`name-${level}`, level === "dram" ? "block tile" : "thread tile", [
      { x: x + 16, y: y + 4, anchor: "start" }, { x: x - 16, y: y + 4, anchor: "end" },
      { x: x + 10, y: y + 22, anchor: "start" }, { x, y: y - 17, anchor: "middle" },
    ]);
  }
  labelRoofs(scene, axes, roofs, labels);
  word("compulsory-label", "each element once", [
    { x: limit - 9, y: box.bottom - 10, anchor: "end" }, { x: limit - 9, y: box.bottom - 34, anchor: "end" },
  ]);
  scene.finish();
}

/** Places for a label above or below a level line, right end first. */
function both(box, y) {
  const spots = [];
  for (let x = box.right - 4; x > box.left + 60; x -= 12) {
    spots.push({ x, y: y - 7, anchor: "end" }, { x, y: y + 15, anchor: "end" });
  }
  return spots;
}

/** The block tile of C with the strips of A and B that feed it, and one thread's share, to scale. */
function drawTile(scene, picture, tile, constants, width) {
  const { bm, bn, bk, tm, tn } = tile;
  const [left, top, gap] = [44, 26, 8];
  const room = Math.min(width - 12, 340);
  const height = room - 26;
  const scale = Math.min((room - left - gap) / (bk + bn), (height - top - gap - 26) / (bk + bm));
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  const x0 = left + Math.max(0, (width - left - gap - scale * (bk + bn)) / 2);
  const [x1, y0] = [x0 + bk * scale + gap, top];
  const y1 = y0 + bk * scale + gap;
  const box = (key, name, x, y, w, h) => scene.draw(key, "rect", {
    class: name, x, y, width: Math.max(1, w * scale), height: Math.max(1, h * scale),
  });
  const text = (key, x, y, words, turn = 0) => scene.draw(key, "text", {
    class: "lab-tick", "text-anchor": "middle", transform: `translate(${x} ${y}) rotate(${turn})`,
  }, words);

  box("a", "lab-strip", x0, y1, bk, bm);
  box("b", "lab-strip", x1, y0, bn, bk);
  box("c", "lab-block", x1, y1, bn, bm);
  const lines = [];
  if (Math.min(tm, tn) * scale >= 3) {
    for (let j = tn; j < bn; j += tn) lines.push(`M${x1 + j * scale} ${y1}v${bm * scale}`);
    for (let i = tm; i < bm; i += tm) lines.push(`M${x1} ${y1 + i * scale}h${bn * scale}`);
  }
  scene.draw("threads", "path", { class: "lab-threads", d: lines.join("") || "M0 0" });
  // One thread, a little inside, so that what it reads of A and B is seen to cross the strips.
  const [i, j] = [tm * Math.floor(bm / tm / 3), tn * Math.floor(bn / tn / 3)];
  box("rows", "lab-read", x0, y1 + i * scale, bk, tm);
  box("columns", "lab-read", x1 + j * scale, y0, tn, bk);
  box("thread", "lab-thread", x1 + j * scale, y1 + i * scale, tn, tm);

  // TILE stands for what has no constant of its own.
  const has = (name) => constants.some((constant) => constant.name === name);
  const dimension = (name, value) => `${has("TILE") && !has(name) ? "TILE" : name} ${value}`;
  text("bn", x1 + (bn * scale) / 2, y0 - 9, dimension("BN", bn));
  text("bm", x0 - 9, y1 + (bm * scale) / 2, dimension("BM", bm), -90);
  text("bk", x0 + (bk * scale) / 2, y1 + bm * scale + 17, dimension("BK", bk));
  scene.finish();
}

function tileWords({ bm, bn, bk, tm, tn }, { usesShared }) {
  const swatch = (hue, words) => html("span", { class: `lab-swatch lab-${hue}` }, words);
  if (!usesShared) return ["One element of C: nothing is shared, nothing is reused."];
  return [swatch("shared", `strips ${bm}×${bk} and ${bk}×${bn}`), " in shared memory feed ",
    `${bm}×${bn} of C; `, swatch("register", `${tm}×${tn}`), " belong to one thread. To scale."];
}
