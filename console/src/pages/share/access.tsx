// Access rules of a share.

import { createSignal, type JSX, Show } from "solid-js";
import { GrantShare, RevokeShare } from "../../actions/share";
import type { Export, Share } from "../../api/schema";
import { Act } from "../../parts/act";
import { Grantee } from "../../parts/grantee";
import { Rows } from "../../parts/rows";
import { Empty } from "../../parts/state";
import type { Column } from "../../parts/table";

const COLUMNS: Column<Export>[] = [
  {
    key: "host",
    title: "Host, group or network",
    cell: ({ host }) => <Grantee of={host} />,
    by: ({ host }) => host,
  },
  {
    key: "access",
    title: "Access",
    cell: ({ read_only }) => (read_only ? "read-only" : "read-write"),
    by: ({ read_only }) => Number(read_only),
  },
  {
    key: "squash",
    title: "Squash",
    about: "Users that become the anonymous user",
    cell: ({ squash }) => squash,
    by: ({ squash }) => squash,
  },
  {
    key: "anonymous",
    title: "Anonymous user",
    rank: 2,
    cell: ({ anonymous_uid, anonymous_gid }) => `${anonymous_uid}:${anonymous_gid}`,
  },
  {
    key: "port",
    title: "Ports below 1024 only",
    rank: 2,
    cell: ({ privileged_port }) => (privileged_port ? "yes" : "no"),
  },
];

export function AccessTab(props: { share: Share }): JSX.Element {
  const [granting, setGranting] = createSignal(false);
  const [revoking, setRevoking] = createSignal<Export>();
  const grant = (
    <Act class="primary" onClick={() => setGranting(true)}>
      Grant access
    </Act>
  );
  return (
    <>
      <Show when={props.share.exports.length > 0} fallback={<Empty action={grant}>No host may use this share.</Empty>}>
        <Rows
          label={`Access to ${props.share.name}`}
          columns={COLUMNS}
          rows={props.share.exports}
          id={({ host }) => host}
          actions={(rule) => [{ label: "Revoke…", needs: "operator", danger: true, run: () => setRevoking(rule) }]}
        />
        <p class="under">{grant}</p>
      </Show>
      <Show when={granting()}>
        <GrantShare share={props.share.name} onClose={() => setGranting(false)} />
      </Show>
      <Show when={revoking()} keyed>
        {(rule) => <RevokeShare share={props.share.name} host={rule.host} onClose={() => setRevoking(undefined)} />}
      </Show>
    </>
  );
}
