// The dialog that creates a schedule or changes one.

import { createSignal, For, type JSX, Show } from "solid-js";
import { useList } from "../api/list";
import { api } from "../api/paths";
import type { Keep, Schedule, SchedulePreview, Share, Volume, When } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { ChoiceField, TextField } from "../parts/form";
import { PreviewOfSchedule } from "../parts/schedule-preview";
import {
  DAY_WORDS,
  keepArgument,
  LOCKS,
  minuteOf,
  PERIODS,
  parsePeriod,
  period,
  RULES,
  timeOfDay,
  whenArguments,
} from "../parts/schedule-words";
import { windlass } from "../parts/shell-lines";
import { words } from "../parts/words";
import type { Closing } from "./closing";

type Kind = "every" | "daily" | "weekly";

const KINDS: { value: Kind; label: string }[] = [
  { value: "every", label: "every …" },
  { value: "daily", label: "daily" },
  { value: "weekly", label: "weekly" },
];
const WEEK = DAY_WORDS.map((label, index) => ({ value: String(index + 1), label }));

const kindOf = (when: When | undefined): Kind =>
  when === undefined || "daily" in when ? "daily" : "every" in when ? "every" : "weekly";

function minuteIn(when: When | undefined): number {
  if (when === undefined || "every" in when) return 120;
  return "daily" in when ? when.daily.minute : when.weekly.minute;
}

