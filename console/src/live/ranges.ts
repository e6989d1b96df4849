// Ranges of time that charts show; the address of the page has the choice.

/** Range of a chart. */
export interface Range {
  /** Word in the address. */
  key: string;
  seconds: number;
  /** Time between two readings of the history, in seconds; 0: samples come each second. */
  every: number;
  /** First and last time in seconds since 1970, of a range that a person has chosen; other ranges end now. */
  span?: [number, number];
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

/** Shortest range that a person may choose, in seconds. */
const SHORTEST = 60;
/** Time between two readings of a chosen range: its end may be in the future. */
const EVERY = 60;

/** The range between two times in seconds since 1970; absent if they are none, or in the wrong order. */
export function chosenRange(from: number, to: number): Range | undefined {
  if (!(to - from >= SHORTEST)) return undefined;
  const word = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16);
  return { key: `${word(from)}..${word(to)}`, seconds: to - from, every: EVERY, span: [from, to] };
}

/** Time of a word such as `2026-11-23T10:15`, in UTC; NaN if it is none. */
export const timeOf = (word: string): number =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(word) ? Date.parse(`${word}:00Z`) / 1000 : Number.NaN;

/** Range of an address: without a word or with an unknown one, live. */
export function rangeOf(word: string | string[] | undefined): Range {
  const known = RANGES.find(({ key }) => key === word);
  if (known !== undefined || typeof word !== "string") return known ?? LIVE;
  const [from, to, ...rest] = word.split("..").map(timeOf);
  return (rest.length === 0 && chosenRange(from ?? Number.NaN, to ?? Number.NaN)) || LIVE;
}

/** First and last time of a range in seconds since 1970; the same until the history is read again. */
export function spanOf(range: Range, milliseconds: number): [number, number] {
  if (range.span !== undefined) return range.span;
  const every = Math.max(1, range.every);
  const end = Math.floor(milliseconds / 1000 / every) * every;
  return [end - range.seconds, end];
}
