// One host: identity, volumes, sessions.

import { useNavigate, useParams } from "@solidjs/router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { RevokeAccess } from "../../actions/access";
import { ChangeHost, DeleteHost, EndSession } from "../../actions/host";
import { LimitsCard } from "../../actions/limits-card";
import { granteeOf } from "../../api/grants";
import { useList } from "../../api/list";
import { pagePath } from "../../api/page-paths";
import { api, withQuery } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Access, ConnectState, Host, HostGroup, HostLun, Session } from "../../api/schema";
import { Act } from "../../parts/act";
import { sentence } from "../../parts/effect";
import { Grantee } from "../../parts/grantee";
import { Head } from "../../parts/head";
import { At } from "../../parts/numbers";
import { HOST_PRIMITIVES } from "../../parts/offload/standings";
import { Rows } from "../../parts/rows";
import { sessionColumns } from "../../parts/sessions";
import { windlass } from "../../parts/shell-lines";
import { Shown } from "../../parts/state";
import type { Column } from "../../parts/table";

type Open =
  | { verb: "change"; host: Host }
  | { verb: "delete" }
  | { verb: "revoke"; lun: Seen }
  | { verb: "end"; session: Session };

/** A volume that the host sees, and by which grant: to its name, a group, or everybody. */
type Seen = HostLun & { grantee: string };

const LUNS: Column<Seen>[] = [
  {
    key: "volume",
    title: "Volume",
    cell: (lun) => <a href={pagePath("volume", lun.volume)}>{lun.volume}</a>,
    by: ({ volume }) => volume,
  },
  { key: "lun", title: "LUN", number: true, cell: ({ lun }) => lun, by: ({ lun }) => lun },
  { key: "to", title: "Granted to", cell: ({ grantee }) => <Grantee of={grantee} />, by: ({ grantee }) => grantee },
  { key: "url", title: "URL", rank: 2, cell: (lun) => <code>{lun.iscsi_url}</code> },
];

export default function HostPage(): JSX.Element {
  const params = useParams<{ name: string }>();
  const go = useNavigate();
  const name = () => decodeURIComponent(params.name);
  const [open, setOpen] = createSignal<Open>();
  const close = () => setOpen(undefined);
  const query = useQuery<Host>(() => api("hosts", name()));
  const sessions = useList<Session>(() => withQuery("/api/v1/sessions", { host: name() }), true, 5000);
  const state = useQuery<ConnectState>(() => withQuery("/api/v1/connect/state", { host: name() }));
  const groups = useList<HostGroup>(() => "/api/v1/host-groups");
  const everybody = useList<Access>(() => "/api/v1/access?host=any");
  const luns = createMemo((): Seen[] => {
    const host = query.data();
    if (host === undefined) return [];
    return [
      ...host.luns.map((lun) => ({ ...lun, grantee: granteeOf(lun, host.name, groups.data() ?? []) })),
      ...(everybody.data() ?? []).map((access) => ({ ...access, grantee: "any" })),
    ];
  });
  const own = () => sessions.data() ?? [];
  return (
    <>
      <Head
        title={name()}
        about="host"
        same={[{ what: "show this host", windlass: windlass("host", "show", name()), path: api("hosts", name()) }]}
      >
        <a class="button" href={`/hosts/connect?host=${encodeURIComponent(name())}`}>
          Connect
        </a>
        <Show when={query.data()}>
          {(host) => (
            <>
              <Act onClick={() => setOpen({ verb: "change", host: host() })}>Change</Act>
              <Act class="danger" onClick={() => setOpen({ verb: "delete" })}>
                Delete
              </Act>
            </>
          )}
        </Show>
      </Head>
      <Shown of={query}>
        {(host) => (
          <>
            <For each={state.data()?.warnings}>{({ text }) => <p class="note">▲ {sentence(text)}</p>}</For>
            <Identity host={host()} />
            <LimitsCard host={host()} />
            <h2>Volumes</h2>
            <Show when={luns().length > 0} fallback={<p class="soft">It may use no volume.</p>}>
              <Rows
                label={`Volumes of ${name()}`}
                columns={LUNS}
                rows={luns()}
                id={({ volume, grantee }) => `${volume} for ${grantee}`}
                parameter="volumes"
                actions={(lun) => [
                  { label: "Revoke…", needs: "operator", danger: true, run: () => setOpen({ verb: "revoke", lun }) },
                ]}
              />
            </Show>
            <h2 class="under">Offload in its present sessions</h2>
            <Rows
              label={`Offload of ${name()}`}
              columns={HOST_PRIMITIVES}
              rows={host().primitives ?? []}
              id={(row) => row.name}
              parameter="offload"
            />
            <h2 class="under">Sessions</h2>
            <Show when={own().length > 0} fallback={<p class="soft">It is not logged in.</p>}>
              <Rows
                label={`Sessions of ${name()}`}
                columns={sessionColumns(false)}
                rows={own()}
                id={({ id }) => String(id)}
                parameter="sessions"
                actions={(session) => [
                  { label: "End…", needs: "operator", danger: true, run: () => setOpen({ verb: "end", session }) },
                ]}
              />
            </Show>
          </>
        )}
      </Shown>
      <Show when={open()} keyed>
        {(present) =>
          present.verb === "change" ? (
            <ChangeHost
              host={present.host}
              onClose={close}
              onRenamed={(next) => go(pagePath("host", next), { replace: true })}
            />
          ) : present.verb === "delete" ? (
            <DeleteHost host={name()} onClose={close} onDone={() => go("/hosts", { replace: true })} />
          ) : present.verb === "revoke" ? (
            <RevokeAccess volume={present.lun.volume} host={present.lun.grantee} onClose={close} />
          ) : (
            <EndSession session={present.session} onClose={close} />
          )
        }
      </Show>
    </>
  );
}

function Identity(props: { host: Host }): JSX.Element {
  return (
    <section class="card pool">
      <dl class="facts">
        <dt>Initiator names</dt>
        <dd>
          <code>{props.host.iqns.join(", ") || "–"}</code>
        </dd>
        <dt>Addresses</dt>
        <dd>{(props.host.addresses ?? []).join(", ") || "–"}</dd>
        <dt>CHAP</dt>
        <dd>
          <Show when={props.host.chap} fallback="not required">
            {(chap) =>
              `user ${chap().user}${chap().mutual_user == null ? "" : `, mutual with user ${chap().mutual_user}`}`
            }
          </Show>
        </dd>
        <dt>Created</dt>
        <dd>
          <At at={props.host.created} />
        </dd>
      </dl>
    </section>
  );
}
