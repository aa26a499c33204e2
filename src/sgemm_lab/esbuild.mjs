// Bundles the package's TypeScript with esbuild. bundles.py runs it; what to build comes as JSON on
// the standard input:
//   package    the package's folder
//   theme      the book's colours as CSS
//   constants  numbers of Python modules, by the path of the module
//   out        where all bundles of the package go; or, for one bundle on the standard output:
//   entry      a module, and `format` and `globalName` as esbuild takes them

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "esbuild";

const asked = JSON.parse(readFileSync(0, "utf-8"));
const HOME = asked.package;
const used = new Set();
const nameOf = (path) => relative(HOME, path).replaceAll("\\", "/");

/** Numbers come from Python: `import { WARP } from "../hardware.py"`. */
const fromPython = {
  name: "constants of Python modules",
  setup({ onLoad }) {
    onLoad({ filter: /\.py$/ }, ({ path }) => {
      const values = Object.entries(asked.constants[nameOf(path)] ?? {});
      const lines = values.map(
        ([name, value]) => `export const ${name} = ${JSON.stringify(value)};`,
      );
      return { contents: lines.join("\n") };
    });
  },
};

/** C++ headers as text, without comments and indents: `import CUDA_HEADER from "./cuda.h"`. */
const fromHeaders = {
  name: "texts of C++ headers",
  setup({ onLoad }) {
    onLoad({ filter: /\.h$/ }, ({ path }) => {
      const text = readFileSync(path, "utf-8");
      return {
        contents: text.replace(/^ *\/\/.*\n|^ +/gm, "").replace(/ +\\$/gm, " \\"),
        loader: "text",
      };
    });
  },
};

/** The book's colours: `import "sgemm-lab:theme.css"`. */
const theme = {
  name: "theme",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^sgemm-lab:theme\.css$/ }, () => ({
      path: "theme.css",
      namespace: "theme",
    }));
    onLoad({ filter: /.*/, namespace: "theme" }, () => ({ contents: asked.theme, loader: "css" }));
  },
};

