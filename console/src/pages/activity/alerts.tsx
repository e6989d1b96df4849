// Alerts: conditions that need attention now, with what helps, who was told, and who looks after them.

import { createSignal, For, type JSX, Show } from "solid-js";
import { AcknowledgeAlert } from "../../actions/alert";
import { useList } from "../../api/list";
import type { Alert } from "../../api/schema";
import { Act } from "../../parts/act";
import { SeverityWord } from "../../parts/events";
import { Ago } from "../../parts/numbers";
import { CodeLink, Empty, Shown } from "../../parts/state";

export function AlertsTab(): JSX.Element {
  const alerts = useList<Alert>(() => "/api/v1/alerts", true, 5000);
  const [marking, setMarking] = createSignal<Alert>();
  return (
    <>
      <Shown of={alerts}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>Nothing needs attention.</Empty>}>
            <ul class="lines-list">
              <For each={items()}>
                {(alert) => (
                  <li>
                    <span>
                      <SeverityWord of={alert.severity} /> <strong>{alert.message}</strong>
                      <br />
                      <span class="soft">
                        {alert.help} · <CodeLink of={alert.code} /> · {alert.subject}
                      </span>
                      <Marks of={alert} />
                    </span>
                    <span class="soft small">
                      <Ago at={alert.since} />{" "}
                      <Act onClick={() => setMarking(alert)}>{alert.acknowledged ? "Take back…" : "Acknowledge…"}</Act>
                    </span>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Shown>
      <Show when={marking()} keyed>
        {(alert) => <AcknowledgeAlert of={alert} onClose={() => setMarking(undefined)} />}
      </Show>
    </>
  );
}

/** Who looks after an alert, and which channels were told of it. */
function Marks(props: { of: Alert }): JSX.Element {
  return (
    <>
      <Show when={props.of.acknowledged}>
        {(by) => (
          <div class="small">
            acknowledged by {by().by} <Ago at={by().time} />
            {by().note === "" ? "" : `: ${by().note}`}
          </div>
        )}
      </Show>
      <For each={props.of.told ?? []}>
        {(told) => (
          <div class="small" classList={{ bad: told.outcome === "failed", soft: told.outcome !== "failed" }}>
            {told.channel}: {told.outcome} <Ago at={told.time} />
            {told.detail === "" ? "" : `, ${told.detail}`}
          </div>
        )}
      </For>
    </>
  );
}
