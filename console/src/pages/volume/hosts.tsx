// Hosts that may use a volume, and their sessions.

import { createSignal, type JSX, Show } from "solid-js";
import { RevokeAccess } from "../../actions/access";
import { covers } from "../../api/grants";
import { useList } from "../../api/list";
import type { HostGroup, Session, Volume, VolumeLun } from "../../api/schema";
import { Act } from "../../parts/act";
import { Copy } from "../../parts/copy";
import { Grantee } from "../../parts/grantee";
import { Rows } from "../../parts/rows";
import { Empty } from "../../parts/state";
import type { Column } from "../../parts/table";

export function HostsTab(props: { volume: Volume; onGrant: () => void }): JSX.Element {
  const [revoking, setRevoking] = createSignal<VolumeLun>();
  const sessions = useList<Session>(() => "/api/v1/sessions");
  const groups = useList<HostGroup>(() => "/api/v1/host-groups");
  const paths = (grantee: string) =>
    (sessions.data() ?? []).filter(({ host }) =>
      host == null ? grantee === "any" : covers(grantee, { name: host }, groups.data() ?? []),
    ).length;
  const columns: Column<VolumeLun>[] = [
    {
      key: "host",
      title: "Host or group",
      cell: (lun) => <Grantee of={lun.host} />,
      by: ({ host }) => host,
    },
    { key: "lun", title: "LUN", number: true, cell: (lun) => lun.lun, by: ({ lun }) => lun },
    {
      key: "sessions",
      title: "Sessions",
      number: true,
      about: "Sessions of the host, or of the hosts of the group, with the array",
      cell: (lun) => `${paths(lun.host)}${sessions.more() ? " or more" : ""}`,
      by: (lun) => paths(lun.host),
    },
    {
      key: "url",
      title: "URL",
      rank: 2,
      cell: (lun) => (
        <>
          <code>{lun.iscsi_url}</code> <Copy text={lun.iscsi_url} what={`the URL for ${lun.host}`} />
        </>
      ),
    },
  ];
  const grant = (
    <Act class="primary" onClick={() => props.onGrant()}>
      Grant access
    </Act>
  );
  return (
    <>
      <Show when={props.volume.luns.length > 0} fallback={<Empty action={grant}>No host may use this volume.</Empty>}>
        <Rows
          label={`Hosts of ${props.volume.name}`}
          columns={columns}
          rows={props.volume.luns}
          id={(lun) => lun.host}
          actions={(lun) => [{ label: "Revoke…", needs: "operator", danger: true, run: () => setRevoking(lun) }]}
        />
        <p class="under">{grant}</p>
      </Show>
      <Show when={revoking()} keyed>
        {(lun) => <RevokeAccess volume={props.volume.name} host={lun.host} onClose={() => setRevoking(undefined)} />}
      </Show>
    </>
  );
}
