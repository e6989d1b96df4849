// Tabs of the pages about space, and of those about snapshots.

import type { JSX } from "solid-js";
import { Tabs } from "./head";

export function SpaceTabs(props: { trash?: number | undefined }): JSX.Element {
  return (
    <Tabs
      label="Parts of space"
      tabs={[
        { name: "Space", path: "/space" },
        { name: "Trash", path: "/space/trash", count: props.trash },
      ]}
    />
  );
}

export function SnapshotsTabs(props: { snapshots?: number | undefined; schedules?: number | undefined }): JSX.Element {
  return (
    <Tabs
      label="Parts of snapshots"
      tabs={[
        { name: "Snapshots", path: "/snapshots", count: props.snapshots },
        { name: "Schedules", path: "/snapshots/schedules", count: props.schedules },
      ]}
    />
  );
}
