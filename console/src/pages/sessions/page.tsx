// Sessions of initiators.

import { createSignal, type JSX, Show } from "solid-js";
import { EndSession } from "../../actions/host";
import { useList } from "../../api/list";
import type { Session } from "../../api/schema";
import { Head } from "../../parts/head";
import { HostsTabs } from "../../parts/hosts-tabs";
import { Rows } from "../../parts/rows";
import { sessionColumns } from "../../parts/sessions";
import { Empty, Shown } from "../../parts/state";

const COLUMNS = sessionColumns(true);

export default function Sessions(): JSX.Element {
  const sessions = useList<Session>(() => "/api/v1/sessions", true, 5000);
  const [ending, setEnding] = createSignal<Session>();
  return (
    <>
      <Head
        title="Sessions"
        about="Initiators that are logged in over iSCSI"
        same={[{ what: "list the sessions", windlass: "windlass session list", path: "/api/v1/sessions" }]}
      />
      <HostsTabs sessions={sessions.total()} />
      <Shown of={sessions}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={
              <Empty
                action={
                  <a class="button" href="/hosts/connect">
                    Connect a host
                  </a>
                }
              >
                No initiator is logged in.
              </Empty>
            }
          >
            <Rows
              label="Sessions"
              columns={COLUMNS}
              rows={items()}
              id={({ id }) => String(id)}
              actions={(session) => [{ label: "End…", needs: "operator", danger: true, run: () => setEnding(session) }]}
            />
          </Show>
        )}
      </Shown>
      <Show when={ending()} keyed>
        {(session) => <EndSession session={session} onClose={() => setEnding(undefined)} />}
      </Show>
    </>
  );
}
