// The picture of a walk: A, B and C as they multiply, the shared tiles and one thread's registers
// in the corner that they leave free. A fragment: see module() in base.py. Needs walk.js.

/** The key to the picture. Registers have the names that the source gives them. */
function keyOf({ source, blocks }) {
  const named = (name) => source.some((line) => new RegExp(`\\b${name}\\b`).test(line));
  const registers = named("fragA") && named("fragB") ? "registers: fragA down, fragB across, acc inside"
    : named("acc") ? "sum in a register: acc" : "sum in a register";
  const fails = blocks.some((steps) => steps.some(({ fault }) => fault));
  return [["lab-k-read", "read now"], ["lab-k-write", "written now"], ["lab-k-other", "by other threads"],
    ["lab-k-held", registers], ["lab-k-danger", "read without a barrier"],
    ...(fails ? [["lab-k-fault", "the launch fails"]] : [])];
}

/** One bar per step, in the hue of its memory; barriers as walls. */
function drawRibbon(scene, ribbon, tour, step, width) {
  const height = 26;
  setAttributes(ribbon, { viewBox: `0 0 ${width} ${height}`, height });
  const each = width / tour.steps.length;
  tour.steps.forEach((one, i) => scene.draw(`step${i}`, "rect", {
    class: `lab-bar-step lab-${one.array.space === "shared" ? "shared" : "dram"}${isUnsafe(one) ? " lab-racing" : ""}${one.fault ? " lab-fault" : ""}` +
      `${i === step - 1 ? " lab-here" : i < step ? " lab-past" : ""}`,
    x: i * each + Math.min(0.5, each / 8), y: one.fault ? 0 : one.store ? 4 : 10, width: Math.max(0.5, each - Math.min(1, each / 4)),
    height: one.fault ? height : one.store ? 18 : 12,
  }));
  for (const { first } of tour.stages.slice(1)) {
    scene.draw(`wall${first}`, "path", { class: "lab-wall", d: `M${(first - 1) * each} 0V${height}` });
  }
  scene.finish();
}

/** Where everything stands: `s` is the side of a cell of A, B and C. */
function layOut(tour, seen, width) {
  const { m, n, k, walk } = tour;
  const [gap, head] = [16, 22];
  const tiles = walk.arrays.filter((array) => array.space === "shared");
  const mine = [...tour.owner].filter(([, thread]) => thread === seen.thread)
    .map(([place]) => place.split(":").slice(1).map(Number));
  const rows = [...new Set(mine.map(([row]) => row))].sort((a, b) => a - b);
  const columns = [...new Set(mine.map(([, column]) => column))].sort((a, b) => a - b);
  const side = tour.most; // room for the registers of any thread
  const s = Math.min(40, (width - gap) / (k + n), 560 / (k + m));
  const tileRows = Math.max(0, ...tiles.map((tile) => tile.rows));
  const tileColumns = tiles.reduce((sum, tile) => sum + tile.columns, 0);
  const gaps = gap * Math.max(0, tiles.length - 1);

  // The corner above A is k cells high. Tiles and registers stand there, side by side or one above
  // the other, whichever leaves larger cells; where they would be tiny they stand below instead.
  const fit = (wide, tall, most) => [
    { beside: true, c: Math.min(most, (wide - gaps - gap) / (tileColumns + side + 1), (tall - head) / Math.max(tileRows, side + 1)) },
    { beside: false, c: Math.min(most, (wide - gaps) / Math.max(tileColumns, side + 1), (tall - 2 * head - gap) / (tileRows + side + 1)) },
  ].reduce((best, one) => (one.c > best.c ? one : best));
  const extra = Math.max(0, width - gap - (k + n) * s);
  const corner = fit(k * s + extra - gap, k * s + head, 52);
  const inside = corner.c >= Math.min(20, 0.9 * s);
  const below = fit(width, 2 * width, 28);
  const beside = inside ? corner.beside : below.beside;
  const { c } = inside ? corner : below;

  const left = inside ? extra : extra / 2;
  const boxes = {
    B: { x: left + k * s + gap, y: head, s },
    A: { x: left, y: head + k * s + head + 4, s },
    C: { x: left + k * s + gap, y: head + k * s + head + 4, s },
  };
  const bottom = boxes.A.y + m * s + 4;
  const wide = tileColumns * c + gaps + (beside && tiles.length ? gap : 0) + (beside ? (side + 1) * c : 0);
  const tall = beside ? Math.max(tileRows, side + 1) * c : (tileRows + side + 1) * c + head + gap;
  let x = inside ? Math.max(0, (k * s + extra - gap - wide) / 2) : 0;
  const y = inside ? Math.max(head, (k * s + head - tall) / 2 + head / 2) : bottom + gap + head;
  const start = x;
  for (const tile of tiles) {
    boxes[tile.name] = { x, y, s: c };
    x += tile.columns * c + gap;
  }
  boxes.registers = { s: c, rows, columns,
    x: beside ? x : start, y: beside ? y : y + tileRows * c + head + gap };
  return { boxes, tiles, height: inside ? bottom : y + tall + 4, room: inside ? boxes.B.x - gap : width };
}

