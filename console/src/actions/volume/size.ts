// The size of a volume as a field.

import { parseSize } from "../../parts/units";

/** Error of form of a size. */
export const sizeError = (text: string): string | undefined =>
  text === "" || parseSize(text) !== undefined ? undefined : "write for example 100G, 1.5TiB or 4096";

/** Hint of a field for a size. */
export const SIZE_HINT = "K, M, G and T are powers of 1024; a multiple of 512 bytes, up to 256 TiB";
