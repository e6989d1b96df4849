// Alerts: conditions that need attention now, with what helps.

import { For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import type { Alert } from "../../api/schema";
import { SeverityWord } from "../../parts/events";
import { Ago } from "../../parts/numbers";
import { CodeLink, Empty, Shown } from "../../parts/state";

export function AlertsTab(): JSX.Element {
  const alerts = useList<Alert>(() => "/api/v1/alerts", true, 5000);
  return (
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
                  </span>
                  <span class="soft small">
                    <Ago at={alert.since} />
                  </span>
                </li>
              )}
            </For>
          </ul>
        </Show>
      )}
    </Shown>
  );
}
