// Dialog that marks an alert as looked after, or takes the mark back.

import { createSignal, type JSX, Show } from "solid-js";
import { api } from "../api/paths";
import type { Alert } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { TextField } from "../parts/form";
import { windlass } from "../parts/shell-lines";

export function AcknowledgeAlert(props: { of: Alert; onClose: () => void }): JSX.Element {
  const [note, setNote] = createSignal("");
  const path = () => api("alerts", props.of.id, "acknowledgement");
  const same = () =>
    props.of.acknowledged
      ? {
          what: "take the acknowledgement back",
          windlass: windlass("alert", "unack", props.of.id),
          method: "DELETE" as const,
          path: path(),
        }
      : {
          what: "acknowledge this alert",
          windlass: windlass("alert", "ack", props.of.id, ...(note() === "" ? [] : ["--note", note()])),
          method: "POST" as const,
          path: path(),
          body: { note: note() },
        };
  return (
    <ChangeDialog
      title={props.of.acknowledged ? "Take the acknowledgement back" : "Acknowledge the alert"}
      verb={props.of.acknowledged ? "Take back" : "Acknowledge"}
      onClose={props.onClose}
      dirty={() => note() !== ""}
      same={same()}
    >
      <p>{props.of.message}</p>
      <Show when={!props.of.acknowledged} fallback={<p>Channels are told of it again, if it still holds.</p>}>
        <p>No channel is told of it again, but of its end. It ends when the alert becomes more severe.</p>
        <TextField
          label="Note"
          name="note"
          value={note()}
          onInput={setNote}
          hint="Who looks after it, and what is done"
        />
      </Show>
    </ChangeDialog>
  );
}