/** Creates a schedule, or changes one. */
export function EditSchedule(props: Closing & { schedule?: Schedule }): JSX.Element {
  const old = props.schedule;
  const [name, setName] = createSignal(old?.name ?? "");
  const [kind, setKind] = createSignal(kindOf(old?.when));
  const [every, setEvery] = createSignal(
    old !== undefined && "every" in old.when ? period(old.when.every.seconds) : "1h",
  );
  const [time, setTime] = createSignal(timeOfDay(minuteIn(old?.when)));
  const [day, setDay] = createSignal(old !== undefined && "weekly" in old.when ? String(old.when.weekly.day) : "7");
  const [zone, setZone] = createSignal(old?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [members, setMembers] = createSignal((old?.volumes ?? []).join("\n"));
  const [label, setLabel] = createSignal(
    Object.entries(old?.label ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(),
  );
  const [keep, setKeep] = createSignal<Keep>(old?.keep ?? { daily: 7, weekly: 4 });
  const [last, setLast] = createSignal(String(old?.keep_last ?? 3));
  const [lock, setLock] = createSignal(old?.lock_seconds == null ? "" : period(old.lock_seconds));
  const volumes = useList<Volume>(() => "/api/v1/volumes");
  const shares = useList<Share>(() => "/api/v1/shares");
  const names = () => [...new Set(words(members()))];
  const unknown = () => {
    const isPart = volumes.data() === undefined || shares.data() === undefined || volumes.more() || shares.more();
    if (isPart) return undefined;
    const all = new Set([...(volumes.data() ?? []), ...(shares.data() ?? [])].map((each) => each.name));
    const first = names().find((each) => !all.has(each));
    return first === undefined ? undefined : `there is no volume or share ${first}`;
  };
  const when = (): When | undefined => {
    const [seconds, minute] = [parsePeriod(every(), PERIODS), minuteOf(time())];
    if (kind() === "every") return seconds === undefined ? undefined : { every: { seconds } };
    if (minute === undefined) return undefined;
    return kind() === "daily" ? { daily: { minute } } : { weekly: { day: Number(day()), minute } };
  };
  const labels = (): Record<string, string> | undefined => {
    if (label().trim() === "") return {};
    const found = /^([^=\s]+)=([^=]*)$/.exec(label().trim());
    return found === null ? undefined : { [found[1] ?? ""]: found[2] ?? "" };
  };
  const lockSeconds = (): number | undefined => (lock().trim() === "" ? 0 : parsePeriod(lock(), LOCKS));
  const has = () => names().length > 0 || label().trim() !== "";
  /** All fields, as the array has them. */
  const fields = (): Partial<Record<string, unknown>> => ({
    when: when(),
    zone: zone().trim() || "UTC",
    volumes: names(),
    label: labels(),
    keep: Object.fromEntries(RULES.map((rule) => [rule, keep()[rule] ?? 0])),
    keep_last: Number(last()),
    lock_seconds: lockSeconds(),
  });
  const first = fields();
  /** Fields of the request: of a change, those that differ, so that what others have changed stays. */
  const sent = () =>
    Object.fromEntries(
      Object.entries(fields()).filter(([field, value]) =>
        old === undefined
          ? field !== "lock_seconds" || value !== 0
          : JSON.stringify(value) !== JSON.stringify(first[field]),
      ),
    );
  const body = () => (old === undefined ? { name: name().trim(), ...sent() } : sent());
  /** Options of the command line for a field. */
  const options: Record<string, () => string[]> = {
    when: () => whenArguments(when() ?? { daily: { minute: 120 } }),
    zone: () => ["--zone", zone().trim() || "UTC"],
    volumes: () =>
      names().length > 0 ? ["--volumes", names().join(",")] : old === undefined ? [] : ["--volumes", "none"],
    label: () => (label().trim() !== "" ? ["--label", label().trim()] : old === undefined ? [] : ["--label", "none"]),
    keep: () => ["--keep", keepArgument(keep()) || "daily=0"],
    keep_last: () => ["--keep-last", last()],
    lock_seconds: () => ["--lock", lockSeconds() === 0 ? "none" : period(lockSeconds() ?? 0)],
  };
  const line = () =>
    windlass(
      "schedule",
      old === undefined ? "create" : "set",
      old?.name ?? (name().trim() || "NAME"),
      ...Object.keys(sent()).flatMap((field) => options[field]?.() ?? []),
    );
  const before = line();
  const preview = (): SchedulePreview | undefined => {
    const times = when();
    if (times === undefined || !(Number(last()) >= 1)) return undefined;
    const rules = { zone: zone().trim() || "UTC", keep: keep(), keep_last: Number(last()) };
    return { when: times, ...rules, ...(old === undefined ? {} : { schedule: old.id }) };
  };
  return (
    <ChangeDialog
      title={old === undefined ? "New schedule" : `Change ${old.name}`}
      verb={old === undefined ? "Create schedule" : "Change schedule"}
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={
        name().trim() !== "" &&
        when() !== undefined &&
        has() &&
        labels() !== undefined &&
        lockSeconds() !== undefined &&
        Number(last()) >= 1 &&
        (old === undefined || Object.keys(sent()).length > 0)
      }
      dirty={() => line() !== before}
      {...(old === undefined ? {} : { edited: { path: api("schedules", old.id), shown: old } })}
      same={{
        what: old === undefined ? "create this schedule" : "change this schedule",
        windlass: line(),
        method: old === undefined ? "POST" : "PATCH",
        path: old === undefined ? api("schedules") : api("schedules", old.name),
        body: body(),
      }}
    >
      <Show when={old !== undefined}>
        <p class="note">
          Snapshots of it that the new rules do not keep are deleted at once, to the trash if that is on.
        </p>
      </Show>
      <Show when={old === undefined}>
        <TextField
          label="Name"
          name="name"
          required
          value={name()}
          onInput={setName}
          hint="Names of its snapshots begin with it."
        />
      </Show>
      <div class="side-by-side">
        <ChoiceField
          label="When"
          name="when"
          value={kind()}
          onInput={(value) => setKind(KINDS.find((each) => each.value === value)?.value ?? "daily")}
          options={KINDS}
        />
        <Show when={kind() === "weekly"}>
          <ChoiceField label="Day" name="day" value={day()} onInput={setDay} options={WEEK} />
        </Show>
        <Show
          when={kind() === "every"}
          fallback={
            <TextField
              label="At"
              name="time"
              value={time()}
              onInput={setTime}
              error={minuteOf(time()) === undefined ? "such as 02:30" : undefined}
            />
          }
        >
          <TextField
            label="Period"
            name="every"
            value={every()}
            onInput={setEvery}
            error={parsePeriod(every(), PERIODS) === undefined ? "such as 15m or 4h, up to 30d" : undefined}
          />
        </Show>
        <TextField label="Time zone" name="zone" value={zone()} onInput={setZone} />
      </div>
      <TextField
        label="Volumes and shares"
        name="volumes"
        multiline
        value={members()}
        onInput={setMembers}
        error={unknown()}
        hint="Names, with spaces or commas between them. All that are due together have snapshots of one instant."
      />
      <TextField
        label="And all volumes with the label"
        name="label"
        placeholder="key=value"
        value={label()}
        onInput={setLabel}
        error={labels() === undefined ? "such as tier=gold" : undefined}
      />
      <fieldset>
        <legend>Keep the newest snapshot of each of the last …</legend>
        <div class="side-by-side">
          <For each={RULES}>
            {(rule) => (
              <TextField
                label={{ hourly: "hours", daily: "days", weekly: "weeks", monthly: "months" }[rule]}
                name={rule}
                type="number"
                value={String(keep()[rule] ?? 0)}
                onInput={(value) => setKeep({ ...keep(), [rule]: Math.max(0, Math.floor(Number(value)) || 0) })}
              />
            )}
          </For>
          <TextField label="newest, always" name="keep_last" type="number" value={last()} onInput={setLast} />
        </div>
      </fieldset>
      <TextField
        label="Lock each against deletion for"
        name="lock"
        placeholder="not at all"
        value={lock()}
        onInput={setLock}
        error={lockSeconds() === undefined ? "such as 7d or 12h, up to 366d" : undefined}
        hint="A locked snapshot cannot be deleted, and its lock cannot be shortened. Locks may fill the pool."
      />
      <PreviewOfSchedule of={preview()} />
    </ChangeDialog>
  );
}
