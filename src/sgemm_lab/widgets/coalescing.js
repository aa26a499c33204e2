// One warp's request to global memory, painted over the 32-byte sectors it touches.
// A fragment: see module() in base.py. Needs common.js, controls.js,
// memory_model.js and painter.js.

const STATE = ["requests", "chosen", "stride", "offset", "bits", "off"];
// Lines of 128 bytes in a picture, and in a narrow one, which folds each; more are told in words.
const [ROWS, FOLDED_ROWS] = [8, 5];

const KEY = [["lab-asked", "asked for, by the lane of that number"], ["lab-many", "×2: by several lanes"],
  ["lab-moved", "moves with it, unused"], ["lab-still-there", "stays"]];

function render({ model, el }) {
  const redraw = redrawer(update);
  const chooser = requestChooser(model, redraw, ownSource, { off: [] });
  const lanes = laneSwitches(model, redraw, point);
  const stride = choiceSlider("Stride", (value) => own({ stride: value }));
  const offset = choiceSlider("Offset", (value) => own({ offset: value }));
  const width = widthChoice(own);
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const about = html("p", { class: "lab-about" });
  const verdict = html("div", { class: "lab-verdict", role: "status" }, html("p"), html("p"));
  const facts = html("dl", { class: "lab-facts" });
  const root = html("div", { class: "sgemm-lab lab-tool lab-painter lab-coalescing" },
    html("div", { class: "lab-bar" }, chooser.field), chooser.source,
    html("div", { class: "lab-controls" }, stride.element, offset.element, width.element),
    html("div", { class: "lab-bar lab-lane-bar" }, html("span", {}, "The warp's 32 lanes"), lanes.all),
    lanes.row, picture, key(KEY), about, verdict, facts);
  el.append(root);
  const scene = new Scene(picture);
  let pointed = null;

  function own(change) {
    const request = chosenRequest(model);
    ownPattern(model, request && { bits: request.bits, ...evenly(request) }, change);
    redraw();
  }

  function ownSource() {
    const [by, from] = [model.get("stride"), model.get("offset")];
    const index = `${by === 1 ? "" : `${by} * `}lane${from ? ` + ${from}` : ""}`;
    const type = WIDTHS[model.get("bits")];
    const array = type === "float" ? "x" : `reinterpret_cast<const ${type}*>(x)`;
    return `const ${type} v = ${array}[${by ? index : from}];`;
  }

  function update() {
    const space = Math.max(270, roomIn(root)); // asked before anything changes: cheap
    const now = painted(model);
    const { request, bits, addresses } = now;
    chooser.show();
    const even = request ? evenly(request) : { stride: model.get("stride"), offset: model.get("offset") };
    const unit = (count) => (bits === 32 ? plural(count, "float") : `${count} × ${WIDTHS[bits]}`);
    root.classList.toggle("lab-uneven", !even);
    const [by, from] = [even?.stride ?? model.get("stride"), even?.offset ?? model.get("offset")];
    stride.show(by, STRIDES, even ? unit(by) : "uneven");
    offset.show(from, [...Array(33).keys()], even ? unit(from) : "uneven");
    width.show(bits);
    lanes.show(idleLanes(request));

    const report = globalRequest(addresses, bits / 8);
    drawMemory(scene, picture, addresses, bits / 8, report, space);
    const words = coalescingWords(report, addresses, bits);
    setAttributes(picture, { "aria-label": `Memory in lines of 128 bytes, sectors of 32. ${words.join(" ")}` });
    say(verdict.children, words);
    const { requests, sectors, used, moved } = report;
    const comma = (value) => wholeNumbers.format(value);
    showFacts(facts, [["Requests", requests], ["Sectors", sectors.size],
      ["Sectors at best", Math.ceil(used / SECTOR_BYTES)],
      ["Bytes used of bytes moved", `${comma(used)} of ${comma(moved)}`]], moved && used / moved);
    point(pointed);
  }

  /** Tell about one lane and light it up, or about none. */
  function point(lane) {
    pointed = lane;
    const { request, bits, addresses } = painted(model);
    const address = lane === null ? undefined : addresses[lane];
    for (const node of root.querySelectorAll(".lab-lit")) node.classList.remove("lab-lit");
    if (address === undefined) {
      about.textContent = "Point at a lane to find it in memory. Press it to switch it off.";
    } else if (address === null) {
      about.textContent = `Lane ${lane} takes no part in this request.`;
    } else {
      about.textContent = `Lane ${lane} asks for ${asked(request, address, bits / 8)}, in sector ` +
        `${wholeNumbers.format(Math.floor(address / SECTOR_BYTES))}.`;
      root.querySelector(`.lab-token[data-address="${address}"]`)?.classList.add("lab-lit");
    }
  }

  pointAtTokens(picture, point);
  update();
  const stops = [listen(model, STATE, redraw), onResize(root, redraw)];
  return () => stops.forEach((stop) => stop());
}

/** What is shown now: the request or null, the bits of a lane, the lanes' addresses. */
function painted(model) {
  const request = chosenRequest(model);
  const bits = request?.bits ?? model.get("bits");
  const addresses = request?.addresses ?? Array.from({ length: LANES },
    (_, lane) => (model.get("offset") + lane * model.get("stride")) * (bits / 8));
  return { request, bits, addresses: withoutOff(addresses, model.get("off")) };
}

