// Events as a list: of the array, or about one object.

import { createMemo, type JSX, Show } from "solid-js";
import { useList } from "../api/list";
import { withQuery } from "../api/paths";
import { INTERVAL_MS } from "../api/query";
import type { Event, Severity } from "../api/schema";
import { useTopics } from "../live/stream";
import { At } from "./numbers";
import { Rows } from "./rows";
import { CodeLink, Empty, Shown } from "./state";
import type { Column } from "./table";

const MOST = 500;

export function SeverityWord(props: { of: Severity }): JSX.Element {
  return <span class={props.of === "info" ? "soft" : `dot ${props.of}`}>{props.of}</span>;
}

const RANK: Record<Severity, number> = { critical: 2, warning: 1, info: 0 };

const COLUMNS: Column<Event>[] = [
  { key: "time", title: "Time (UTC)", cell: (event) => <At at={event.time} />, by: ({ id }) => id },
  {
    key: "severity",
    title: "Severity",
    rank: 2,
    cell: (event) => <SeverityWord of={event.severity} />,
    by: ({ severity }) => RANK[severity],
  },
  {
    key: "message",
    title: "Message",
    cell: (event) => <span title={event.message}>{event.message}</span>,
    by: ({ message }) => message,
  },
  { key: "subject", title: "Subject", rank: 3, cell: (event) => event.subject, by: ({ subject }) => subject },
  { key: "code", title: "Code", rank: 2, cell: (event) => <CodeLink of={event.code} />, by: ({ code }) => code },
];

export function EventsTab(props: { subject?: string; severity?: string; code?: string }): JSX.Element {
  useTopics(["events"]);
  const events = useList<Event>(
    () =>
      withQuery("/api/v1/events", { subject: props.subject, severity: props.severity, code: props.code, limit: MOST }),
    false,
    INTERVAL_MS,
    true,
  );
  const newest = createMemo(() => events.data()?.toReversed());
  return (
    <Shown of={{ ...events, data: newest }}>
      {(items) => (
        <Show when={items().length > 0} fallback={<Empty>No event yet that fits.</Empty>}>
          <Rows
            label="Events, newest first"
            columns={COLUMNS}
            rows={items()}
            id={(event) => String(event.id)}
            changing={events.changing()}
          />
          <Show when={items().length >= MOST}>
            <p class="soft small under">The newest {MOST}; the command line shows more.</p>
          </Show>
        </Show>
      )}
    </Shown>
  );
}
