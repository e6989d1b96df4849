// Host groups: hosts that see the same volumes at the same logical unit numbers.

import { useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { CreateGroup, DeleteGroup, SetGroup } from "../../actions/group";
import { useList } from "../../api/list";
import type { HostGroup } from "../../api/schema";
import { Act } from "../../parts/act";
import { Head } from "../../parts/head";
import { HostsTabs } from "../../parts/hosts-tabs";
import { Rows } from "../../parts/rows";
import { Empty, Shown } from "../../parts/state";
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
  const add = (
    <Act class="primary" first onClick={() => setOpen({ verb: "create" })}>
      New group
    </Act>
  );
  return (
    <>
      <Head
        title="Host groups"
        about="Hosts that see the same volumes at the same logical unit numbers"
        same={[{ what: "list the host groups", windlass: "windlass host-group list", path: "/api/v1/host-groups" }]}
      >
        {add}
      </Head>
      <HostsTabs />
      <Show when={search.group}>
        <p>
          Only <strong>{search.group}</strong>.{" "}
          <button type="button" onClick={() => setSearch({ group: undefined })}>
            Show all
          </button>
        </p>
      </Show>
      <Shown of={{ ...groups, data: shown }}>
        {(items) => (
          <Show
            when={(groups.data() ?? []).length > 0}
            fallback={
              <Empty action={add}>
                The hosts of a cluster belong into one group: a volume granted to it has the same number on each.
              </Empty>
            }
          >
            <Rows
              label="Host groups"
              columns={COLUMNS}
              rows={items()}
              id={({ name }) => name}
              actions={(group) => [
                { label: "Change members…", needs: "operator", run: () => setOpen({ verb: "set", group }) },
                { label: "Delete…", needs: "operator", danger: true, run: () => setOpen({ verb: "delete", group }) },
              ]}
            />
          </Show>
        )}
      </Shown>
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
    </>
  );
}
