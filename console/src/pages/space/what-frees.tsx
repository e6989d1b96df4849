// Snapshots and volumes by the space that deleting each of them alone frees.

import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { contentPath, pagePath } from "../../api/page-paths";
import { full, withQuery } from "../../api/paths";
import type { Snapshot, Volume } from "../../api/schema";
import { Ago, Bytes } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { Together } from "../../parts/together";

interface Candidate {
  name: string;
  kind: "snapshot" | "volume without a host";
  path: string;
  frees: number;
  created: string;
}

const MOST = 20;
const COLUMNS: Column<Candidate>[] = [
  { key: "name", title: "What", cell: ({ name, path }) => <a href={path}>{name}</a>, by: ({ name }) => name },
  { key: "kind", title: "Kind", cell: ({ kind }) => kind, by: ({ kind }) => kind },
  {
    key: "frees",
    title: "Frees",
    number: true,
    about: "Bytes that deleting it alone frees",
    cell: ({ frees }) => <Bytes of={frees} />,
    by: ({ frees }) => frees,
  },
  { key: "created", title: "Made", rank: 2, cell: ({ created }) => <Ago at={created} />, by: ({ created }) => created },
];

const largest = (path: string): string => withQuery(path, { sort: "-unique_bytes", limit: MOST });

export function WhatFrees(): JSX.Element {
  const snapshots = useList<Snapshot>(() => largest("/api/v1/snapshots"), false, 60_000);
  const volumes = useList<Volume>(() => largest("/api/v1/volumes?has=no-host"), false, 60_000);
  const candidates = createMemo((): Candidate[] | undefined => {
    const [taken, made] = [snapshots.data(), volumes.data()];
    if (taken === undefined || made === undefined) return undefined;
    const all = [
      ...taken.map(
        ({ volume, name, of_share, unique_bytes, created }): Candidate => ({
          name: full({ volume, name }),
          kind: "snapshot",
          path: `${contentPath(of_share, volume)}/snapshots`,
          frees: unique_bytes ?? 0,
          created,
        }),
      ),
      ...made.map(
        ({ name, unique_bytes, created }): Candidate => ({
          name,
          kind: "volume without a host",
          path: pagePath("volume", name),
          frees: unique_bytes ?? 0,
          created,
        }),
      ),
    ];
    return all
      .filter(({ frees }) => frees > 0)
      .toSorted((one, other) => other.frees - one.frees)
      .slice(0, MOST);
  });
  const [selected, setSelected] = createSignal<ReadonlySet<string>>(new Set());
  // The sum leaves out objects that were deleted meanwhile.
  const chosen = createMemo(() => {
    const names = new Set(candidates()?.map(({ name }) => name));
    return new Set([...selected()].filter((name) => names.has(name)));
  });
  const select = (name: string, isIn: boolean) => {
    const next = new Set(chosen());
    if (isIn) next.add(name);
    else next.delete(name);
    setSelected(next);
  };
  return (
    <section>
      <h2>What frees what</h2>
      <p class="soft small">
        Each alone; several together may free more, because what they share only with each other is freed too.
      </p>
      <Shown of={{ ...snapshots, data: candidates, more: () => false }}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={<p class="soft">No snapshot, and no volume without a host, holds space of its own.</p>}
          >
            <Rows
              label="What frees space"
              columns={COLUMNS}
              rows={items()}
              id={({ name }) => name}
              selected={chosen()}
              onSelect={select}
            />
            <p>
              <Show when={chosen().size > 0} fallback={<span class="soft">Select several to see their sum.</span>}>
                <Together ids={[...chosen()].toSorted()} />
              </Show>
            </p>
          </Show>
        )}
      </Shown>
    </section>
  );
}
