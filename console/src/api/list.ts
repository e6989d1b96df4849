// Lists that are short on almost every array: one request, and a word from [`Shown`] if there is more.

import type { Accessor } from "solid-js";
import { withQuery } from "./paths";
import { INTERVAL_MS, type Query, useQuery } from "./query";

/** Answer of the array. */
export interface Part<T> {
  items: T[];
  next?: string | null;
  /** Rows of all parts, if the array knows. */
  total?: number | null;
  /** Revision of the array's state in this list; absent for some lists. */
  revision?: number | null;
}

/** Most rows of such a list. */
const MOST = 1000;

/** A list as a part of the page sees it; its data is the rows. */
export interface ListQuery<T> extends Query<T[]> {
  /** True if the array has more rows than were read. */
  more: Accessor<boolean>;
  /** Rows that the array has. */
  total: Accessor<number | undefined>;
}

/** Shows a list; `parts` is false for the lists that the array always answers whole, `keep` is as of [`useQuery`]. */
export function useList<T>(
  path: Accessor<string | undefined>,
  parts = true,
  everyMs = INTERVAL_MS,
  keep = false,
): ListQuery<T> {
  const query = useQuery<Part<T>>(
    () => {
      const present = path();
      return present === undefined || !parts ? present : withQuery(present, { limit: MOST });
    },
    everyMs,
    keep,
  );
  const data = () => query.data()?.items;
  return {
    ...query,
    data,
    more: () => typeof query.data()?.next === "string",
    total: () => query.data()?.total ?? data()?.length,
  };
}

/** Hint of a field that chooses from lists: `usual`, or that they are not whole. */
export const choiceHint = (usual: string, ...lists: Pick<ListQuery<unknown>, "more">[]): string =>
  lists.some(({ more }) => more()) ? "Not all are listed; the command line takes any name." : usual;
