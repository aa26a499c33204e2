// What a walk's steps mean: which element a value is a copy of, who reads what nobody has written
// yet, what a thread holds. A fragment: see module() in base.py. Needs common.js and controls.js.

/** "(1, 0)": the place of a thread in its block, or of a block in its grid. */
const placeName = (number, [across]) => `(${number % across}, ${Math.floor(number / across)})`;
const cellKey = (array, row, column) => `${array}:${row}:${column}`;

/** One block's steps with all that does not depend on the step shown. */
function understand(walk, block) {
  const [m, n, k] = walk.size;
  const origin = new Map(); // value → the element of A or B that holds it, `index` its place there
  walk.a.forEach((value, i) => origin.set(value, { matrix: "A", index: i, row: Math.floor(i / k), column: i % k }));
  walk.b.forEach((value, i) => origin.set(value, { matrix: "B", index: i, row: Math.floor(i / n), column: i % n }));
  const all = walk.blocks[block].map((step) => ({
    ...step,
    array: walk.arrays[step.array],
    entries: step.threads.map((thread, i) => ({
      thread, row: step.rows[i], column: step.columns[i], value: step.values[i],
      key: cellKey(walk.arrays[step.array].name, step.rows[i], step.columns[i]),
    })),
  }));

  // The launch ends where it fails. What would have followed still tells which thread computes what.
  const fails = all.findIndex(({ fault }) => fault);
  const steps = fails < 0 ? all : all.slice(0, fails + 1);

  // Who writes a cell of shared memory in which window: the others must wait for a barrier.
  const writers = new Map();
  for (const { array, store, window, entries } of steps) {
    if (array.space !== "shared" || !store) continue;
    for (const { key, thread } of entries) {
      const place = `${window}/${key}`;
      writers.set(place, (writers.get(place) ?? new Set()).add(thread));
    }
  }
  for (const { array, store, window, entries, fault } of steps) {
    if (array.space !== "shared" || store || fault) continue;
    for (const entry of entries) {
      const others = [...(writers.get(`${window}/${entry.key}`) ?? [])].filter((one) => one !== entry.thread);
      if (others.length) entry.racing = others[0];
      if (entry.value === null) entry.unwritten = true;
    }
  }

  // Products are made of what comes out of shared memory, where the kernel uses it.
  const operandSpace = Object.fromEntries(["A", "B"].map((matrix) => [matrix,
    all.some(({ array, store, entries }) => array.space === "shared" && !store &&
      entries.some(({ value }) => origin.get(value)?.matrix === matrix)) ? "shared" : "global"]));
  const owner = new Map(); // element of C → its thread
  const reach = new Map(); // thread → the rows and columns of C that it computes
  for (const { array, entries } of all.filter((step) => step.store && step.array.name === "C")) {
    for (const { thread, row, column } of entries) {
      owner.set(cellKey(array.name, row, column), thread);
      if (!reach.has(thread)) reach.set(thread, { rows: new Set(), columns: new Set() });
      reach.get(thread).rows.add(row);
      reach.get(thread).columns.add(column);
    }
  }
  const unsafe = walk.problems.length > 0 || steps.some(isUnsafe);
  const most = Math.max(1, ...[...reach.values()].map(({ rows, columns }) => Math.max(rows.size, columns.size)));
  return { walk, block, m, n, k, origin, steps, operandSpace, owner, most, unsafe, stages: stagesOf(steps) };
}

/** Whether a step reads shared memory that another thread writes in the same window, or nobody. */
const isUnsafe = ({ entries }) => entries.some(({ racing, unwritten }) => racing !== undefined || unwritten);

/** The stretches between barriers, named by what happens in them. `first` is the step before one. */
function stagesOf(steps) {
  const stages = [];
  // Windows of K that shared memory was filled with, and that were multiplied.
  let [filled, multiplied] = [-1, -1];
  steps.forEach((step, i) => {
    if (!i || step.window !== steps[i - 1].window) stages.push({ first: i, last: i, window: step.window, does: new Set() });
    const { array, store } = step;
    stages.at(-1).last = i + 1;
    if (step.fault) stages.at(-1).fails = true;
    stages.at(-1).does.add(array.name === "C" ? "store C" : array.space === "global" ? "load"
      : store ? "copy" : "multiply");
  });
  for (const stage of stages) {
    const { does } = stage;
    if (does.has("copy")) filled += 1;
    if (does.has("multiply")) multiplied += 1;
    const parts = [does.has("multiply") && multiplied < filled && `multiply window ${multiplied}`,
      does.has("copy") && `copy window ${filled}`,
      does.has("multiply") && multiplied === filled && `multiply window ${multiplied}`,
      does.has("store C") && (filled < 0 ? "multiply, store C" : "store C"), stage.fails && "fail"].filter(Boolean);
    stage.name = (parts.join(", ") || "load").replace(/^./, (letter) => letter.toUpperCase());
    // From the second stage on, the first step of a stage is the one that it begins with.
    stage.first += stage.first ? 1 : 0;
  }
  return stages;
}

