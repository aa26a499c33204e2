// What of a pasted file is compiled for one kernel.

import { LabError } from "../../errors.ts";
import { devicePart } from "../../external_cuda/device_part.ts";
import { kernelDeclarations, lastName } from "../../external_cuda/kernels.ts";
import type { Opened } from "../../external_cuda/open_kernel.ts";

/**
 * The text to compile. Functions without a mark are device code too, as NVRTC takes them; a template is
 * instantiated by a host function that names it.
 */
export function deviceText({ file, kernel, name }: Opened) {
  const [own] = kernel.declaration.names;
  const roots = kernelDeclarations(file).filter(({ names }) => names[0] === own);
  const [part] = devicePart(file, roots, () => true).files;
  const text = part.text.replace(/^[ \t]*#[ \t]*error\b.*/gm, ""); // its macros may be missing
  const instance = `inline void lab_instances() { auto kernel = &${name}; (void)kernel; }`;
  const marked = "#pragma clang force_cuda_host_device";
  const whole = `${marked} begin\n#line 1\n${text}\n${marked} end\n`;
  return kernel.template.length ? `${whole}${instance}\n` : whole;
}

/** The name that a kernel has in PTX: as it is for extern "C", else mangled. */
export function entryOf(ptx: string, name: string) {
  const own = lastName(name);
  const entries = [...ptx.matchAll(/\.entry\s+([\w$]+)/g)].map(([, entry]) => entry);
  const found = entries.find((entry) => entry === own || entry.includes(`${own.length}${own}`));
  if (!found) throw new LabError(`The compiler made no kernel “${name}” of this file.`);
  return found;
}
