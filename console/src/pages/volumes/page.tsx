// Volumes: every volume in one table, sorted, filtered and counted by the array.

import { useNavigate, useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { CreateVolume } from "../../actions/volume/create";
import { useVolumeActions } from "../../actions/volume/menu";
import { pagePath } from "../../api/page-paths";
import { withQuery } from "../../api/paths";
import type { Volume } from "../../api/schema";
import { useStatus } from "../../api/status";
import type { VolumeKey, VolumeQuery } from "../../api/volume-query";
import { useVolumeRows } from "../../api/volume-rows";
import { useTopics } from "../../live/stream";
import { Act } from "../../parts/act";
import { Head } from "../../parts/head";
import { Bytes } from "../../parts/numbers";
import { orderOf, textOf } from "../../parts/order";
import { Empty, FailureBox, Loading } from "../../parts/state";
import { Table } from "../../parts/table";
import { grouped } from "../../parts/units";
import { BulkActions } from "./bulk";
import { COLUMNS, SORTABLE } from "./columns";

/** Pause in typing after which the filter applies. */
const PAUSE_MS = 200;
const first = (text: string | string[] | undefined): string => (Array.isArray(text) ? (text[0] ?? "") : (text ?? ""));

export default function Volumes(): JSX.Element {
  const [search, setSearch] = useSearchParams();
  const go = useNavigate();
  const status = useStatus();
  const [creating, setCreating] = createSignal(false);
  const [selected, setSelected] = createSignal<ReadonlySet<string>>(new Set());
  const actions = useVolumeActions();
  const order = createMemo(() => orderOf(search.sort, SORTABLE) ?? { key: "name", descending: false });
  const text = () => first(search.q);
  const query = createMemo<VolumeQuery>(() => ({
    text: text(),
    key: order().key as VolumeKey,
    descending: order().descending,
  }));
  const rows = useVolumeRows(query);
  useTopics([], () => rows.seen().map(({ id }) => id));
  let pause: ReturnType<typeof setTimeout> | undefined;
  const filter = (next: string) => {
    clearTimeout(pause);
    pause = setTimeout(() => setSearch({ q: next === "" ? undefined : next }, { replace: true }), PAUSE_MS);
  };
  const select = (name: string, on: boolean) =>
    setSelected((present) => {
      const next = new Set(present);
      if (on) next.add(name);
      else next.delete(name);
      return next;
    });
  const about = () => {
    const pool = status.data()?.pools[0];
    return (
      <Show when={pool}>
        {(present) => (
          <>
            {grouped(status.data()?.volumes ?? 0)} · <Bytes of={present().provisioned_bytes} /> provisioned ·{" "}
            <Bytes of={present().mapped_bytes} /> mapped
          </>
        )}
      </Show>
    );
  };
  return (
    <>
      <Head
        title="Volumes"
        about={about()}
        same={[
          {
            what: "list the volumes",
            windlass: "windlass volume list -o wide",
            path: withQuery("/api/v1/volumes", { limit: 100 }),
          },
          {
            what: "create a volume",
            windlass: "windlass volume create NAME --size 100G",
            method: "POST",
            path: "/api/v1/volumes",
            body: { name: "NAME", size_bytes: 100 * 2 ** 30 },
          },
        ]}
      >
        <Act class="primary" first onClick={() => setCreating(true)}>
          New volume
        </Act>
      </Head>
      <div class="filters">
        <input
          type="search"
          placeholder="filter: name, NAA, serial"
          aria-label="Filter volumes by name, NAA or serial number"
          value={text()}
          onInput={(event) => filter(event.currentTarget.value)}
        />
        <span class="soft" role="status">
          {rows.asOf() === undefined ? "" : `${grouped(rows.total())} ${text() === "" ? "volumes" : "match"}`}
        </span>
        <BulkActions names={[...selected()]} onClear={() => setSelected(new Set<string>())} />
      </div>
      <Show when={rows.failure()}>
        {(failure) => <FailureBox failure={failure()} retry={() => void rows.refresh()} />}
      </Show>
      <Show when={rows.asOf() !== undefined} fallback={<Show when={rows.failure() === undefined}>{<Loading />}</Show>}>
        <Show
          when={rows.total() > 0}
          fallback={<Nothing text={text()} onClear={() => filter("")} onNew={() => setCreating(true)} />}
        >
          <Table<Volume>
            label="Volumes"
            columns={COLUMNS}
            total={rows.total()}
            row={rows.row}
            id={(volume) => volume.name}
            order={order()}
            onOrder={(next) => setSearch({ sort: textOf(next) }, { replace: true })}
            sortable={(column) => SORTABLE.includes(column.key)}
            onView={rows.view}
            selected={selected()}
            onSelect={select}
            actions={actions.of}
            changing={rows.changing()}
            query={query()}
          />
        </Show>
      </Show>
      {actions.dialog()}
      <Show when={creating()}>
        <CreateVolume onClose={() => setCreating(false)} onDone={(volume) => go(pagePath("volume", volume.name))} />
      </Show>
    </>
  );
}

function Nothing(props: { text: string; onClear: () => void; onNew: () => void }): JSX.Element {
  return (
    <Show
      when={props.text !== ""}
      fallback={
        <Empty
          action={
            <Act class="primary" onClick={() => props.onNew()}>
              New volume
            </Act>
          }
        >
          A volume is a block device that hosts use over iSCSI. It takes space only as they write. On a command line:{" "}
          <code>windlass volume create NAME --size 100G</code>
        </Empty>
      }
    >
      <Empty
        action={
          <button type="button" onClick={() => props.onClear()}>
            Clear the filter
          </button>
        }
      >
        Nothing matches <strong>{props.text}</strong>.
      </Empty>
    </Show>
  );
}
