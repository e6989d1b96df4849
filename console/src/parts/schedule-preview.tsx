// What times and rules of a schedule would do, while they are being chosen.

import { For, type JSX, Show } from "solid-js";
import { asked } from "../api/asked";
import { api } from "../api/paths";
import type { SchedulePreview, SchedulePreviewed } from "../api/schema";
import { FailureBox } from "./state";
import { instant } from "./time";
import { count } from "./units";

/** Removed snapshots that are named. */
const NAMED = 10;

/** `of`: times and rules; absent while they are not complete. */
export function PreviewOfSchedule(props: { of: SchedulePreview | undefined }): JSX.Element {
  const preview = asked<SchedulePreviewed>(
    () => props.of && { method: "POST", path: api("schedules", "preview"), body: props.of },
    () => false,
  );
  return (
    <section class="preview" aria-live="polite" aria-label="what it would do">
      <Show when={preview.failure()}>{(failure) => <FailureBox failure={failure()} retry={preview.retry} />}</Show>
      <Show when={preview.answer()}>
        {(seen) => (
          <>
            <p>
              <strong>Next:</strong>{" "}
              {seen()
                .next.map((time) => instant(Date.parse(time)))
                .join(", ")}{" "}
              UTC
            </p>
            <Show when={seen().kept + seen().removed > 0}>
              <p>
                <strong>Of its snapshots</strong> {seen().kept} stay, and {count(seen().removed, "snapshot")} would be
                removed{seen().removed > 0 ? ":" : "."}
              </p>
              <ul>
                <For each={seen().removes.slice(0, NAMED)}>{({ name }) => <li>{name}</li>}</For>
                <Show when={seen().removed > NAMED}>
                  <li>and {seen().removed - NAMED} more</li>
                </Show>
              </ul>
            </Show>
          </>
        )}
      </Show>
    </section>
  );
}
