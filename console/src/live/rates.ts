// Activity between two scrapes: rates per second, and percentiles of latency.

import { BOUNDS_US, type Counters, type Scrape } from "./exposition";

/** Activity of a volume, or of the array. */
export interface Activity {
  /** True for a share, false for a volume. */
  share: boolean;
  reads: number;
  writes: number;
  readBytes: number;
  writtenBytes: number;
  /** Latency in microseconds; `undefined` if nothing was read or written. */
  p50: number | undefined;
  p99: number | undefined;
}

/** Activity between two scrapes. */
export interface Sample {
  /** Time of the later scrape, in milliseconds since 1970. */
  at: number;
  /** Time between both, in seconds. */
  seconds: number;
  array: Activity;
  /** Bytes a second between hosts and array. */
  network: number;
  /** Bytes a second that the array cloned, zeroed or freed for hosts. */
  offload: number;
  /** Volumes and shares that were used. */
  volumes: Map<string, Activity>;
}

/** A quantile of bucketed latencies, interpolated within its bucket; `undefined` without any. */
export function quantile(buckets: number[], share: number): number | undefined {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total <= 0) return undefined;
  let below = 0;
  for (const [index, count] of buckets.entries()) {
    const lower = BOUNDS_US[index - 1] ?? 0;
    const upper = BOUNDS_US[index] ?? Infinity;
    if (count > 0 && below + count >= share * total) {
      return upper === Infinity ? lower : lower + (upper - lower) * ((share * total - below) / count);
    }
    below += count;
  }
  return undefined;
}

const FIELDS = ["reads", "writes", "readBytes", "writtenBytes"] as const;

/** Counters that have grown; after a restart of the array they began at 0 again. */
function grown(before: Counters | undefined, after: Counters): Counters {
  const restarted = before === undefined || FIELDS.some((field) => after[field] < before[field]);
  if (restarted) return after;
  return {
    share: after.share,
    reads: after.reads - before.reads,
    writes: after.writes - before.writes,
    readBytes: after.readBytes - before.readBytes,
    writtenBytes: after.writtenBytes - before.writtenBytes,
    buckets: after.buckets.map((count, index) => Math.max(0, count - (before.buckets[index] ?? 0))),
  };
}

function activity(counters: Counters, seconds: number): Activity {
  return {
    share: counters.share,
    reads: counters.reads / seconds,
    writes: counters.writes / seconds,
    readBytes: counters.readBytes / seconds,
    writtenBytes: counters.writtenBytes / seconds,
    p50: quantile(counters.buckets, 0.5),
    p99: quantile(counters.buckets, 0.99),
  };
}

/** Activity between two scrapes. A volume of the later one alone is new, and all of its counters count. */
export function sample(before: Scrape, after: Scrape): Sample {
  const seconds = Math.max(0.001, (after.at - before.at) / 1000);
  const sum: Counters = {
    share: false,
    reads: 0,
    writes: 0,
    readBytes: 0,
    writtenBytes: 0,
    buckets: BOUNDS_US.map(() => 0),
  };
  const volumes = new Map<string, Activity>();
  for (const [name, counters] of after.volumes) {
    const growth = grown(before.volumes.get(name), counters);
    if (growth.reads + growth.writes === 0) continue;
    for (const field of FIELDS) sum[field] += growth[field];
    growth.buckets.forEach((count, index) => {
      sum.buckets[index] = (sum.buckets[index] ?? 0) + count;
    });
    volumes.set(name, activity(growth, seconds));
  }
  return {
    at: after.at,
    seconds,
    array: activity(sum, seconds),
    // A counter falls when a volume is deleted or the array restarts.
    network: Math.max(0, after.networkBytes - before.networkBytes) / seconds,
    offload: Math.max(0, after.offloadBytes - before.offloadBytes) / seconds,
    volumes,
  };
}
