// Limits: QoS policies, and what has them.

import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { AttachPolicy, DeletePolicy, EditPolicy } from "../../actions/limits";
import { useList } from "../../api/list";
import type { QosPolicy } from "../../api/schema";
import { bandwidthWords, heldWords, iopsWords } from "../../parts/limit-words";
import { ListPage } from "../../parts/list-page";
import type { Action } from "../../parts/menu";
import { SettingsTabs } from "../../parts/settings-tabs";
import type { Column } from "../../parts/table";
import { NONE } from "../../parts/units";

type Verb = "edit" | "attach" | "delete";

const users = ({ volumes, hosts }: QosPolicy): string => [...volumes, ...hosts].join(", ") || NONE;

const COLUMNS: Column<QosPolicy>[] = [
  { key: "name", title: "Name", cell: ({ name }) => name, by: ({ name }) => name },
  {
    key: "iops",
    title: "Operations per second",
    cell: ({ iops, iops_burst }) => iopsWords(iops, iops_burst),
    by: ({ iops }) => iops ?? Number.POSITIVE_INFINITY,
  },
  {
    key: "bandwidth",
    title: "Bytes per second",
    cell: ({ bytes_per_second, bytes_burst }) => bandwidthWords(bytes_per_second, bytes_burst),
    by: ({ bytes_per_second }) => bytes_per_second ?? Number.POSITIVE_INFINITY,
  },
  { key: "weight", title: "Weight", number: true, rank: 2, cell: ({ weight }) => weight, by: ({ weight }) => weight },
  {
    key: "users",
    title: "Volumes and hosts",
    rank: 2,
    cell: (policy) => (
      <span title={users(policy)}>
        <span class="cut">{users(policy)}</span> {policy.shared ? <span class="tag">shared</span> : ""}
      </span>
    ),
  },
  {
    key: "held",
    title: "Held back",
    rank: 3,
    cell: ({ held }) => heldWords(held),
    by: ({ held }) => held.delay_us,
  },
];

export default function Limits(): JSX.Element {
  const policies = useList<QosPolicy>(() => "/api/v1/qos-policies");
  const [open, setOpen] = createSignal<{ verb: Verb; policy: QosPolicy } | { verb: "create" }>();
  const close = () => setOpen(undefined);
  const of = () => {
    const present = open();
    return present !== undefined && "policy" in present ? present : undefined;
  };
  const action = (verb: Verb, label: string, policy: QosPolicy): Action => ({
    label,
    needs: "operator",
    run: () => setOpen({ verb, policy }),
  });
  return (
    <ListPage
      title="Limits"
      about="QoS policies: how much volumes and hosts may do in a second"
      same={[
        { what: "list the policies", windlass: "windlass qos list", path: "/api/v1/qos-policies" },
        {
          what: "create a policy",
          windlass: "windlass qos create NAME --iops 2000 --bandwidth 100M",
          method: "POST",
          path: "/api/v1/qos-policies",
          body: { name: "NAME", iops: 2000, bytes_per_second: 104857600 },
        },
      ]}
      add={{ label: "New policy", run: () => setOpen({ verb: "create" }) }}
      above={<SettingsTabs />}
      of={policies}
      empty={<>No policy yet. One limits the operations and bytes in a second of the volumes and hosts that have it.</>}
      columns={COLUMNS}
      id={({ name }) => name}
      actions={(policy) => [
        action("edit", "Change…", policy),
        action("attach", "Attach…", policy),
        { ...action("delete", "Delete…", policy), danger: true },
      ]}
    >
      <Show when={open()?.verb === "create"}>
        <EditPolicy onClose={close} />
      </Show>
      <Show when={of()} keyed>
        {({ verb, policy }) => (
          <Switch>
            <Match when={verb === "edit"}>
              <EditPolicy policy={policy} onClose={close} />
            </Match>
            <Match when={verb === "attach"}>
              <AttachPolicy policy={policy} onClose={close} />
            </Match>
            <Match when={verb === "delete"}>
              <DeletePolicy policy={policy} onClose={close} />
            </Match>
          </Switch>
        )}
      </Show>
    </ListPage>
  );
}
