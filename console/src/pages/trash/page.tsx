// The trash: deleted volumes, shares and snapshots, which can be restored.

import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { DeleteTrashed, EmptyTrash, KeepTrash, RestoreTrashed } from "../../actions/trash";
import { useList } from "../../api/list";
import type { Pool, Trashed } from "../../api/schema";
import { Act } from "../../parts/act";
import { SpaceTabs } from "../../parts/content-tabs";
import { Head } from "../../parts/head";
import { Locked, lockedReason } from "../../parts/locked";
import { Ago, Bytes, Until } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { Empty, Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { duration } from "../../parts/time";
import { count, NONE } from "../../parts/units";

type Open = { verb: "restore" | "delete"; of: Trashed } | { verb: "empty" } | { verb: "keep"; of: Pool };

const COLUMNS: Column<Trashed>[] = [
  { key: "name", title: "Name", cell: ({ name }) => name, by: ({ name }) => name },
  { key: "kind", title: "Kind", cell: ({ kind }) => kind, by: ({ kind }) => kind },
  {
    key: "with",
    title: "Returns with",
    rank: 2,
    about: "Snapshots that were deleted with it, and grants of a volume",
    cell: ({ snapshots, grants }) =>
      [snapshots > 0 ? count(snapshots, "snapshot") : "", grants > 0 ? count(grants, "grant") : ""]
        .filter((part) => part !== "")
        .join(", ") || NONE,
    by: ({ snapshots }) => snapshots,
  },
  { key: "deleted", title: "Deleted", cell: ({ deleted }) => <Ago at={deleted} />, by: ({ deleted }) => deleted },
  { key: "until", title: "Goes", cell: ({ until }) => <Until at={until} past="now" />, by: ({ until }) => until },
  {
    key: "locked",
    title: "Locked",
    rank: 2,
    about: "It cannot be deleted for good before the lock ends, not even by an administrator",
    cell: (of) => <Locked of={of} />,
    by: ({ locked_until }) => locked_until ?? "",
  },
  {
    key: "holds",
    title: "Holds",
    number: true,
    about: "Bytes that deleting it for good, with its snapshots, frees",
    cell: ({ holds_bytes }) => <Bytes of={holds_bytes ?? null} />,
    by: ({ holds_bytes }) => holds_bytes ?? -1,
  },
];

export default function Trash(): JSX.Element {
  const trash = useList<Trashed>(() => "/api/v1/trash");
  const pools = useList<Pool>(() => "/api/v1/pools", false);
  const [open, setOpen] = createSignal<Open>();
  const close = () => setOpen(undefined);
  const kept = () => pools.data()?.[0]?.trash_seconds;
  return (
    <>
      <Head
        title="Trash"
        about={
          kept() === 0
            ? "The trash is off: what is deleted is gone at once"
            : `What is deleted stays here${kept() === undefined ? "" : ` for ${duration(kept() ?? 0)}`}, and goes earlier only when hosts need its space`
        }
        same={[
          { what: "list the trash", windlass: "windlass trash list", path: "/api/v1/trash" },
          {
            what: "restore something",
            windlass: "windlass trash restore NAME",
            method: "POST",
            path: "/api/v1/trash/NAME/restore",
            body: {},
          },
        ]}
      >
        <Show when={pools.data()?.[0]}>
          {(pool) => (
            <Act needs="admin" onClick={() => setOpen({ verb: "keep", of: pool() })}>
              Time kept
            </Act>
          )}
        </Show>
        <Act
          class="danger"
          needs="admin"
          unless={(trash.data() ?? []).length === 0 ? "the trash is empty" : undefined}
          onClick={() => setOpen({ verb: "empty" })}
        >
          Empty
        </Act>
      </Head>
      <SpaceTabs trash={trash.total()} />
      <Shown of={trash}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={
              <Empty>
                Nothing is in the trash. Volumes, shares and snapshots that are deleted come here, and can be restored
                with their grants.
              </Empty>
            }
          >
            <Rows
              label="Trash"
              columns={COLUMNS}
              rows={items()}
              id={({ id }) => id}
              name={({ name }) => name}
              actions={(of) => [
                { label: "Restore…", needs: "operator", run: () => setOpen({ verb: "restore", of }) },
                {
                  label: "Delete for good…",
                  needs: "admin",
                  danger: true,
                  unless: lockedReason(of),
                  run: () => setOpen({ verb: "delete", of }),
                },
              ]}
            />
          </Show>
        )}
      </Shown>
      <Show when={open()} keyed>
        {(present) => (
          <Switch>
            <Match when={present.verb === "restore" && present.of}>
              {(of) => <RestoreTrashed of={of()} onClose={close} />}
            </Match>
            <Match when={present.verb === "delete" && present.of}>
              {(of) => <DeleteTrashed of={of()} onClose={close} />}
            </Match>
            <Match when={present.verb === "keep" && present.of}>
              {(of) => <KeepTrash pool={of()} onClose={close} />}
            </Match>
            <Match when={present.verb === "empty"}>
              <EmptyTrash onClose={close} />
            </Match>
          </Switch>
        )}
      </Show>
    </>
  );
}
