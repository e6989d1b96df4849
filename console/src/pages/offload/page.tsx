// Offload: operations that the array performed for hosts, and refusals.

import { useParams, useSearchParams } from "@solidjs/router";
import { createMemo, type JSX, lazy, Show } from "solid-js";
import { useList } from "../../api/list";
import type { OffloadStatistics } from "../../api/schema";
import { useStatus } from "../../api/status";
import { HostAndArrayChart, LatencyChart } from "../../live/charts";
import { RangeChoice } from "../../live/range-choice";
import { Head, Tabs } from "../../parts/head";
import { KeptOffLine } from "../../parts/kept-off";
import { totals } from "../../parts/offload/primitive-totals";
import { PrimitiveTable } from "../../parts/offload/primitives";
import { Refusals } from "../../parts/offload/refusals";
import { Empty, Shown } from "../../parts/state";
import { bytes } from "../../parts/units";
import NotFound from "../not-found/page";
import { ByVolume } from "./by-volume";

const WhatHelps = lazy(() => import("./what-helps"));

export default function Offload(): JSX.Element {
  const params = useParams<{ tab?: string }>();
  const [search, setSearch] = useSearchParams<{ primitive?: string }>();
  const statistics = useList<OffloadStatistics>(() => "/api/v1/offload/stats", true, 5000);
  const status = useStatus();
  const volumes = createMemo(() => statistics.data()?.filter((row) => row.kind !== "share"));
  const shares = createMemo(() => statistics.data()?.filter((row) => row.kind === "share"));
  const kept = () => (status.data()?.offload ?? []).reduce((sum, row) => sum + row.host_bytes_avoided, 0);
  const used = (rows: OffloadStatistics[]) => rows.some((row) => row.commands > 0);
  return (
    <Show when={["", "volumes", "refusals"].includes(params.tab ?? "")} fallback={<NotFound />}>
      <Head
        title="Offload"
        about={`Kept off the wire since the array started: ${bytes(kept())}`}
        same={[
          { what: "statistics of each primitive", windlass: "windlass offload stats", path: "/api/v1/offload/stats" },
          { what: "sums over restarts", windlass: "windlass offload stats", path: "/api/v1/offload/totals" },
          {
            what: "commands that were refused, with the reasons",
            windlass: "windlass offload log",
            path: "/api/v1/offload/log",
          },
        ]}
      />
      <Tabs
        label="Parts of offload"
        tabs={[
          { name: "Primitives", path: "/offload" },
          { name: "By volume and share", path: "/offload/volumes" },
          { name: "Refusals", path: "/offload/refusals" },
        ]}
      />
      <Show when={(params.tab ?? "") === ""}>
        <KeptOffLine />
        <RangeChoice />
        <div class="cards">
          <HostAndArrayChart />
          <LatencyChart />
        </div>
        <p class="soft small">
          Cloning, zeroing and freeing change the map of the pool and move no data, so the line of the array may be far
          higher than its disks could write.
        </p>
        <Shown of={{ ...statistics, data: volumes }}>
          {(rows) => (
            <section>
              <h2>Volumes</h2>
              <Show when={used(rows())} fallback={<Proof />}>
                <PrimitiveTable totals={totals(rows())} />
              </Show>
            </section>
          )}
        </Shown>
        <Show when={used(shares() ?? [])}>
          <section class="under">
            <h2>Shares</h2>
            <PrimitiveTable totals={totals(shares() ?? []).filter((row) => row.commands > 0)} />
          </section>
        </Show>
      </Show>
      <Show when={params.tab === "volumes"}>
        <Shown of={statistics}>
          {(rows) => (
            <Show when={used(rows())} fallback={<Proof />}>
              <ByVolume rows={rows()} />
            </Show>
          )}
        </Shown>
      </Show>
      <Show when={params.tab === "refusals"}>
        <Show when={search.primitive}>
          <p>
            Only <strong>{search.primitive?.toUpperCase()}</strong>.{" "}
            <button type="button" onClick={() => setSearch({ primitive: undefined })}>
              Show all
            </button>
          </p>
        </Show>
        <Refusals primitive={search.primitive} helps={(group) => <WhatHelps group={group} />} />
      </Show>
    </Show>
  );
}

function Proof(): JSX.Element {
  return (
    <Empty>
      No host has used an offload yet. <code>windlass probe URL --write-test</code> tries each of them from any machine;
      the URL is on the page of the volume, under Hosts.
    </Empty>
  );
}
