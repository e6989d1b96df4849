// Settings: the array, this browser, signing out.

import { For, type JSX, Show } from "solid-js";
import type { Status } from "../../api/schema";
import { useStatus } from "../../api/status";
import { Copy, Lines } from "../../parts/copy";
import { CheckField, ChoiceField } from "../../parts/form";
import { Head } from "../../parts/head";
import { now } from "../../parts/now";
import { At } from "../../parts/numbers";
import { SettingsTabs } from "../../parts/settings-tabs";
import { Shown } from "../../parts/state";
import { duration } from "../../parts/time";
import { unless } from "../../session";
import { keys, setKeys, setTheme, type Theme, theme } from "../../shell/preferences";
import { Channels } from "./channels";
import { Configuration } from "./configuration";
import { Examination } from "./examination";
import { SupportBundles } from "./support-bundles";

const THEMES: { value: Theme; label: string }[] = [
  { value: "system", label: "as the system has it" },
  { value: "light", label: "light" },
  { value: "dark", label: "dark" },
];

export default function Settings(): JSX.Element {
  const status = useStatus();
  return (
    <>
      <Head
        title="Settings"
        same={[{ what: "the configuration in effect", windlass: "windlass check-config", path: "/api/v1/system" }]}
      />
      <SettingsTabs />
      <div class="cards">
        <Shown of={status}>{(present) => <ArrayCard status={present()} />}</Shown>
        <Show when={unless("operator") === undefined}>
          <Examination />
        </Show>
        <Show when={unless("admin") === undefined}>
          <Channels />
          <Configuration />
          <SupportBundles />
        </Show>
        <section class="card">
          <h2>This browser</h2>
          <ChoiceField
            label="Colours"
            name="theme"
            value={theme()}
            onInput={(value) => setTheme(THEMES.find((each) => each.value === value)?.value ?? "system")}
            options={THEMES}
          />
          <CheckField
            label="Single keys act"
            name="keys"
            checked={keys()}
            onInput={setKeys}
            hint={
              <>
                Press <kbd>?</kbd> for the list. They never act in fields.
              </>
            }
          />
        </section>
        <section class="card">
          <h2>Metrics</h2>
          <p>
            Prometheus scrapes <code>/metrics</code>, and <code>/metrics/volumes</code> for each volume and share, with
            the token, or from an address without TLS that <code>[metrics]</code> in the configuration names.
          </p>
          <Lines
            text={`curl --cacert cert.pem -H "Authorization: Bearer $WINDLASS_TOKEN" ${location.origin}/metrics`}
            what="the command"
          />
          <p>
            The REST interface describes itself at <code>/api/v1/openapi.json</code>.
          </p>
        </section>
        <section class="card">
          <h2>Where other settings are</h2>
          <p>
            Thresholds and over-commitment: <a href="/space">Space</a>. Portals and their groups:{" "}
            <a href="/portals">Hosts</a>. Addresses, certificate, memory and threads: <code>windlass.toml</code> on the
            array's machine, and <code>windlass serve --help</code>.
          </p>
        </section>
      </div>
    </>
  );
}

function ArrayCard(props: { status: Status }): JSX.Element {
  return (
    <section class="card">
      <h2>Array</h2>
      <dl class="facts">
        <dt>Version</dt>
        <dd>{props.status.version}</dd>
        <dt>Identity</dt>
        <dd>
          <code>{props.status.array_id}</code> <Copy text={props.status.array_id} what="the identity" />
        </dd>
        <dt>Target</dt>
        <dd>
          <code>{props.status.target}</code> <Copy text={props.status.target} what="the target name" />
        </dd>
        <dt>Started</dt>
        <dd>
          <At at={props.status.started} /> UTC, up {duration((now() - Date.parse(props.status.started)) / 1000)}
        </dd>
        <dt>Portals</dt>
        <dd>
          <For each={props.status.portals}>{(portal) => <div>{portal.advertised}</div>}</For>
        </dd>
        <dt>Pools</dt>
        <dd>
          <For each={props.status.pools}>
            {(pool) => (
              <div>
                {pool.name}, {pool.state}
                <Show when={pool.stopped_reason}>{(reason) => <>: {reason()}</>}</Show>
              </div>
            )}
          </For>
        </dd>
      </dl>
    </section>
  );
}
