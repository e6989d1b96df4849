// Dialogs of support bundles: a new one, and its end.

import { createSignal, type JSX } from "solid-js";
import { api } from "../api/paths";
import type { Bundle } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { CheckField, TextField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import type { Closing } from "./closing";

export function CreateBundle(props: Closing): JSX.Element {
  const [replaced, setReplaced] = createSignal(true);
  const [hours, setHours] = createSignal("24");
  const isHours = () => /^[1-9]\d{0,2}$/.test(hours().trim()) && Number(hours()) <= 168;
  return (
    <ChangeDialog
      title="New support bundle"
      verb="Make bundle"
      onClose={props.onClose}
      ready={isHours()}
      same={{
        what: "make a support bundle",
        windlass: windlass("support", "bundle", ...(replaced() ? ["--replace-names"] : []), "--hours", hours().trim()),
        method: "POST",
        path: "/api/v1/support-bundles",
        body: { names: replaced() ? "replaced" : "real", hours: Number(hours()) },
      }}
    >
      <CheckField
        label="Replace names"
        name="replaced"
        checked={replaced()}
        onInput={setReplaced}
        hint="The same word stands for a name, an initiator or an address in every bundle of this array."
      />
      <TextField
        label="Hours"
        name="hours"
        value={hours()}
        onInput={setHours}
        error={isHours() ? undefined : "1 to 168"}
        hint="of events, audit and history"
      />
    </ChangeDialog>
  );
}

export function DeleteBundle(props: Closing & { bundle: Bundle }): JSX.Element {
  return (
    <ChangeDialog
      title="Delete support bundle"
      verb="Delete bundle"
      danger
      onClose={props.onClose}
      same={{ what: "delete this bundle", method: "DELETE", path: api("support-bundles", props.bundle.id) }}
    >
      <p>The array deletes it by itself one day after it was created.</p>
    </ChangeDialog>
  );
}
