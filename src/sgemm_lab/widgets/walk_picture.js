// The picture of a walk: A, B and C as they multiply, the shared tiles and one thread's registers
// in the corner that they leave free. A fragment: see module() in base.py. Needs walk.js.

const KEY = [["lab-k-read", "read now"], ["lab-k-write", "written now"], ["lab-k-other", "by other threads"],
  ["lab-k-held", "sum in a register"], ["lab-k-danger", "read without a barrier"]];

/** One bar per step, in the hue of its memory; barriers as walls. */
function drawRibbon(scene, ribbon, tour, step, width) {
  const height = 26;
  setAttributes(ribbon, { viewBox: `0 0 ${width} ${height}`, height });
  const each = width / tour.steps.length;
  tour.steps.forEach(({ array, store, entries }, i) => scene.draw(`step${i}`, "rect", {
    class: `lab-bar-step lab-${array.space === "shared" ? "shared" : "dram"}${store ? " lab-store" : ""}` +
      `${entries.some((entry) => entry.racing !== undefined || entry.unwritten) ? " lab-racing" : ""}` +
      `${i === step - 1 ? " lab-here" : i < step ? " lab-past" : ""}`,
    x: i * each + Math.min(0.5, each / 8), y: store ? 4 : 10, width: Math.max(0.5, each - Math.min(1, each / 4)),
    height: store ? 18 : 12,
  }));
  for (const { first } of tour.stages.slice(1)) {
    scene.draw(`wall${first}`, "path", { class: "lab-wall", d: `M${(first - 1) * each} 0V${height}` });
  }
  scene.finish();
}

/** Where everything stands: `s` is the side of a cell of A, B and C. */
function layOut(tour, seen, width) {
  const { m, n, k, walk } = tour;
  const [gap, head] = [16, 20];
  const tiles = walk.arrays.filter((array) => array.space === "shared");
  const mine = [...tour.owner].filter(([, thread]) => thread === seen.thread)
    .map(([place]) => place.split(":").slice(1).map(Number));
  const rows = [...new Set(mine.map(([row]) => row))].sort((a, b) => a - b);
  const columns = [...new Set(mine.map(([, column]) => column))].sort((a, b) => a - b);
  const side = tour.most; // room for the registers of any thread
  const narrow = width < 560;
  const s = Math.min(40, (width - gap) / (k + n), narrow ? 40 : 560 / (k + m));
  // The corner above A is k by k cells. On a narrow page tiles and registers stand below instead.
  const tileRows = Math.max(1, ...tiles.map((tile) => tile.rows));
  const needWide = tiles.reduce((sum, tile) => sum + tile.columns, 0);
  const needTall = tileRows + side + 1;
  const extra = narrow ? 0 : Math.max(0, width - gap - (k + n) * s);
  const cornerWide = narrow ? width : k * s + extra - gap;
  const c = Math.min(40, s * 1.3, (cornerWide - gap * Math.max(1, tiles.length)) / Math.max(needWide, side + 1),
    narrow ? 40 : Math.max(16, (k * s - 2 * head - gap) / needTall));
  const cornerTall = (tiles.length ? tileRows * c + head : 0) + (side + 1) * c + head + gap;
  const top = Math.max(narrow ? 0 : cornerTall + gap - k * s, 0) + head;
  const left = narrow ? 0 : extra;
  const boxes = {
    B: { x: left + k * s + gap, y: top, s },
    A: { x: left, y: top + k * s + gap + 4, s },
    C: { x: left + k * s + gap, y: top + k * s + gap + 4, s },
  };
  const bottom = boxes.A.y + m * s + 6;
  let x = 0;
  const y = narrow ? bottom + gap + head : head;
  for (const tile of tiles) {
    boxes[tile.name] = { x, y, s: c };
    x += tile.columns * c + gap;
  }
  boxes.registers = { x: 0, y: y + (tiles.length ? tileRows * c + head + gap / 2 : 0), s: c, rows, columns };
  const height = narrow ? boxes.registers.y + (side + 1) * c + head : bottom;
  return { boxes, height, tiles };
}

