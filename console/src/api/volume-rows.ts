// The rows of the table of volumes: the array sorts, filters and counts, and the page loads parts of a hundred around
// what is on the screen.

import { type Accessor, batch, createEffect, createSignal, on, onCleanup } from "solid-js";
import { send } from "./client";
import { asFailure, type Failure } from "./failure";
import type { Part } from "./list";
import { keepReading } from "./query";
import { reuse } from "./reuse";
import type { Volume } from "./schema";
import { PART, partPath, partsOf, steer, type VolumeQuery } from "./volume-query";

/** Part of the rows. */
interface Loaded {
  rows: Volume[];
  /** Revision of the list that it is from. */
  revision: number;
}

export interface VolumeRows {
  total: Accessor<number>;
  row: (index: number) => Volume | undefined;
  /** Positions that are on the screen. */
  view: (first: number, end: number) => void;
  /** Rows that are on the screen and loaded. */
  seen: Accessor<Volume[]>;
  failure: Accessor<Failure | undefined>;
  asOf: Accessor<number | undefined>;
  /** The rows are those of an earlier query. */
  changing: Accessor<boolean>;
  refresh: () => Promise<void>;
}

/** Shows the volumes of a query, which may change. */
export function useVolumeRows(query: Accessor<VolumeQuery>): VolumeRows {
  const [parts, setParts] = createSignal<ReadonlyMap<number, Loaded>>(new Map());
  const [total, setTotal] = createSignal(0);
  const [of, setOf] = createSignal<VolumeQuery>();
  const [failure, setFailure] = createSignal<Failure>();
  const [asOf, setAsOf] = createSignal<number>();
  const [seen, setSeen] = createSignal({ first: 0, end: PART });
  const pending = new Map<number, AbortController>();

  async function loadPart(part: number, asked: VolumeQuery): Promise<void> {
    const request = new AbortController();
    pending.set(part, request);
    try {
      const answer = await send<Part<Volume>>("GET", partPath(asked, part), undefined, request.signal);
      if (request.signal.aborted) return;
      batch(() => {
        setParts((present) => {
          const rows = reuse(present.get(part)?.rows, answer.items);
          return new Map([...(of() === asked ? present : []), [part, { rows, revision: answer.revision ?? 0 }]]);
        });
        setTotal(answer.total ?? part * PART + answer.items.length);
        setOf(asked);
        setAsOf(Date.now());
      });
    } catch (error) {
      if (!request.signal.aborted) throw error;
    } finally {
      if (pending.get(part) === request) pending.delete(part);
    }
  }

  async function load(wanted: number[], asked: VolumeQuery): Promise<void> {
    const outcomes = await Promise.allSettled(wanted.map((part) => loadPart(part, asked)));
    if (asked !== query()) return;
    const bad = outcomes.find((outcome) => outcome.status === "rejected");
    setFailure(bad === undefined ? undefined : asFailure(bad.reason));
    if (bad === undefined) fill();
  }

  const abort = (wanted: number[]) => {
    for (const part of wanted) pending.get(part)?.abort();
    for (const part of wanted) pending.delete(part);
  };

  /** Loads the missing parts in view, once the first part has stated the number of rows. */
  function fill(): void {
    if (of() !== query()) return;
    const next = steer(partsOf(seen().first, seen().end), (part) => parts().has(part), pending.keys());
    abort(next.abort);
    if (next.begin.length > 0) void load(next.begin, query());
  }

  createEffect(
    on(query, (asked) => {
      abort([...pending.keys()]);
      setSeen({ first: 0, end: PART });
      void load([0], asked);
    }),
  );
  const refresh = async () => {
    const shown = of() === query() ? partsOf(seen().first, seen().end) : [0];
    // An answer on its way may be older than the change that is to be shown.
    abort([...pending.keys()]);
    // The other parts may have changed, and are read again when they are on the screen.
    setParts((present) => new Map([...present].filter(([part]) => of() !== query() || shown.includes(part))));
    await load(shown, query());
  };
  keepReading({
    path: "/api/v1/volumes",
    asked: Date.now(),
    due: false,
    revision: () => {
      const known = [...parts().values()].map(({ revision }) => revision);
      return known.length > 0 ? Math.min(...known) : undefined;
    },
    idle: () => pending.size === 0,
    refresh,
  });
  onCleanup(() => abort([...pending.keys()]));
  const row = (index: number) => parts().get(Math.floor(index / PART))?.rows[index % PART];
  return {
    total,
    row,
    view: (first, end) => {
      setSeen({ first, end });
      fill();
    },
    seen: () =>
      Array.from({ length: Math.max(0, seen().end - seen().first) }, (_, index) => row(seen().first + index)).filter(
        (volume) => volume !== undefined,
      ),
    failure,
    asOf,
    changing: () => of() !== undefined && of() !== query(),
    refresh,
  };
}
