// The timeline of a block's windows: when each is asked for, comes in and is multiplied, with one
// buffer or several. A fragment: see module() in base.py. Needs common.js, controls.js, pipeline.js.

const STATE = ["kernels", "latency", "load", "compute", "windows", "stages", "blocks", "time"];
const SETTINGS = ["latency", "load", "compute", "windows", "stages", "blocks"];
const range = (first, last, step = 1) =>
  Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);
const CHOICES = { latency: range(0, 2000, 40), load: range(0, 2000, 40), compute: range(0, 4096, 64), windows: range(1, 12) };
const KEY = [["lab-k-latency", "latency: asked for"], ["lab-k-load", "load: it comes in"],
  ["lab-k-held", "in shared memory"], ["lab-k-compute", "multiplied"], ["lab-k-gap", "waits for a window"]];
const GUTTER = 66;
const SCRUB_STEPS = 240;
const clocks = (value) => `${number(value)} clock${value === 1 ? "" : "s"}`;

function render({ model, el }) {
  const redraw = redrawer(update);
  const change = (name, value) => {
    put(model, name, value);
    redraw();
  };
  const starts = model.get("kernels").map((kernel) => {
    const chip = html("button", { type: "button", class: "lab-chip" }, kernel.label);
    chip.addEventListener("click", () => {
      for (const name of SETTINGS) model.set(name, kernel[name]);
      change("time", 0);
    });
    return chip;
  });
  const names = { latency: "Latency, clocks", load: "Load, clocks", compute: "Multiply, clocks", windows: "Windows of K" };
  const sliders = Object.entries(names).map(([name, label]) =>
    [name, choiceSlider(label, (value) => change(name, value))]);
  const stages = segments("Buffers (1 = serial, 2 = double)", Object.fromEntries(range(1, 6).map((n) => [n, `${n}`])),
    (value) => change("stages", Number(value)));
  const blocks = segments("Blocks on the SM", Object.fromEntries(range(1, 4).map((n) => [n, `${n}`])), (value) => change("blocks", Number(value)));
  const facts = html("dl", { class: "lab-facts" });
  const picture = svg("svg", { class: "lab-chart", role: "img" });
  const back = html("button", { type: "button", class: "lab-button", "aria-label": "Back to the last event" }, "◀");
  const on = html("button", { type: "button", class: "lab-button", "aria-label": "On to the next event" }, "▶");
  const scrub = choiceSlider("Time", (i) => change("time", (i / SCRUB_STEPS) * plan.total));
  const told = html("p", { class: "lab-told", role: "status" });
  const about = html("p", { class: "lab-about" },
    "Blocks share the arithmetic: while two multiply, each has half of it and is drawn half as high.");
  const bound = html("p", {});
  const measured = html("p", {});
  const root = html("div", { class: "sgemm-lab lab-tool lab-timeline" },
    starts.length && html("div", { class: "lab-bar" }, html("span", { class: "lab-field" }, "Start from"),
      html("div", { class: "lab-chips", role: "group", "aria-label": "Start from a kernel" }, starts)),
    html("div", { class: "lab-controls" }, stages.element, blocks.element),
    facts, picture, key(KEY), about,
    html("div", { class: "lab-scrub" }, back, scrub.element, on),
    told,
    html("div", { class: "lab-verdict", role: "status" }, bound, measured),
    html("div", { class: "lab-controls" }, sliders.map(([, slider]) => slider.element)));
  el.append(root);
  const scene = new Scene(picture);
  let plan; // the present settings, scheduled

  function update() {
    const width = Math.max(270, roomIn(root));
    const pipeline = Object.fromEntries(SETTINGS.map((name) => [name, model.get(name)]));
    if (!plan || SETTINGS.some((name) => plan.pipeline[name] !== pipeline[name])) {
      plan = { pipeline, items: schedule(pipeline), ...pipelineReport(pipeline) };
      plan.events = [...new Set(plan.items.flatMap(({ asked, comes, there, pieces, done }) =>
        [asked, comes, there, pieces[0]?.start ?? done, done]))].sort((a, b) => a - b);
    }
    // Where the kernel was measured with these times, its pace can be set beside the model's.
    const kernels = model.get("kernels");
    const same = (kernel) => SETTINGS.every((name) => name === "windows" || kernel[name] === pipeline[name]);
    plan.kernel = kernels.find(same);
    starts.forEach((chip, i) => chip.setAttribute("aria-pressed", `${kernels[i] === plan.kernel}`));
    for (const [name, slider] of sliders) {
      slider.show(pipeline[name], CHOICES[name], number(pipeline[name]));
    }
    stages.show(pipeline.stages);
    blocks.show(pipeline.blocks);
    const time = Math.min(model.get("time"), plan.total);
    const at = plan.total ? Math.round((SCRUB_STEPS * time) / plan.total) : 0;
    scrub.show(at, range(0, SCRUB_STEPS), clocks(Math.round(time)));
    about.hidden = pipeline.blocks < 2;
    back.disabled = time <= 0;
    on.disabled = time >= plan.total;
    showFacts(facts, plan);
    drawTimeline(scene, picture, plan, time, width);
    say([told, bound, measured], [momentWords(plan, time), boundWords(plan), measuredWords(plan)]);
    setAttributes(picture, { "aria-label": `When each window is loaded and multiplied. ${boundWords(plan)}` });
  }

  back.addEventListener("click", () => change("time", plan.events.findLast((one) => one < model.get("time") - 1e-6) ?? 0));
  on.addEventListener("click", () => change("time", plan.events.find((one) => one > model.get("time") + 1e-6) ?? plan.total));
  const toTime = (event) => {
    const box = picture.getBoundingClientRect();
    change("time", Math.min(plan.total, Math.max(0, plan.clocksAt(event.clientX - box.left))));
  };
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    toTime(event);
  });
  picture.addEventListener("pointermove", (event) => picture.hasPointerCapture(event.pointerId) && toTime(event));
  update();
  const stops = [listen(model, STATE, redraw), onResize(root, redraw)];
  return () => stops.forEach((stop) => stop());
}

