// Activity of the array, and of the volumes and shares on the page: ten minutes from the array's history, then a sample
// each second.

import { type Accessor, createEffect, createMemo, createRoot, createSignal, onCleanup, type Signal } from "solid-js";
import { send } from "../api/client";
import { withQuery } from "../api/paths";
import type { BusySample, History, Sample, VolumeSample } from "../api/schema";
import { sessionEnded, signedIn } from "../session";
import { added, filled, type Point, pointsOf } from "./points";
import { connected, onLive, useTopics } from "./stream";

/** The array, a volume or a share. */
export interface Subject {
  kind: "volume" | "share";
  id: string;
}

/** Series of every subject, in the order of the values of a point; those after the latencies are the array's alone. */
const SERIES = ["read_ops", "write_ops", "read_bytes", "written_bytes", "latency_p50", "latency_p99"];
const OF_ARRAY = [...SERIES, "network_bytes", "offloaded_bytes"];
/** Positions of the values. */
export const AT = { reads: 0, writes: 1, readBytes: 2, writtenBytes: 3, p50: 4, p99: 5, network: 6, offload: 7 };
/** Most points of an answer: more than the seconds that the array keeps. */
const MOST = 1000;
/** Interval at which the history is read while there is no stream. */
const WITHOUT_STREAM_MS = 5_000;

interface Entry {
  /** Beginning of the names of its series. */
  prefix: string;
  id: string | undefined;
  points: Signal<Point[]>;
  users: number;
  pending: boolean;
  /** True if the history was asked for while it was being read. */
  again: boolean;
}

const entryOf = (prefix: string, id?: string): Entry => ({
  prefix,
  id,
  points: createRoot(() => createSignal<Point[]>([])),
  users: 0,
  pending: false,
  again: false,
});

const array = entryOf("array");
const units = new Map<string, Entry>();
const [sample, setSample] = createRoot(() => createSignal<Sample>());
const [busiest, setBusiest] = createRoot(() => createSignal<BusySample[]>());

/** The newest sample; `undefined` while no stream is open. */
export const latest = (): Sample | undefined => (connected() ? sample() : undefined);

/** A volume or share in the newest sample; `undefined` if the stream does not have it. */
export const latestOf = (id: string): VolumeSample | undefined => latest()?.volumes?.[id];

/** The busiest volumes and shares of the last minute; `undefined` before the first sample that has them. */
export function useBusiest(): Accessor<BusySample[] | undefined> {
  useTopics(["busiest"]);
  return busiest;
}

/** Points of the last ten minutes of the array, or of a volume or share. */
export function useActivity(of: Accessor<Subject | undefined>): Accessor<Point[]> {
  const entry = createMemo(() => {
    const subject = of();
    if (subject === undefined) return array;
    const present = units.get(subject.id) ?? entryOf(`${subject.kind}.${subject.id}`, subject.id);
    units.set(subject.id, present);
    return present;
  });
  useTopics([], () => {
    const { id } = entry();
    return id === undefined ? [] : [id];
  });
  createEffect(() => {
    const present = entry();
    if (present.id !== undefined) units.set(present.id, present);
    present.users += 1;
    if (present.users === 1) void fill(present);
    onCleanup(() => {
      present.users -= 1;
      if (present.users === 0 && present.id !== undefined) units.delete(present.id);
    });
  });
  return () => entry().points[0]();
}

/** Reads what the array knows and the page does not. */
async function fill(entry: Entry): Promise<void> {
  if (entry.pending) {
    entry.again = true;
    return;
  }
  entry.pending = true;
  entry.again = false;
  const [points, setPoints] = entry.points;
  const last = points().at(-1)?.at;
  try {
    const names = entry.id === undefined ? OF_ARRAY : SERIES;
    const history = await send<History>(
      "GET",
      withQuery("/api/v1/history", {
        series: names.map((name) => `${entry.prefix}.${name}`).join(","),
        from: last === undefined ? undefined : new Date(last * 1000).toISOString(),
        points: MOST,
      }),
    );
    setPoints((present) => filled(present, pointsOf(history)));
  } catch {
    // Asked again when there is contact; the shell says that there is none. A deleted volume has no history.
  } finally {
    entry.pending = false;
  }
  if (entry.again && entry.users > 0) void fill(entry);
}

const used = (): Entry[] => [array, ...units.values()];

function add(entry: Entry, at: number, of: VolumeSample | Sample["array"], more: number[]): void {
  // Without a value, it is not known what happened: the chart has a gap.
  if (of == null) return;
  const values = [of.ro, of.wo, of.rb, of.wb, of.p50 ?? null, of.p99 ?? null, ...more];
  entry.points[1]((present) => added(present, { at, values }));
}

/** Drops all that is known. */
export function forgetActivity(): void {
  for (const { points } of used()) points[1]([]);
  setSample(undefined);
  setBusiest(undefined);
}

onLive("hello", () => {
  for (const entry of used()) void fill(entry);
});
onLive("sample", (next) => {
  setSample(next);
  if (next.busiest != null) setBusiest(next.busiest);
  const { t, array: whole, volumes } = next;
  if (whole != null) add(array, t, whole, [whole.in + whole.out, whole.ob]);
  for (const [id, entry] of units) add(entry, t, volumes?.[id], []);
});
setInterval(() => {
  if (connected() || document.hidden || !signedIn() || sessionEnded()) return;
  for (const entry of used()) if (entry.users > 0) void fill(entry);
}, WITHOUT_STREAM_MS);
