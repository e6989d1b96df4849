// Actions that remove the reason of refused commands at once.

import type { Group } from "./refusal-groups";

/** A change that helps. */
export type Help =
  /** The host may not see the other volume of a copy. The array knows no name of it: a person chooses. */
  | { kind: "grant"; host: string }
  /** Frees that gained nothing leave zeros, which the array can find itself. */
  | { kind: "reclaim"; volume: string }
  /** A host that is gone may have left its reservation. */
  | { kind: "clear"; volume: string };

/** Most buttons of a group. */
const MOST = 4;

/** Changes that help against a group of refusals, without repetition. */
export function helps(group: Pick<Group, "code" | "entries">): Help[] {
  const found = new Map<string, Help>();
  for (const { host, volume, kind, deleted, holder, initiator } of group.entries) {
    if (group.code === "not-granted" && host != null) found.set(host, { kind: "grant", host });
    // Of a copy, it may be the other volume. A host that reserved it over another path has to register each path.
    const reserved = holder?.volume;
    if (group.code === "reserved-by-another" && reserved != null && holder?.initiator !== initiator)
      found.set(reserved, { kind: "clear", volume: reserved });
    if (group.code === "below-grain" && kind !== "share" && !deleted) found.set(volume, { kind: "reclaim", volume });
  }
  return [...found.values()].slice(0, MOST);
}
