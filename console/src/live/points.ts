// Values over the last ten minutes: from the array's history, and from samples as they come.

import type { History } from "../api/schema";

/** Length of the charts. */
export const WINDOW_SECONDS = 600;
/** Points that are further apart have a gap between them: samples come each second, and a little late at times. */
const GAP_SECONDS = 3;

/** Values at a time. */
export interface Point {
  /** Seconds since 1970, by the clock of the array. */
  at: number;
  /** One for each series; null if nothing happened that has the value. */
  values: (number | null)[];
}

/** The points of a history whose steps are seconds. A step without any value had no sample. */
export function pointsOf(history: History): Point[] {
  const start = Date.parse(history.start) / 1000;
  const length = history.series[0]?.average.length ?? 0;
  const points = Array.from({ length }, (_, index) => ({
    at: start + index * history.step_seconds,
    values: history.series.map(({ average }) => average[index] ?? null),
  }));
  return points.filter(({ values }) => values.some((value) => value !== null));
}

/** Times and values of a stored history, whose steps without a value are gaps. */
export function historyColumns(history: History | undefined): { times: number[]; columns: (number | null)[][] } {
  if (history === undefined) return { times: [], columns: [] };
  const start = Date.parse(history.start) / 1000;
  const length = history.series[0]?.average.length ?? 0;
  const times = Array.from({ length }, (_, index) => start + index * history.step_seconds);
  return { times, columns: history.series.map(({ average }) => average.map((value) => value ?? null)) };
}

/** Adds points of a history: those of a time that is known are not taken again. */
export function filled(present: Point[], history: Point[]): Point[] {
  const known = new Set(present.map(({ at }) => at));
  const all = [...present, ...history.filter(({ at }) => !known.has(at))];
  return recent(all.toSorted((one, other) => one.at - other.at));
}

/** Adds the point of a sample, and drops points that are not earlier: the clock was set back. */
export function added(present: Point[], next: Point): Point[] {
  return recent([...present.filter(({ at }) => at < next.at), next]);
}

function recent(points: Point[]): Point[] {
  const end = points.at(-1)?.at ?? 0;
  return points.filter(({ at }) => end - at <= WINDOW_SECONDS);
}

/** Times of points and the values of `series` of them, as a chart takes both; a gap is a point without values. */
export function columnsOf(points: Point[], series: number[]): { times: number[]; columns: (number | null)[][] } {
  const times: number[] = [];
  const columns: (number | null)[][] = series.map(() => []);
  let before: number | undefined;
  for (const { at, values } of points) {
    if (before !== undefined && at - before > GAP_SECONDS) {
      times.push(before + 1);
      for (const column of columns) column.push(null);
    }
    times.push(at);
    for (const [index, of] of series.entries()) columns[index]?.push(values[of] ?? null);
    before = at;
  }
  return { times, columns };
}
