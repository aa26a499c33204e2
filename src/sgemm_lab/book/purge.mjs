// Prunes and minifies the site's style sheet with PurgeCSS and esbuild; asset_bundle.py runs it.
// JSON on the standard input: the texts `theirs` and `ours`, the files `pages` and `scripts`. The
// sheet on the standard output has all of `ours`, and of `theirs` what pages and scripts may use.

import { readFileSync } from "node:fs";
import { transform } from "esbuild";
import { PurgeCSS } from "purgecss";

const { theirs, ours, pages, scripts } = JSON.parse(readFileSync(0, "utf-8"));
const read = (files) => files.map((file) => readFileSync(file, "utf-8")).join("\n");
const html = read(pages);
const js = read(scripts);
const whole = `/*! purgecss start ignore */\n${ours}\n/*! purgecss end ignore */`;

const [{ css }] = await new PurgeCSS().purge({
  content: [
    { raw: html, extension: "html" },
    { raw: js, extension: "js" },
  ],
  css: [{ raw: `${theirs}\n${whole}` }],
  extractors: [
    {
      extensions: ["html"],
      extractor: (text) => text.match(/<[a-z][^>]*>/gi).flatMap((tag) => tag.split(/[\s"'=<>]+/)),
    },
    { extensions: ["js"], extractor: (text) => text.split(/[^\w-]+/) },
  ],
  safelist: {
    standard: [":focus-visible"],
    variables: `${html}${js}${ours}`.match(/--[\w-]+/g),
  },
  variables: true,
});
const minified = await transform(css, { loader: "css", minify: true, logLevel: "error" });
process.stdout.write(minified.code);
