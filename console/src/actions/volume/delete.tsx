// Dialog that deletes a volume.

import { createSignal, type JSX, Show } from "solid-js";
import { granteeName } from "../../api/grants";
import { api, withQuery } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Volume, VolumeSpace } from "../../api/schema";
import { DeleteDialog } from "../../parts/destroy";
import { CheckField } from "../../parts/form";
import { windlass } from "../../parts/shell-lines";
import { bytes } from "../../parts/units";
import type { Closing } from "../closing";

/** Deletes a volume. Its hosts lose it at once, so its name is typed. */
export function DeleteVolume(props: Closing & { volume: Volume; onDone?: () => void }): JSX.Element {
  const [snapshots, setSnapshots] = createSignal(false);
  const [revoke, setRevoke] = createSignal(false);
  const space = useQuery<VolumeSpace>(() => api("volumes", props.volume.name, "space"));
  const options = () => [...(snapshots() ? ["--with-snapshots"] : []), ...(revoke() ? ["--revoke"] : [])];
  return (
    <DeleteDialog
      noun="volume"
      name={props.volume.name}
      typed={props.volume.name}
      counts
      onClose={props.onClose}
      onDone={props.onDone}
      same={{
        windlass: windlass("volume", "delete", props.volume.name, ...options(), "--yes"),
        path: withQuery(api("volumes", props.volume.name), {
          with_snapshots: snapshots() || undefined,
          revoke: revoke() || undefined,
        }),
      }}
    >
      <Show when={props.volume.luns.length > 0}>
        <CheckField
          label={`Revoke access of ${props.volume.luns.map((lun) => granteeName(lun.host)).join(", ")}`}
          name="revoke"
          checked={revoke()}
          onInput={setRevoke}
          hint="They lose the volume at once. The trash remembers the grants."
        />
      </Show>
      <Show when={props.volume.snapshots > 0}>
        <CheckField
          label={`Delete its snapshots too (${props.volume.snapshots}, ${bytes(space.data()?.snapshot_bytes ?? 0)})`}
          name="with_snapshots"
          checked={snapshots()}
          onInput={setSnapshots}
        />
      </Show>
    </DeleteDialog>
  );
}
