// Dialog that deletes a volume.

import { createSignal, type JSX, Show } from "solid-js";
import { granteeName } from "../../api/grants";
import { api, withQuery } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Volume, VolumeSpace } from "../../api/schema";
import { ChangeDialog } from "../../parts/dialog";
import { CheckField, TextField } from "../../parts/form";
import { Bytes } from "../../parts/numbers";
import { windlass } from "../../parts/shell-lines";
import { bytes } from "../../parts/units";
import type { Closing } from "../closing";

/** Deletes a volume. Its hosts lose it at once, so its name is typed. */
export function DeleteVolume(props: Closing & { volume: Volume; onDone?: () => void }): JSX.Element {
  const [typed, setTyped] = createSignal("");
  const [snapshots, setSnapshots] = createSignal(false);
  const space = useQuery<VolumeSpace>(() => api("volumes", props.volume.name, "space"));
  return (
    <ChangeDialog
      title={`Delete ${props.volume.name}`}
      verb="Delete volume"
      danger
      onClose={props.onClose}
      ready={typed() === props.volume.name}
      dirty={() => typed() !== ""}
      same={{
        what: "delete this volume",
        windlass: windlass(
          "volume",
          "delete",
          props.volume.name,
          ...(snapshots() ? ["--with-snapshots"] : []),
          "--yes",
        ),
        method: "DELETE",
        path: withQuery(api("volumes", props.volume.name), { with_snapshots: snapshots() || undefined }),
      }}
      after={() => props.onDone?.()}
    >
      <p>
        The volume goes to the trash, which keeps its <Bytes of={props.volume.mapped_bytes} /> for a time. Deleting it
        there frees <Bytes of={space.data()?.unique_bytes ?? props.volume.unique_bytes ?? null} />; what clones and
        snapshots share with it stays. With the trash off, it is gone at once.
      </p>
      <Show when={props.volume.luns.length > 0}>
        <p class="note">
          Hosts may use it ({props.volume.luns.map((lun) => granteeName(lun.host)).join(", ")}), and the array refuses
          to delete it as long as they may. Revoke access first.
        </p>
      </Show>
      <Show when={props.volume.snapshots > 0}>
        <CheckField
          label={`Delete its snapshots too (${props.volume.snapshots}, ${bytes(space.data()?.snapshot_bytes ?? 0)})`}
          name="with_snapshots"
          checked={snapshots()}
          onInput={setSnapshots}
        />
      </Show>
      <TextField label={`Type ${props.volume.name} to confirm`} name="confirm" value={typed()} onInput={setTyped} />
    </ChangeDialog>
  );
}
