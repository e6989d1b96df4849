// Requests of the table of volumes: order, filter, parts.

import { withQuery } from "./paths";

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

/** Parts that hold the positions from `first` up to `end`. */
export function partsOf(first: number, end: number): number[] {
  const from = Math.floor(first / PART);
  const to = Math.max(from, Math.floor(Math.max(0, end - 1) / PART));
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** Requests to begin and to abort, so that exactly the parts of a view are loaded or on their way. */
export function steer(
  wanted: number[],
  loaded: (part: number) => boolean,
  pending: Iterable<number>,
): { begin: number[]; abort: number[] } {
  const present = new Set(pending);
  return {
    begin: wanted.filter((part) => !loaded(part) && !present.has(part)),
    abort: [...present].filter((part) => !wanted.includes(part)),
  };
}
