// Connect: a host, a volume or share, and the commands that an administrator enters on the host.

import { useSearchParams } from "@solidjs/router";
import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { GrantAccess } from "../../actions/access";
import { CreateHost } from "../../actions/host";
import { GrantShare } from "../../actions/share";
import { CreateVolume } from "../../actions/volume/create";
import { mayUse } from "../../api/grants";
import { useList } from "../../api/list";
import { api, withQuery } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Host, HostGroup, Portal, Session, Share, Volume } from "../../api/schema";
import { shareSteps, volumeSteps } from "../../connect/steps";
import { Act } from "../../parts/act";
import { ChoiceField } from "../../parts/form";
import { Head } from "../../parts/head";
import { HostsTabs } from "../../parts/hosts-tabs";
import { windlass } from "../../parts/shell-lines";
import { Steps } from "./steps";

const NEW = "new:";

/** Names to choose from, with the present one. */
const choices = (items: { name: string }[] | undefined, present: { name: string } | undefined): string[] => [
  ...new Set([...(items ?? []), ...(present === undefined ? [] : [present])].map(({ name }) => name)),
];

export default function Connect(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ host?: string; volume?: string; share?: string }>();
  const [open, setOpen] = createSignal<"host" | "volume" | "grant">();
  const close = () => setOpen(undefined);
  const hosts = useList<Host>(() => "/api/v1/hosts");
  const volumes = useList<Volume>(() => "/api/v1/volumes");
  const shares = useList<Share>(() => "/api/v1/shares");
  const groups = useList<HostGroup>(() => "/api/v1/host-groups");
  const portals = useList<Portal>(() => "/api/v1/portals", false);
  const sessions = useList<Session>(
    () => (search.host ? withQuery("/api/v1/sessions", { host: search.host }) : undefined),
    true,
    2000,
  );
  // The lists may end before what the address names.
  const host = useQuery<Host>(() => (search.host ? api("hosts", search.host) : undefined)).data;
  const volume = useQuery<Volume>(() => (search.volume ? api("volumes", search.volume) : undefined)).data;
  const share = useQuery<Share>(() => (search.share ? api("shares", search.share) : undefined)).data;
  const chosen = () =>
    search.share === undefined
      ? search.volume === undefined
        ? ""
        : `volume:${search.volume}`
      : `share:${search.share}`;
  const granted = () => {
    const content = share() ?? volume();
    const of = host();
    return content !== undefined && of !== undefined && mayUse(content, of, groups.data() ?? []);
  };
  const choose = (value: string) => {
    if (value === NEW) setOpen("volume");
    else if (value.startsWith("share:")) setSearch({ share: value.slice(6), volume: undefined });
    else setSearch({ volume: value.slice(7) || undefined, share: undefined });
  };
  const what = () => volume()?.name ?? share()?.name;
  return (
    <>
      <Head
        title="Connect"
        about="The commands with which a Linux host uses a volume or share"
        same={[
          {
            what: "print the commands",
            windlass: windlass("connect", "linux", search.host ?? "HOST", what() ?? "NAME"),
            path: "/api/v1/portals",
          },
        ]}
      />
      <HostsTabs />
      <div class="connect">
        <section class="choices">
          <ChoiceField
            label="1. Host"
            name="host"
            value={search.host ?? ""}
            onInput={(value) => (value === NEW ? setOpen("host") : setSearch({ host: value || undefined }))}
            options={[
              { value: "", label: "choose" },
              ...choices(hosts.data(), host()).map((name) => ({ value: name, label: name })),
              { value: NEW, label: "a new host …" },
            ]}
          />
          <ChoiceField
            label="2. Volume or share"
            name="content"
            value={chosen()}
            onInput={choose}
            options={[
              { value: "", label: "choose" },
              ...choices(volumes.data(), volume()).map((name) => ({ value: `volume:${name}`, label: name })),
              ...choices(shares.data(), share()).map((name) => ({ value: `share:${name}`, label: `${name} (share)` })),
              { value: NEW, label: "a new volume …" },
            ]}
          />
          <Show when={hosts.more() || volumes.more() || shares.more()}>
            <p class="note">Not all are listed; each has Connect on its own page.</p>
          </Show>
          <Show when={host() !== undefined && what() !== undefined}>
            <p class="field-label">3. Access</p>
            <Show
              when={granted()}
              fallback={
                <p>
                  {search.host} may not use {what()} yet.{" "}
                  <Act class="primary" onClick={() => setOpen("grant")}>
                    Grant access
                  </Act>
                </p>
              }
            >
              <p>
                <span class="tag good">granted</span>
              </p>
            </Show>
            <p class="field-label">4. Watch</p>
            <Watch
              host={search.host ?? ""}
              sessions={sessions.data() ?? []}
              portals={portals.data() ?? []}
              share={share() !== undefined}
            />
          </Show>
        </section>
        <section>
          <Show
            when={host()}
            fallback={<p class="soft">Choose a host and what it should use; the commands appear here.</p>}
          >
            {(of) => (
              <Switch fallback={<p class="soft">Choose a volume or share.</p>}>
                <Match when={volume()}>{(on) => <Steps steps={volumeSteps(on(), of(), portals.data() ?? [])} />}</Match>
                <Match when={share()}>
                  {(on) => (
                    <Show
                      when={on().portals?.[0]}
                      fallback={<p class="note">This array serves no files: start it with --nfs.</p>}
                    >
                      {(server) => <Steps steps={shareSteps(on(), of(), server())} />}
                    </Show>
                  )}
                </Match>
              </Switch>
            )}
          </Show>
        </section>
      </div>
      <Show when={open() === "host"}>
        <CreateHost onClose={close} onDone={(made) => setSearch({ host: made.name })} />
      </Show>
      <Show when={open() === "volume"}>
        <CreateVolume onClose={close} onDone={(made) => setSearch({ volume: made.name, share: undefined })} />
      </Show>
      <Show when={open() === "grant" && volume()}>
        {(on) => <GrantAccess volumes={[on().name]} host={search.host} onClose={close} />}
      </Show>
      <Show when={open() === "grant" && share()}>
        {(on) => <GrantShare share={on().name} host={search.host} onClose={close} />}
      </Show>
    </>
  );
}

/** Sessions of the host, with their portals. */
function Watch(props: { host: string; sessions: Session[]; portals: Portal[]; share: boolean }): JSX.Element {
  const own = () => props.sessions.filter((session) => session.host === props.host);
  const missing = () => props.portals.filter(({ listen }) => !own().some((session) => session.portal === listen));
  return (
    <Show
      when={!props.share}
      fallback={<p class="soft">The array's NFS clients are listed on the page of the share.</p>}
    >
      <Show when={own().length > 0} fallback={<p role="status">Waiting: {props.host} is not logged in.</p>}>
        <p role="status">
          <span class="tag good">logged in</span> with {own().length} {own().length === 1 ? "session" : "sessions"}
          <Show when={missing().length > 0 && props.portals.length > 1}>
            ; not at{" "}
            {missing()
              .map(({ advertised }) => advertised)
              .join(", ")}
          </Show>
        </p>
      </Show>
    </Show>
  );
}