const SMALLEST = 6; // px, of a letter

/** The size of letters, in px, at which a text fits into a cell. */
const fontSize = ({ s }, text) => Math.min(12, (s - 3) / (0.6 * Math.max(2, text.length)));

function drawWalk(scene, picture, tour, seen, cells, width) {
  const { boxes, height, tiles, room } = layOut(tour, seen, width);
  const { walk, m, n, k } = tour;
  // If one name has no room, no cell shows its name: those without one would look empty.
  const longest = [`${m - 1},${k - 1}`, `${k - 1},${n - 1}`].reduce((a, b) => (b.length > a.length ? b : a));
  setAttributes(picture, { viewBox: `0 0 ${width} ${height}`, height });
  const title = (id, { x, y, s }, text, hue) => scene.draw(`title-${id}`, "text",
    { class: `lab-title lab-${hue}`, x, y: y - 6, "data-cell": s }, text);
  const cell = (id, box, row, column, name, text, data = {}) => {
    const node = scene.draw(id, "g", {});
    // From one step to the next almost all cells stay as they are.
    const looks = [box.x, box.y, box.s, row, column, name, text, data["data-owner"]].join();
    if (node.looks === looks) return;
    node.looks = looks;
    setAttributes(node, {
      class: `lab-cell ${name}`, transform: `translate(${box.x + column * box.s} ${box.y + row * box.s})`, ...data,
    });
    if (!node.firstChild) node.append(svg("rect", {}), svg("text", { "text-anchor": "middle" }));
    // A name that does not fit loses its letters and brackets, and then itself.
    const short = text.replace(/^[A-Z]\w*\[(.*)\]$/, "$1");
    const fits = fontSize(box, text) >= 9.5 ? text
      : fontSize(box, short === text ? text : longest) >= SMALLEST ? short : "";
    const size = fontSize(box, fits);
    setAttributes(node.firstChild, { width: box.s, height: box.s });
    setAttributes(node.lastChild, { x: box.s / 2, y: box.s / 2 + size * 0.36, "font-size": size });
    if (node.lastChild.textContent !== fits) node.lastChild.textContent = fits;
  };
  const litClass = (key) => (seen.lit.has(key) ? ` lab-${seen.lit.get(key)}` : "");

  drawCopies(scene, boxes, tour, seen); // first: the lines run behind the cells
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
  for (let row = 0; row < m; row++) {
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
          cells === "names" ? valueName(tour, value) : value === null ? "?" : `${value ?? ""}`,
          { "data-array": tile.name });
      }
    }
  }
  drawPlanes(scene, boxes, tiles);
  drawFault(scene, boxes, seen.now);
  drawRegisters(boxes.registers, room, tour, seen, cells, title, cell);
  scene.finish();
}

