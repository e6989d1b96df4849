// Ranges of time that charts show; the address of the page has the choice.

/** Range of a chart. */
export interface Range {
  /** Word in the address. */
  key: string;
  seconds: number;
  /** Time between two readings of the history, in seconds; 0: samples come each second. */
  every: number;
}

/** The last ten minutes, live. */
export const LIVE: Range = { key: "10m", seconds: 600, every: 0 };

export const RANGES: Range[] = [
  LIVE,
  { key: "1h", seconds: 3600, every: 20 },
  { key: "24h", seconds: 86_400, every: 60 },
  { key: "7d", seconds: 7 * 86_400, every: 300 },
  { key: "30d", seconds: 30 * 86_400, every: 300 },
];

/** Range of an address: without a word or with an unknown one, live. */
export const rangeOf = (word: string | string[] | undefined): Range => RANGES.find(({ key }) => key === word) ?? LIVE;

/** First and last time of a range in seconds since 1970; the same until the history is read again. */
export function spanOf(range: Range, milliseconds: number): [number, number] {
  const every = Math.max(1, range.every);
  const end = Math.floor(milliseconds / 1000 / every) * every;
  return [end - range.seconds, end];
}
