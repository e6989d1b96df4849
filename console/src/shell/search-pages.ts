// Pages below those of the rail, which the search finds.

import type { Role } from "../api/schema";
import type { Place } from "./places";

export const FURTHER: (Pick<Place, "name" | "path"> & { needs?: Role })[] = [
  { name: "Groups", path: "/groups" },
  { name: "Sessions", path: "/sessions" },
  { name: "Portals", path: "/portals" },
  { name: "Connect", path: "/hosts/connect" },
  { name: "Trash", path: "/space/trash" },
  { name: "Schedules", path: "/snapshots/schedules" },
  { name: "Jobs", path: "/activity/jobs" },
  { name: "Events", path: "/activity/events" },
  { name: "Alerts", path: "/activity/alerts" },
  { name: "Codes", path: "/codes" },
  { name: "Limits", path: "/settings/limits" },
  { name: "Audit", path: "/activity/audit", needs: "admin" },
  { name: "People", path: "/settings/people", needs: "admin" },
  { name: "Tokens", path: "/settings/tokens", needs: "admin" },
  { name: "Sign-ins", path: "/settings/sign-ins", needs: "admin" },
];
