// Names for the search box, until the array has a search of its own: volumes, hosts, shares and snapshots, read when the
// box is first used and again after a while.

import { send } from "./client";
import type { Part } from "./list";
import type { Named } from "./matches";
import type { Host, Share, Snapshot, Volume } from "./schema";

/** Most objects of a kind that are searched; the box says so when there are more. */
const MOST = 10_000;
const FRESH_MS = 30_000;

let loaded: { at: number; names: Promise<{ names: Named[]; more: boolean }> } | undefined;

/** Names of everything; at most half a minute old. */
export function allNames(): Promise<{ names: Named[]; more: boolean }> {
  if (loaded === undefined || Date.now() - loaded.at > FRESH_MS) {
    const names = read();
    const present = { at: Date.now(), names };
    loaded = present;
    names.catch(() => {
      if (loaded === present) loaded = undefined;
    });
  }
  return loaded.names;
}

const part = <T>(path: string): Promise<Part<T>> => send<Part<T>>("GET", `${path}?limit=${MOST}`);
const below = (page: string, name: string): string => `/${page}/${encodeURIComponent(name)}`;

async function read(): Promise<{ names: Named[]; more: boolean }> {
  const [volumes, hosts, shares, snapshots] = await Promise.all([
    part<Volume>("/api/v1/volumes"),
    part<Host>("/api/v1/hosts"),
    part<Share>("/api/v1/shares"),
    part<Snapshot>("/api/v1/snapshots"),
  ]);
  const names: Named[] = [
    ...volumes.items.map(
      ({ name, naa, serial, id }): Named => ({
        kind: "volume",
        name,
        also: [naa, serial, id],
        path: below("volumes", name),
      }),
    ),
    ...hosts.items.map(
      ({ name, iqns, addresses }): Named => ({
        kind: "host",
        name,
        also: [...iqns, ...(addresses ?? [])],
        path: below("hosts", name),
      }),
    ),
    ...shares.items.map(({ name, id }): Named => ({ kind: "share", name, also: [id], path: below("shares", name) })),
    ...snapshots.items.map(
      ({ name, volume, of_share, id }): Named => ({
        kind: "snapshot",
        name: `${volume}@${name}`,
        also: [id],
        path: `${below(of_share ? "shares" : "volumes", volume)}/snapshots`,
      }),
    ),
  ];
  return { names, more: [volumes, hosts, shares, snapshots].some(({ next }) => typeof next === "string") };
}