/** What the chosen thread multiplies now, A down and B across, and its sums where they meet. */
function drawRegisters(box, room, tour, seen, cells, title, cell) {
  const { walk, n, k } = tour;
  const held = seen.held.get(seen.thread);
  const place = placeName(seen.thread, walk.block);
  const name = [`Registers of thread ${place}`, `Thread ${place}`]
    .find((one) => textWidth(one, 14) < room - box.x) ?? place;
  title("registers", box, box.rows.length ? name : `${name}: none of C`, "register");
  const justRead = new Set(seen.now?.entries.filter((entry) => !seen.now.store && entry.thread === seen.thread)
    .map(({ value }) => valueName(tour, value)));
  const operand = (matrix, row, column, at, down, across) => {
    const index = row * (matrix === "A" ? k : n) + column;
    const has = row >= 0 && column >= 0 && held?.[matrix].has(index);
    const value = walk[matrix.toLowerCase()][index];
    const text = !has ? "" : cells === "names" ? `${matrix}[${row},${column}]` : `${value}`;
    const lit = has && justRead.has(`${matrix}[${row},${column}]`) ? " lab-read" : "";
    cell(`reg-${matrix}-${at}`, box, down, across, `lab-register${has ? " lab-full" : ""}${lit}`, text);
  };
  box.rows.forEach((row, i) => operand("A", row, held?.k.A ?? -1, i, i + 1, 0));
  box.columns.forEach((column, j) => operand("B", held?.k.B ?? -1, column, j, 0, j + 1));
  box.rows.forEach((row, i) => box.columns.forEach((column, j) => {
    const { count, sum } = sumOf(tour, held, row, column);
    cell(`acc-${i}-${j}`, box, i + 1, j + 1, `lab-register${count ? " lab-held" : ""}`,
      !count ? "" : cells === "values" ? `${sum}` : `${count}/${k}`);
  }));
}

/** Of an array with several planes, such as As[2][4][68], a line between two. */
function drawPlanes(scene, boxes, tiles) {
  for (const { name, shape, rows, columns } of tiles.filter((tile) => tile.shape.length > 2)) {
    const { x, y, s } = boxes[name];
    const each = shape.at(-2);
    for (let row = each; row < rows; row += each) {
      scene.draw(`plane-${name}-${row}`, "path", { class: "lab-plane lab-shared", d: `M${x - 4} ${y + row * s}h${columns * s + 8}` });
    }
  }
}

/** A frame around the array of an access that fails, with a cross: it may lie outside all cells. */
function drawFault(scene, boxes, now) {
  if (!now?.fault) return;
  const { name } = now.array;
  const { x, y, s } = boxes[name];
  const [rows, columns] = [now.array.rows, now.array.columns];
  scene.draw("fault", "path", { class: "lab-fault-frame", d: `M${x - 3} ${y - 3}h${columns * s + 6}v${rows * s + 6}h${-columns * s - 6}z` });
  const at = [x + columns * s - 3, y - 9]; // beside the title
  scene.draw("fault-cross", "path", { class: "lab-fault-cross", d: `M${at[0] - 5} ${at[1] - 5}l10 10m0 -10l-10 10` });
}

/** Lines from A and B to where the last step put copies of them. */
function drawCopies(scene, boxes, tour, { now, acting }) {
  if (!now?.store || now.array.space !== "shared" || acting.length > 32) return;
  const middle = ({ x, y, s }, row, column) => `${x + (column + 0.5) * s} ${y + (row + 0.5) * s}`;
  acting.forEach(({ value, row, column }, i) => {
    const from = tour.origin.get(value);
    if (!from) return;
    scene.draw(`copy${i}`, "path", { class: "lab-copy lab-shared",
      d: `M${middle(boxes[from.matrix], from.row, from.column)}L${middle(boxes[now.array.name], row, column)}` });
  });
}
