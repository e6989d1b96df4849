// Axes that begin at 0 and have ticks at round numbers of their unit: powers of two for bytes.

/** Ticks from 0 up to at least `most`, about `count` of them. `base` is 1024 for bytes, and 10 for all else. */
export function ticks(most: number, count: number, base: 10 | 1024): number[] {
  if (!(most > 0) || count < 1) return [0, 1];
  const step = base === 10 ? decimalStep(most / count) : binaryStep(most / count);
  const last = Math.ceil(most / step - 1e-9);
  return Array.from({ length: last + 1 }, (_, index) => index * step);
}

function decimalStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= atLeast * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function binaryStep(atLeast: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(atLeast) - 1e-9));
}

/** Summary of a line over the range of a chart; gaps do not count. */
export interface Summary {
  latest: number | undefined;
  max: number | undefined;
  min: number | undefined;
  average: number | undefined;
}

/** Latest, largest, smallest and mean value. */
export function summary(values: (number | null | undefined)[]): Summary {
  const known = values.filter((value): value is number => typeof value === "number");
  if (known.length === 0) return { latest: undefined, max: undefined, min: undefined, average: undefined };
  return {
    latest: values.at(-1) ?? undefined,
    max: Math.max(...known),
    min: Math.min(...known),
    average: known.reduce((sum, value) => sum + value, 0) / known.length,
  };
}
