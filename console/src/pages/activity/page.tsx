// Activity: jobs, events, alerts, the audit.

import { useParams, useSearchParams } from "@solidjs/router";
import { type JSX, Match, Show, Switch } from "solid-js";
import { EventsTab } from "../../parts/events";
import { Head, Tabs } from "../../parts/head";
import type { Same } from "../../parts/shell-lines";
import { unless } from "../../session";
import NotFound from "../not-found/page";
import { AlertsTab } from "./alerts";
import { AuditTab } from "./audit";
import { JobsTab } from "./jobs";

const SAME: Record<string, Same[]> = {
  jobs: [{ what: "list the jobs", windlass: "windlass job list", path: "/api/v1/jobs" }],
  events: [
    { what: "list the events, and follow them", windlass: "windlass event list --follow", path: "/api/v1/events" },
  ],
  alerts: [
    { what: "list the alerts", windlass: "windlass alert list", path: "/api/v1/alerts" },
    { what: "list those that have ended", windlass: "windlass alert list --ended", path: "/api/v1/alerts?state=ended" },
  ],
  audit: [
    { what: "list the audit", windlass: "windlass audit list", path: "/api/v1/audit" },
    { what: "verify the audit", windlass: "windlass audit verify", path: "/api/v1/audit/verify" },
  ],
};

export default function Activity(): JSX.Element {
  const params = useParams<{ tab?: string }>();
  const [search, setSearch] = useSearchParams<{ severity?: string; subject?: string }>();
  const tab = () => params.tab ?? "jobs";
  return (
    <Show when={SAME[tab()]} fallback={<NotFound />}>
      {(same) => (
        <>
          <Head title="Activity" about="What runs, what happened, what needs attention" same={same()} />
          <Tabs
            label="Parts of activity"
            tabs={[
              { name: "Jobs", path: "/activity/jobs" },
              { name: "Events", path: "/activity/events" },
              { name: "Alerts", path: "/activity/alerts" },
              ...(unless("admin") === undefined ? [{ name: "Audit", path: "/activity/audit" }] : []),
            ]}
          />
          <Switch>
            <Match when={tab() === "jobs"}>
              <JobsTab />
            </Match>
            <Match when={tab() === "events"}>
              <div class="filters">
                <select
                  aria-label="Severity"
                  onInput={(event) =>
                    setSearch({ severity: event.currentTarget.value || undefined }, { replace: true })
                  }
                >
                  <option value="" selected={search.severity === undefined}>
                    all severities
                  </option>
                  <option value="warning" selected={search.severity === "warning"}>
                    warning and worse
                  </option>
                  <option value="critical" selected={search.severity === "critical"}>
                    critical
                  </option>
                </select>
                <input
                  type="search"
                  placeholder="subject: name of a volume, host …"
                  aria-label="Subject of the events"
                  value={search.subject ?? ""}
                  onChange={(event) =>
                    setSearch({ subject: event.currentTarget.value.trim() || undefined }, { replace: true })
                  }
                />
              </div>
              <EventsTab severity={search.severity} subject={search.subject} />
            </Match>
            <Match when={tab() === "alerts"}>
              <AlertsTab />
            </Match>
            <Match when={tab() === "audit"}>
              <AuditTab />
            </Match>
          </Switch>
        </>
      )}
    </Show>
  );
}
