// Compiles what it is asked for: a line of JSON in, a line of JSON out.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [compilerFile, packageFile] = process.argv.slice(2);
const { loadCompiler } = await import(pathToFileURL(compilerFile).href);
const clang = await import(pathToFileURL(packageFile).href);
const compile = await loadCompiler(clang);

for await (const line of createInterface({ input: process.stdin })) {
  const { source, options } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(compile(source, options))}\n`);
}
