// Actions for several volumes.

import { createSignal, type JSX, Show } from "solid-js";
import { GrantAccess } from "../../actions/access";
import { TakeSnapshot } from "../../actions/snapshot";
import { Act } from "../../parts/act";

export function BulkActions(props: { names: string[]; onClear: () => void }): JSX.Element {
  const [open, setOpen] = createSignal<"snapshot" | "grant">();
  const close = () => setOpen(undefined);
  return (
    <Show when={props.names.length > 0}>
      <span class="bulk">
        {props.names.length} selected:
        <Act onClick={() => setOpen("snapshot")}>{props.names.length === 1 ? "Snapshot" : "Snapshot together"}</Act>
        <Act onClick={() => setOpen("grant")}>Grant</Act>
        <button type="button" class="quiet" onClick={() => props.onClear()}>
          clear
        </button>
      </span>
      <Show when={open() === "snapshot"}>
        <TakeSnapshot of={props.names} onClose={close} />
      </Show>
      <Show when={open() === "grant"}>
        <GrantAccess volumes={props.names} onClose={close} />
      </Show>
    </Show>
  );
}
