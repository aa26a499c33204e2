// The tiles of a product on the SMs of a GPU, wave after wave, and the share of the SMs' time that
// each size leaves used.

import "./tile_waves.css";
import { LARGEST, SMALLEST } from "../formulas/wave_quantization.py";
import type { Product, TileDistribution } from "../formulas/wave_quantization.ts";
import {
  distributionWords,
  fullSpeed,
  maxTilesPerSm,
  tileDistribution,
  tilesOf,
  usefulShare,
} from "../formulas/wave_quantization.ts";
import { comma, number, percent } from "../text.ts";
import {
  choiceSlider,
  chooser,
  chosenGpu,
  controls,
  gpuChooser,
  key,
  segments,
  showFacts,
} from "./shared/controls.ts";
import { html, say, setAttributes, svg } from "./shared/dom.ts";
import { availableWidth, keepDrawn, put, tool } from "./shared/model.ts";
import { range, ticks, within } from "./shared/scale.ts";
import { fit, Scene, scrubByPointer, slanted } from "./shared/scene.ts";

interface Chip {
  id: string;
  name: string;
  sms: number;
}

interface Tile {
  bm: number;
  bn: number;
  bk: number;
}

type Kernel = Tile & {
  name: string;
  even: boolean;
  gpu: string;
  note: string;
  speeds: [size: number, gflops: number][];
};

interface State {
  gpus: Chip[];
  kernels: Kernel[];
  gpu: string;
  kernel: string;
  size: number;
  even: boolean;
}

/**
 * The present settings and what follows from them; `measured` are the kernels with this tile and
 * speeds on this GPU, `full` the GFLOP/s that 100 % of the time stands for.
 */
interface Plan {
  sms: number;
  even: boolean;
  tile: Kernel;
  product: Product;
  found: TileDistribution;
  /** the time with whole tiles, in times of one tile */
  most: number;
  measured: Kernel[];
  full: number;
}

const STATE = ["gpus", "kernels", "gpu", "kernel", "size", "even"] as const;
const STEP = 64; // from one size of the slider to the next
const SIZES = range(SMALLEST, LARGEST, STEP);
const CURVE = range(SMALLEST, LARGEST, STEP / 2);
const DATA_PARALLEL_KEY: [string, string][] = [
  ["lab-k-wave", "tiles of a wave"],
  ["lab-k-next", "of the next wave"],
  ["lab-k-idle", "idle"],
];
const STREAM_K_KEY: [string, string][] = [
  ["lab-k-wave", "a whole tile"],
  ["lab-k-cut", "part of a cut tile"],
  ["lab-k-before", "with whole tiles it would end here"],
];
const [GUTTER, MARGIN] = [44, 12]; // px beside the pictures
const FIELD = 270; // px, about, for the rows of all SMs
const FEW = 8; // SMs whose even shares are drawn
const NAMED = 34; // px from which on a part of a row has room for the name of its tile
const [CURVE_TOP, CURVE_HEIGHT] = [10, 150];
const APART = 4; // px from one line to the next, or they are left out

