// Views of resources: read once for all parts of the page that show them; again when the array announces a change of
// them, and at an interval while someone looks.

import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup, type Signal, untrack } from "solid-js";
import { sessionEnded, signedIn } from "../session";
import { isAbout, isWhole } from "./announced";
import { send } from "./client";
import { asFailure, type Failure } from "./failure";
import { type Answered, answerOf, type Known } from "./known";
import { reuse } from "./reuse";

/** Usual interval in milliseconds. */
export const INTERVAL_MS = 10_000;
/** Interval of what the array announces, in case that an announcement is lost. */
const ANNOUNCED_MS = 30_000;
/** Pause between two readings because of announcements. */
const PAUSE_MS = 1000;
/** Unused views that are kept, so that a page shows at once what it showed last. */
const KEPT = 100;

/** A resource that is read again. */
interface Watched {
  path: string;
  /** Time of the last request. */
  asked: number;
  /** An announcement came since the last request. */
  due: boolean;
}

interface Entry extends Watched {
  known: Signal<Known>;
  /** Intervals of the views that watch. */
  users: Set<{ everyMs: number }>;
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
/** Readers other than queries. */
const others = new Set<Reader>();
let announces: () => boolean = () => false;
let soon: ReturnType<typeof setTimeout> | undefined;

function entryOf(path: string): Entry {
  const present = entries.get(path);
  if (present !== undefined) return present;
  const known = createSignal<Known>({ data: undefined, failure: undefined, asOf: undefined });
  const entry: Entry = { path, known, users: new Set(), asked: 0, due: false, pending: undefined, again: false };
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
    [entry.again, entry.due, entry.asked] = [false, false, Date.now()];
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
  await Promise.all([...[...entries.values()].map(load), ...[...others].map(reload)]);
}

/** A reader that does not keep its answer here. */
export interface Reader extends Watched {
  /** Revision of the lists in its answer, if it has one. */
  revision: () => number | undefined;
  /** False while a request is on its way. */
  idle: () => boolean;
  refresh: () => Promise<void>;
}

function reload(reader: Reader): Promise<void> {
  [reader.due, reader.asked] = [false, Date.now()];
  return reader.refresh();
}

/** Reads again what a reader shows, as for a query, until its owner leaves the page. */
export function keepReading(reader: Reader): void {
  others.add(reader);
  onCleanup(() => others.delete(reader));
}

/** Sets the condition under which the array announces changes. */
export function announcedWhile(connected: () => boolean): void {
  announces = connected;
}

/** Notes an announcement of a kind. Lists of this revision or a later one include it already. */
export function announce(kind: string, revision?: number): void {
  expire((of, known) => isAbout(kind, of.path) && (revision === undefined || known === undefined || known < revision));
}

/** Notes that announcements up to this revision are missed; without one, any of any kind. */
export function announcementsMissed(revision?: number): void {
  expire((_, known) => revision === undefined || (known !== undefined && known < revision));
}

/** Marks the resources that a condition selects, and reads them again soon. */
function expire(isOld: (of: Watched, known: number | undefined) => boolean): void {
  for (const entry of entries.values()) if (isOld(entry, revisionOf(entry.known[0]().data))) entry.due = true;
  for (const reader of others) if (isOld(reader, reader.revision())) reader.due = true;
  if (soon === undefined) soon = setTimeout(readAgain, PAUSE_MS / 10);
}

/** Revision of the lists in an answer. */
function revisionOf(data: unknown): number | undefined {
  const revision = typeof data === "object" && data !== null && "revision" in data ? data.revision : undefined;
  return typeof revision === "number" ? revision : undefined;
}

/** Takes an answer that came without a request. */
export function answered(path: string, data: unknown): void {
  const entry = entries.get(path);
  if (entry === undefined) return;
  entry.asked = Date.now();
  entry.known[1]((known) => ({ data: reuse(known.data, data), failure: undefined, asOf: entry.asked }));
}

/** Drops all answers. */
export const forget = (): void => entries.clear();

/** Reads again what is due, or was read so long ago. */
function readAgain(): void {
  soon = undefined;
  if (document.hidden || !signedIn() || sessionEnded()) return;
  const isDue = (of: Watched, everyMs: number) => {
    const longestMs = announces() && isWhole(of.path) ? Math.max(everyMs, ANNOUNCED_MS) : everyMs;
    return Date.now() - of.asked >= (of.due ? PAUSE_MS : longestMs);
  };
  for (const entry of entries.values()) {
    const everyMs = Math.min(...[...entry.users].map((user) => user.everyMs));
    if (entry.users.size > 0 && entry.pending === undefined && isDue(entry, everyMs)) void load(entry);
  }
  for (const reader of others) if (reader.idle() && isDue(reader, INTERVAL_MS)) void reload(reader);
}
setInterval(readAgain, 1000);

/**
 * Shows the resource at a path, which may change; without a path, nothing is read. `keep` is for tables with a filter: they
 * show the answer for the path before until that for the new one is there.
 */
export function useQuery<T>(
  path: Accessor<string | undefined>,
  everyMs: number | Accessor<number> = INTERVAL_MS,
  keep = false,
): Query<T> {
  const entry = createMemo(() => {
    const present = path();
    return present === undefined ? undefined : entryOf(present);
  });
  createEffect(
    on(entry, (present) => {
      if (present === undefined) return;
      const user = {
        get everyMs() {
          return typeof everyMs === "function" ? untrack(everyMs) : everyMs;
        },
      };
      present.users.add(user);
      onCleanup(() => present.users.delete(user));
      if (present.due || Date.now() - present.asked > 1000) void load(present);
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
