// Snapshots of a share.

import { type JSX, Show } from "solid-js";
import { useSnapshotActions } from "../../actions/snapshot-menu";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { Share, Snapshot } from "../../api/schema";
import { Rows } from "../../parts/rows";
import { snapshotColumns } from "../../parts/snapshots";
import { Empty, Shown } from "../../parts/state";

const COLUMNS = snapshotColumns(false);

export function SnapshotsTab(props: { share: Share }): JSX.Element {
  const snapshots = useList<Snapshot>(() => api("shares", props.share.name, "snapshots"));
  const actions = useSnapshotActions();
  return (
    <>
      <Shown of={snapshots}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={<Empty>A snapshot keeps all files of one instant. It costs nothing at first.</Empty>}
          >
            <Rows
              label={`Snapshots of ${props.share.name}`}
              columns={COLUMNS}
              rows={items()}
              id={({ name }) => name}
              actions={actions.of}
            />
          </Show>
        )}
      </Shown>
      {actions.dialog()}
    </>
  );
}
