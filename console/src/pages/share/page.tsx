// One share: space, access, snapshots, offload, events.

import { useNavigate, useParams } from "@solidjs/router";
import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { ChangeShare, DeleteShare } from "../../actions/share";
import { TakeSnapshot } from "../../actions/snapshot";
import { pagePath } from "../../api/page-paths";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Share } from "../../api/schema";
import { Act } from "../../parts/act";
import { EventsTab } from "../../parts/events";
import { Head, Tabs, tabPath, tabsOf } from "../../parts/head";
import { OffloadOf } from "../../parts/offload/of-one";
import { windlass } from "../../parts/shell-lines";
import { Shown } from "../../parts/state";
import NotFound from "../not-found/page";
import { AccessTab } from "./access";
import { SnapshotsTab } from "./snapshots";
import { SummaryTab } from "./summary";

const TABS = ["summary", "access", "snapshots", "offload", "events"];

export default function SharePage(): JSX.Element {
  const params = useParams<{ name: string; tab?: string }>();
  const go = useNavigate();
  const name = () => decodeURIComponent(params.name);
  const page = (of: string) => pagePath("share", of);
  const [open, setOpen] = createSignal<{ verb: "snapshot" | "change" | "delete"; share: Share }>();
  const close = () => setOpen(undefined);
  const query = useQuery<Share>(() => api("shares", name()), 5000);
  const tab = () => params.tab ?? "summary";
  const counts = () => ({ snapshots: query.data()?.snapshots, access: query.data()?.exports.length });
  return (
    <Show when={TABS.includes(tab())} fallback={<NotFound />}>
      <Head
        title={name()}
        about={
          <Show when={query.data()}>{(share) => `share · ${share().path} · NFS ${share().protocols.join(", ")}`}</Show>
        }
        same={[
          { what: "show this share", windlass: windlass("share", "show", name()), path: api("shares", name()) },
          {
            what: "its space, reads and writes",
            windlass: windlass("share", "stat", name()),
            path: api("shares", name(), "space"),
          },
        ]}
      >
        <Show when={query.data()}>
          {(share) => (
            <>
              <a class="button" href={`/hosts/connect?system=linux&share=${encodeURIComponent(name())}`}>
                Connect
              </a>
              <Act first onClick={() => setOpen({ verb: "snapshot", share: share() })}>
                Snapshot
              </Act>
              <Act onClick={() => setOpen({ verb: "change", share: share() })}>Change</Act>
              <Act class="danger" onClick={() => setOpen({ verb: "delete", share: share() })}>
                Delete
              </Act>
            </>
          )}
        </Show>
      </Head>
      <Tabs label={`Parts of share ${name()}`} tabs={tabsOf(page(name()), TABS, counts())} />
      <Shown of={query}>
        {(share) => (
          <Switch>
            <Match when={tab() === "summary"}>
              <SummaryTab share={share()} />
            </Match>
            <Match when={tab() === "access"}>
              <AccessTab share={share()} />
            </Match>
            <Match when={tab() === "snapshots"}>
              <SnapshotsTab share={share()} />
            </Match>
            <Match when={tab() === "offload"}>
              <OffloadOf name={share().name} kind="shares" />
            </Match>
            <Match when={tab() === "events"}>
              <EventsTab subject={share().name} />
            </Match>
          </Switch>
        )}
      </Shown>
      <Show when={open()} keyed>
        {({ verb, share }) =>
          verb === "snapshot" ? (
            <TakeSnapshot of={[share.name]} share onClose={close} />
          ) : verb === "change" ? (
            <ChangeShare
              share={share}
              onClose={close}
              onRenamed={(next) => go(tabPath(page(next), params.tab), { replace: true })}
            />
          ) : (
            <DeleteShare share={share} onClose={close} onDone={() => go("/shares", { replace: true })} />
          )
        }
      </Show>
    </Show>
  );
}
