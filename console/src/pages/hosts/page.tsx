// Hosts: the machines that use the array.

import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { ChangeHost, CreateHost, DeleteHost, SetSecret } from "../../actions/host";
import { useList } from "../../api/list";
import { pagePath } from "../../api/page-paths";
import type { Host, Session } from "../../api/schema";
import { sentence } from "../../parts/effect";
import { HostsTabs } from "../../parts/hosts-tabs";
import { ListPage } from "../../parts/list-page";
import { Ago, Bytes } from "../../parts/numbers";
import { STANDINGS } from "../../parts/offload/standings";
import type { Column } from "../../parts/table";
import { Knocked } from "./knocked";

export default function Hosts(): JSX.Element {
  const hosts = useList<Host>(() => "/api/v1/hosts");
  const sessions = useList<Session>(() => "/api/v1/sessions", true, 5000);
  const [open, setOpen] = createSignal<
    { verb: "create"; iqn?: string } | { verb: "change" | "delete" | "secret"; host: Host }
  >();
  const close = () => setOpen(undefined);
  const of = createMemo(() => Map.groupBy(sessions.data() ?? [], (session) => session.host ?? ""));
  const columns: Column<Host>[] = [
    {
      key: "name",
      title: "Name",
      cell: (host) => <a href={pagePath("host", host.name)}>{host.name}</a>,
      by: ({ name }) => name,
    },
    {
      key: "sessions",
      title: "Sessions",
      number: true,
      cell: (host) => host.sessions,
      by: ({ sessions: count }) => count,
    },
    {
      key: "warnings",
      title: "Warnings",
      about: "What is doubtful about the host and its paths; its page says what helps",
      cell: (host) => (
        <Show when={(host.warnings ?? []).length > 0} fallback="–">
          <For each={host.warnings}>
            {({ code, text }) => (
              <>
                <span class="tag warn" title={sentence(text)}>
                  {code.replaceAll("-", " ")}
                </span>{" "}
              </>
            )}
          </For>
        </Show>
      ),
      by: ({ warnings }) => (warnings ?? []).length,
    },
    {
      key: "volumes",
      title: "Volumes",
      number: true,
      about: "Granted to the host or one of its groups, not to everybody",
      cell: (host) => host.luns.length,
      by: ({ luns }) => luns.length,
    },
    ...STANDINGS,
    {
      key: "iqns",
      title: "Initiator names",
      rank: 3,
      cell: (host) => <span title={host.iqns.join("\n")}>{host.iqns.join(", ") || "–"}</span>,
      by: ({ iqns }) => iqns.join(),
    },
    {
      key: "addresses",
      title: "Addresses",
      rank: 3,
      cell: (host) => (host.addresses ?? []).join(", ") || "–",
      by: ({ addresses }) => (addresses ?? []).join(),
    },
    {
      key: "chap",
      title: "CHAP",
      rank: 2,
      cell: (host) => (host.chap == null ? "no" : host.chap.mutual_user == null ? "yes" : "mutual"),
      by: ({ chap }) => Number(chap != null),
    },
    {
      key: "read",
      title: "Read",
      number: true,
      rank: 3,
      about: "Bytes read by its present sessions",
      cell: (host) => <Bytes of={(of().get(host.name) ?? []).reduce((sum, session) => sum + session.read_bytes, 0)} />,
    },
    {
      key: "io",
      title: "Last I/O",
      rank: 2,
      cell: (host) => <Ago at={lastIo(of().get(host.name) ?? [])} />,
      by: (host) => lastIo(of().get(host.name) ?? []) ?? "",
    },
  ];
  return (
    <ListPage
      title="Hosts"
      about="Machines that use volumes over iSCSI and shares over NFS"
      same={[
        { what: "list the hosts", windlass: "windlass host list", path: "/api/v1/hosts" },
        {
          what: "create a host",
          windlass: "windlass host create NAME --iqn iqn.1998-01.com.vmware:esx01",
          method: "POST",
          path: "/api/v1/hosts",
          body: { name: "NAME", iqns: ["iqn.1998-01.com.vmware:esx01"] },
        },
      ]}
      add={{ label: "New host", run: () => setOpen({ verb: "create" }) }}
      buttons={
        <a class="button" href="/hosts/connect">
          Connect
        </a>
      }
      above={
        <>
          <HostsTabs hosts={hosts.total()} sessions={sessions.total()} />
          <Knocked
            sessions={sessions.data() ?? []}
            onMake={(iqn) => setOpen({ verb: "create", iqn })}
            onSecret={(name) => {
              const host = hosts.data()?.find((each) => each.name === name);
              if (host !== undefined) setOpen({ verb: "secret", host });
            }}
          />
        </>
      }
      of={hosts}
      empty={
        <>
          A host is a machine, known by its initiator name. ESXi shows it with <code>esxcli iscsi adapter list</code>,
          Linux in <code>/etc/iscsi/initiatorname.iscsi</code>, Windows with <code>iscsicli</code>.
        </>
      }
      columns={columns}
      id={({ name }) => name}
      actions={(host) => [
        { label: "Change…", needs: "operator", run: () => setOpen({ verb: "change", host }) },
        ...(host.chap == null
          ? []
          : [{ label: "Set secret…", needs: "operator" as const, run: () => setOpen({ verb: "secret", host }) }]),
        { label: "Delete…", needs: "operator", danger: true, run: () => setOpen({ verb: "delete", host }) },
      ]}
    >
      <Show when={open()} keyed>
        {(present) =>
          present.verb === "create" ? (
            <CreateHost iqn={present.iqn} onClose={close} />
          ) : present.verb === "change" ? (
            <ChangeHost host={present.host} onClose={close} />
          ) : present.verb === "secret" ? (
            <SetSecret host={present.host} onClose={close} />
          ) : (
            <DeleteHost host={present.host.name} onClose={close} />
          )
        }
      </Show>
    </ListPage>
  );
}

/** Time of the newest command of sessions. */
function lastIo(sessions: Session[]): string | undefined {
  return sessions
    .map(({ last_io }) => last_io ?? undefined)
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1);
}
