// The steps that choose a host, and a volume or share for it.

import { createSignal, For, type JSX, Show } from "solid-js";
import { GrantAccess } from "../../actions/access";
import { CreateHost } from "../../actions/host";
import { GrantShare } from "../../actions/share";
import { CreateVolume } from "../../actions/volume/create";
import { mayUse } from "../../api/grants";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Host, HostGroup, Login, Share, Volume } from "../../api/schema";
import { Act } from "../../parts/act";
import { ChoiceField } from "../../parts/form";
import { Ago } from "../../parts/numbers";
import { type Choice, connectPath, type StepName } from "./steps";

/** Most initiators that are offered. */
const MOST = 5;

/** Names to choose from, with the present one. */
const names = (items: { name: string }[] | undefined, present: string | undefined): string[] => [
  ...new Set([...(items ?? []).map(({ name }) => name), ...(present === undefined ? [] : [present])]),
];

const option = (name: string) => ({ value: name, label: name });

export function HostStep(props: { host: string | undefined; onChoose: (host: Host) => void }): JSX.Element {
  const [making, setMaking] = createSignal<{ iqn?: string }>();
  const hosts = useList<Host>(() => "/api/v1/hosts");
  const logins = useList<Login>(() => "/api/v1/logins?outcome=unknown-initiator", true, 2000);
  const strangers = () => {
    const unknown = (logins.data() ?? []).filter(({ host }) => host == null);
    return [...new Map(unknown.toReversed().map((login) => [login.initiator, login])).values()].toReversed();
  };
  const [made, setMade] = createSignal<Host>();
  /** The dialog shows the secret until it is closed. */
  const closed = () => {
    setMaking(undefined);
    const host = made();
    if (host !== undefined) props.onChoose(host);
  };
  const choose = (name: string) => {
    const host = hosts.data()?.find((each) => each.name === name);
    if (host !== undefined) props.onChoose(host);
  };
  return (
    <>
      <h2>Host</h2>
      <ChoiceField
        label="A host that the array knows"
        name="host"
        value={props.host ?? ""}
        onInput={choose}
        options={[{ value: "", label: "choose" }, ...names(hosts.data(), props.host).map(option)]}
      />
      <Show when={hosts.more()}>
        <p class="note">Not all are listed; each has Connect on its own page.</p>
      </Show>
      <Show when={strangers().length > 0}>
        <p class="field-label">One that just knocked</p>
        <ul class="lines-list">
          <For each={strangers().slice(0, MOST)}>
            {(login) => (
              <li>
                <span>
                  <code>{login.initiator}</code> from {login.from}, <Ago at={login.time} />
                </span>
                <Act onClick={() => setMaking({ iqn: login.initiator })}>Make a host…</Act>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <p>
        <Act class="primary" onClick={() => setMaking({})}>
          New host
        </Act>
      </p>
      <Show when={making()} keyed>
        {({ iqn }) => <CreateHost {...(iqn === undefined ? {} : { iqn })} onClose={closed} onDone={setMade} />}
      </Show>
    </>
  );
}

export function ContentStep(props: {
  choice: Choice;
  shares: boolean;
  onChoose: (more: Choice, next?: StepName) => void;
}): JSX.Element {
  const [open, setOpen] = createSignal<"volume" | "grant">();
  const close = () => setOpen(undefined);
  const volumes = useList<Volume>(() => "/api/v1/volumes");
  const shares = useList<Share>(() => (props.shares ? "/api/v1/shares" : undefined));
  const groups = useList<HostGroup>(() => "/api/v1/host-groups");
  const host = useQuery<Host>(() => (props.choice.host ? api("hosts", props.choice.host) : undefined)).data;
  const volume = useQuery<Volume>(() => (props.choice.volume ? api("volumes", props.choice.volume) : undefined)).data;
  const share = useQuery<Share>(() => (props.choice.share ? api("shares", props.choice.share) : undefined)).data;
  const chosen = () => props.choice.volume ?? props.choice.share;
  const granted = () => {
    const content = volume() ?? share();
    const of = host();
    if (content === undefined || of === undefined) return undefined;
    return mayUse(content, of, groups.data() ?? []);
  };
  return (
    <>
      <h2>{props.shares ? "Volume or share" : "Volume"}</h2>
      <ChoiceField
        label="Volume"
        name="volume"
        value={props.choice.volume ?? ""}
        onInput={(name) => props.onChoose({ volume: name || undefined, share: undefined })}
        options={[{ value: "", label: "choose" }, ...names(volumes.data(), props.choice.volume).map(option)]}
      />
      <Show when={props.shares}>
        <ChoiceField
          label="Or share"
          name="share"
          value={props.choice.share ?? ""}
          onInput={(name) => props.onChoose({ share: name || undefined, volume: undefined })}
          options={[{ value: "", label: "choose" }, ...names(shares.data(), props.choice.share).map(option)]}
        />
      </Show>
      <Show when={volumes.more() || shares.more()}>
        <p class="note">Not all are listed; each has Connect on its own page.</p>
      </Show>
      <p>
        <Act onClick={() => setOpen("volume")}>New volume</Act>
      </p>
      <Show when={host() !== undefined && chosen() !== undefined && granted() !== undefined}>
        <Show
          when={granted()}
          fallback={
            <p>
              {props.choice.host} may not use {chosen()} yet.{" "}
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
      </Show>
      <Show when={chosen() !== undefined}>
        <p>
          <a class="button primary" href={connectPath("commands", props.choice)}>
            Commands
          </a>
        </p>
      </Show>
      <Show when={open() === "volume"}>
        <CreateVolume onClose={close} onDone={(made) => props.onChoose({ volume: made.name, share: undefined })} />
      </Show>
      <Show when={open() === "grant" && volume()}>
        {(on) => <GrantAccess volumes={[on().name]} host={props.choice.host} onClose={close} />}
      </Show>
      <Show when={open() === "grant" && share()}>
        {(on) => <GrantShare share={on().name} host={props.choice.host} onClose={close} />}
      </Show>
    </>
  );
}
