// Menu of the actions on one volume, with the dialog that it opened.

import { useNavigate } from "@solidjs/router";
import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { pagePath } from "../../api/page-paths";
import type { Volume } from "../../api/schema";
import type { Action } from "../../parts/menu";
import { GrantAccess } from "../access";
import { TakeSnapshot } from "../snapshot";
import { ChangeVolume } from "./change";
import { CloneVolume } from "./create";
import { DeleteVolume } from "./delete";
import { GrowVolume } from "./grow";
import { ReclaimVolume } from "./reclaim";
import { ReshareVolume } from "./reshare";

export type Verb = "grant" | "clone" | "snapshot" | "grow" | "change" | "reclaim" | "reshare" | "delete";

export interface VolumeActions {
  of: (volume: Volume) => Action[];
  open: (verb: Verb, volume: Volume) => void;
  dialog: () => JSX.Element;
}

/** `onDeleted` and `onRenamed` are for the page of the volume itself. */
export function useVolumeActions(
  then: { onDeleted?: () => void; onRenamed?: (name: string) => void } = {},
): VolumeActions {
  const go = useNavigate();
  const [open, setOpen] = createSignal<{ verb: Verb; volume: Volume }>();
  const close = () => setOpen(undefined);
  const action = (verb: Verb, label: string, volume: Volume, danger = false): Action => ({
    label,
    needs: "operator",
    danger,
    run: () => setOpen({ verb, volume }),
  });
  return {
    open: (verb, volume) => setOpen({ verb, volume }),
    of: (volume) => [
      { label: "Open", run: () => go(pagePath("volume", volume.name)) },
      { label: "Connect a host", run: () => go(`/hosts/connect?volume=${encodeURIComponent(volume.name)}`) },
      action("grant", "Grant access…", volume),
      action("snapshot", "Snapshot…", volume),
      action("clone", "Clone…", volume),
      action("grow", "Grow…", volume),
      action("change", "Change…", volume),
      action("reclaim", "Reclaim zeros…", volume),
      action("reshare", "Share a copy again…", volume),
      action("delete", "Delete…", volume, true),
    ],
    dialog: () => (
      <Show when={open()} keyed>
        {({ verb, volume }) => (
          <Switch>
            <Match when={verb === "grant"}>
              <GrantAccess volumes={[volume.name]} onClose={close} />
            </Match>
            <Match when={verb === "snapshot"}>
              <TakeSnapshot of={[volume.name]} onClose={close} />
            </Match>
            <Match when={verb === "clone"}>
              <CloneVolume
                source={volume.name}
                onClose={close}
                onDone={(clone) => go(pagePath("volume", clone.name))}
              />
            </Match>
            <Match when={verb === "grow"}>
              <GrowVolume volume={volume} onClose={close} />
            </Match>
            <Match when={verb === "change"}>
              <ChangeVolume volume={volume} onClose={close} onRenamed={(name) => then.onRenamed?.(name)} />
            </Match>
            <Match when={verb === "reclaim"}>
              <ReclaimVolume volume={volume.name} onClose={close} />
            </Match>
            <Match when={verb === "reshare"}>
              <ReshareVolume volume={volume.name} onClose={close} />
            </Match>
            <Match when={verb === "delete"}>
              <DeleteVolume volume={volume} onClose={close} onDone={() => then.onDeleted?.()} />
            </Match>
          </Switch>
        )}
      </Show>
    ),
  };
}
