// Snapshots of all volumes and shares.

import { useSearchParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { DeleteSnapshots } from "../../actions/snapshot";
import { useSnapshotActions } from "../../actions/snapshot-menu";
import { useList } from "../../api/list";
import { full, withQuery } from "../../api/paths";
import { INTERVAL_MS } from "../../api/query";
import type { Snapshot } from "../../api/schema";
import { useStatus } from "../../api/status";
import { Act } from "../../parts/act";
import { SnapshotsTabs } from "../../parts/content-tabs";
import { Head } from "../../parts/head";
import { lockedReason } from "../../parts/locked";
import { Rows } from "../../parts/rows";
import { snapshotColumns } from "../../parts/snapshots";
import { Empty, Shown } from "../../parts/state";
import { grouped } from "../../parts/units";

const COLUMNS = snapshotColumns(true);

export default function Snapshots(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ q?: string }>();
  const status = useStatus();
  const snapshots = useList<Snapshot>(() => withQuery("/api/v1/snapshots", { q: search.q }), true, INTERVAL_MS, true);
  const [selected, setSelected] = createSignal<ReadonlySet<string>>(new Set());
  const [deleting, setDeleting] = createSignal<Snapshot[]>([]);
  const actions = useSnapshotActions();
  const select = (id: string, on: boolean) => {
    const next = new Set(selected());
    if (on) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  const chosen = () => (snapshots.data() ?? []).filter((snapshot) => selected().has(full(snapshot)));
  const locked = () => {
    const first = chosen().find((snapshot) => lockedReason(snapshot) !== undefined);
    return first === undefined ? undefined : `${full(first)} is ${lockedReason(first)}`;
  };
  return (
    <>
      <Head
        title="Snapshots"
        about={`${grouped(status.data()?.snapshots ?? 0)}; read-only content of one instant`}
        same={[
          { what: "list the snapshots", windlass: "windlass snapshot list", path: "/api/v1/snapshots" },
          {
            what: "take a snapshot of several volumes at one instant",
            windlass: "windlass snapshot create --name NAME --group VOLUME VOLUME",
            method: "POST",
            path: "/api/v1/snapshots",
            body: { name: "NAME", volumes: ["VOLUME", "VOLUME"] },
          },
        ]}
      />
      <SnapshotsTabs snapshots={status.data()?.snapshots} />
      <Shown of={snapshots}>
        {(items) => (
          <Show
            when={items().length > 0 || search.q}
            fallback={
              <Empty
                action={
                  <a class="button" href="/volumes">
                    Volumes
                  </a>
                }
              >
                No snapshot yet. One costs nothing at first: it keeps what is overwritten later. Take one of a volume,
                or select several volumes and take all at one instant.
              </Empty>
            }
          >
            <div class="filters">
              <input
                type="search"
                placeholder="filter: volume@name"
                aria-label="Filter snapshots"
                value={search.q ?? ""}
                onInput={(event) => setSearch({ q: event.currentTarget.value || undefined }, { replace: true })}
              />
              <span class="soft" role="status">
                {grouped(snapshots.total() ?? 0)} {search.q ? "match" : "snapshots"}
              </span>
              <Show when={chosen().length > 0}>
                <span class="bulk">
                  {chosen().length} selected:
                  <Act class="danger" unless={locked()} onClick={() => setDeleting(chosen())}>
                    Delete
                  </Act>
                </span>
              </Show>
            </div>
            <Rows
              label="Snapshots"
              columns={COLUMNS}
              rows={items()}
              changing={snapshots.changing()}
              id={full}
              selected={selected()}
              onSelect={select}
              actions={actions.of}
            />
          </Show>
        )}
      </Shown>
      <Show when={deleting().length > 0}>
        <DeleteSnapshots
          snapshots={deleting()}
          onClose={() => {
            setDeleting([]);
            setSelected(new Set<string>());
          }}
        />
      </Show>
      {actions.dialog()}
    </>
  );
}
