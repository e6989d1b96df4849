// The volumes and shares that hosts used most lately.

import type { Sample } from "./rates";

export interface Busy {
  name: string;
  share: boolean;
  /** Mean of reads and writes a second. */
  operations: number;
  /** Mean of bytes a second. */
  bytes: number;
  /** The worst of the samples, in microseconds. */
  p99: number | undefined;
}

const WINDOW_MS = 60_000;

/** Volumes and shares by operations in the last minute, most first. */
export function busiest(samples: (Sample | undefined)[], present: number, most: number): Busy[] {
  const recent = samples.filter((sample): sample is Sample => sample !== undefined && present - sample.at <= WINDOW_MS);
  const seconds = recent.reduce((sum, sample) => sum + sample.seconds, 0);
  const volumes = new Map<string, Busy>();
  for (const sample of recent) {
    for (const [name, activity] of sample.volumes) {
      const busy = volumes.get(name) ?? { name, share: activity.share, operations: 0, bytes: 0, p99: undefined };
      busy.operations += (activity.reads + activity.writes) * (sample.seconds / seconds);
      busy.bytes += (activity.readBytes + activity.writtenBytes) * (sample.seconds / seconds);
      if (activity.p99 !== undefined) busy.p99 = Math.max(busy.p99 ?? 0, activity.p99);
      volumes.set(name, busy);
    }
  }
  return [...volumes.values()].toSorted((one, other) => other.operations - one.operations).slice(0, most);
}
