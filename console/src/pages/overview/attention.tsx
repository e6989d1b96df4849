// Alerts, most severe first, and running jobs.

import { For, type JSX, Show } from "solid-js";
import type { Job, Status } from "../../api/schema";
import { Ago } from "../../parts/numbers";
import { duration } from "../../parts/time";
import { percent } from "../../parts/units";

export function Attention(props: { status: Status }): JSX.Element {
  const alerts = () => props.status.alerts ?? [];
  const running = () => (props.status.jobs ?? []).filter((job) => job.state === "running");
  return (
    <section class="card">
      <h2>
        <a href="/activity/alerts">Needs attention</a>
      </h2>
      <Show when={alerts().length > 0} fallback={<p class="soft">Nothing.</p>}>
        <ul class="lines-list">
          <For each={alerts()}>
            {(alert) => (
              <li>
                <span>
                  <span class={`dot ${alert.severity === "info" ? "" : alert.severity}`}>{alert.severity}</span>{" "}
                  {alert.message}
                  <br />
                  <span class="soft small">{alert.help}</span>
                </span>
                <span class="soft small">
                  <Ago at={alert.since} />
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={running().length > 0}>
        <h3>Running</h3>
        <ul class="lines-list">
          <For each={running()}>{(job) => <li>{sentence(job)}</li>}</For>
        </ul>
      </Show>
    </section>
  );
}

function sentence(job: Job): string {
  const left = job.eta_seconds == null ? "" : `, ${duration(job.eta_seconds)} left`;
  return `${job.kind} of ${job.subject}, ${percent(job.done, job.total)}${left}`;
}
