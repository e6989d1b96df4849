// Snapshots, objects in the trash, and volumes and shares without a host, by the space that deleting each alone frees.

import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { contentPath, pagePath } from "../../api/page-paths";
import { api, withQuery } from "../../api/paths";
import type { Freeable } from "../../api/schema";
import { Locked } from "../../parts/locked";
import { Ago, Bytes } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { Together } from "../../parts/together";
import { count, NONE } from "../../parts/units";

/** Rows that are shown: those that free most. */
const MOST = 20;
const KINDS: Record<Freeable["kind"], string> = {
  trash: "in the trash",
  snapshot: "snapshot",
  volume: "volume without a host",
  share: "share without a host",
};

function pathOf({ kind, name, of_share }: Freeable): string {
  if (kind === "trash") return "/trash";
  if (kind === "snapshot") return `${contentPath(of_share, name.split("@")[0] ?? name)}/snapshots`;
  return pagePath(kind, name);
}

const COLUMNS: Column<Freeable>[] = [
  { key: "name", title: "What", cell: (of) => <a href={pathOf(of)}>{of.name}</a>, by: ({ name }) => name },
  { key: "kind", title: "Kind", cell: ({ kind }) => KINDS[kind], by: ({ kind }) => KINDS[kind] },
  {
    key: "frees",
    title: "Frees",
    number: true,
    about: "Bytes that deleting it alone frees, with the snapshots that go with it",
    cell: ({ frees_bytes }) => <Bytes of={frees_bytes ?? null} />,
    by: ({ frees_bytes }) => frees_bytes ?? -1,
  },
  {
    key: "with",
    title: "Goes with",
    rank: 3,
    cell: ({ snapshots }) => (snapshots > 0 ? count(snapshots, "snapshot") : NONE),
    by: ({ snapshots }) => snapshots,
  },
  {
    key: "since",
    title: "Since",
    rank: 2,
    about: "When it was made; in the trash, when it was deleted",
    cell: ({ since }) => <Ago at={since} />,
    by: ({ since }) => since,
  },
  {
    key: "used",
    title: "Last used",
    rank: 2,
    about: "Last use by a host, of volumes and shares without grants, as far as the history goes back",
    cell: ({ last_used }) => <Ago at={last_used ?? undefined} />,
    by: ({ last_used }) => last_used ?? "",
  },
  {
    key: "locked",
    title: "Locked",
    rank: 2,
    about: "It cannot be deleted before the lock ends",
    cell: (of) => <Locked of={of} />,
    by: ({ locked_until }) => locked_until ?? "",
  },
];

export function WhatFrees(props: { pool: string }): JSX.Element {
  const frees = useList<Freeable>(() => withQuery(api("pools", props.pool, "frees"), { limit: MOST }), false, 60_000);
  const rows = createMemo(() => frees.data()?.filter(({ frees_bytes }) => frees_bytes !== 0));
  const [selected, setSelected] = createSignal<ReadonlySet<string>>(new Set());
  // The sum leaves out objects that were deleted meanwhile.
  const chosen = createMemo(() => {
    const ids = new Set(rows()?.map(({ id }) => id));
    return new Set([...selected()].filter((id) => ids.has(id)));
  });
  const select = (id: string, isIn: boolean) => {
    const next = new Set(chosen());
    if (isIn) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  return (
    <section>
      <h2>What frees what</h2>
      <p class="soft small">
        Each alone; several together may free more, because what they share only with each other is freed too.
      </p>
      <Shown of={{ ...frees, data: rows, more: () => false }}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={
              <p class="soft">
                The trash, the snapshots, and the volumes and shares without a host hold no space of their own.
              </p>
            }
          >
            <Rows
              label="What frees space"
              columns={COLUMNS}
              rows={items()}
              id={({ id }) => id}
              name={({ name }) => name}
              selected={chosen()}
              onSelect={select}
            />
            <p>
              <Show when={chosen().size > 0} fallback={<span class="soft">Select several to see their sum.</span>}>
                <Together ids={[...chosen()].toSorted()} withSnapshots />
              </Show>
            </p>
          </Show>
        )}
      </Shown>
    </section>
  );
}
