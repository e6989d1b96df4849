// Resources that an announcement of the array concerns, by the beginnings of their paths.

/** Resources by kind of announcement: changes of objects, events, jobs, alerts. */
const ABOUT: Record<string, string[]> = {
  volume: ["volumes", "snapshots", "access", "hosts", "host-groups", "pools", "system", "qos-policies"],
  snapshot: ["snapshots", "volumes", "shares", "pools", "system"],
  host: ["hosts", "host-groups", "access", "volumes", "shares", "sessions", "system", "qos-policies"],
  "qos-policy": ["qos-policies", "volumes", "hosts"],
  "host-group": ["host-groups", "hosts", "access", "volumes", "shares"],
  access: ["access", "volumes", "hosts", "host-groups"],
  share: ["shares", "snapshots", "pools", "system"],
  schedule: ["schedules", "snapshots"],
  trash: ["trash", "pools", "volumes", "shares", "snapshots", "system"],
  export: ["shares", "hosts", "host-groups"],
  portal: ["portals", "portal-groups", "system"],
  "port-group": ["portal-groups", "portals"],
  event: ["events"],
  job: ["jobs", "system"],
  alert: ["alerts", "system"],
};

/** Lists of which nothing changes without an announcement, apart from sizes that a stream or a count brings. */
const WHOLE = ["volumes", "snapshots", "access", "host-groups", "portals", "jobs", "alerts", "events"];

/** Path below `/api/v1` without parameters. */
const below = (path: string): string => path.replace(/^\/api\/v1\//, "").replace(/\?.*/, "");

/** True if an announcement of this kind is about a resource. */
export function isAbout(kind: string, path: string): boolean {
  const noun = below(path).replace(/\/.*/, "");
  return ABOUT[kind]?.includes(noun) ?? false;
}

/** True for a resource that need not be read again before it is announced. */
export const isWhole = (path: string): boolean => WHOLE.includes(below(path));
