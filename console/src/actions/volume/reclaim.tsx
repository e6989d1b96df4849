// Dialog that starts to reclaim zeros of a volume.

import type { JSX } from "solid-js";
import { api } from "../../api/paths";
import { ChangeDialog } from "../../parts/dialog";
import { windlass } from "../../parts/shell-lines";
import type { Closing } from "../closing";

export function ReclaimVolume(props: Closing & { volume: string }): JSX.Element {
  return (
    <ChangeDialog
      title={`Reclaim zeros of ${props.volume}`}
      verb="Start reclaim"
      onClose={props.onClose}
      same={{
        what: "reclaim zeros of this volume",
        windlass: windlass("volume", "reclaim", props.volume, "--no-wait"),
        method: "POST",
        path: api("volumes", props.volume, "reclaim"),
        body: {},
      }}
    >
      <p>
        A job reads the volume and frees stored blocks of zeros. Content does not change. While hosts are active it
        takes only its share of time; Activity shows it.
      </p>
    </ChangeDialog>
  );
}
