// Alerts: conditions that need attention now, with what helps, who was told, and who looks after them; and those that
// have ended.

import { useSearchParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { AcknowledgeAlert } from "../../actions/alert";
import { useList } from "../../api/list";
import { withQuery } from "../../api/paths";
import type { Alert } from "../../api/schema";
import { Act } from "../../parts/act";
import { SeverityWord } from "../../parts/events";
import { Ago } from "../../parts/numbers";
import { CodeLink, Empty, Shown } from "../../parts/state";

type State = "active" | "acknowledged" | "ended";

const EMPTY: Record<State, string> = {
  active: "Nothing needs attention.",
  acknowledged: "No alert that holds is acknowledged.",
  ended: "No alert has ended in the last 30 days.",
};

export function AlertsTab(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ state?: string }>();
  const state = (): State => (search.state === "acknowledged" || search.state === "ended" ? search.state : "active");
  const alerts = useList<Alert>(() => withQuery("/api/v1/alerts", { state: state() }), true, 5000);
  const [marking, setMarking] = createSignal<Alert>();
  const choice = (value: State, label: string) => (
    <option value={value} selected={state() === value}>
      {label}
    </option>
  );
  return (
    <>
      <div class="filters">
        <select
          aria-label="State of the alerts"
          onInput={(event) =>
            setSearch({ state: event.currentTarget.value === "active" ? undefined : event.currentTarget.value })
          }
        >
          {choice("active", "active")}
          {choice("acknowledged", "acknowledged")}
          {choice("ended", "ended")}
        </select>
      </div>
      <Shown of={alerts}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>{EMPTY[state()]}</Empty>}>
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
                      <Show
                        when={alert.ended}
                        fallback={
                          <Act onClick={() => setMarking(alert)}>
                            {alert.acknowledged ? "Take back…" : "Acknowledge…"}
                          </Act>
                        }
                      >
                        {(ended) => (
                          <>
                            · ended <Ago at={ended()} />
                          </>
                        )}
                      </Show>
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
