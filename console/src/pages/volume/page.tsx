// Page of one volume; its tabs share one answer of the array.

import { useNavigate, useParams } from "@solidjs/router";
import { createEffect, type JSX, Match, Show, Switch } from "solid-js";
import { useVolumeActions } from "../../actions/volume/menu";
import { pagePath } from "../../api/page-paths";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Volume } from "../../api/schema";
import { Act } from "../../parts/act";
import { EventsTab } from "../../parts/events";
import { Head, Tabs, tabPath, tabsOf } from "../../parts/head";
import { Menu } from "../../parts/menu";
import { OffloadOf } from "../../parts/offload/of-one";
import { windlass } from "../../parts/shell-lines";
import { Shown } from "../../parts/state";
import { bytes } from "../../parts/units";
import NotFound from "../not-found/page";
import { HostsTab } from "./hosts";
import { PerformanceTab } from "./performance";
import { ReservationsTab } from "./reservations";
import { SettingsTab } from "./settings";
import { SnapshotsTab } from "./snapshots";
import { SpaceTab } from "./space";
import { SummaryTab } from "./summary";

const TABS = ["summary", "space", "snapshots", "hosts", "offload", "performance", "reservations", "events", "settings"];

export default function VolumePage(): JSX.Element {
  const params = useParams<{ name: string; tab?: string }>();
  const go = useNavigate();
  const name = () => decodeURIComponent(params.name);
  const page = (of: string) => pagePath("volume", of);
  const query = useQuery<Volume>(() => api("volumes", name()), 5000);
  const tab = () => params.tab ?? "summary";
  // An id in the address works too, and gives way to the name.
  createEffect(() => {
    const volume = query.data();
    if (volume !== undefined && volume.id === name() && volume.name !== name())
      go(tabPath(page(volume.name), params.tab), { replace: true });
  });
  const actions = useVolumeActions({
    onDeleted: () => go("/volumes", { replace: true }),
    onRenamed: (next) => go(tabPath(page(next), params.tab), { replace: true }),
  });
  const about = (volume: Volume) =>
    [
      bytes(volume.size_bytes),
      volume.reserve ?? "thin",
      ...(volume.write_cache ? ["write cache on"] : []),
      ...(volume.source == null ? [] : [`clone of ${volume.source.name ?? "a deleted source"}`]),
    ].join(" · ");
  const counts = () => ({ snapshots: query.data()?.snapshots, hosts: query.data()?.luns.length });
  return (
    <Show when={TABS.includes(tab())} fallback={<NotFound />}>
      <Head
        title={name()}
        about={<Show when={query.data()}>{(volume) => about(volume())}</Show>}
        same={[
          { what: "show this volume", windlass: windlass("volume", "show", name()), path: api("volumes", name()) },
          { what: "its space", path: api("volumes", name(), "space") },
          {
            what: "its offload statistics",
            windlass: windlass("offload", "stats", name()),
            path: api("volumes", name(), "offload"),
          },
        ]}
      >
        <Show when={query.data()}>
          {(volume) => (
            <>
              <a class="button" href={`/hosts/connect?volume=${encodeURIComponent(volume().name)}`}>
                Connect
              </a>
              <Act first onClick={() => actions.open("snapshot", volume())}>
                Snapshot
              </Act>
              <Act onClick={() => actions.open("clone", volume())}>Clone</Act>
              <Menu
                label={`more actions for ${volume().name}`}
                text="More ▾"
                actions={() => actions.of(volume()).filter((action) => action.label !== "Open")}
              />
            </>
          )}
        </Show>
      </Head>
      <Tabs label={`Parts of volume ${name()}`} tabs={tabsOf(page(name()), TABS, counts())} />
      <Shown of={query}>
        {(volume) => (
          <Switch>
            <Match when={tab() === "summary"}>
              <SummaryTab volume={volume()} />
            </Match>
            <Match when={tab() === "space"}>
              <SpaceTab volume={volume()} />
            </Match>
            <Match when={tab() === "snapshots"}>
              <SnapshotsTab volume={volume()} />
            </Match>
            <Match when={tab() === "hosts"}>
              <HostsTab volume={volume()} onGrant={() => actions.open("grant", volume())} />
            </Match>
            <Match when={tab() === "offload"}>
              <OffloadOf name={volume().name} kind="volumes" />
            </Match>
            <Match when={tab() === "performance"}>
              <PerformanceTab volume={volume()} />
            </Match>
            <Match when={tab() === "reservations"}>
              <ReservationsTab name={volume().name} />
            </Match>
            <Match when={tab() === "events"}>
              <EventsTab subject={volume().name} />
            </Match>
            <Match when={tab() === "settings"}>
              <SettingsTab volume={volume()} onChange={() => actions.open("change", volume())} />
            </Match>
          </Switch>
        )}
      </Shown>
      {actions.dialog()}
    </Show>
  );
}
