// The configuration as a document: export, plan, apply, and the days that the array has kept.

import { createSignal, For, type JSX, lazy, Show } from "solid-js";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { ConfigurationDay } from "../../api/schema";
import { Act } from "../../parts/act";
import { Commands } from "../../parts/commands";
import { FileLink } from "../../parts/file-link";
import { Bytes } from "../../parts/numbers";
import { Empty, Shown } from "../../parts/state";

const PlanConfiguration = lazy(() => import("../../actions/configuration"));

/** Interval at which the days are read. */
const EVERY_MS = 60_000;

export function Configuration(): JSX.Element {
  const days = useList<ConfigurationDay>(() => "/api/v1/config/history", false, EVERY_MS);
  const [open, setOpen] = createSignal<{ day?: string }>();
  return (
    <section class="card">
      <h2>
        Configuration{" "}
        <Commands
          same={[
            { what: "export the configuration", windlass: "windlass config export", path: "/api/v1/config/export" },
            { what: "show the kept days", windlass: "windlass config history", path: "/api/v1/config/history" },
          ]}
        />
      </h2>
      <p>The document has all settings and objects, without content, identities and secrets.</p>
      <p>
        <FileLink path="/api/v1/config/export" name="windlass-configuration.toml">
          Export
        </FileLink>{" "}
        <Act needs="admin" onClick={() => setOpen({})}>
          Plan a document…
        </Act>
      </p>
      <details>
        <summary>Kept days</summary>
        <Shown of={days}>
          {(items) => (
            <Show when={items().length > 0} fallback={<Empty>One is kept each day; there is none yet.</Empty>}>
              <ul class="lines-list">
                <For each={items()}>
                  {({ day, size_bytes }) => (
                    <li>
                      <span>
                        {day}{" "}
                        <span class="soft small">
                          <Bytes of={size_bytes} />
                        </span>
                      </span>
                      <span>
                        <FileLink path={api("config", "history", day)} name={`windlass-configuration-${day}.toml`}>
                          Download
                        </FileLink>{" "}
                        <Act needs="admin" onClick={() => setOpen({ day })}>
                          Differences…
                        </Act>
                      </span>
                    </li>
                  )}
                </For>
              </ul>
            </Show>
          )}
        </Shown>
      </details>
      <Show when={open()} keyed>
        {(present) => <PlanConfiguration {...present} onClose={() => setOpen(undefined)} />}
      </Show>
    </section>
  );
}
