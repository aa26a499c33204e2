// What `printf` makes of a format.

import type { Value } from "./types.ts";

const PLACE = /%([-+ #0]*)(\d+)?(?:\.(\d+))?(?:hh|h|ll|l|z|t|j|L)?([diuoxXcsfFeEgGp%])/g;

export function formatted(format: string, given: (Value | string)[]) {
  let next = 0;
  return format.replace(PLACE, (_, flags: string, width = "0", digits: string, kind: string) => {
    if (kind === "%") return "%";
    const value = given[next++] ?? 0;
    const text = one(value, kind, digits === undefined ? null : Number(digits));
    const signed = flags.includes("+") && Number(value) >= 0 ? `+${text}` : text;
    return flags.includes("-") ? signed.padEnd(Number(width)) : signed.padStart(Number(width));
  });
}

function one(value: Value | string, kind: string, digits: number | null) {
  if (kind === "s") return String(value);
  if (kind === "c") return String.fromCharCode(Number(value));
  if (/[xX]/.test(kind)) return BigInt(value).toString(16);
  if (kind === "p") return `0x${Number(value).toString(16)}`;
  if (/[diuo]/.test(kind)) return String(value);
  const number = Number(value);
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "nan" : number < 0 ? "-inf" : "inf";
  if (/[eE]/.test(kind)) return number.toExponential(digits ?? 6).replace(/e([-+])(\d)$/, "e$10$2");
  if (/[gG]/.test(kind)) return String(Number(number.toPrecision(Math.max(1, digits ?? 6))));
  return number.toFixed(digits ?? 6);
}
