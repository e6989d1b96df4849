// Views of resources: read once for all parts of the page that show them, again at an interval while someone looks, and
// after each change.

import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup, type Signal } from "solid-js";
import { sessionEnded, signedIn } from "../session";
import { send } from "./client";
import { asFailure, type Failure } from "./failure";
import { type Answered, answerOf, type Known } from "./known";
import { reuse } from "./reuse";

/** Usual interval in milliseconds. */
export const INTERVAL_MS = 10_000;
/** Unused views that are kept, so that a page shows at once what it showed last. */
const KEPT = 100;

interface Entry {
  path: string;
  known: Signal<Known>;
  /** Intervals of the views that watch. */
  users: Set<{ everyMs: number }>;
  asked: number;
  pending: Promise<void> | undefined;
  /** A change came while an answer was on its way: it may be older than the change. */
  again: boolean;
}

/** A resource as a part of the page sees it. */
export interface Query<T> {
  /** The last answer for the path. */
  data: Accessor<T | undefined>;
  /** Reason why the last request has no answer. */
  failure: Accessor<Failure | undefined>;
  /** Time of the data, in milliseconds since 1970. */
  asOf: Accessor<number | undefined>;
  /** The data is that for an earlier path: only where a query keeps it. */
  changing: Accessor<boolean>;
  refresh: () => Promise<void>;
}

const entries = new Map<string, Entry>();

function entryOf(path: string): Entry {
  const present = entries.get(path);
  if (present !== undefined) return present;
  const known = createSignal<Known>({ data: undefined, failure: undefined, asOf: undefined });
  const entry: Entry = { path, known, users: new Set(), asked: 0, pending: undefined, again: false };
  entries.set(path, entry);
  for (const [old, { users }] of entries) {
    if (entries.size <= KEPT) break;
    if (users.size === 0 && old !== path) entries.delete(old);
  }
  return entry;
}

function load(entry: Entry): Promise<void> {
  if (entry.pending !== undefined) {
    entry.again = true;
    return entry.pending;
  }
  entry.pending = ask(entry).finally(() => {
    entry.pending = undefined;
  });
  return entry.pending;
}

async function ask(entry: Entry): Promise<void> {
  const [, set] = entry.known;
  do {
    entry.again = false;
    entry.asked = Date.now();
    try {
      const data = await send<unknown>("GET", entry.path);
      set((known) => ({ data: reuse(known.data, data), failure: undefined, asOf: Date.now() }));
    } catch (error) {
      const failure = asFailure(error);
      set((known) => ({ ...known, failure }));
    }
  } while (entry.again);
}

/** Reloads all resources on the page after a change. */
export async function changed(): Promise<void> {
  for (const [path, entry] of entries) {
    if (entry.users.size === 0) entries.delete(path);
  }
  await Promise.all([...[...entries.values()].map(load), ...[...others].map((refresh) => refresh())]);
}

/** Readers other than queries that reload after a change. */
const others = new Set<() => Promise<void>>();

/** Registers a reader that reloads after each change, until its owner leaves the page. */
export function onChange(refresh: () => Promise<void>): void {
  others.add(refresh);
  onCleanup(() => others.delete(refresh));
}

/** Drops all answers. */
export const forget = (): void => entries.clear();

setInterval(() => {
  if (document.hidden || !signedIn() || sessionEnded()) return;
  for (const entry of entries.values()) {
    const everyMs = Math.min(...[...entry.users].map((user) => user.everyMs));
    if (entry.pending === undefined && Date.now() - entry.asked >= everyMs) void load(entry);
  }
}, 1000);

/**
 * Shows the resource at a path, which may change; without a path, nothing is read. `keep` is for tables with a filter: they
 * show the answer for the path before until that for the new one is there.
 */
export function useQuery<T>(path: Accessor<string | undefined>, everyMs = INTERVAL_MS, keep = false): Query<T> {
  const entry = createMemo(() => {
    const present = path();
    return present === undefined ? undefined : entryOf(present);
  });
  createEffect(
    on(entry, (present) => {
      if (present === undefined) return;
      const user = { everyMs };
      present.users.add(user);
      onCleanup(() => present.users.delete(user));
      if (Date.now() - present.asked > 1000) void load(present);
    }),
  );
  const known = () => entry()?.known[0]();
  const data = createMemo<Answered>((before) => answerOf(before, entry()?.path, known(), keep), {
    of: undefined,
    value: undefined,
  });
  return {
    data: () => data().value as T | undefined,
    failure: () => known()?.failure,
    asOf: () => known()?.asOf,
    changing: () => data().of !== entry()?.path && known()?.failure === undefined,
    refresh: async () => {
      const present = entry();
      if (present !== undefined) await load(present);
    },
  };
}
