// Overview: health in words, latency, operations, host and array, space, alerts, busiest volumes.

import { For, type JSX, lazy, Show } from "solid-js";
import { contactLost } from "../../api/contact";
import { useList } from "../../api/list";
import type { Event, OffloadTotal, Status } from "../../api/schema";
import { useStatus } from "../../api/status";
import { HostAndArrayChart, LatencyChart, OperationsChart } from "../../live/charts";
import { useTopics } from "../../live/stream";
import { Head } from "../../parts/head";
import { now } from "../../parts/now";
import { Ago, Bytes } from "../../parts/numbers";
import { PoolBar } from "../../parts/pool-bar";
import { Shown } from "../../parts/state";
import { duration } from "../../parts/time";
import { grouped } from "../../parts/units";
import { standing } from "../../shell/standing";
import { Attention } from "./attention";
import { Busiest } from "./busiest";

// Only an empty array needs them, with their dialogs.
const FirstSteps = lazy(() => import("./first-steps"));

const EVENTS = 6;

export default function Overview(): JSX.Element {
  const status = useStatus();
  const state = () => standing(status.data(), contactLost() !== undefined);
  const about = () => {
    const present = status.data();
    if (present === undefined) return undefined;
    const up = (now() - Date.parse(present.started)) / 1000;
    return `up ${duration(up)} · version ${present.version} · ${present.target}`;
  };
  return (
    <>
      <Head
        title={state().sentence || "Overview"}
        about={about()}
        same={[
          { what: "status of the array", windlass: "windlass status", path: "/api/v1/system" },
          { what: "the values of the charts", path: "/api/v1/history?series=array.latency_p99,array.read_ops" },
        ]}
      />
      <Shown of={status}>{(present) => <Present status={present()} />}</Shown>
    </>
  );
}

function Present(props: { status: Status }): JSX.Element {
  const empty = () => props.status.volumes === 0 && props.status.pools.every((pool) => (pool.shares ?? 0) === 0);
  return (
    <>
      <Show when={!empty()} fallback={<FirstSteps status={props.status} />}>
        <div class="cards">
          <LatencyChart />
          <div class="stack">
            <Attention status={props.status} />
            <Busiest />
          </div>
          <HostAndArrayChart />
          <OperationsChart />
        </div>
      </Show>
      <For each={props.status.pools}>
        {(pool) => (
          <section class="card pool">
            <h2>
              <a href="/space">
                Space · {pool.name} · <Bytes of={pool.size_bytes} />
              </a>
            </h2>
            <PoolBar pool={pool} />
          </section>
        )}
      </For>
      <div class="cards below">
        <Show when={!empty()}>
          <KeptOff totals={props.status.offload} />
        </Show>
        <LastEvents />
      </div>
    </>
  );
}

/** Bytes that offload kept off the network since the array started. */
function KeptOff(props: { totals: OffloadTotal[] }): JSX.Element {
  const sum = () => props.totals.reduce((all, total) => all + total.host_bytes_avoided, 0);
  return (
    <section class="card">
      <h2>
        <a href="/offload">Kept off the wire</a>
      </h2>
      <p>
        <strong class="figure">
          <Bytes of={sum()} />
        </strong>{" "}
        <span class="soft">since the array started</span>
      </p>
      <dl class="facts">
        <For each={props.totals}>
          {(total) => (
            <>
              <dt>{total.primitive.toUpperCase()}</dt>
              <dd>
                {grouped(total.commands)} commands
                <Show when={total.refused > 0}>
                  , <a href={`/offload/refusals?primitive=${total.primitive}`}>{grouped(total.refused)} refused</a>
                </Show>
              </dd>
            </>
          )}
        </For>
      </dl>
    </section>
  );
}

function LastEvents(): JSX.Element {
  useTopics(["events"]);
  const events = useList<Event>(() => `/api/v1/events?limit=${EVENTS}`, false);
  return (
    <section class="card">
      <h2>
        <a href="/activity/events">Last events</a>
      </h2>
      <ul class="lines-list">
        <For each={(events.data() ?? []).toReversed()}>
          {(event) => (
            <li>
              <span>{event.message}</span>
              <span class="soft small">
                <Ago at={event.time} />
              </span>
            </li>
          )}
        </For>
      </ul>
    </section>
  );
}