function drawWalk(scene, picture, tour, seen, cells, width) {
  const { boxes, height, tiles } = layOut(tour, seen, width);
  const { walk, n, k } = tour;
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  const title = (id, { x, y, s }, text, hue) => scene.draw(`title-${id}`, "text",
    { class: `lab-title lab-${hue}`, x, y: y - 6, "data-cell": s }, text);
  const cell = (id, box, row, column, name, text, data = {}) => {
    const node = scene.draw(id, "g", {
      class: `lab-cell ${name}`, transform: `translate(${box.x + column * box.s} ${box.y + row * box.s})`, ...data,
    });
    if (!node.firstChild) node.append(svg("rect", {}), svg("text", { "text-anchor": "middle" }));
    // A name that does not fit loses its letters, then its brackets, then itself.
    const fits = [text, text.replace(/^[A-Z]\w*\[(.*)\]$/, "$1")].find((one) => one.length * 5.4 <= box.s + 1);
    const size = Math.min(12, (box.s - 2) / Math.max(2, (fits ?? "").length * 0.56));
    setAttributes(node.firstChild, { width: box.s, height: box.s });
    setAttributes(node.lastChild, { x: box.s / 2, y: box.s / 2 + size * 0.36, "font-size": size });
    node.lastChild.textContent = fits ?? "";
    return node;
  };
  const litClass = (key) => (seen.lit.has(key) ? ` lab-${seen.lit.get(key)}` : "");

  for (const matrix of ["A", "B"]) {
    const [rows, columns] = matrix === "A" ? [tour.m, k] : [k, n];
    title(matrix, boxes[matrix], `${matrix}, ${rows}×${columns}`, "dram");
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const value = walk[matrix.toLowerCase()][row * columns + column];
        const key = cellKey(matrix, row, column);
        cell(key, boxes[matrix], row, column, `lab-dram${litClass(key)}`,
          cells === "names" ? `${matrix}[${row},${column}]` : `${value}`);
      }
    }
  }

  title("C", boxes.C, `C, ${tour.m}×${n}`, "dram");
  for (let row = 0; row < tour.m; row++) {
    for (let column = 0; column < n; column++) {
      const key = cellKey("C", row, column);
      const owner = tour.owner.get(key);
      const { count, sum } = sumOf(tour, seen.held.get(owner), row, column);
      const done = seen.stored.has(key);
      const mine = owner === seen.thread ? " lab-mine" : "";
      const text = cells === "values" ? (count || done ? `${sum}` : "") : done ? `C[${row},${column}]` : count ? `${count}/${k}` : "";
      cell(key, boxes.C, row, column,
        `${done ? "lab-dram lab-done" : count ? "lab-register lab-held" : "lab-dram"}${mine}${litClass(key)}${owner === undefined ? " lab-foreign" : ""}`,
        text, owner === undefined ? {} : { "data-owner": owner });
    }
  }

  for (const tile of tiles) {
    const sides = tile.shape.map((side) => `[${side}]`).join("");
    title(tile.name, boxes[tile.name], `${tile.name}${sides}`, "shared");
    for (let row = 0; row < tile.rows; row++) {
      for (let column = 0; column < tile.columns; column++) {
        const key = cellKey(tile.name, row, column);
        const value = seen.shared.get(key);
        const racing = seen.racing.some((entry) => entry.key === key) ? " lab-danger-cell" : "";
        cell(key, boxes[tile.name], row, column, `lab-shared${seen.shared.has(key) ? " lab-full" : ""}${litClass(key)}${racing}`,
          cells === "names" ? valueName(tour, value) : value === null ? "?" : `${value ?? ""}`);
      }
    }
  }
  drawRegisters(boxes.registers, tour, seen, cells, title, cell);
  scene.finish();
}

/** What the chosen thread multiplies now, A down and B across, and its sums where they meet. */
function drawRegisters(box, tour, seen, cells, title, cell) {
  const { walk, n, k } = tour;
  const held = seen.held.get(seen.thread);
  const name = `Registers of thread ${placeName(seen.thread, walk.block)}`;
  title("registers", box, box.rows.length ? name : `${name}: no element of C here`, "register");
  const operand = (matrix, row, column, at, down, across) => {
    const has = held?.[matrix].has(`${row}:${column}`);
    const value = walk[matrix.toLowerCase()][row * (matrix === "A" ? k : n) + column];
    const text = !has ? "" : cells === "names" ? `${matrix}[${row},${column}]` : `${value}`;
    cell(`reg-${matrix}-${at}`, box, down, across, `lab-register${has ? " lab-full" : ""}`, text);
  };
  box.rows.forEach((row, i) => operand("A", row, held?.k.A ?? -1, i, i + 1, 0));
  box.columns.forEach((column, j) => operand("B", held?.k.B ?? -1, column, j, 0, j + 1));
  box.rows.forEach((row, i) => box.columns.forEach((column, j) => {
    const { count, sum } = sumOf(tour, held, row, column);
    cell(`acc-${i}-${j}`, box, i + 1, j + 1, `lab-register${count ? " lab-held" : ""}`,
      !count ? "" : cells === "values" ? `${sum}` : `${count}/${k}`);
  }));
}
