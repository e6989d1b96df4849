// Numbers as text: at most four digits and a unit.

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
/** Shown for what is unknown or does not apply. */
export const NONE = "–";
/** Shown for what the array is still counting. */
export const COUNTING = "…";

/** No fraction from 100 on, one digit of it from 1 on, two below. */
function digits(value: number): string {
  if (value >= 99.95 || Number.isInteger(value)) return String(Math.round(value));
  return value.toFixed(value < 0.995 ? 2 : 1);
}

/** `3.1 GiB`. */
export function bytes(value: number): string {
  let [scaled, unit] = [value, 0];
  while (scaled >= 1023.5 && unit < SIZES.length - 1) [scaled, unit] = [scaled / 1024, unit + 1];
  return `${digits(scaled)} ${SIZES[unit]}`;
}

/** `66 215 936 bytes`. */
export const exactBytes = (value: number): string => `${grouped(value)} bytes`;

/** `18 207`, with thin spaces that do not break. */
export const grouped = (value: number): string =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** `0.21 ms`, from microseconds. */
export function latency(microseconds: number): string {
  if (microseconds < 1000) return `${digits(microseconds)} µs`;
  const milliseconds = microseconds / 1000;
  return milliseconds < 1000 ? `${digits(milliseconds)} ms` : `${digits(milliseconds / 1000)} s`;
}

/** `812`, `1.2 k`, `3.4 M`: counts a second. */
export function rate(value: number): string {
  if (value < 999.5) return digits(value);
  return value < 999_500 ? `${digits(value / 1000)} k` : `${digits(value / 1e6)} M`;
}

/** `62 %`, exact to a tenth below 10. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return NONE;
  const value = (part / whole) * 100;
  return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} %`;
}

/** `1.7` times; from 10 on without a fraction. */
export const times = (value: number): string => `×${value >= 10 ? grouped(value) : value.toFixed(1)}`;

const FACTORS: Record<string, bigint> = { "": 0n, k: 10n, m: 20n, g: 30n, t: 40n, p: 50n };

/**
 * A size as an administrator writes it, in bytes: `100G`, `1.5 TiB`, `4096`. `undefined` if it is none, is not a whole
 * number of bytes, or has a decimal unit, which is ambiguous.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,15})(?:\.(\d{1,15}))?\s*(?:([kmgtp])(?:ib)?|b)?$/i.exec(text.trim());
  if (match === null) return undefined;
  const [, whole = "0", fraction = "", unit = ""] = match;
  const shift = FACTORS[unit.toLowerCase()] ?? 0n;
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) << shift;
  if (scaled % scale !== 0n) return undefined;
  const value = Number(scaled / scale);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** A size as the command line takes it, exactly: `100G`, `1536M`, `513`. */
export function sizeArgument(value: number): string {
  for (const [unit, shift] of [
    ["T", 40],
    ["G", 30],
    ["M", 20],
    ["K", 10],
  ] as const) {
    if (value > 0 && value % 2 ** shift === 0) return `${value / 2 ** shift}${unit}`;
  }
  return String(value);
}

/** `1 share`, `2 shares`. */
export const count = (value: number, noun: string): string => `${grouped(value)} ${noun}${value === 1 ? "" : "s"}`;