/** Memory, and what one thread holds, after `step` steps; and what the last of them did. */
function stateAt(tour, step, thread, who) {
  const shared = new Map(); // cell → value
  const stored = new Set(); // elements of C
  const held = new Map(); // thread → elements of A and B that it has read to multiply
  const chosen = ({ thread: other }) => who === "block" ||
    (who === "warp" ? Math.floor(other / 32) === Math.floor(thread / 32) : other === thread);
  for (const { array, store, entries, fault } of tour.steps.slice(0, step)) {
    if (fault) break;
    for (const { key, value, thread: other } of entries) {
      if (store && array.space === "shared") shared.set(key, value);
      else if (store) stored.add(key);
      else {
        const from = tour.origin.get(value);
        if (!from || tour.operandSpace[from.matrix] !== array.space) continue;
        if (!held.has(other)) held.set(other, { A: new Set(), B: new Set(), k: { A: -1, B: -1 } });
        const mine = held.get(other);
        mine[from.matrix].add(from.index);
        mine.k[from.matrix] = from.matrix === "A" ? from.column : from.row;
      }
    }
  }
  const now = tour.steps[step - 1];
  const lit = new Map(); // cell → "read", "write" or "other" for threads that are not chosen
  const racing = [];
  for (const entry of now?.entries ?? []) {
    const mine = chosen(entry);
    const does = now.fault ? "fault" : now.store ? "write" : "read";
    if (mine || !lit.has(entry.key)) lit.set(entry.key, mine ? does : "other");
    if (mine && (entry.racing !== undefined || entry.unwritten)) racing.push(entry);
  }
  const acting = (now?.entries ?? []).filter(chosen);
  return { step, now, thread, who, shared, stored, held, lit, racing, acting };
}

/** How far a thread is with an element of C: products made so far, and their sum. */
function sumOf({ walk, n, k }, held, row, column) {
  let count = 0;
  let sum = 0;
  for (let i = 0; held && i < k; i++) {
    if (!held.A.has(row * k + i) || !held.B.has(i * n + column)) continue;
    count += 1;
    sum += walk.a[row * k + i] * walk.b[i * n + column];
  }
  return { count, sum };
}

/** "A[1,3]" for the value of a cell; "0" for padding; "" for nothing. */
function valueName(tour, value) {
  const from = tour.origin.get(value);
  if (from) return `${from.matrix}[${from.row},${from.column}]`;
  return value === undefined ? "" : value === null ? "?" : `${value}`;
}

const elementOf = (array, { row, column }) => {
  const [rows, columns] = array.shape.slice(-2);
  const plane = array.shape.length > 2 ? `[${Math.floor(row / rows)}]` : "";
  return array.space === "global" ? `${array.name}[${row},${column}]`
    : `${array.name}${plane}[${array.shape.length > 2 ? row % rows : row}][${column}]`;
};

/** What the last step did, in a sentence. */
function stepWords(tour, step, { now, thread, who, acting }) {
  if (!now) return "Nothing has happened yet. Press Play, or go step by step.";
  const { block } = tour.walk;
  const { array, store, entries } = now;
  const before = tour.steps[step - 2];
  const wall = before && before.window !== now.window ? "All threads have met at the barrier. " : "";
  const start = wall;
  if (now.fault) return `${start}Here the launch fails: no block gets any further.`;
  const memory = array.space === "shared" ? "shared memory" : "global memory";
  if (who === "thread") {
    const name = `Thread ${placeName(thread, block)}`;
    if (!acting.length) {
      const others = new Set(entries.map((entry) => entry.thread)).size;
      return `${start}${name} does nothing here; ${plural(others, "other thread")} ` +
        `${store ? "write" : "read"}${others === 1 ? "s" : ""} ${array.name} in ${memory}.`;
    }
    const places = acting.map((entry) => elementOf(array, entry));
    const list = places.length > 4 ? `${places[0]} to ${places.at(-1)}` : places.join(", ");
    const names = [...new Set(acting.map(({ value }) => valueName(tour, value)))];
    if (!store || array.name === "C") return `${start}${name} ${store ? "writes" : "reads"} ${list} ${store ? "to" : "from"} ${memory}` +
      `${!store && array.space === "shared" ? `: ${names.join(", ")}` : ""}.`;
    return `${start}${name} writes ${names.length > 4 ? `${names[0]} to ${names.at(-1)}` : names.join(", ")} to ${list}.`;
  }
  const threads = new Set(acting.map((entry) => entry.thread)).size;
  const elements = new Set(acting.map((entry) => entry.key)).size;
  return `${start}${whoWords(acting, block)} ${store ? "write" : "read"}${threads === 1 ? "s" : ""} ` +
    `${plural(elements, "element")} of ${array.name} ${store ? "to" : "from"} ${memory}.`;
}

/** "Thread (1, 0)", "4 threads, (0, 0) to (3, 0)," or, where they do not follow each other, their number. */
function whoWords(acting, block) {
  const numbers = [...new Set(acting.map(({ thread }) => thread))].sort((a, b) => a - b);
  const [first, last] = [numbers[0], numbers.at(-1)];
  const names = numbers.map((number) => placeName(number, block));
  if (names.length === 1) return `Thread ${names[0]}`;
  if (last - first === numbers.length - 1) return `${numbers.length} threads, ${names[0]} to ${names.at(-1)},`;
  return names.length > 4 ? `${numbers.length} threads` : `Threads ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** What is wrong with the last step, or after the last one with the kernel. */
function dangerWords(tour, { now, racing, step }) {
  if (now?.fault) return now.fault;
  if (racing.length) {
    const [entry] = racing;
    const place = elementOf(now.array, entry);
    if (entry.unwritten) return `Nothing has written ${place} yet.`;
    return `No barrier stands between this read of ${place} and the write of thread ` +
      `${placeName(entry.racing, tour.walk.block)} to it: which comes first is chance.`;
  }
  return step === tour.steps.length ? tour.walk.problems.join(" ") : "";
}
