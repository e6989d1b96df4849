// Snapshots of a volume, and the tree of its clones.

import { createSignal, For, type JSX, Show } from "solid-js";
import { TakeSnapshot } from "../../actions/snapshot";
import { useSnapshotActions } from "../../actions/snapshot-menu";
import { useList } from "../../api/list";
import { pagePath } from "../../api/page-paths";
import { api } from "../../api/paths";
import type { Snapshot, TreeNode, Volume } from "../../api/schema";
import { Act } from "../../parts/act";
import { Ago, Bytes } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { snapshotColumns } from "../../parts/snapshots";
import { Empty, Shown } from "../../parts/state";

const COLUMNS = snapshotColumns(false);

export function SnapshotsTab(props: { volume: Volume }): JSX.Element {
  const [taking, setTaking] = createSignal(false);
  const actions = useSnapshotActions(true);
  const snapshots = useList<Snapshot>(() => api("volumes", props.volume.name, "snapshots"));
  const take = (
    <Act class="primary" onClick={() => setTaking(true)}>
      Take a snapshot
    </Act>
  );
  return (
    <>
      <Shown of={snapshots}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={
              <Empty action={take}>
                A snapshot keeps the content of one instant. It costs nothing at first; it keeps what is overwritten
                later.
              </Empty>
            }
          >
            <Rows
              label={`Snapshots of ${props.volume.name}`}
              columns={COLUMNS}
              rows={items()}
              id={(snapshot) => snapshot.name}
              actions={actions.of}
            />
            <Tree volume={props.volume.name} />
          </Show>
        )}
      </Shown>
      <Show when={taking()}>
        <TakeSnapshot of={[props.volume.name]} onClose={() => setTaking(false)} />
      </Show>
      {actions.dialog()}
    </>
  );
}

/** Volume, snapshots, clones, and so on, as nested lists. */
function Tree(props: { volume: string }): JSX.Element {
  const nodes = useList<TreeNode>(() => api("volumes", props.volume, "tree"), false);
  return (
    <Show when={nodes.data()}>
      {(items) => (
        <section class="card tree">
          <h2>Tree</h2>
          <Branch nodes={items()} parent={undefined} />
        </section>
      )}
    </Show>
  );
}

function Branch(props: { nodes: TreeNode[]; parent: string | undefined }): JSX.Element {
  const ids = () => new Set(props.nodes.map((node) => node.id));
  const children = () =>
    props.nodes.filter((node) =>
      props.parent === undefined
        ? node.parent_id == null || !ids().has(node.parent_id)
        : node.parent_id === props.parent,
    );
  return (
    <Show when={children().length > 0}>
      <ul>
        <For each={children()}>
          {(node) => (
            <li>
              <span class="node">
                <Show when={node.kind === "volume"} fallback={<span>{node.name}</span>}>
                  <a href={pagePath("volume", node.name)}>{node.name}</a>
                </Show>
                <span class="soft small">
                  {node.kind} · <Ago at={node.created} /> · frees <Bytes of={node.unique_bytes ?? null} />
                </span>
              </span>
              <Branch nodes={props.nodes} parent={node.id} />
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
