// The pages of the rail, with the keys that lead to them after `g`.

export interface Place {
  name: string;
  path: string;
  icon: string;
  key: string;
}

export const PLACES: Place[] = [
  { name: "Overview", path: "/", icon: "overview", key: "o" },
  { name: "Volumes", path: "/volumes", icon: "volumes", key: "v" },
  { name: "Offload", path: "/offload", icon: "offload", key: "f" },
  { name: "Hosts", path: "/hosts", icon: "hosts", key: "h" },
  { name: "Shares", path: "/shares", icon: "shares", key: "r" },
  { name: "Space", path: "/space", icon: "space", key: "s" },
  { name: "Snapshots", path: "/snapshots", icon: "snapshots", key: "n" },
  { name: "Activity", path: "/activity/jobs", icon: "activity", key: "a" },
  { name: "Lab", path: "/lab", icon: "lab", key: "l" },
  { name: "Settings", path: "/settings", icon: "settings", key: "t" },
];

/** Places on the bar of a telephone; the others are below "More". */
export const EARLY = 4;

/** Further paths of a place, which do not begin with its own. */
const ALSO: Record<string, string> = {
  sessions: "hosts",
  portals: "hosts",
  groups: "hosts",
  codes: "activity",
};

/** True if a path belongs to a place. */
export function isHere(place: Place, path: string): boolean {
  const first = path.split("/")[1] ?? "";
  return (ALSO[first] ?? first) === (place.path.split("/")[1] ?? "");
}