/** The verdict in two sentences; coalescing.py has the same. */
function coalescingWords({ sectors, moved, used }, addresses, bits) {
  const active = addresses.filter((address) => address !== null).length;
  if (!active) return ["All lanes are off: no request is made.", ""];
  const count = sectors.size;
  const bytes = (n) => wholeNumbers.format(n);
  const what = `1 request touches ${plural(count, "sector")}: ${bytes(moved)} bytes move, and the ` +
    `${active === 1 ? "lane uses" : "lanes use"} ${bytes(used)} of them, ${shareText(used / moved)}.`;
  const fewest = Math.ceil(used / SECTOR_BYTES);
  if (count > fewest) {
    return [what, `Side by side, the same ${bytes(used)} bytes would fill ` +
      `${plural(fewest, "sector")}: ${tenths(count / fewest)} times fewer.`];
  }
  if (used === moved) return [what, "Every byte that moves is used: the request is coalesced."];
  if (active > 1 && used === bits / 8) {
    return [what, `All ${active} lanes ask for the same ${used} bytes: one sector serves them all.`];
  }
  return [what, "No fewer sectors could hold these bytes."];
}

/**
 * The lines to draw: those touched, in order, then the ones that follow in memory, so that the
 * picture never changes its height. `left` are touched lines for which there is no room.
 */
function linesToDraw(sectors, rows) {
  const touched = [...new Set([...sectors].map((sector) => Math.floor(sector / 4)))].sort((a, b) => a - b);
  const drawn = touched.length > rows ? touched.slice(0, rows - 1) : [...touched];
  const left = touched.slice(drawn.length);
  while (!left.length && drawn.length < rows) drawn.push((drawn.at(-1) ?? -1) + 1);
  return { drawn, left };
}

/** Memory as lines of four sectors, with a token per lane. A narrow picture folds each line once. */
function drawMemory(scene, picture, addresses, bytes, { sectors }, width) {
  const folds = width < 560 ? 2 : 1;
  const perRow = 32 / folds;
  const rows = folds === 1 ? ROWS : FOLDED_ROWS;
  const [labelWidth, labelHeight] = folds === 1 ? [78, 0] : [0, 17];
  const [gap, between, top] = [6, folds === 1 ? 10 : 8, 8];
  const cell = (width - labelWidth - gap * (perRow / 8 - 1) - 2) / perRow;
  const tall = 24;
  const lineHeight = labelHeight + folds * (tall + 3) - 3;
  const height = top + rows * (lineHeight + between);
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  const { drawn, left } = linesToDraw(sectors, rows);
  const rowOf = new Map(drawn.map((line, row) => [line, row]));
  const yOf = (row) => top + row * (lineHeight + between);
  const place = (line, word) => {
    const column = word % perRow;
    return [labelWidth + 1 + column * cell + gap * Math.floor(column / 8),
      yOf(rowOf.get(line)) + labelHeight + Math.floor(word / perRow) * (tall + 3)];
  };

  drawn.forEach((line, row) => {
    const y = yOf(row);
    const far = row && line > drawn[row - 1] + 1;
    scene.draw(`name${row}`, "text", {
      class: "lab-tick", x: folds === 1 ? labelWidth - 12 : 0,
      y: folds === 1 ? y + 16 : y + 12, "text-anchor": folds === 1 ? "end" : "start",
    }, `byte ${wholeNumbers.format(line * LINE_BYTES)}`);
    if (far) {
      const d = zigzag(labelWidth + 1, y - between / 2, width - labelWidth - 2);
      scene.draw(`break${row}`, "path", { class: "lab-break", d });
    }
    for (let i = 0; i < 4; i++) {
      const [x, top] = place(line, 8 * i);
      scene.draw(`sector${row}-${i}`, "rect", {
        class: `lab-sector ${sectors.has(4 * line + i) ? "lab-moved" : "lab-still-there"}`,
        x, y: top, width: 8 * cell, height: tall, rx: 4,
      });
      const ticks = Array.from({ length: 7 }, (_, word) => `M${x + (word + 1) * cell} ${top + 5}v${tall - 10}`);
      scene.draw(`words${row}-${i}`, "path", { class: "lab-words", d: ticks.join("") });
    }
  });

  const askers = new Map();
  addresses.forEach((address, lane) => {
    if (address === null) return;
    if (!askers.has(address)) askers.set(address, []);
    askers.get(address).push(lane);
  });
  for (const [address, who] of askers) {
    const line = Math.floor(address / LINE_BYTES);
    if (!rowOf.has(line)) continue;
    const [x, y] = place(line, (address % LINE_BYTES) / 4);
    const node = scene.draw(`lane${who[0]}`, "g", {
      class: `lab-token${who.length > 1 ? " lab-many" : ""}`, "data-lane": who[0], "data-address": address,
      style: `--lane:${who[0]};transform:translate(${x}px,${y}px)`,
    });
    if (!node.firstChild) node.append(svg("rect", { rx: 3, y: 1.5, x: 1 }), svg("text", { "text-anchor": "middle" }));
    const wide = (cell * bytes) / 4;
    setAttributes(node.firstChild, { width: wide - 2, height: tall - 3 });
    setAttributes(node.lastChild, { x: wide / 2, y: tall / 2 + 4 });
    node.lastChild.textContent = tokenText(who);
  }
  if (left.length) {
    const shares = left.map((line) => [0, 1, 2, 3].filter((i) => sectors.has(4 * line + i)).length);
    const same = new Set(shares).size === 1;
    const total = shares.reduce((sum, share) => sum + share);
    scene.draw("more", "text", { class: "lab-more", x: labelWidth + 1, y: yOf(rows - 1) + labelHeight + 17 },
      `… and ${plural(left.length, "more line")}, ` +
      (same ? `${plural(shares[0], "sector")} of each` : `${total} sectors in all`));
  }
  scene.finish();
}
