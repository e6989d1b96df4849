// Tokens: the credentials of programs.

import { createSignal, type JSX, Show } from "solid-js";
import { CreateToken, DeleteToken } from "../../actions/token";
import { useList } from "../../api/list";
import type { Token } from "../../api/schema";
import { ListPage } from "../../parts/list-page";
import { Ago, Until } from "../../parts/numbers";
import { SettingsTabs } from "../../parts/settings-tabs";
import type { Column } from "../../parts/table";

function Ends(props: { at: string | null | undefined }): JSX.Element {
  return (
    <Show when={props.at} fallback="never">
      {(at) => <Until at={at()} past={<span class="bad">ended</span>} />}
    </Show>
  );
}

const limits = ({ scopes }: Token): string =>
  [
    scopes.metrics_only ? "only /metrics" : "",
    scopes.volumes == null ? "" : `volumes ${scopes.volumes}`,
    (scopes.networks ?? []).length > 0 ? `from ${scopes.networks?.join(", ")}` : "",
  ]
    .filter((part) => part !== "")
    .join("; ") || "none";

const COLUMNS: Column<Token>[] = [
  {
    key: "name",
    title: "Name",
    cell: ({ name, prefix }) => (
      <>
        {name}{" "}
        <Show when={prefix !== ""}>
          <code class="soft small">{prefix}…</code>
        </Show>
      </>
    ),
    by: ({ name }) => name,
  },
  { key: "role", title: "Role", cell: ({ role }) => role, by: ({ role }) => role },
  { key: "limits", title: "Limits", rank: 2, cell: limits, by: limits },
  { key: "expires", title: "Ends", cell: ({ expires }) => <Ends at={expires} />, by: ({ expires }) => expires ?? "~" },
  {
    key: "used",
    title: "Last used",
    cell: ({ last_used, last_from }) => (
      <>
        <Ago at={last_used} /> <Show when={last_from}>{(from) => <span class="soft small">from {from()}</span>}</Show>
      </>
    ),
    by: ({ last_used }) => last_used ?? "",
  },
  { key: "by", title: "Created by", rank: 3, cell: ({ created_by }) => created_by, by: ({ created_by }) => created_by },
  {
    key: "created",
    title: "Created",
    rank: 3,
    cell: ({ created }) => <Ago at={created} />,
    by: ({ created }) => created,
  },
];

export default function Tokens(): JSX.Element {
  const tokens = useList<Token>(() => "/api/v1/tokens", false);
  const [open, setOpen] = createSignal<Token | "create">();
  const close = () => setOpen(undefined);
  const deleting = () => {
    const present = open();
    return present === "create" ? undefined : present;
  };
  return (
    <ListPage
      title="Tokens"
      about="Credentials of programs; their secrets are shown once"
      same={[
        { what: "list the tokens", windlass: "windlass token list", path: "/api/v1/tokens" },
        {
          what: "create a token for Prometheus",
          windlass: "windlass token create prometheus --role viewer --metrics-only",
          method: "POST",
          path: "/api/v1/tokens",
          body: { name: "prometheus", role: "viewer", scopes: { metrics_only: true } },
        },
      ]}
      add={{ label: "New token", needs: "admin", run: () => setOpen("create") }}
      above={<SettingsTabs />}
      of={tokens}
      empty={<>No token. Programs need one; people sign in with name and password.</>}
      columns={COLUMNS}
      id={({ name }) => name}
      actions={(token) => [{ label: "Delete…", needs: "admin", danger: true, run: () => setOpen(token) }]}
    >
      <Show when={open() === "create"}>
        <CreateToken onClose={close} />
      </Show>
      <Show when={deleting()} keyed>
        {(token) => <DeleteToken token={token} onClose={close} />}
      </Show>
    </ListPage>
  );
}
