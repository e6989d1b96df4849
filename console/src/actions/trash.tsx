// Dialogs of the trash: restore, delete for good, empty, and how long it keeps what is deleted.

import { createSignal, For, type JSX, Show } from "solid-js";
import { api } from "../api/paths";
import type { Pool, Restored, Trashed } from "../api/schema";
import { DestroyDialog } from "../parts/destroy";
import { ChangeDialog, Shows } from "../parts/dialog";
import { CheckField, ChoiceField, TextField } from "../parts/form";
import { period } from "../parts/schedule-words";
import { windlass } from "../parts/shell-lines";
import { count } from "../parts/units";
import type { Closing } from "./closing";

/** What a snapshot is a snapshot of, and the name that it had there. */
function partsOf(of: Trashed): { volume: string | undefined; own: string } {
  const [volume, own] = of.kind === "snapshot" ? of.name.split("@") : [undefined, of.name];
  return { volume, own: own ?? of.name };
}

/** Restores what is in the trash, under its name or another. */
export function RestoreTrashed(props: Closing & { of: Trashed }): JSX.Element {
  const { volume, own } = partsOf(props.of);
  const [name, setName] = createSignal(own);
  const [grants, setGrants] = createSignal(props.of.grants > 0);
  const other = () => (name().trim() === own ? undefined : name().trim());
  return (
    <ChangeDialog
      title={`Restore ${props.of.name}`}
      verb={`Restore ${props.of.kind}`}
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={name().trim() !== ""}
      dirty={() => name() !== own}
      same={{
        what: "restore this",
        windlass: windlass(
          "trash",
          "restore",
          props.of.id,
          ...(other() === undefined ? [] : ["--name", other()]),
          ...(grants() ? ["--grants"] : []),
        ),
        method: "POST",
        path: api("trash", props.of.id, "restore"),
        body: { name: other(), grants: grants() || undefined },
      }}
      after={(restored: Restored) =>
        (restored.warnings ?? []).length === 0
          ? undefined
          : new Shows(
              <>
                <p>{restored.name} is back. Some of its grants are not:</p>
                <ul>
                  <For each={restored.warnings ?? []}>{(warning) => <li>{warning.message}</li>}</For>
                </ul>
              </>,
            )
      }
    >
      <p>
        It comes back as it was{props.of.snapshots > 0 ? `, with ${count(props.of.snapshots, "snapshot")}` : ""}.
        <Show when={props.of.naa}> A volume keeps its NAA designator, so its hosts know it again.</Show>
      </p>
      <TextField
        label={volume === undefined ? "Name" : `Name, as a snapshot of ${volume}`}
        name="name"
        required
        value={name()}
        onInput={setName}
        hint="Its name may have been given to another one meanwhile."
      />
      <Show when={props.of.grants > 0}>
        <CheckField
          label={`Grant it again to those who had it (${props.of.grants})`}
          name="grants"
          checked={grants()}
          onInput={setGrants}
        />
      </Show>
    </ChangeDialog>
  );
}

/** Deletes for good what is in the trash. Nothing brings it back, so its name is typed. */
export function DeleteTrashed(props: Closing & { of: Trashed }): JSX.Element {
  return (
    <DestroyDialog
      title={`Delete ${props.of.name} for good`}
      verb="Delete for good"
      typed={props.of.name}
      counts
      onClose={props.onClose}
      same={{
        what: "delete this for good",
        windlass: windlass("trash", "empty", props.of.id, "--yes"),
        method: "DELETE",
        path: api("trash", props.of.id),
      }}
    />
  );
}

/** Deletes everything in the trash for good. */
export function EmptyTrash(props: Closing): JSX.Element {
  return (
    <DestroyDialog
      title="Empty the trash"
      verb="Empty the trash"
      typed="empty"
      counts
      onClose={props.onClose}
      same={{
        what: "empty the trash",
        windlass: windlass("trash", "empty", "--all", "--yes"),
        method: "DELETE",
        path: api("trash"),
      }}
    >
      <p>What is locked, or has a locked snapshot, stays.</p>
    </DestroyDialog>
  );
}

const HOUR_S = 3600;
const TIMES = [
  { value: "0", label: "off: what is deleted is gone at once" },
  { value: String(HOUR_S), label: "an hour" },
  { value: String(24 * HOUR_S), label: "a day" },
  { value: String(3 * 24 * HOUR_S), label: "3 days" },
  { value: String(7 * 24 * HOUR_S), label: "7 days" },
  { value: String(30 * 24 * HOUR_S), label: "30 days" },
];

/** The times, with the present one if it is another. */
const timesWith = (present: string, times: typeof TIMES): typeof TIMES =>
  times.some(({ value }) => value === present)
    ? times
    : [{ value: present, label: `as it is: ${period(Number(present))}` }, ...times];

/** Sets how long the trash keeps what is deleted from now on, and for how long it cannot be deleted for good. */
export function KeepTrash(props: Closing & { pool: Pool }): JSX.Element {
  const locked = String(props.pool.trash_lock_seconds ?? 0);
  const [seconds, setSeconds] = createSignal(String(props.pool.trash_seconds ?? 0));
  const [lock, setLock] = createSignal(locked);
  const locks = () => [
    { value: "0", label: "off: an administrator can delete it for good at once" },
    ...TIMES.slice(1),
  ];
  const isPossible = ({ value }: { value: string }) =>
    Number(value) >= Number(locked) && Number(value) <= Number(seconds());
  const lockSeconds = () => (lock() === locked ? undefined : Number(lock()));
  return (
    <ChangeDialog
      title="Time kept in the trash"
      verb="Set the time"
      onClose={props.onClose}
      same={{
        what: "set the time for which the trash keeps what is deleted",
        windlass: windlass(
          "pool",
          "set",
          props.pool.name,
          "--trash",
          seconds() === "0" ? "off" : period(Number(seconds())),
          ...(lockSeconds() === undefined ? [] : ["--trash-lock", period(lockSeconds() ?? 0)]),
        ),
        method: "PATCH",
        path: api("pools", props.pool.name),
        body: { trash_seconds: Number(seconds()), trash_lock_seconds: lockSeconds() },
      }}
    >
      <ChoiceField
        label="Keep what is deleted"
        name="trash_seconds"
        value={seconds()}
        onInput={setSeconds}
        options={timesWith(seconds(), TIMES)}
        hint="For what is deleted from now on. The oldest goes earlier when hosts need its space."
      />
      <ChoiceField
        label="Lock"
        name="trash_lock_seconds"
        value={lock()}
        onInput={setLock}
        options={timesWith(lock(), locks().filter(isPossible))}
        hint="What goes to the trash from now on cannot be deleted for good during this time, neither by an administrator nor by the array for hosts that need space. The time can only become longer. Locks may fill the pool."
      />
    </ChangeDialog>
  );
}
