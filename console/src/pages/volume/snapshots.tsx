// Snapshots of a volume, and the tree of its clones.

import { createSignal, For, type JSX, Show } from "solid-js";
import { DeleteSnapshots, TakeSnapshot } from "../../actions/snapshot";
import { CloneVolume } from "../../actions/volume/create";
import { RollbackVolume } from "../../actions/volume/rollback";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { Snapshot, TreeNode, Volume } from "../../api/schema";
import { pagePath } from "../../api/search";
import { Ago, Bytes } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { snapshotColumns } from "../../parts/snapshots";
import { Empty, Shown } from "../../parts/state";

const COLUMNS = snapshotColumns(false);

export function SnapshotsTab(props: { volume: Volume }): JSX.Element {
  const [open, setOpen] = createSignal<
    { verb: "take" } | { verb: "clone" | "rollback" | "delete"; snapshot: Snapshot }
  >();
  const close = () => setOpen(undefined);
  const snapshots = useList<Snapshot>(() => api("volumes", props.volume.name, "snapshots"));
  const take = (
    <button type="button" class="primary" onClick={() => setOpen({ verb: "take" })}>
      Take a snapshot
    </button>
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
              actions={(snapshot) => [
                { label: "Clone…", run: () => setOpen({ verb: "clone", snapshot }) },
                { label: "Roll the volume back to it…", run: () => setOpen({ verb: "rollback", snapshot }) },
                { label: "Delete…", danger: true, run: () => setOpen({ verb: "delete", snapshot }) },
              ]}
            />
            <Tree volume={props.volume.name} />
          </Show>
        )}
      </Shown>
      <Show when={open()} keyed>
        {(present) =>
          present.verb === "take" ? (
            <TakeSnapshot of={[props.volume.name]} onClose={close} />
          ) : present.verb === "clone" ? (
            <CloneVolume source={`${props.volume.name}@${present.snapshot.name}`} onClose={close} />
          ) : present.verb === "rollback" ? (
            <RollbackVolume volume={props.volume.name} snapshot={present.snapshot.name} onClose={close} />
          ) : (
            <DeleteSnapshots snapshots={[present.snapshot]} onClose={close} />
          )
        }
      </Show>
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
