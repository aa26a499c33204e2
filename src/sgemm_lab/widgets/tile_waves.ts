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
import { comma, percent, plural } from "../text.ts";
import {
  choiceSlider,
  chooser,
  chosenGpu,
  controls,
  gpuChooser,
  key,
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
}

/** The present settings and what follows from them. */
interface Plan {
  sms: number;
  tile: Kernel;
  /** the kernel with this tile that shares evenly; without one the tile itself */
  shared: Kernel;
  product: Product;
  found: TileDistribution;
  /** kernels with this tile and speeds on this GPU */
  measured: Kernel[];
}

const STATE = ["gpus", "kernels", "gpu", "kernel", "size"] as const;
const STEP = 64; // from one size of the slider to the next
const SIZES = range(SMALLEST, LARGEST, STEP);
const CURVE = range(SMALLEST, LARGEST, STEP / 2);
const WAVE_KEY: [string, string][] = [
  ["lab-k-wave", "tiles of a wave"],
  ["lab-k-next", "of the next wave"],
  ["lab-k-idle", "idle"],
];
const [GUTTER, MARGIN] = [44, 12]; // px beside the pictures
const FIELD = 270; // px, about, for the rows of all SMs
const [CURVE_TOP, CURVE_HEIGHT] = [10, 150];
const APART = 4; // px from one line to the next, or they are left out

