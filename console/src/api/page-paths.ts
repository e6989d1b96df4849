// Pages of objects.

import { withQuery } from "./paths";

/** Page of a host group. */
export const groupPath = (name: string): string => withQuery("/groups", { group: name });

/** Page of an object, by its kind in an answer of the array's search. */
export function pagePath(kind: string, name: string): string {
  if (kind === "host-group") return groupPath(name);
  if (kind === "snapshot") return withQuery("/snapshots", { q: name });
  if (kind === "qos-policy") return withQuery("/settings/limits", { q: name });
  if (kind === "job") return "/activity/jobs";
  return `/${kind}s/${encodeURIComponent(name)}`;
}

/** Page of a share or of a volume. */
export const contentPath = (share: boolean | undefined, name: string): string =>
  pagePath(share ? "share" : "volume", name);
