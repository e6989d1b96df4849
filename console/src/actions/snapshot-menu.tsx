// Actions of a snapshot in its row, and their dialogs.

import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { api, full } from "../api/paths";
import type { Snapshot } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { ChoiceField } from "../parts/form";
import { lockedReason, lockedSeconds } from "../parts/locked";
import type { Action } from "../parts/menu";
import { windlass } from "../parts/shell-lines";
import { instant } from "../parts/time";
import type { Closing } from "./closing";
import { DeleteSnapshots } from "./snapshot";
import { CloneVolume } from "./volume/create";
import { RollbackVolume } from "./volume/rollback";

type Verb = "clone" | "rollback" | "pin" | "lock" | "delete";

/** Actions of snapshots, and the dialog that one has opened. `back` also offers to roll a volume back. */
export function useSnapshotActions(back = false): { of: (snapshot: Snapshot) => Action[]; dialog: () => JSX.Element } {
  const [open, setOpen] = createSignal<{ verb: Verb; snapshot: Snapshot }>();
  const close = () => setOpen(undefined);
  const action = (verb: Verb, label: string, snapshot: Snapshot): Action => ({
    label,
    needs: "operator",
    run: () => setOpen({ verb, snapshot }),
  });
  return {
    of: (snapshot) => [
      ...(snapshot.of_share ? [] : [action("clone", "Clone…", snapshot)]),
      ...(back && !snapshot.of_share ? [action("rollback", "Roll the volume back to it…", snapshot)] : []),
      action("pin", snapshot.pinned ? "Unpin…" : "Pin…", snapshot),
      action("lock", lockedSeconds(snapshot) > 0 ? "Lock it for longer…" : "Lock…", snapshot),
      { ...action("delete", "Delete…", snapshot), danger: true, unless: lockedReason(snapshot) },
    ],
    dialog: () => (
      <Show when={open()} keyed>
        {({ verb, snapshot }) => (
          <Switch>
            <Match when={verb === "clone"}>
              <CloneVolume source={full(snapshot)} onClose={close} />
            </Match>
            <Match when={verb === "rollback"}>
              <RollbackVolume volume={snapshot.volume} snapshot={snapshot.name} onClose={close} />
            </Match>
            <Match when={verb === "pin"}>
              <PinSnapshot snapshot={snapshot} onClose={close} />
            </Match>
            <Match when={verb === "lock"}>
              <LockSnapshot snapshot={snapshot} onClose={close} />
            </Match>
            <Match when={verb === "delete"}>
              <DeleteSnapshots snapshots={[snapshot]} onClose={close} />
            </Match>
          </Switch>
        )}
      </Show>
    ),
  };
}

function PinSnapshot(props: Closing & { snapshot: Snapshot }): JSX.Element {
  const pins = () => !props.snapshot.pinned;
  const verb = () => (pins() ? "Pin" : "Unpin");
  return (
    <ChangeDialog
      title={`${verb()} ${full(props.snapshot)}`}
      verb={`${verb()} snapshot`}
      onClose={props.onClose}
      same={{
        what: `${verb().toLowerCase()} this snapshot`,
        windlass: windlass("snapshot", pins() ? "pin" : "unpin", full(props.snapshot)),
        method: "POST",
        path: api("snapshots", full(props.snapshot), "pin"),
        body: { pinned: pins() },
      }}
    >
      <p>
        {pins()
          ? "The rules of a schedule leave a pinned snapshot alone. People can still delete it."
          : "The rules of the schedule that took it may remove it again."}
      </p>
    </ChangeDialog>
  );
}

const HOUR_S = 3600;
const LOCKS = [
  { value: String(24 * HOUR_S), label: "for a day" },
  { value: String(7 * 24 * HOUR_S), label: "for 7 days" },
  { value: String(30 * 24 * HOUR_S), label: "for 30 days" },
  { value: String(90 * 24 * HOUR_S), label: "for 90 days" },
  { value: String(365 * 24 * HOUR_S), label: "for a year" },
];

function LockSnapshot(props: Closing & { snapshot: Snapshot }): JSX.Element {
  const [seconds, setSeconds] = createSignal(LOCKS[1]?.value ?? "");
  const [from] = createSignal(Date.now());
  const until = () => new Date(from() + Number(seconds()) * 1000);
  const tooShort = () => props.snapshot.locked_until != null && until() <= new Date(props.snapshot.locked_until);
  return (
    <ChangeDialog
      title={`Lock ${full(props.snapshot)}`}
      verb="Lock snapshot"
      danger
      onClose={props.onClose}
      ready={!tooShort()}
      same={{
        what: "lock this snapshot",
        windlass: windlass("snapshot", "lock", full(props.snapshot), "--until", until().toISOString(), "--yes"),
        method: "POST",
        path: api("snapshots", full(props.snapshot), "lock"),
        body: { until: until().toISOString() },
      }}
    >
      <p>
        A locked snapshot cannot be deleted before the lock ends, not even by an administrator, and a lock cannot be
        shortened. It keeps its space also when the pool is full.
      </p>
      <ChoiceField
        label="Lock"
        name="until"
        value={seconds()}
        onInput={setSeconds}
        options={LOCKS}
        error={tooShort() ? `it is ${lockedReason(props.snapshot)}` : undefined}
        hint={`Until ${instant(until().getTime())}.`}
      />
    </ChangeDialog>
  );
}