export function render({ model, el }: View<State>) {
  const chosen = settings(model);
  const facts = html("dl", { class: "lab-facts" });
  const field = svg("svg", { class: "lab-chart", role: "img" });
  const curve = svg("svg", { class: "lab-chart lab-curve-chart", role: "img" });
  const keys = [key(DATA_PARALLEL_KEY), key(STREAM_K_KEY)];
  const [readout, measured] = [html("p"), html("p")];
  const rows = html("p", { class: "lab-heading" });
  const heading = html(
    "p",
    { class: "lab-heading" },
    "Share of the SMs' time that is used, by size",
  );
  const root = tool(
    el,
    "lab-waves",
    chosen.bar,
    controls([chosen.size, chosen.shares]),
    [facts, rows, field, ...keys],
    html("div", { class: "lab-verdict", role: "status" }, readout, measured),
    [heading, curve, chosen.key],
  );
  const [fieldScene, curveScene] = [new Scene(field), new Scene(curve)];

  function update() {
    const width = availableWidth(root);
    const plan = planOf(model);
    chosen.show(plan);
    showFacts(facts, factsOf(plan), plan.found.used);
    keys.forEach((one, i) => {
      one.hidden = plan.even !== (i === 1);
    });
    new Field(fieldScene, plan, width).draw(field);
    new Curve(curveScene, plan, width).draw(curve);
    const words = distributionWords(plan.product, plan.sms, plan.even);
    say([rows, readout, measured], [rowWords(plan), words, measuredWords(plan)]);
    setAttributes(field, { "aria-label": `When each SM works. ${words}` });
    setAttributes(curve, { "aria-label": curveWords(plan) });
  }

  scrubByPointer(curve, (x) => {
    const room = availableWidth(root) - GUTTER - MARGIN;
    const size = STEP * Math.round(((x - GUTTER) / room) * (LARGEST / STEP));
    put(model, "size", within(size, SMALLEST, LARGEST));
  });
  return keepDrawn(model, STATE, root, update);
}

/** What the reader can set. */
function settings(model: Model<State>) {
  const size = choiceSlider("M = N = K", (value) => put(model, "size", value));
  const kernels = model.get("kernels");
  const shares = segments(
    "Every SM gets",
    { whole: "whole tiles", even: "an even share (stream-K)" },
    (value) => {
      const [even, { name, bm, bn }] = [value === "even", kernelOf(model)];
      const same = kernels.find((one) => one.even === even && one.bm === bm && one.bn === bn);
      model.set("kernel", same?.name ?? name);
      put(model, "even", even);
    },
  );
  const tiles = kernels.map(({ name, bm, bn }): [string, string] => [
    name,
    `${bm} × ${bn}: ${name}`,
  ]);
  const tile = chooser("Tile", tiles, (kernel) => {
    model.set("even", kernels.find(({ name }) => name === kernel)?.even ?? false);
    put(model, "kernel", kernel);
  });
  const gpu = gpuChooser(model);
  const [dataParallel, streamK] = [html("span"), html("span")];
  return {
    size,
    shares,
    key: html("div", { class: "lab-key" }, dataParallel, streamK),
    bar: html("div", { class: "lab-bar" }, tile.field, gpu.field),
    show(plan: Plan) {
      const { product, measured } = plan;
      size.show(product.m, SIZES, comma(product.m));
      shares.show(plan.even ? "even" : "whole");
      tile.show(plan.tile.name);
      gpu.show();
      dataParallel.replaceChildren(swatch("lab-k-whole"), `whole tiles${namesOf(measured, false)}`);
      streamK.replaceChildren(swatch("lab-k-even"), `even shares${namesOf(measured, true)}`);
    },
  };
}

const swatch = (look: string) => html("span", { class: `lab-swatch-box ${look}` });

/** The kernels whose measurements are drawn with a curve. */
function namesOf(measured: Kernel[], even: boolean) {
  const names = measured.filter((one) => one.even === even).map(({ name }) => name);
  return names.length ? `; ${even ? "diamonds" : "squares"}: ${names.join(", ")}, measured` : "";
}

function kernelOf(model: Model<State>) {
  const kernels = model.get("kernels");
  return kernels.find(({ name }) => name === model.get("kernel")) ?? kernels[0];
}

function planOf(model: Model<State>): Plan {
  const [kernels, size] = [model.get("kernels"), model.get("size")];
  const [even, { id, sms }] = [model.get("even"), chosenGpu(model)];
  const tile = kernelOf(model);
  const product = productOf(tile, size);
  const measured = kernels.filter(
    (one) =>
      one.gpu === id &&
      one.speeds.length > 0 &&
      one.bm === tile.bm &&
      one.bn === tile.bn &&
      one.bk === tile.bk,
  );
  const points: [product: Product, even: boolean, gflops: number][] = measured.flatMap((one) =>
    one.speeds.map(
      ([at, gflops]) => [productOf(one, at), one.even, gflops] as [Product, boolean, number],
    ),
  );
  return {
    ...{ sms, even, tile, product, measured },
    found: tileDistribution(product, sms, even),
    most: tileDistribution(product, sms).time,
    full: fullSpeed(points, sms),
  };
}

