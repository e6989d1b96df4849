// Dialogs that take and delete snapshots.

import { createSignal, For, type JSX, Show } from "solid-js";
import { send } from "../api/client";
import { Refused } from "../api/failure";
import { api, full } from "../api/paths";
import type { Snapshot } from "../api/schema";
import { DeleteDialog } from "../parts/destroy";
import { ChangeDialog } from "../parts/dialog";
import { TextField } from "../parts/form";
import { Bytes } from "../parts/numbers";
import { oneByOne } from "../parts/one-by-one";
import { windlass } from "../parts/shell-lines";
import { Together } from "../parts/together";
import type { Closing } from "./closing";

/** A name that sorts by time: `2026-11-23-1203`. */
export const dated = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().slice(0, 16).replace("T", "-").replace(":", "");

/** Takes a snapshot of a volume or share, or of several at one instant. */
export function TakeSnapshot(props: Closing & { of: string[]; share?: boolean }): JSX.Element {
  const [name, setName] = createSignal(dated(Date.now()));
  const one = () => props.of.length === 1;
  const first = () => props.of[0] ?? "";
  const path = () => (one() ? api(props.share ? "shares" : "volumes", first(), "snapshots") : api("snapshots"));
  const body = () => (one() ? { name: name().trim() } : { name: name().trim(), volumes: props.of });
  const line = () =>
    one()
      ? windlass("snapshot", "create", first(), name().trim() || "NAME")
      : windlass("snapshot", "create", "--name", name().trim() || "NAME", "--group", ...props.of);
  return (
    <ChangeDialog
      title={one() ? `Snapshot of ${first()}` : `Snapshot of ${props.of.length} volumes at one instant`}
      verb="Take snapshot"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={name().trim() !== ""}
      same={{ what: "take this snapshot", windlass: line(), method: "POST", path: path(), body: body() }}
    >
      <p>
        A snapshot is the content of this instant, read-only. It takes no time, and no space until the content changes.
      </p>
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <Show when={!one()}>
        <ul>
          <For each={props.of}>{(volume) => <li>{volume}</li>}</For>
        </ul>
      </Show>
    </ChangeDialog>
  );
}

/** Deletes a snapshot. One that no longer exists counts as deleted. */
async function remove(snapshot: Snapshot): Promise<void> {
  try {
    await send("DELETE", api("snapshots", snapshot.id));
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error;
  }
}

/** Deletes one snapshot or several. */
export function DeleteSnapshots(props: Closing & { snapshots: Snapshot[] }): JSX.Element {
  return (
    <Show when={props.snapshots.length === 1 && props.snapshots[0]} fallback={<DeleteSeveral {...props} />}>
      {(snapshot) => (
        <DeleteDialog
          noun="snapshot"
          name={full(snapshot())}
          counts
          onClose={props.onClose}
          same={{
            windlass: windlass("snapshot", "delete", full(snapshot()), "--yes"),
            path: api("snapshots", full(snapshot())),
          }}
        />
      )}
    </Show>
  );
}

/** Deletes several snapshots, one request each, and stops at the first that is refused. */
function DeleteSeveral(props: Closing & { snapshots: Snapshot[] }): JSX.Element {
  const [done, setDone] = createSignal(0);
  const clones = () => props.snapshots.flatMap(({ dependents }) => dependents);
  return (
    <ChangeDialog
      title={`Delete ${props.snapshots.length} snapshots`}
      verb={`Delete ${props.snapshots.length} snapshots`}
      danger
      onClose={props.onClose}
      same={props.snapshots.map((snapshot) => ({
        what: "delete these snapshots",
        windlass: windlass("snapshot", "delete", full(snapshot), "--yes"),
        method: "DELETE",
        path: api("snapshots", full(snapshot)),
      }))}
      several
      run={(stopped) => oneByOne(props.snapshots, done(), remove, setDone, stopped)}
    >
      <p>
        <Together ids={props.snapshots.map(({ id }) => id)} />
      </p>
      <ul>
        <For each={props.snapshots}>
          {(snapshot) => (
            <li>
              {full(snapshot)}, alone <Bytes of={snapshot.unique_bytes} />
            </li>
          )}
        </For>
      </ul>
      <Show when={clones().length > 0}>
        <p class="note">Their clones stay as they are: {clones().join(", ")}.</p>
      </Show>
      <Show when={done() > 0}>
        <p role="status">
          {done()} of {props.snapshots.length} deleted.
        </p>
      </Show>
    </ChangeDialog>
  );
}
