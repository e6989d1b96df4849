// Schedules: snapshots at set times, and rules that remove old ones.

import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { EditSchedule } from "../../actions/schedule";
import { DeleteSchedule, PauseSchedule, RunSchedule } from "../../actions/schedule-run";
import { useList } from "../../api/list";
import type { Schedule } from "../../api/schema";
import { useStatus } from "../../api/status";
import { SnapshotsTabs } from "../../parts/content-tabs";
import { ListPage } from "../../parts/list-page";
import type { Action } from "../../parts/menu";
import { Ago, Until } from "../../parts/numbers";
import { keepWords, period, whenWords } from "../../parts/schedule-words";
import type { Column } from "../../parts/table";
import { grouped, NONE } from "../../parts/units";

type Verb = "edit" | "run" | "pause" | "delete";

function Next(props: { of: Schedule }): JSX.Element {
  return (
    <Show when={props.of.next} fallback={<span class="tag">paused</span>}>
      {(next) => <Until at={next()} past="now" />}
    </Show>
  );
}

function Last(props: { of: Schedule }): JSX.Element {
  return (
    <Show when={props.of.last} fallback={NONE}>
      {(last) => (
        <span title={last().reason ?? undefined}>
          <Ago at={last().started} />, {last().taken} taken, {last().removed} removed
          <Show when={last().skipped > 0}>
            , <span class="bad">{last().skipped} without</span>
          </Show>
        </span>
      )}
    </Show>
  );
}

const members = ({ volumes, label }: Schedule): string =>
  [...(volumes ?? []), ...Object.entries(label ?? {}).map(([key, value]) => `label ${key}=${value}`)].join(", ");

const COLUMNS: Column<Schedule>[] = [
  { key: "name", title: "Name", cell: ({ name }) => name, by: ({ name }) => name },
  {
    key: "when",
    title: "When",
    cell: ({ when, zone }) => (
      <>
        {whenWords(when)} <span class="soft small">{"every" in when ? "" : zone}</span>
      </>
    ),
  },
  {
    key: "members",
    title: "Members",
    rank: 2,
    cell: (schedule) => (
      <span title={members(schedule)}>
        {grouped(schedule.members)} <span class="soft small cut">{members(schedule)}</span>
      </span>
    ),
    by: ({ members: all }) => all,
  },
  {
    key: "keep",
    title: "Keeps",
    rank: 2,
    cell: ({ keep, keep_last, lock_seconds }) =>
      [keepWords(keep) || `the newest ${keep_last}`, lock_seconds == null ? "" : `locked ${period(lock_seconds)}`]
        .filter((part) => part !== "")
        .join("; "),
  },
  { key: "next", title: "Next", cell: (schedule) => <Next of={schedule} />, by: ({ next }) => next ?? "~" },
  {
    key: "snapshots",
    title: "Snapshots",
    number: true,
    cell: ({ name, snapshots }) => <a href={`/snapshots?q=${encodeURIComponent(`@${name}.`)}`}>{grouped(snapshots)}</a>,
    by: ({ snapshots }) => snapshots,
  },
  {
    key: "last",
    title: "Last run",
    rank: 3,
    cell: (schedule) => <Last of={schedule} />,
    by: ({ last }) => last?.started ?? "",
  },
];

export default function Schedules(): JSX.Element {
  const schedules = useList<Schedule>(() => "/api/v1/schedules");
  const status = useStatus();
  const [open, setOpen] = createSignal<{ verb: Verb; schedule: Schedule } | { verb: "create" }>();
  const close = () => setOpen(undefined);
  const of = () => {
    const present = open();
    return present !== undefined && "schedule" in present ? present : undefined;
  };
  const action = (verb: Verb, label: string, schedule: Schedule): Action => ({
    label,
    needs: "operator",
    run: () => setOpen({ verb, schedule }),
  });
  return (
    <ListPage
      title="Schedules"
      about="Snapshots at set times, and rules that remove old ones"
      same={[
        { what: "list the schedules", windlass: "windlass schedule list", path: "/api/v1/schedules" },
        {
          what: "create a schedule",
          windlass: "windlass schedule create NAME --daily 02:00 --keep daily=7 --volumes VOLUME",
          method: "POST",
          path: "/api/v1/schedules",
          body: { name: "NAME", when: { daily: { minute: 120 } }, keep: { daily: 7 }, volumes: ["VOLUME"] },
        },
      ]}
      add={{ label: "New schedule", run: () => setOpen({ verb: "create" }) }}
      above={<SnapshotsTabs snapshots={status.data()?.snapshots} schedules={schedules.total()} />}
      of={schedules}
      empty={
        <>
          No schedule yet. One takes a snapshot of each of its volumes and shares at its times, all at one instant, and
          removes those that its rules no longer keep.
        </>
      }
      columns={COLUMNS}
      id={({ name }) => name}
      actions={(schedule) => [
        action("edit", "Change…", schedule),
        action("run", "Run now…", schedule),
        action("pause", schedule.paused ? "Resume…" : "Pause…", schedule),
        { ...action("delete", "Delete…", schedule), danger: true },
      ]}
    >
      <Show when={open()?.verb === "create"}>
        <EditSchedule onClose={close} />
      </Show>
      <Show when={of()} keyed>
        {({ verb, schedule }) => (
          <Switch>
            <Match when={verb === "edit"}>
              <EditSchedule schedule={schedule} onClose={close} />
            </Match>
            <Match when={verb === "run"}>
              <RunSchedule schedule={schedule} onClose={close} />
            </Match>
            <Match when={verb === "pause"}>
              <PauseSchedule schedule={schedule} onClose={close} />
            </Match>
            <Match when={verb === "delete"}>
              <DeleteSchedule schedule={schedule} onClose={close} />
            </Match>
          </Switch>
        )}
      </Show>
    </ListPage>
  );
}