function productOf({ bm, bn, bk }: Tile, size: number): Product {
  return { m: size, n: size, k: size, bm, bn, bk };
}

function factsOf({ product, sms, found, even }: Plan): [string, string][] {
  const { rows, columns, tiles } = tilesOf(product);
  return [
    ["Tiles", `${rows} × ${columns} = ${comma(tiles)}`],
    ["Tiles per SM", number(tiles / sms)],
    ["Busiest SM", even ? number(found.time) : comma(maxTilesPerSm(tiles, sms))],
    ["SM time used", percent(found.used)],
  ];
}

/** Which SMs are drawn: of even shares, which are all alike, a few. */
function rowsOf({ even, sms }: Plan) {
  return even ? Math.min(FEW, sms) : sms;
}

function rowWords(plan: Plan) {
  const rows = rowsOf(plan);
  return rows < plan.sms ? `The first ${rows} of ${plan.sms} SMs` : `All ${plan.sms} SMs`;
}

function measuredWords({ measured }: Plan) {
  if (!measured.length) return "";
  const marks = measured.map(({ even }) => (even ? "Diamonds" : "Squares"));
  return `${[...new Set(marks)].join(" and ")}: measured, as a share of the speed with all SMs busy${measured[0].note ? ` (${measured[0].note})` : ""}.`;
}

function curveWords({ product, sms }: Plan) {
  const shares = [false, true].map((even) => percent(usefulShare(product, sms, even)));
  return (
    `Share of the SMs' time that is used for elements of C, by size. At ${comma(product.m)} whole tiles ` +
    `reach ${shares[0]}, even shares ${shares[1]}.`
  );
}

/** SMs as rows, and time to the right. */
class Field {
  top = 6;
  rows = rowsOf(this.plan);
  row = Math.max(2, Math.min(30, Math.round(FIELD / this.rows))); // px of an SM
  height = this.row * this.rows;
  /** @param time in times of one tile */
  x = (time: number) => GUTTER + ((this.width - GUTTER - MARGIN) * time) / this.plan.most;

  constructor(
    public scene: Scene,
    public plan: Plan,
    public width: number,
  ) {}

  draw(picture: SVGSVGElement) {
    const { plan, scene, top, height, width } = this;
    if (plan.even) this.drawShares();
    else this.drawWaves();
    this.drawRows();
    this.drawAxis(top + height);
    if (plan.even) this.nameRows();
    else {
      this.scene.text("sms", "lab-tick", GUTTER - 8, top + 10, "SM 0", "end");
      this.scene.text("last", "lab-tick", GUTTER - 8, top + height, `${plan.sms - 1}`, "end");
    }
    fit(picture, width, top + height + 24);
    scene.finish();
  }

  nameRows() {
    for (const sm of range(0, this.rows - 1)) {
      const y = this.top + (sm + 0.5) * this.row + 4;
      this.scene.text(`sm${sm}`, "lab-tick", GUTTER - 8, y, `SM ${sm}`, "end");
    }
  }

