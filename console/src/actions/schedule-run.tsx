// Dialogs that run, pause and delete a schedule.

import { type JSX, Show } from "solid-js";
import { api } from "../api/paths";
import type { Schedule, ScheduleLast } from "../api/schema";
import { DeleteDialog } from "../parts/destroy";
import { ChangeDialog, Shows } from "../parts/dialog";
import { windlass } from "../parts/shell-lines";
import { count } from "../parts/units";
import type { Closing } from "./closing";

/** Runs a schedule beside its times. */
export function RunSchedule(props: Closing & { schedule: Schedule }): JSX.Element {
  return (
    <ChangeDialog
      title={`Run ${props.schedule.name} now`}
      verb="Run schedule"
      onClose={props.onClose}
      same={{
        what: "run this schedule",
        windlass: windlass("schedule", "run", props.schedule.name),
        method: "POST",
        path: api("schedules", props.schedule.name, "run"),
      }}
      after={(answer: { last?: ScheduleLast | null } | undefined) =>
        answer?.last == null ? undefined : new Shows(<LastRun of={answer.last} />)
      }
    >
      <p>
        It takes a snapshot of each of its {count(props.schedule.members, "member")}, and removes those that its rules
        no longer keep.
      </p>
    </ChangeDialog>
  );
}

/** What a run did. */
function LastRun(props: { of: ScheduleLast }): JSX.Element {
  return (
    <>
      <p>
        {count(props.of.taken, "snapshot")} taken, {props.of.removed} removed
        <Show when={props.of.skipped > 0}>
          , <span class="bad">{props.of.skipped} without a snapshot</span>
        </Show>
        .
      </p>
      <Show when={props.of.reason}>{(reason) => <p class="note">{reason()}</p>}</Show>
    </>
  );
}

/** Pauses a schedule, or lets it run again. */
export function PauseSchedule(props: Closing & { schedule: Schedule }): JSX.Element {
  const pauses = () => !props.schedule.paused;
  return (
    <ChangeDialog
      title={`${pauses() ? "Pause" : "Resume"} ${props.schedule.name}`}
      verb={`${pauses() ? "Pause" : "Resume"} schedule`}
      onClose={props.onClose}
      same={{
        what: `${pauses() ? "pause" : "resume"} this schedule`,
        windlass: windlass("schedule", "set", props.schedule.name, "--pause", pauses() ? "on" : "off"),
        method: "PATCH",
        path: api("schedules", props.schedule.name),
        body: { paused: pauses() },
      }}
    >
      <p>
        {pauses()
          ? "It takes no snapshots until it is resumed."
          : "It runs again at its next time. Runs that were missed meanwhile are not made up."}
      </p>
    </ChangeDialog>
  );
}

export function DeleteSchedule(props: Closing & { schedule: Schedule }): JSX.Element {
  return (
    <DeleteDialog
      noun="schedule"
      name={props.schedule.name}
      onClose={props.onClose}
      same={{
        windlass: windlass("schedule", "delete", props.schedule.name, "--yes"),
        path: api("schedules", props.schedule.name),
      }}
    />
  );
}
