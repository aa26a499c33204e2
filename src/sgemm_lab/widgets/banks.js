// One warp's request to shared memory, painted over the 32 banks: the words that each wavefront
// brings. A fragment: see module() in base.py. Needs common.js, controls.js,
// memory_model.js and painter.js.

const STATE = ["requests", "chosen", "stride", "bits", "op", "padding", "swizzle", "off", "wavefront"];
const SMALLEST = 6; // px, of a letter
const KEY = [["lab-asked", "a word and its lane, one hue per wavefront"], ["lab-many", "×2: shared by several lanes"]];
const TILE = 32; // floats in a row of the tile that the reader's own pattern reads
const PACE = 900; // ms per wavefront while playing
const FEWEST_ROWS = 16;

function render({ model, el }) {
  const redraw = redrawer(update);
  const fresh = { off: [], padding: 0, swizzle: false, wavefront: 0 };
  const chooser = requestChooser(model, redraw, ownSource, fresh);
  const lanes = laneSwitches(model, redraw, point);
  const stride = choiceSlider("Stride", (value) => own({ stride: value }));
  const padding = choiceSlider("Padding", (value) => change("padding", value));
  const swizzle = segments("Swizzle of columns", { off: "none", on: "col ^ row" }, (value) =>
    change("swizzle", value === "on"));
  const width = widthChoice(own);
  const op = segments("The warp", { load: "loads", store: "stores" }, (value) => own({ op: value }));
  const play = html("button", { type: "button", class: "lab-button" });
  const scrub = choiceSlider("Wavefront", (value) => {
    stop();
    change("wavefront", value);
  });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const about = html("p", { class: "lab-about" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"), html("p"));
  const facts = html("dl", { class: "lab-facts" });
  const root = html("div", { class: "sgemm-lab lab-tool lab-painter lab-banks" },
    html("div", { class: "lab-bar" }, chooser.field), chooser.source,
    html("div", { class: "lab-controls" },
      stride.element, padding.element, width.element, op.element, swizzle.element),
    html("div", { class: "lab-bar lab-lane-bar" }, html("span", {}, "The warp's 32 lanes"), lanes.all),
    lanes.row,
    html("div", { class: "lab-steps" }, play, scrub.element),
    picture, key(KEY), about, verdict, facts);
  el.append(root);
  const scene = new Scene(picture);
  let pointed = null;
  let timer = null;
  let now; // what the last drawing showed

  function change(name, value) {
    put(model, name, value);
    redraw();
  }

  function own(change) {
    const request = chosenRequest(model);
    const even = request && evenly(request);
    const start = request && { bits: request.bits, op: request.op, ...(even && { stride: even.stride }) };
    stop();
    model.set("wavefront", 0);
    ownPattern(model, start, change);
    redraw();
  }

  function ownSource() {
    const [type, by] = [WIDTHS[model.get("bits")], model.get("stride")];
    const more = now?.padding ? ` + ${now.padding}` : "";
    const element = `tile[i / 32][${model.get("swizzle") ? "i % 32 ^ i / 32" : "i % 32"}]`;
    const floats = type === "float" ? element : `*(${type}*)&${element}`;
    const i = `i = ${(by * model.get("bits")) / 32} * lane`;
    return `${model.get("op") === "load" ? `v = ${floats};` : `${floats} = v;`}  // float tile[][32${more}], ${i}`;
  }

  // Wavefront after wavefront, and then all of them again.

  play.addEventListener("click", () => {
    if (timer) return stop();
    const step = () => {
      const next = model.get("wavefront") + 1;
      if (next > now.wavefronts.length) {
        stop();
        change("wavefront", 0);
      } else change("wavefront", next);
    };
    if (model.get("wavefront") >= now.wavefronts.length) model.set("wavefront", 0);
    timer = setInterval(step, PACE);
    step();
  });

  function stop() {
    clearInterval(timer);
    timer = null;
    redraw();
  }

  function update() {
    const space = Math.max(270, roomIn(root)); // asked before anything changes: cheap
    now = paintedBanks(model);
    const { request, bits, addresses, wavefronts, current } = now;
    const even = !request || evenly(request);
    const unit = bits === 32 ? "float" : WIDTHS[bits];
    const by = request ? even?.stride ?? model.get("stride") : model.get("stride");
    const floats = bits / 32;
    chooser.show();
    stride.show(by, STRIDES.filter((one) => one <= 64), even ? (floats === 1 ? plural(by, unit) : `${by} × ${unit}`) : "uneven");
    width.show(bits);
    op.show(now.isLoad ? "load" : "store");
    padding.show(now.padding, [...Array(9).keys()].map((i) => i * floats), plural(now.padding, "float"));
    swizzle.show(model.get("swizzle") ? "on" : "off");
    const waveOf = new Map(wavefronts.flatMap(({ words }, wave) =>
      [...words.values()].flat().map((lane) => [lane, wave])));
    const hue = (wave) => (LANES * wave) / wavefronts.length;
    lanes.show(idleLanes(request), Array.from({ length: LANES }, (_, lane) => hue(waveOf.get(lane) ?? 0)));
    for (const button of lanes.row.children) {
      button.classList.toggle("lab-dim", current > 0 && waveOf.get(Number(button.dataset.lane)) !== current - 1);
    }
    scrub.show(current, [...Array(wavefronts.length + 1).keys()],
      current ? `${current} of ${wavefronts.length}` : `all ${wavefronts.length}`);
    play.textContent = timer ? "Pause" : "Play";
    setAttributes(play, { "aria-label": `${play.textContent} the wavefronts` });
    play.disabled = wavefronts.length < 2;
    if (play.disabled && timer) stop();

    drawBanks(scene, picture, now, hue, space);
    const words = bankWords(wavefronts, bits);
    setAttributes(picture, { "aria-label": `Shared memory in 32 banks. ${words.join(" ")}` });
    say(verdict.children, words);
    const phases = new Set(wavefronts.map(({ phase }) => phase)).size;
    const brought = bits / 32 * wavefronts.reduce((sum, { words }) => sum + words.size, 0);
    const places = BANKS * wavefronts.length;
    showFacts(facts, [["Requests", Math.min(1, phases)], ["Wavefronts", wavefronts.length],
      ["Without conflicts", phases], ["Words brought of words possible", `${wholeNumbers.format(brought)} of ${wholeNumbers.format(places)}`]],
      places && brought / places);
    point(pointed);
  }

  function point(lane) {
    pointed = lane;
    const { request, bits, addresses, wavefronts } = now;
    const address = lane === null ? undefined : addresses[lane];
    for (const node of root.querySelectorAll(".lab-lit")) node.classList.remove("lab-lit");
    if (address === undefined) {
      about.textContent = "Point at a lane to find its word. Press it to switch it off.";
    } else if (address === null) {
      about.textContent = `Lane ${lane} takes no part in this request.`;
    } else {
      const bank = (address / WORD_BYTES) % BANKS;
      const last = bank + bits / 32 - 1;
      const wave = wavefronts.findIndex(({ words }) => [...words.values()].some((who) => who.includes(lane)));
      const moved = model.get("padding") || model.get("swizzle");
      about.textContent = `Lane ${lane} asks for ${asked(moved ? null : request, address, bits / 8)}, in bank` +
        `${last > bank ? `s ${bank} to ${last}` : ` ${bank}`}: wavefront ${wave + 1}.`;
      root.querySelector(`.lab-token[data-address="${address}"]`)?.classList.add("lab-lit");
    }
  }

  pointAtTokens(picture, point);
  update();
  const stops = [listen(model, STATE, redraw), onResize(root, redraw), () => clearInterval(timer)];
  return () => stops.forEach((stop) => stop());
}

/** What is shown now: the request or null, the lanes' addresses as laid out, the wavefronts. */
function paintedBanks(model) {
  const request = chosenRequest(model);
  const bits = request?.bits ?? model.get("bits");
  const bytes = bits / 8;
  const plain = request?.addresses ??
    Array.from({ length: LANES }, (_, lane) => lane * model.get("stride") * bytes);
  const padding = model.get("padding") - (model.get("padding") % (bits / 32));
  const columns = request ? request.shape.at(-1) ?? 0 : TILE;
  const moved = plain.map((address) => (address === null ? null
    : laidOut(address, request?.start ?? 0, columns, padding, model.get("swizzle"), bytes)));
  const addresses = withoutOff(moved, model.get("off"));
  const isLoad = (request?.op ?? model.get("op")) === "load";
  const wavefronts = sharedWavefronts(addresses, bytes, isLoad);
  const current = Math.min(model.get("wavefront"), wavefronts.length);
  return { request, bits, padding, addresses, isLoad, wavefronts, current };
}

/** Where an element goes when rows get `padding` floats more, and columns are swapped by row. */
function laidOut(address, start, columns, padding, swizzle, bytes) {
  if (!columns) return address;
  const float = (address - start) / WORD_BYTES;
  const row = Math.floor(float / columns);
  const lane = bytes / WORD_BYTES;
  let column = Math.floor((float % columns) / lane);
  if (swizzle) {
    const groups = 2 ** Math.floor(Math.log2(Math.min(BANKS, columns))) / lane;
    if (groups > 1) column ^= row % groups;
  }
  return start + WORD_BYTES * (row * (columns + padding) + column * lane);
}

/** The verdict in two sentences; banks.py has the same. */
function bankWords(wavefronts, bits) {
  if (!wavefronts.length) return ["All lanes are off: no request is made.", ""];
  const phases = [...new Set(wavefronts.map(({ phase }) => phase))];
  const count = wavefronts.length;
  const sizes = [...new Set(phases.map((phase) => phase.length))];
  const each = sizes.length === 1 ? `${sizes[0]} lanes` : "8 or 16 lanes";
  const whole = bits === 32 ? "" : `, in ${plural(phases.length, "phase")} of ${each}`;
  const what = `1 request takes ${plural(count, "wavefront")}${whole}.`;
  if (count > phases.length) {
    const turns = phases.map((phase) => wavefronts.filter((one) => one.phase === phase));
    const worst = turns.reduce((most, one) => (one.length > most.length ? one : most));
    const bank = [...worst.at(-1).words.keys()][0] % BANKS;
    return [what, `Bank ${bank} is asked for ${worst.length} different words at once. ` +
      `Without conflicts ${plural(phases.length, "wavefront")} would do.`];
  }
  const merged = bits > 32 && sizes.some((size) => size > 1024 / bits);
  return [what, merged ? "Neighbouring lanes ask for the same words, so phases merge; no bank is asked twice."
    : "No bank is asked for two different words at once: no conflict."];
}

/** Banks as columns, rows of memory as rows; a narrow picture puts banks 16 to 31 below. */
function drawBanks(scene, picture, { addresses, bits, wavefronts, current }, hue, width) {
  const folds = width < 560 ? 2 : 1;
  const perFold = BANKS / folds;
  const left = folds === 1 ? 74 : 40;
  const [head, body] = [22, folds === 1 ? 352 : 230];
  const height = folds * (head + body) + (folds - 1) * 14;
  const cell = (width - left - 2) / perFold;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });

  const touched = [...new Set(addresses.filter((a) => a !== null).map((a) => Math.floor(a / 128)))];
  const rows = touched.sort((a, b) => a - b);
  while (rows.length < FEWEST_ROWS) rows.push((rows.at(-1) ?? -1) + 1);
  const breaks = rows.map((row, i) => i > 0 && row > rows[i - 1] + 1);
  const gap = 3;
  const tall = (body - gap * breaks.filter(Boolean).length) / rows.length;
  const tops = [];
  rows.forEach((_, i) => tops.push(i ? tops[i - 1] + tall + (breaks[i] ? gap : 0) : 0));
  const place = (bank, i) => [left + 1 + (bank % perFold) * cell,
    Math.floor(bank / perFold) * (head + body + 14) + head + tops[i]];

  const busy = new Set((current ? [wavefronts[current - 1]] : wavefronts).flatMap(({ words }) =>
    [...words.keys()].flatMap((word) => Array.from({ length: bits / 32 }, (_, i) => (word + i) % BANKS))));
  for (let fold = 0; fold < folds; fold++) {
    const [x, y] = place(fold * perFold, 0);
    const grid = Array.from({ length: perFold + 1 }, (_, i) => `M${x + i * cell} ${y}v${body}`);
    scene.draw(`grid${fold}`, "path", { class: "lab-grid", d: grid.join("") });
    scene.draw(`bank${fold}`, "text", { class: "lab-tick", x: x - 10, y: y - 8, "text-anchor": "end" }, "bank");
    const lines = tops.map((top) => `M${x} ${y + top}h${perFold * cell}M${x} ${y + top + tall}h${perFold * cell}`);
    scene.draw(`rows${fold}`, "path", { class: "lab-grid", d: lines.join("") });
    rows.forEach((row, i) => {
      if (i % Math.ceil(15 / tall) === 0) {
        const text = folds === 1 ? `byte ${wholeNumbers.format(row * 128)}` : `${row * 128}`;
        scene.draw(`row${fold}-${i}`, "text", { class: "lab-tick", x: x - 10, y: y + tops[i] + tall / 2 + 4,
          "text-anchor": "end" }, text);
      }
      if (!breaks[i]) return;
      scene.draw(`break${fold}-${i}`, "path", {
        class: "lab-break", d: zigzag(x, y + tops[i] - gap / 2, perFold * cell),
      });
    });
  }
  for (let bank = 0; bank < BANKS; bank++) {
    const [x, y] = place(bank, 0);
    scene.draw(`head${bank}`, "text", {
      class: `lab-bank${busy.has(bank) ? " lab-busy" : ""}`, x: x + cell / 2, y: y - 8, "text-anchor": "middle",
    }, `${bank}`);
  }

  // One token per address: phases that do not merge may ask for the same words again.
  const tokens = new Map();
  wavefronts.forEach(({ words }, wave) => words.forEach((lanes, word) => {
    if (!tokens.has(word)) tokens.set(word, []);
    tokens.get(word).push({ wave, lanes });
  }));
  for (const [word, turns] of tokens) {
    const turn = turns.find(({ wave }) => wave === current - 1);
    const lanes = turn?.lanes ?? turns.flatMap((one) => one.lanes);
    const [x, y] = place(word % BANKS, rows.indexOf(Math.floor(word / BANKS)));
    const node = scene.draw(`lane${lanes[0]}`, "g", {
      class: `lab-token${lanes.length > 1 ? " lab-several" : ""}${current && !turn ? " lab-dim" : ""}`,
      "data-lane": lanes[0], "data-address": word * WORD_BYTES, "data-wavefront": (turn ?? turns[0]).wave + 1,
      style: `--lane:${hue((turn ?? turns[0]).wave)};transform:translate(${x}px,${y}px)`,
    });
    if (!node.firstChild) node.append(svg("rect", { rx: 3, y: 1, x: 1 }), svg("text", { "text-anchor": "middle" }));
    const wide = (cell * bits) / 32;
    const text = tokenText(lanes);
    const size = Math.min(11, tall - 2, (wide - 2) / (0.75 * text.length));
    setAttributes(node.firstChild, { width: wide - 2, height: Math.max(2, tall - 2) });
    setAttributes(node.lastChild, { x: wide / 2, y: tall / 2 + size * 0.36, style: `font-size:${size}px` });
    node.lastChild.textContent = size < SMALLEST ? "" : text;
  }
  scene.finish();
}
