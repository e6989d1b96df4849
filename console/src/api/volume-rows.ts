// The rows of the table of volumes: the array sorts, filters and counts, and the page loads parts of a hundred around
// what is on the screen.
//
// An array that does not know these parameters answers 400. Then the page loads rows part by part, up to a limit, and
// sorts those; it says when they are not all.

import { type Accessor, batch, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import { send } from "./client";
import { asFailure, type Failure } from "./failure";
import { withQuery } from "./paths";
import { onChange } from "./query";
import type { Volume } from "./schema";
import { arrange, PART, partPath, partsOf, unsupported, type VolumeQuery } from "./volume-query";

/** Most rows that are loaded when the array cannot sort. */
const MOST_LOADED = 10_000;
/** Rows of a request when the array cannot sort. */
const LOADED_PART = 1000;
/** Time after which the rows on the screen are read again. */
const EVERY_MS = 10_000;
/** The same when all rows have to be read, and are many. */
const EVERY_LOADED_MS = 60_000;

export interface Answer {
  items: Volume[];
  next?: string | null;
  /** Rows that match the filter. */
  total?: number | null;
}

export interface VolumeRows {
  total: Accessor<number>;
  row: (index: number) => Volume | undefined;
  /** Positions that are on the screen. */
  view: (first: number, end: number) => void;
  failure: Accessor<Failure | undefined>;
  asOf: Accessor<number | undefined>;
  /** The rows are those of an earlier query. */
  changing: Accessor<boolean>;
  /** Only this many were loaded and sorted, and the array has more. */
  partial: Accessor<number | undefined>;
  refresh: () => Promise<void>;
}

/** Whether the array sorts; known after the first answer, for as long as the page is open. */
let serverSorts: boolean | undefined;

/** Shows the volumes of a query, which may change. */
export function useVolumeRows(query: Accessor<VolumeQuery>): VolumeRows {
  const [parts, setParts] = createSignal<ReadonlyMap<number, Volume[]>>(new Map());
  const [loaded, setLoaded] = createSignal<{ rows: Volume[]; whole: boolean }>();
  const [total, setTotal] = createSignal(0);
  const [of, setOf] = createSignal<VolumeQuery>();
  const [failure, setFailure] = createSignal<Failure>();
  const [asOf, setAsOf] = createSignal<number>();
  const arranged = createMemo(() => {
    const all = loaded();
    return all === undefined ? undefined : arrange(all.rows, query());
  });
  let seen = { first: 0, end: PART };
  let current = new AbortController();

  async function loadPart(part: number, asked: VolumeQuery, signal: AbortSignal): Promise<void> {
    const answer = await send<Answer>("GET", partPath(asked, part), undefined, signal);
    serverSorts = true;
    batch(() => {
      setParts((present) => new Map([...(of() === asked ? present : []), [part, answer.items]]));
      setTotal(answer.total ?? part * PART + answer.items.length);
      settle(asked);
    });
  }

  async function loadAll(asked: VolumeQuery, signal: AbortSignal): Promise<void> {
    const rows: Volume[] = [];
    let next: string | null | undefined = withQuery("/api/v1/volumes", { limit: LOADED_PART });
    while (typeof next === "string" && rows.length < MOST_LOADED) {
      const answer: Answer = await send<Answer>("GET", next, undefined, signal);
      rows.push(...answer.items);
      next = answer.next;
    }
    batch(() => {
      setLoaded({ rows, whole: typeof next !== "string" });
      settle(asked);
    });
  }

  function settle(asked: VolumeQuery): void {
    setOf(asked);
    setFailure(undefined);
    setAsOf(Date.now());
  }

  async function load(wanted: number[], asked: VolumeQuery): Promise<void> {
    const { signal } = current;
    try {
      if (serverSorts !== false) {
        try {
          await Promise.all(wanted.map((part) => loadPart(part, asked, signal)));
          return;
        } catch (error) {
          if (serverSorts === true || !unsupported(error)) throw error;
          serverSorts = false;
        }
      }
      await loadAll(asked, signal);
    } catch (error) {
      if (!signal.aborted) setFailure(asFailure(error));
    }
  }

  createEffect(
    on(query, (asked) => {
      current.abort();
      current = new AbortController();
      if (arranged() !== undefined) {
        setOf(asked);
        return;
      }
      seen = { first: 0, end: PART };
      void load([0], asked);
    }),
  );
  const refresh = async () => {
    const shown = partsOf(seen.first, seen.end);
    await load(shown, query());
    // The other parts may have changed, and are read again when they are on the screen.
    setParts((present) => new Map([...present].filter(([part]) => shown.includes(part))));
  };
  const timer = setInterval(() => {
    const everyMs = (loaded()?.rows.length ?? 0) > LOADED_PART ? EVERY_LOADED_MS : EVERY_MS;
    if (!document.hidden && Date.now() - (asOf() ?? 0) >= everyMs - 500) void refresh();
  }, EVERY_MS);
  onChange(refresh);
  onCleanup(() => {
    clearInterval(timer);
    current.abort();
  });
  return {
    total: () => arranged()?.length ?? total(),
    row: (index) => arranged()?.[index] ?? parts().get(Math.floor(index / PART))?.[index % PART],
    view: (first, end) => {
      seen = { first, end };
      if (arranged() !== undefined || of() !== query()) return;
      const missing = partsOf(first, end).filter((part) => !parts().has(part));
      if (missing.length > 0) void load(missing, query());
    },
    failure,
    asOf,
    changing: () => of() !== undefined && of() !== query(),
    partial: () => {
      const all = loaded();
      return all !== undefined && !all.whole ? all.rows.length : undefined;
    },
    refresh,
  };
}
