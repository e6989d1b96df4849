// Host groups: hosts that see the same volumes at the same logical unit numbers.

import { useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { CreateGroup, DeleteGroup, SetGroup } from "../../actions/group";
import { useList } from "../../api/list";
import type { HostGroup } from "../../api/schema";
import { HostsTabs } from "../../parts/hosts-tabs";
import { ListPage } from "../../parts/list-page";
import type { Column } from "../../parts/table";

const COLUMNS: Column<HostGroup>[] = [
  { key: "name", title: "Name", cell: ({ name }) => name, by: ({ name }) => name },
  { key: "hosts", title: "Hosts", cell: ({ hosts }) => hosts.join(", ") || "none", by: ({ hosts }) => hosts.length },
  {
    key: "volumes",
    title: "Volumes",
    cell: ({ luns }) => luns.map(({ volume, lun }) => `${volume} (LUN ${lun})`).join(", ") || "none",
    by: ({ luns }) => luns.length,
  },
];

export default function Groups(): JSX.Element {
  const groups = useList<HostGroup>(() => "/api/v1/host-groups");
  const [search, setSearch] = useSearchParams<{ group?: string }>();
  const shown = createMemo(() =>
    groups.data()?.filter(({ name }) => search.group === undefined || name === search.group),
  );
  const [open, setOpen] = createSignal<{ verb: "create" } | { verb: "set" | "delete"; group: HostGroup }>();
  const close = () => setOpen(undefined);
  return (
    <ListPage
      title="Host groups"
      about="Hosts that see the same volumes at the same logical unit numbers"
      same={[{ what: "list the host groups", windlass: "windlass host-group list", path: "/api/v1/host-groups" }]}
      add={{ label: "New group", run: () => setOpen({ verb: "create" }) }}
      above={
        <>
          <HostsTabs />
          <Show when={search.group}>
            <p>
              Only <strong>{search.group}</strong>.{" "}
              <button type="button" onClick={() => setSearch({ group: undefined })}>
                Show all
              </button>
            </p>
          </Show>
        </>
      }
      of={groups}
      rows={() => shown() ?? []}
      empty={<>The hosts of a cluster belong into one group: a volume granted to it has the same number on each.</>}
      columns={COLUMNS}
      id={({ name }) => name}
      actions={(group) => [
        { label: "Change members…", needs: "operator", run: () => setOpen({ verb: "set", group }) },
        { label: "Delete…", needs: "operator", danger: true, run: () => setOpen({ verb: "delete", group }) },
      ]}
    >
      <Show when={open()} keyed>
        {(present) =>
          present.verb === "create" ? (
            <CreateGroup onClose={close} />
          ) : present.verb === "set" ? (
            <SetGroup group={present.group} onClose={close} />
          ) : (
            <DeleteGroup group={present.group.name} onClose={close} />
          )
        }
      </Show>
    </ListPage>
  );
}
