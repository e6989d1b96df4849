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
      <Show
        when={!props.of.acknowledged}
        fallback={<p>Channels get a message about the alert again, if it is still active.</p>}
      >
        <p>Channels get no further message about the alert until it ends. A worse severity ends the acknowledgement.</p>
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