  /** Whole tiles, wave after wave, and which SMs are idle at the end. */
  drawWaves() {
    const { plan, x, top, height, row } = this;
    const { found, most, sms } = plan;
    const looks = ["lab-wave", "lab-wave lab-next"];
    const busy = found.idle ? most - 1 : most; // until then every SM works
    looks.forEach((look, parity) => {
      let d = "";
      for (let wave = parity; wave < most; wave += 2) {
        const tall = wave < busy ? height : (sms - found.idle) * row;
        d += box(x(wave), x(wave + 1), top, tall);
      }
      this.scene.draw(look, "path", { class: look, d: d || "M0 0" });
    });
    if (found.idle) {
      const y = top + (sms - found.idle) * row;
      const d = slanted(x(busy), x(most), y, found.idle * row);
      this.scene.draw("idle", "path", { class: "lab-idle", d });
      if (found.idle * row > 20 && x(1) - x(0) > 64) {
        const [across, down] = [(x(busy) + x(most)) / 2, y + (found.idle * row) / 2 + 4];
        this.scene.text("idle-words", "lab-idle-words", across, down, `${found.idle} idle`);
      }
    }
    if (x(1) - x(0) > APART)
      this.lines(range(1, most - 1).map((time) => box(x(time), x(time), top, height)));
  }

  /** An even share for every SM; parts of cut tiles stand out. */
  drawShares() {
    const { plan, x, top, row, height } = this;
    const { tiles, kTiles } = tilesOf(plan.product);
    const total = tiles * kTiles;
    let [whole, parts] = ["", ""];
    const ends = [];
    const names: { id: string; x: number; y: number; name: string }[] = [];
    for (let sm = 0; sm < this.rows; sm++) {
      const me = plan.sms - 1 - sm; // the first blocks take the last tiles, as in stream_k
      const [begin, end] = [me, me + 1].map((one) => Math.floor((total * one) / plan.sms));
      const y = top + sm * row;
      const at = (kTile: number) => x((kTile - begin) / kTiles);
      const first = Math.min(end, Math.ceil(begin / kTiles) * kTiles);
      const last = Math.max(first, Math.floor(end / kTiles) * kTiles);
      if (first > begin) parts += box(at(begin), at(first), y, row);
      if (last > first) whole += box(at(first), at(last), y, row);
      if (end > last) parts += box(at(last), at(end), y, row);
      for (let edge = first; edge < end; edge += kTiles) ends.push(box(at(edge), at(edge), y, row));
      for (let from = begin; from < end; ) {
        const tile = Math.floor(from / kTiles);
        const to = Math.min(end, (tile + 1) * kTiles);
        const wide = at(to) - at(from);
        if (wide > NAMED) {
          const name = wide > 2 * NAMED ? `tile ${tile}` : `${tile}`;
          names.push({ id: `of${sm}-${tile}`, x: at(from) + wide / 2, y: y + row / 2 + 4, name });
        }
        from = to;
      }
    }
    this.scene.draw("whole", "path", { class: "lab-wave", d: whole || "M0 0" });
    this.scene.draw("parts", "path", { class: "lab-cut", d: parts || "M0 0" });
    if (x(1) - x(0) > 2 * APART) this.lines(ends);
    for (const { id, x, y, name } of names) this.scene.text(id, "lab-of-tile", x, y, name);
    const saved = plan.most - plan.found.time;
    if (saved > 0) {
      const d = `M${x(plan.most)} ${top}V${top + height}`;
      this.scene.draw("before", "path", { class: "lab-before", d });
    }
  }

  lines(paths: string[]) {
    this.scene.draw("edges", "path", { class: "lab-edges", d: paths.join("") || "M0 0" });
  }

  /** A line between any two SMs, where there is room for it. */
  drawRows() {
    const { plan, row, top, x } = this;
    if (row < 2) return;
    const rows = range(1, this.rows - 1).map(
      (sm) => `M${GUTTER} ${top + sm * row}H${x(plan.most)}`,
    );
    this.scene.draw("rows", "path", { class: "lab-rows", d: rows.join("") || "M0 0" });
  }