export function render({ model, el }: View<State>) {
  const chosen = settings(model);
  const facts = html("dl", { class: "lab-facts" });
  const field = svg("svg", { class: "lab-chart", role: "img" });
  const curve = svg("svg", { class: "lab-chart lab-curve-chart", role: "img" });
  const [readout, measured] = [html("p"), html("p", { class: "lab-marks" })];
  const rows = html("p", { class: "lab-heading" });
  const heading = html(
    "p",
    { class: "lab-heading" },
    "Share of the SMs' time that makes elements of C, by size",
  );
  const root = tool(
    el,
    "lab-waves",
    chosen.bar,
    controls([chosen.size]),
    [facts, rows, field, key(WAVE_KEY)],
    html("div", { class: "lab-verdict", role: "status" }, readout),
    [heading, curve, chosen.key, measured],
  );
  const [fieldScene, curveScene] = [new Scene(field), new Scene(curve)];

  function update() {
    const width = availableWidth(root);
    const plan = planOf(model);
    chosen.show(plan);
    showFacts(facts, factsOf(plan), plan.found.used);
    new Field(fieldScene, plan, width).draw(field);
    new Curve(curveScene, plan, width).draw(curve);
    const words = distributionWords(plan.product, plan.sms);
    say([rows, readout, measured], [`All ${plan.sms} SMs`, words, measuredWords(plan)]);
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
  const tiles = kernels
    .filter((one, i) => kernels.findIndex((other) => sameTile(one, other)) === i)
    .map(({ name, bm, bn }): [string, string] => [name, `${bm} × ${bn}`]);
  const tile = chooser("Tile", tiles, (kernel) => put(model, "kernel", kernel));
  const gpu = gpuChooser(model);
  const [dataParallel, streamK] = [html("span"), html("span")];
  return {
    size,
    key: html("div", { class: "lab-key" }, dataParallel, streamK),
    bar: html("div", { class: "lab-bar" }, tile.field, gpu.field),
    show(plan: Plan) {
      const { product, measured } = plan;
      size.show(product.m, SIZES, comma(product.m));
      tile.show(plan.tile.name);
      gpu.show();
      dataParallel.replaceChildren(swatch("lab-k-whole"), `whole tiles${namesOf(measured, false)}`);
      streamK.replaceChildren(
        swatch("lab-k-even"),
        `even split of K (Stream-K)${namesOf(measured, true)}`,
      );
    },
  };
}

const swatch = (look: string) => html("span", { class: `lab-swatch-box ${look}` });

/** The kernels whose measurements are drawn with a curve. */
function namesOf(measured: Kernel[], even: boolean) {
  const names = measured.filter((one) => one.even === even).map(({ name }) => name);
  return names.length ? `; ${even ? "diamonds" : "squares"}: ${names.join(", ")}, measured` : "";
}

const sameTile = (a: Tile, b: Tile) => a.bm === b.bm && a.bn === b.bn;

function planOf(model: Model<State>): Plan {
  const [kernels, { id, sms }] = [model.get("kernels"), chosenGpu(model)];
  const named = kernels.find(({ name }) => name === model.get("kernel")) ?? kernels[0];
  const alike = kernels.filter((one) => sameTile(one, named));
  const [tile, product] = [alike[0], productOf(alike[0], model.get("size"))];
  return {
    ...{ sms, tile, product },
    shared: alike.find(({ even }) => even) ?? tile,
    found: tileDistribution(product, sms),
    measured: alike.filter((one) => one.gpu === id && one.speeds.length > 0),
  };
}

function productOf({ bm, bn, bk }: Tile, size: number): Product {
  return { m: size, n: size, k: size, bm, bn, bk };
}

function factsOf({ product, sms, found }: Plan): [string, string][] {
  const { rows, columns, tiles } = tilesOf(product);
  return [
    ["Tiles", `${rows} × ${columns} = ${comma(tiles)}`],
    ["Busiest SM", plural(maxTilesPerSm(tiles, sms), "tile")],
    ["SM time used", percent(found.used)],
  ];
}

function measuredWords({ measured }: Plan) {
  if (!measured.length) return "";
  const marks = new Set(measured.map(({ even }) => (even ? "diamonds" : "squares")));
  const where = measured[0].note ? ` (${measured[0].note})` : "";
  return `Measured: ${[...marks].join(" and ")}, as a share of the speed with all SMs busy${where}.`;
}

function curveWords(plan: Plan) {
  const { m } = plan.product;
  const shares = [false, true].map((even) => percent(shareAt(plan, m, even)));
  return (
    `Share of the SMs' time that is used for elements of C, by size. At ${comma(m)} whole tiles ` +
    `reach ${shares[0]}, an even split of K ${shares[1]}.`
  );
}

/** Share of the SMs' time that is useful at a size, with whole tiles or even shares. */
function shareAt({ tile, shared, sms }: Plan, size: number, even: boolean) {
  return usefulShare(productOf(even ? shared : tile, size), sms, even);
}

/** SMs as rows, and time to the right. */
class Field {
  top = 6;
  row = Math.max(2, Math.min(30, Math.round(FIELD / this.plan.sms))); // px of an SM
  height = this.row * this.plan.sms;
  /** @param time in times of one tile */
  x = (time: number) => GUTTER + ((this.width - GUTTER - MARGIN) * time) / this.plan.found.time;

  constructor(
    public scene: Scene,
    public plan: Plan,
    public width: number,
  ) {}

  draw(picture: SVGSVGElement) {
    const { plan, scene, top, height, width } = this;
    this.drawWaves();
    this.drawRows();
    this.drawAxis(top + height);
    scene.text("sms", "lab-tick", GUTTER - 8, top + 10, "SM 0", "end");
    scene.text("last", "lab-tick", GUTTER - 8, top + height, `${plan.sms - 1}`, "end");
    fit(picture, width, top + height + 24);
    scene.finish();
  }

  /** Whole tiles, wave after wave, and which SMs are idle at the end. */
  drawWaves() {
    const { plan, x, top, height, row } = this;
    const { found, sms } = plan;
    const most = found.time;
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
    if (x(1) - x(0) > APART) {
      const d = range(1, most - 1).map((time) => `M${x(time).toFixed(1)} ${top}v${height}`);
      this.scene.draw("edges", "path", { class: "lab-edges", d: d.join("") || "M0 0" });
    }
  }

  /** A line between any two SMs, where there is room for it. */
  drawRows() {
    const { plan, row, top, x } = this;
    if (row < 2) return;
    const rows = range(1, plan.sms - 1).map(
      (sm) => `M${GUTTER} ${top + sm * row}H${x(plan.found.time)}`,
    );
    this.scene.draw("rows", "path", { class: "lab-rows", d: rows.join("") || "M0 0" });
  }

  drawAxis(axis: number) {
    const { scene, x, width, plan } = this;
    scene.draw("axis", "path", { class: "lab-axis", d: `M${GUTTER} ${axis}H${width - MARGIN}` });
    for (const time of wholeTicks(plan.found.time, Math.max(2, Math.floor(width / 150)))) {
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
    for (const even of [true, false]) {
      const look = `lab-share lab-${even ? "even" : "chosen"}`;
      const d = CURVE.map(
        (size, i) =>
          `${i ? "L" : "M"}${x(size).toFixed(1)} ${y(shareAt(plan, size, even)).toFixed(1)}`,
      );
      scene.draw(`curve${even}`, "path", { class: look, d: d.join("") });
    }
    const marks = [...plan.measured].sort((a, b) => Number(b.even) - Number(a.even));
    for (const one of marks) this.drawSpeeds(one); // squares lie on diamonds
    const [cx, cy] = [x(plan.product.m), y(plan.found.useful)];
    scene.draw("now", "path", { class: "lab-now", d: `M${cx} ${y(0)}V${cy + 6}` });
    scene.draw("here", "circle", { class: "lab-here", cx, cy, r: 5.5 });
    fit(picture, width, CURVE_HEIGHT + 24);
    scene.finish();
  }

  /** Measured speeds, as shares of what SMs that never idle would make. */
  drawSpeeds(kernel: Kernel) {
    const { name, even, speeds } = kernel;
    const products = speeds.map(([size, gflops]) => ({ product: productOf(kernel, size), gflops }));
    const full = fullSpeed(products, this.plan.sms, even);
    for (const [size, gflops] of speeds) {
      const [x, y] = [this.x(size), this.y(gflops / full)];
      const d = even ? `M${x} ${y - 6}l6 6l-6 6l-6 -6z` : `M${x - 4} ${y - 4}h8v8h-8z`;
      const look = `lab-speed${even ? " lab-even" : ""}`;
      this.scene.draw(`${name} ${size}`, "path", { class: look, d });
    }
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

/** A rectangle as a path. */
function box(from: number, to: number, y: number, height: number) {
  const [left, wide] = [from.toFixed(1), (to - from).toFixed(1)];
  return `M${left} ${y}h${wide}v${height}h-${wide}z`;
}

/** About `count` whole numbers from 0 to `end`. */
function wholeTicks(end: number, count: number) {
  return [...new Set(ticks(end, count).map(Math.round))];
}
