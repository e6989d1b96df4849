// Dialog that returns a volume to a snapshot.

import { createSignal, type JSX } from "solid-js";
import { api } from "../../api/paths";
import { DestroyDialog } from "../../parts/destroy";
import { CheckField, TextField } from "../../parts/form";
import { windlass } from "../../parts/shell-lines";
import type { Closing } from "../closing";

export function RollbackVolume(props: Closing & { volume: string; snapshot: string }): JSX.Element {
  const [keep, setKeep] = createSignal("");
  const [force, setForce] = createSignal(false);
  const body = () => ({
    snapshot: props.snapshot,
    force: force(),
    ...(keep().trim() === "" ? {} : { keep: keep().trim() }),
  });
  return (
    <DestroyDialog
      title={`Roll ${props.volume} back to ${props.snapshot}`}
      verb="Roll back"
      counts
      onClose={props.onClose}
      fields={{ exists: "keep", "invalid-name": "keep" }}
      same={{
        what: "roll this volume back",
        windlass: windlass(
          "volume",
          "rollback",
          props.volume,
          props.snapshot,
          ...(keep().trim() === "" ? [] : ["--keep", keep().trim()]),
          ...(force() ? ["--force"] : []),
          "--yes",
        ),
        method: "POST",
        path: api("volumes", props.volume, "rollback"),
        body: body(),
      }}
    >
      <p>The volume gets the content and the size that it had.</p>
      <TextField
        label="Keep the present content as a snapshot named"
        name="keep"
        value={keep()}
        onInput={setKeep}
        hint="empty: it is lost"
      />
      <CheckField
        label="Also while sessions see the volume"
        name="force"
        checked={force()}
        onInput={setForce}
        hint="Hosts that have it mounted will find content that they did not write."
      />
    </DestroyDialog>
  );
}
