// Builds the engine with the clang that the pages ship: node engine/build.mjs OUT.wasm
// The same sources and the same package give the same bytes, on any machine; the hash is printed.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { runClang } from "@yowasp/clang";

const HOME = fileURLToPath(new URL(".", import.meta.url));
const FLAGS = [
  "-std=c++20",
  "-msimd128",
  "-fno-exceptions",
  "-fno-rtti",
  "-fno-strict-aliasing", // registers are bytes that each instruction reads as its own type
  "-ffp-contract=off", // a product and a sum are rounded twice where PTX says so
  "-Wall",
  "-Wextra",
  "-Werror",
  "-Wno-missing-field-initializers",
];
/** Where launches spend their time; all else is built to be small. */
const HOT = new Set(["arithmetic.cpp", "memory.cpp", "shared_races.cpp"]);

const texts = Object.fromEntries(
  readdirSync(HOME)
    .filter((name) => /\.[ch]pp$/.test(name))
    .sort()
    .map((name) => [name, readFileSync(HOME + name, "utf-8")]),
);
const quiet = { fetchProgress: () => {} };
const objects = {};
for (const name of Object.keys(texts).filter((one) => one.endsWith(".cpp"))) {
  const level = HOT.has(name) ? "-O2" : "-Os";
  const made = await runClang(["clang++", level, ...FLAGS, "-c", name, "-o", "x.o"], texts, quiet);
  objects[name.replace(/cpp$/, "o")] = made["x.o"];
}
const link = ["-mexec-model=reactor", "-Wl,--strip-all", "-Wl,-z,stack-size=1048576"];
const files = Object.keys(objects);
const made = await runClang(["clang++", ...link, ...files, "-o", "x.wasm"], objects, quiet);
writeFileSync(argv[2], made["x.wasm"]);
console.log(createHash("sha256").update(made["x.wasm"]).digest("hex"), made["x.wasm"].length);
