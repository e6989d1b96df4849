// What the table of volumes asks for: order, filter, parts.

import { ordered } from "../parts/table-range";
import { Refused } from "./failure";
import { withQuery } from "./paths";
import type { Volume } from "./schema";

/** Rows of a part. */
export const PART = 100;
/** Field of a volume by which the array sorts. */
export type VolumeKey = "name" | "size_bytes" | "mapped_bytes" | "unique_bytes" | "snapshots" | "created";

export interface VolumeQuery {
  text: string;
  key: VolumeKey;
  descending: boolean;
}

/** Request for a part. */
export function partPath(query: VolumeQuery, part: number): string {
  return withQuery("/api/v1/volumes", {
    limit: PART,
    offset: part * PART,
    sort: (query.descending ? "-" : "") + query.key,
    q: query.text.trim() || undefined,
  });
}

/** Rows that match, in order: what an array does that can sort and filter. */
export function arrange(volumes: Volume[], query: VolumeQuery): Volume[] {
  const wanted = query.text.trim().toLowerCase();
  const fits = ({ name, naa, serial }: Volume) =>
    wanted === "" || [name, naa, serial].some((text) => text.toLowerCase().includes(wanted));
  return ordered(volumes.filter(fits), (volume) => volume[query.key] ?? -1, query.descending);
}

/** Whether the array refused the parameters themselves. */
export const unsupported = (failure: unknown): boolean =>
  failure instanceof Refused && failure.status === 400 && failure.problem.code === "invalid-request";

/** Parts that hold the positions from `first` up to `end`. */
export function partsOf(first: number, end: number): number[] {
  const from = Math.floor(first / PART);
  const to = Math.max(from, Math.floor(Math.max(0, end - 1) / PART));
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