/** Modules that another script of the page has laid into `labShared`. */
const sharedModules = (shared) => ({
  name: "shared modules",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\..*\.ts$/ }, ({ path, resolveDir }) => {
      const name = nameOf(resolve(resolveDir, path));
      return shared.has(name) ? { path: name, namespace: "shared" } : null;
    });
    onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = labShared[${JSON.stringify(path)}];`,
    }));
  },
});

/** Build one text from a few lines that import the rest; returns its files by their endings. */
async function bundle(contents, options = {}, plugins = []) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: HOME, loader: "ts", sourcefile: "entry.ts" },
    bundle: true,
    write: false,
    metafile: true,
    outfile: join(HOME, "bundle.js"),
    format: "iife",
    target: "es2022",
    charset: "utf8",
    minify: true,
    legalComments: "none",
    logLevel: "error",
    nodePaths: [],
    // Fields of a class may use what its constructor takes.
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
    ...options,
    plugins: [...plugins, fromPython, fromHeaders, theme],
  });
  const text = (ending) => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  for (const path of Object.keys(metafile.inputs)) used.add(nameOf(resolve(path)));
  return { js: text(".js"), css: text(".css"), inputs: Object.keys(metafile.inputs) };
}

const COMMON_SHEET = 'import "./widgets/shared/common.css";\n';
const SHEETS = `import "sgemm-lab:theme.css"; ${COMMON_SHEET}`;

/** Scripts of pages: what each runs, or under which name it exports what Python calls. */
const SCRIPTS = {
  book: ["book", "glossary", "card_choice", "sharing"]
    .map((one) => `import "./book/page_scripts/${one}.ts";`)
    .join("\n"),
  exercises: 'import "./book/page_scripts/exercises.ts";',
  panel: 'import { setUpAll } from "./book/panel/panel.ts"; setUpAll();',
  "panel-code": 'import "./book/panel/codemirror.ts";',
  "panel-compiler": 'import { serve } from "./book/panel/compiling.ts"; serve(self);',
  "panel-checker": 'import { serve } from "./book/workbench/checker.ts"; serve(self);',
  "panel-engine": 'import { serve } from "./book/panel/engine.ts"; serve(self);',
  "panel-lines": 'import { offer } from "./book/panel/lines.ts"; offer();',
  workbench: 'import { setUpAll } from "./book/workbench/workbench.ts"; setUpAll();',
  "reader-card": 'export { setUp } from "./book/reader_card/reader_card.ts";',
};

/** The licences of the packages that a bundle is made of. */
function licencesOf(inputs) {
  const packages = inputs.map((path) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path));
  const folders = new Map(packages.filter(Boolean).map(([folder, name]) => [name, folder]));
  const line = "=".repeat(78);
  return [...folders]
    .sort()
    .map(([name, folder]) => {
      const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
      const licence = readFileSync(join(folder, "LICENSE"), "utf-8").trim();
      return `${line}\n${name} ${version}\n${line}\n\n${licence}\n`;
    })
    .join("\n");
}

/** Bundle all: `widgets/` for notebooks, `pages/` for the book, `node/` for Python. */
async function buildAll(out) {
  const files = {};
  let licences = "";
  const there = readdirSync(join(HOME, "widgets"));
  const widgets = there.filter(
    (one) => one.endsWith(".ts") && there.includes(one.replace(/ts$/, "py")),
  );
  const users = new Map();
  await Promise.all(
    widgets.map(async (file) => {
      const name = file.replace(/\.ts$/, "");
      const entry = `${SHEETS}import * as widget from "./widgets/${file}"; export default widget;`;
      const { js, css, inputs } = await bundle(entry, { format: "esm" });
      files[`widgets/${name}.js`] = js;
      files[`widgets/${name}.css`] = css;
      for (const one of inputs) {
        const path = nameOf(resolve(one));
        if (path.endsWith(".ts")) users.set(path, [...(users.get(path) ?? []), name]);
      }
    }),
  );
  const shared = [...users]
    .filter(([path, of]) => of.length > 1 && path !== "entry.ts")
    .map(([path]) => path)
    .sort();
  const laid = shared.map((path, i) => `import * as m${i} from "./${path}";`).join("\n");
  const names = shared.map((path, i) => `${JSON.stringify(path)}: m${i}`).join(", ");
  const common = `${laid}\nimport { drawWhenNear } from "./widgets/page/draw.ts";
    globalThis.labShared = { ${names} }; drawWhenNear();`;
  files["pages/widgets.js"] = (await bundle(common)).js;
  // One sheet for all pages: stills need it before any script runs. Pages have the theme's colours.
  const styled = widgets.map((file) => `import "./widgets/${file}";`).join("\n");
  files["pages/widgets.css"] = (await bundle(`${COMMON_SHEET}${styled}`)).css;
  const apart = [sharedModules(new Set(shared))];
  await Promise.all([
    ...widgets.map(async (file) => {
      const name = file.replace(/\.ts$/, "");
      const entry = `import * as widget from "./widgets/${file}"; (globalThis.labWidgets ??= {}).${name} = widget;`;
      files[`pages/widgets-${name}.js`] = (await bundle(entry, {}, apart)).js;
    }),
    ...Object.entries(SCRIPTS).map(async ([name, entry]) => {
      const globalName = entry.startsWith("export") ? "labCard" : undefined;
      const { js, css, inputs } = await bundle(entry, { globalName });
      licences += licencesOf(inputs);
      files[`pages/${name}.js`] = js;
      if (css) files[`pages/${name}.css`] = css;
    }),
  ]);
  const inNode = { platform: "node", format: "cjs" };
  files["node/worker.cjs"] = (await bundle(`import "./lab/worker.ts";`, inNode)).js;
  files["pages/panel-code-LICENSES.txt"] = licences;
  files["inputs.json"] = JSON.stringify([...used].sort());
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(out, name)), { recursive: true });
    writeFileSync(join(out, name), text);
  }
}

try {
  if (asked.out) await buildAll(asked.out);
  else {
    const entry = JSON.stringify(asked.entry);
    const exported = `export * from ${entry}; import * as all from ${entry}; export default all;`;
    const options = { format: asked.format, globalName: asked.globalName, minify: false };
    process.stdout.write((await bundle(exported, options)).js);
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
