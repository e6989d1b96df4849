// Statistics of an offload primitive added up over volumes, shares and clients.

import type { OffloadRefusalCount, OffloadStatistics } from "../../api/schema";

/** Sum for one primitive. */
export interface Total {
  primitive: string;
  commands: number;
  ok: number;
  refused: number;
  errors: number;
  miscompares: number;
  /** Commands that succeeded without a benefit. */
  noGain: number;
  bytes: number;
  keptOff: number;
  /** Latencies in microseconds. */
  totalUs: number;
  averageUs: number;
  p99Us: number;
  maxUs: number;
}

const sum = (rows: OffloadStatistics[], of: (row: OffloadStatistics) => number): number =>
  rows.reduce((all, row) => all + of(row), 0);
const counted = (counts: OffloadRefusalCount[] | undefined): number =>
  (counts ?? []).reduce((all, { count }) => all + count, 0);

/** Adds rows of one primitive up. The percentile is that of all commands together, from the histograms. */
export function total(rows: OffloadStatistics[]): Total {
  const buckets = new Map<number, number>();
  for (const { latency } of rows) {
    for (const { upper_us, count } of latency.histogram ?? []) {
      const bound = upper_us ?? Infinity;
      buckets.set(bound, (buckets.get(bound) ?? 0) + count);
    }
  }
  const timed = sum(rows, ({ latency }) => latency.count ?? 0);
  const totalUs = sum(rows, ({ latency }) => latency.total_us ?? 0);
  const maxUs = Math.max(0, ...rows.map(({ latency }) => latency.max_us ?? 0));
  return {
    primitive: rows[0]?.primitive ?? "",
    commands: sum(rows, ({ commands }) => commands),
    ok: sum(rows, ({ ok }) => ok),
    refused: sum(rows, ({ refused }) => refused),
    errors: sum(rows, ({ errors }) => errors),
    miscompares: sum(rows, ({ miscompares }) => miscompares),
    noGain: sum(rows, ({ ineffective }) => counted(ineffective)),
    bytes: sum(rows, ({ bytes }) => bytes),
    keptOff: sum(rows, ({ host_bytes_avoided }) => host_bytes_avoided),
    totalUs,
    averageUs: timed === 0 ? 0 : totalUs / timed,
    p99Us: Math.min(maxUs, bound(buckets, 0.99)),
    maxUs,
  };
}

/** Upper bound of the bucket with a quantile. */
function bound(buckets: Map<number, number>, share: number): number {
  const ascending = [...buckets].toSorted(([one], [other]) => one - other);
  const all = ascending.reduce((count, [, more]) => count + more, 0);
  let below = 0;
  for (const [upper, count] of ascending) {
    below += count;
    if (below >= share * all) return upper;
  }
  return 0;
}

/** Sums for each primitive that occurs, in the order in which the array lists them. */
export function totals(rows: OffloadStatistics[]): Total[] {
  const primitives = [...new Set(rows.map(({ primitive }) => primitive))];
  return primitives.map((primitive) => total(rows.filter((row) => row.primitive === primitive)));
}