function showFacts(list, { total, share, speedup, barriers, pipeline }) {
  const facts = [["Total", clocks(total)], ["Arithmetic runs", percent(share)], ["Speed-up over serial", `${number(speedup)}×`],
    ["Barriers per window", `${barriers}`], ["Buffers per block", `${pipeline.stages}`]];
  list.replaceChildren(...facts.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
}

/** What sets the pace, and what would help. */
function boundWords({ pipeline, bound, pace, enough }) {
  const { windows, stages, blocks, latency, load, compute } = pipeline;
  if (latency + load + compute === 0) return "Nothing takes any time.";
  if (windows === 1) return "There is one window only: nothing can overlap with it, however many buffers there are.";
  const each = `${clocks(pace)} per window${blocks > 1 ? " of each block" : ""}`;
  const share = blocks > 1 ? `${blocks} blocks × ` : "";
  if (bound === "compute") return `Arithmetic is the bound: once it runs, it never waits. ${share}${number(compute)} = ${each}.`;
  if (bound === "load") {
    return `The memory pipe is the bound: windows come in one after the other, ${share}${number(load)} = ${each}. ` +
      "More buffers do not help; a larger tile, which reuses its window more, would.";
  }
  const why = stages > 1 ? `Waiting is the bound, at ${each}: a buffer is free for the next load only after its window was multiplied.`
    : `Waiting is the bound, at ${each}: with one buffer, load and multiplication take turns.`;
  return `${why} ${enough ? `${plural(enough, "buffer")} would hide the wait.` : "Even 6 buffers do not hide the wait."}`;
}

/** How far the model is from the kernel that it is filled with. */
function measuredWords({ kernel, pace, pipeline }) {
  if (!kernel) return "";
  return `Measured, ${kernel.label} takes ${clocks(kernel.measured)} per window${pipeline.blocks > 1 ? " of each block" : ""}, ` +
    `${number(kernel.measured / pace)} times the model, which knows no barriers, no reads of shared memory ` +
    `and no other SMs${kernel.note ? ` (${kernel.note})` : ""}.`;
}

/** What happens at one time, block by block. */
function momentWords({ items, pipeline, total }, time) {
  if (time >= total) return `At ${clocks(Math.round(time))}: all is done.`;
  const inside = (from, to) => from <= time && time < to;
  const list = (numbers) => (numbers.length > 1 ? `windows ${numbers[0]} to ${numbers.at(-1)}` : `window ${numbers[0]}`);
  const words = range(0, pipeline.blocks - 1).map((block) => {
    const mine = items.filter((item) => item.block === block);
    const now = mine.find(({ pieces }) => pieces.length && inside(pieces[0].start, pieces.at(-1).end));
    const next = mine.find(({ done }) => done > time);
    const coming = mine.filter(({ comes, there }) => inside(comes, there));
    const asked = mine.filter((item) => inside(item.asked, item.comes));
    const parts = [
      now ? `window ${now.number} is multiplied from buffer ${now.buffer}` : next ? `waits for window ${next.number}` : "all is done",
      ...coming.map((item) => `window ${item.number} comes into buffer ${item.buffer}`),
      asked.length && `${list(asked.map((item) => item.number))} ${asked.length > 1 ? "are" : "is"} asked for`,
    ].filter(Boolean);
    return `${pipeline.blocks > 1 ? ` Block ${block}:` : ""} ${parts.join("; ")}.`;
  });
  return `At ${clocks(Math.round(time))}:${words.join("")}`;
}

/** The rows of each block, one per buffer and one for the arithmetic; all are drawn to one scale. */
function drawTimeline(scene, picture, plan, time, width) {
  const { items, pipeline, total, serial, kernel } = plan;
  const measured = kernel ? kernel.measured * pipeline.windows : 0;
  const end = Math.max(1, serial, total, measured);
  const x = (clock) => GUTTER + ((width - GUTTER - 10) * clock) / end;
  plan.clocksAt = (pixel) => ((pixel - GUTTER) * end) / (width - GUTTER - 10);
  const rect = (id, name, from, to, y, height) => scene.draw(id, "rect", {
    class: name, x: x(from), y, width: Math.max(0.5, x(to) - x(from)), height,
  });
  const text = (id, name, at, y, words, anchor = "middle") => scene.draw(id, "text",
    { class: name, x: at, y, "text-anchor": anchor }, words);
  /** A box with its window's number, where that fits. */
  const box = (id, name, from, to, y, height, label) => {
    const node = scene.draw(id, "g", { class: name });
    if (!node.firstChild) node.append(svg("rect"), svg("text", { "text-anchor": "middle" }));
    const wide = x(to) - x(from);
    setAttributes(node.firstChild, { x: x(from), y, width: Math.max(0.5, wide - 1), height });
    setAttributes(node.lastChild, { x: x(from) + wide / 2, y: y + height / 2 + 4.5 });
    node.lastChild.textContent = wide > 9 * label.length + 4 ? label : "";
  };

  const [each, tall] = [pipeline.stages > 3 ? 16 : 20, 34];
  let y = 20; // the cursor's head stands above
  for (let block = 0; block < pipeline.blocks; block++) {
    const mine = items.filter((item) => item.block === block);
    if (pipeline.blocks > 1) {
      text(`block${block}`, "lab-block-name", 0, y + 12, `Block ${block}`, "start");
      y += 18;
    }
    for (let buffer = 0; buffer < pipeline.stages; buffer++) {
      text(`name${block}-${buffer}`, "lab-tick", GUTTER - 8, y + buffer * each + each / 2 + 4, `buffer ${buffer}`, "end");
      scene.draw(`row${block}-${buffer}`, "path", { class: "lab-grid", d: `M${GUTTER} ${y + (buffer + 1) * each}H${width - 10}` });
    }
    const lane = y + pipeline.stages * each + 4;
    text(`name${block}`, "lab-tick", GUTTER - 8, lane + tall / 2 + 4, "multiply", "end");
    let idle = 0;
    for (const { number: n, buffer, asked, comes, there, pieces, done } of mine) {
      const id = `${block}-${n}`;
      const top = y + buffer * each + 2;
      const now = (from, to) => (from <= time && time < to ? " lab-now" : "");
      if (comes > asked) rect(`asked${id}`, `lab-latency${now(asked, comes)}`, asked, comes, top + each / 2 - 4, 6);
      if (done > there) rect(`held${id}`, "lab-held", there, done, top, each - 4);
      if (there > comes) box(`load${id}`, `lab-load${now(comes, there)}`, comes, there, top, each - 4, `${n}`);
      const named = widest(pieces.filter(({ share }) => tall * share > 14));
      pieces.forEach((piece, i) => {
        const { start, end: stop, share } = piece;
        const height = tall * share;
        const words = piece === named ? `${n}` : "";
        box(`work${id}-${i}`, `lab-work${now(start, stop)}`, start, stop, lane + tall - height, height, words);
      });
      const begin = pieces[0]?.start ?? done;
      if (pipeline.compute && begin > idle) gap(scene, `gap${id}`, x(idle), x(begin), lane, tall);
      if (pipeline.compute && x(begin) - x(idle) > 42) text(`wait${id}`, "lab-wait", (x(idle) + x(begin)) / 2, lane + tall / 2 + 4, "waits");
      idle = done;
    }
    y = lane + tall + 12;
  }
  if (kernel) {
    text("name-measured", "lab-tick", GUTTER - 8, y + 15, "measured", "end");
    rect("measured", "lab-measured-bar", 0, measured, y + 4, 14);
    y += 26;
  }
  const axis = y + 2;
  scene.draw("axis", "path", { class: "lab-axis", d: `M${GUTTER} ${axis}H${width - 10}` });
  for (const clock of ticks(end, Math.max(2, Math.floor(width / 110)))) {
    scene.draw(`tick${clock}`, "path", { class: "lab-axis", d: `M${x(clock)} ${axis}v5` });
    text(`at${clock}`, "lab-tick", x(clock), axis + 18, number(clock));
  }
  text("unit", "lab-unit", GUTTER - 8, axis + 18, "clocks", "end");
  if (pipeline.stages > 1 && serial > total) {
    scene.draw("serial", "path", { class: "lab-serial", d: `M${x(serial)} 4V${axis}` });
    text("serial-name", "lab-tick lab-halo", x(serial) - 5, 13, "serial ends", "end");
  }
  scene.draw("cursor", "path", { class: "lab-cursor", d: `M${x(time)} 4V${axis}M${x(time) - 5} 0h10l-5 7z` });
  setAttributes(picture, { viewBox: `0 0 ${width} ${axis + 26}`, height: axis + 26 });
  scene.finish();
}

/** The piece that lasts longest; undefined if there is none. */
const widest = (pieces) => [...pieces].sort((p, q) => q.end - q.start - (p.end - p.start))[0];

/** Slanted lines: the block multiplies nothing. */
function gap(scene, id, left, right, y, height) {
  const lines = [`M${left} ${y}H${right}V${y + height}H${left}Z`];
  for (let at = left - height + 6; at < right; at += 7) {
    const [from, to] = [Math.max(0, left - at), Math.min(height, right - at)];
    if (to > from) lines.push(`M${at + from} ${y + height - from}L${at + to} ${y + height - to}`);
  }
  scene.draw(id, "path", { class: "lab-gap", d: lines.join("") });
}

/** About `count` round numbers from 0 to `end`. */
function ticks(end, count) {
  const raw = end / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
  return range(0, end, step);
}
