// Buttons that do what helps against a group of refused commands.

import { createSignal, For, type JSX, Match, Show, Switch } from "solid-js";
import { GrantAccess } from "../../actions/access";
import { ReclaimVolume } from "../../actions/volume/reclaim";
import { ClearReservations } from "../../actions/volume/reservations";
import { useList } from "../../api/list";
import { withQuery } from "../../api/paths";
import type { Volume } from "../../api/schema";
import { Act } from "../../parts/act";
import { Dialog } from "../../parts/dialog";
import type { Group } from "../../parts/offload/refusal-groups";
import { type Help, helps } from "../../parts/offload/refusal-helps";
import { Shown } from "../../parts/state";

/** Most volumes to choose from. */
const MOST = 200;

type Open = { volume: string; host?: string; clears?: boolean } | { host: string; volume?: undefined };

const label = (help: Help): string =>
  help.kind === "grant"
    ? `Grant ${help.host} the other volume…`
    : help.kind === "clear"
      ? `Clear reservations of ${help.volume}…`
      : `Reclaim zeros of ${help.volume}…`;

export default function WhatHelps(props: { group: Group }): JSX.Element {
  const [open, setOpen] = createSignal<Open>();
  const close = () => setOpen(undefined);
  return (
    <>
      <p>
        <For each={helps(props.group)}>
          {(help) => (
            <>
              <Act
                onClick={() =>
                  setOpen(
                    help.kind === "grant"
                      ? { host: help.host }
                      : { volume: help.volume, clears: help.kind === "clear" },
                  )
                }
              >
                {label(help)}
              </Act>{" "}
            </>
          )}
        </For>
      </p>
      <Show when={open()} keyed>
        {({ volume, host, ...rest }) => (
          <Switch>
            <Match when={"clears" in rest && rest.clears && volume}>
              {(reserved) => <ClearReservations volume={reserved()} onClose={close} />}
            </Match>
            <Match when={volume === undefined && host}>
              {(to) => (
                <ChooseVolume
                  host={to()}
                  onChoose={(chosen) => setOpen({ volume: chosen, host: to() })}
                  onClose={close}
                />
              )}
            </Match>
            <Match when={host !== undefined && volume}>
              {(granted) => <GrantAccess volumes={[granted()]} host={host ?? ""} onClose={close} />}
            </Match>
            <Match when={volume}>{(zeros) => <ReclaimVolume volume={zeros()} onClose={close} />}</Match>
          </Switch>
        )}
      </Show>
    </>
  );
}

/** A copy names its other volume by an identifier, which the array does not show to those who may not see the volume. */
function ChooseVolume(props: { host: string; onChoose: (volume: string) => void; onClose: () => void }): JSX.Element {
  const volumes = useList<Volume>(() => withQuery("/api/v1/volumes", { limit: MOST }), false);
  const seen = useList<Volume>(() => withQuery("/api/v1/volumes", { host: props.host, limit: MOST }), false);
  const others = () => {
    const known = new Set(seen.data()?.map(({ name }) => name));
    return volumes.data()?.filter(({ name }) => !known.has(name));
  };
  return (
    <Dialog title={`Volumes that ${props.host} does not see`} onClose={props.onClose}>
      <p>A host copies by itself when it may not see both volumes. Choose the source or destination that it lacks.</p>
      <Shown of={{ ...volumes, data: others }}>
        {(items) => (
          <Show when={items().length > 0} fallback={<p class="soft">It sees every volume by now.</p>}>
            <ul class="lines-list">
              <For each={items()}>
                {({ name }) => (
                  <li>
                    <span>{name}</span>
                    <button type="button" onClick={() => props.onChoose(name)}>
                      Grant…
                    </button>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Shown>
    </Dialog>
  );
}
