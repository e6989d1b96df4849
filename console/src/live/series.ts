// Values of series over a range: live from samples, or from the stored history of the array.

import { useSearchParams } from "@solidjs/router";
import { type Accessor, createMemo } from "solid-js";
import { withQuery } from "../api/paths";
import { useQuery } from "../api/query";
import type { History } from "../api/schema";
import { now } from "../parts/now";
import { type Subject, useActivity } from "./activity";
import { columnsOf, historyColumns, type Point, WINDOW_SECONDS } from "./points";
import { type Range, rangeOf, spanOf } from "./ranges";

/** Length of the axis before there are more samples. */
const SHORTEST_SECONDS = 60;
/** Points of a chart of the stored history. */
const POINTS = 300;

/** What a chart shows. */
export interface Shown {
  times: number[];
  columns: (number | null)[][];
  /** First and last time of the axis. */
  range: [number, number];
  live: boolean;
  /** The range was chosen, and does not end now. */
  chosen?: boolean;
  /** Reason why nothing is known. */
  failure?: string | undefined;
}

/** Range that the address of the page names, and how to name another. */
export function useRange(): [Accessor<Range>, (range: Range) => void] {
  const [search, setSearch] = useSearchParams<{ range?: string }>();
  const range = createMemo(() => rangeOf(search.range));
  return [range, ({ key, every }) => setSearch({ range: every === 0 ? undefined : key })];
}

/** Times and values of series of a subject, by name, over the range of the page. */
export function useSeries(of: Accessor<Subject | undefined>, series: [name: string, at: number][]): Accessor<Shown> {
  const [range] = useRange();
  const points = useActivity(of);
  const stored = useStored(range, () => {
    const subject = of();
    const prefix = subject === undefined ? "array" : `${subject.kind}.${subject.id}`;
    return series.map(([name]) => `${prefix}.${name}`);
  });
  const columns = series.map(([, at]) => at);
  const live = createMemo(() => ({ ...columnsOf(points(), columns), range: liveRange(points()), live: true }));
  return () => (range().every === 0 ? live() : stored());
}

/** Values of named series of the stored history. */
export function useStored(range: Accessor<Range>, names: Accessor<string[]>): Accessor<Shown> {
  const span = createMemo(() => spanOf(range(), now()), undefined, {
    equals: ([from, to], [other, last]) => from === other && (to === last || range().span === undefined),
  });
  const history = useQuery<History>(
    () => {
      if (range().every === 0) return undefined;
      const [from, end] = span().map((seconds) => new Date(seconds * 1000).toISOString());
      const to = range().span === undefined ? undefined : end;
      return withQuery("/api/v1/history", { series: names().join(","), from, to, points: POINTS });
    },
    600_000,
    true,
  );
  return createMemo(() => ({
    ...historyColumns(history.data()),
    range: span(),
    live: false,
    chosen: range().span !== undefined,
    failure: history.failure()?.message,
  }));
}

function liveRange(points: Point[]): [number, number] {
  const end = points.at(-1)?.at ?? Math.floor(Date.now() / 1000);
  const age = Math.ceil((end - (points[0]?.at ?? end)) / 60) * 60;
  return [end - Math.min(WINDOW_SECONDS, Math.max(SHORTEST_SECONDS, age)), end];
}
