// Overview: health in words, latency, operations, host and array, space, alerts, busiest volumes.

import { For, type JSX, lazy, Show, Suspense } from "solid-js";
import { contactLost } from "../../api/contact";
import type { Status } from "../../api/schema";
import { useStatus } from "../../api/status";
import { HostAndArrayChart, LatencyChart, OperationsChart } from "../../live/charts";
import { RangeChoice } from "../../live/range-choice";
import { Head } from "../../parts/head";
import { now } from "../../parts/now";
import { Bytes } from "../../parts/numbers";
import { PoolBar } from "../../parts/pool-bar";
import { Shown } from "../../parts/state";
import { duration } from "../../parts/time";
import { standing } from "../../shell/standing";
import { Attention } from "./attention";

// Only an empty array needs them, with their dialogs.
const FirstSteps = lazy(() => import("./first-steps"));
// Beside and below the charts.
const Busiest = lazy(() => import("./busiest"));
const Below = lazy(() => import("./below"));
const Forecast = lazy(() => import("../../parts/forecast"));

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
        <RangeChoice />
        <div class="cards">
          <LatencyChart />
          <div class="stack">
            <Attention status={props.status} />
            <Suspense>
              <Busiest />
            </Suspense>
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
            <Suspense>
              <Forecast pool={pool.name} />
            </Suspense>
          </section>
        )}
      </For>
      <Suspense>
        <Below totals={empty() ? undefined : props.status.offload} />
      </Suspense>
    </>
  );
}
