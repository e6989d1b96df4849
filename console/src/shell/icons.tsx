// Small pictures beside words, never alone.

import type { JSX } from "solid-js";

const PATHS: Record<string, string> = {
  overview: "M3 12a9 9 0 0 1 18 0M12 12l4-4M3 17h18",
  volumes: "M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0",
  offload: "M4 8h11l-3-3M20 16H9l3 3",
  hosts: "M3 4h18v11H3zM8 20h8M12 15v5",
  shares: "M3 6h7l2 3h9v11H3z",
  space: "M3 20V10h4v10M10 20V4h4v16M17 20v-7h4v7",
  snapshots: "M4 8h3l2-3h6l2 3h3v11H4zM12 10a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  lab: "M9 3h6M10 3v6L4 20h16L14 9V3M7 15h10",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5",
  more: "M5 12h.01M12 12h.01M19 12h.01",
};

export function Icon(props: { of: string }): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[props.of] ?? ""} />
    </svg>
  );
}

/** The drum of a windlass with its bars. */
export function Mark(): JSX.Element {
  return (
    <svg width="20" height="20" viewBox="0 0 32 32" aria-hidden="true">
      <circle cx="16" cy="16" r="9" fill="none" stroke="currentColor" stroke-width="4" />
      <path d="M16 1v8M16 23v8M1 16h8M23 16h8" fill="none" stroke="currentColor" stroke-width="3" />
    </svg>
  );
}