  drawAxis(axis: number) {
    const { scene, x, width, plan } = this;
    scene.draw("axis", "path", { class: "lab-axis", d: `M${GUTTER} ${axis}H${width - MARGIN}` });
    for (const time of wholeTicks(plan.most, Math.max(2, Math.floor(width / 150)))) {
      scene.draw(`tick${time}`, "path", { class: "lab-axis", d: `M${x(time)} ${axis}v5` });
      const words = `${comma(time)}${time ? (time === 1 ? " tile" : " tiles") : ""}`;
      const [at, anchor] = x(time) > width - 34 ? [width, "end" as const] : [x(time)];
      scene.text(`at${time}`, "lab-tick", at, axis + 18, words, anchor);
    }
  }
}

/** The share used, over all sizes, for whole tiles and for even shares. */
class Curve {
  x = (size: number) => GUTTER + ((this.width - GUTTER - MARGIN) * size) / LARGEST;
  y = (share: number) => CURVE_TOP + (CURVE_HEIGHT - CURVE_TOP) * (1 - share);

  constructor(
    public scene: Scene,
    public plan: Plan,
    public width: number,
  ) {}

  draw(picture: SVGSVGElement) {
    const { scene, plan, width, x, y } = this;
    this.drawAxes();
    for (const even of [!plan.even, plan.even]) {
      const look = `lab-share lab-${even ? "even" : "whole"}${even === plan.even ? " lab-chosen" : ""}`;
      const d = CURVE.map(
        (size, i) =>
          `${i ? "L" : "M"}${x(size).toFixed(1)} ${y(this.share(size, even)).toFixed(1)}`,
      );
      scene.draw(`curve${even}`, "path", { class: look, d: d.join("") });
    }
    for (const one of plan.measured) {
      for (const [size, gflops] of one.speeds) this.drawSpeed(one, size, gflops);
    }
    const [size, share] = [plan.product.m, plan.found.useful];
    scene.draw("now", "path", { class: "lab-now", d: `M${x(size)} ${y(0)}V${y(share) + 6}` });
    scene.draw("here", "circle", { class: "lab-here", cx: x(size), cy: y(share), r: 5.5 });
    fit(picture, width, CURVE_HEIGHT + 24);
    scene.finish();
  }

  share(size: number, even: boolean) {
    return usefulShare(productOf(this.plan.tile, size), this.plan.sms, even);
  }

  /** A measured speed, as a share of what SMs that never idle would make. */
  drawSpeed({ name, even }: Kernel, size: number, gflops: number) {
    const [x, y] = [this.x(size), this.y(gflops / this.plan.full)];
    const d = even ? `M${x} ${y - 6}l6 6l-6 6l-6 -6z` : `M${x - 4} ${y - 4}h8v8h-8z`;
    this.scene.draw(`${name} ${size}`, "path", { class: "lab-speed", d });
  }

  drawAxes() {
    const { scene, width, x, y } = this;
    for (const share of [0, 0.5, 1]) {
      const d = `M${GUTTER} ${y(share)}H${width - MARGIN}`;
      scene.draw(`grid${share}`, "path", { class: share ? "lab-grid" : "lab-axis", d });
      scene.text(`share${share}`, "lab-tick", GUTTER - 8, y(share) + 4, `${100 * share} %`, "end");
    }
    for (const size of range(2048, LARGEST, 2048)) {
      scene.draw(`tick${size}`, "path", { class: "lab-axis", d: `M${x(size)} ${y(0)}v5` });
      const at = Math.min(x(size), width - 18);
      scene.text(`size${size}`, "lab-tick", at, y(0) + 18, comma(size));
    }
  }
}

/** A rectangle as a path; a line where it has no width. */
function box(from: number, to: number, y: number, height: number) {
  const [left, wide] = [from.toFixed(1), (to - from).toFixed(1)];
  return to > from ? `M${left} ${y}h${wide}v${height}h-${wide}z` : `M${left} ${y}v${height}`;
}

/** About `count` whole numbers from 0 to `end`. */
function wholeTicks(end: number, count: number) {
  return [...new Set(ticks(end, count).map(Math.round))];
}
