// Offset between a copy and its original, as it is entered.

import { parseSize } from "../../parts/units";

/** Bytes of an offset: a size that may be negative; undefined if it is none, or no multiple of 4 KiB. */
export function parseOffset(text: string): number | undefined {
  const entered = text.trim();
  if (entered === "") return 0;
  const size = parseSize(entered.replace(/^-/, ""));
  if (size === undefined || size % 4096 !== 0) return undefined;
  return entered.startsWith("-") ? -size : size;
}
