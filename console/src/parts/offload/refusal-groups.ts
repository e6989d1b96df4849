// Entries of the offload log, grouped by reason.

import type { OffloadEnding, OffloadRefusal } from "../../api/schema";

export interface Group {
  key: string;
  primitive: string;
  ending: OffloadEnding;
  reason: string;
  code: string;
  hosts: string[];
  volumes: string[];
  /** Hosts, or initiators of no host, whose reservations refused the commands. */
  holders: string[];
  /** Number of commands. */
  count: number;
  /** Time of the newest. */
  last: string;
  /** Newest first. */
  entries: OffloadRefusal[];
}

/** Groups by primitive, ending and reason, the most frequent first. */
export function groups(log: OffloadRefusal[]): Group[] {
  const found = new Map<string, OffloadRefusal[]>();
  for (const entry of log) {
    const key = [entry.primitive, entry.ending ?? "refused", entry.reason_code].join(" ");
    found.set(key, [...(found.get(key) ?? []), entry]);
  }
  const group = ([key, entries]: [string, OffloadRefusal[]]): Group[] => {
    const newest = entries.toSorted(
      (one, other) => other.time.localeCompare(one.time) || other.sequence - one.sequence,
    );
    const first = newest[0];
    if (first === undefined) return [];
    return [
      {
        key,
        primitive: first.primitive,
        ending: first.ending ?? "refused",
        reason: first.reason,
        code: first.reason_code,
        hosts: [...new Set(newest.map((entry) => entry.host ?? entry.initiator))],
        volumes: [...new Set(newest.map((entry) => entry.volume))],
        holders: [
          ...new Set(newest.flatMap(({ holder }) => (holder == null ? [] : [holder.host ?? holder.initiator]))),
        ],
        count: newest.reduce((sum, entry) => sum + (entry.count ?? 1), 0),
        last: first.time,
        entries: newest,
      },
    ];
  };
  return [...found].flatMap(group).toSorted((one, other) => other.count - one.count);
}
