// Space of a pool: use, candidates for deletion, maintenance.

import { createSignal, For, type JSX, Show } from "solid-js";
import { GrowPool, SetPool, StartPoolJob } from "../../actions/pool";
import { useList } from "../../api/list";
import type { Pool } from "../../api/schema";
import { Act } from "../../parts/act";
import { SpaceTabs } from "../../parts/content-tabs";
import Forecast from "../../parts/forecast";
import { Head } from "../../parts/head";
import { Ago, Bytes } from "../../parts/numbers";
import { PoolBar } from "../../parts/pool-bar";
import { Shown } from "../../parts/state";
import { count, exactBytes, grouped, NONE, percent, times } from "../../parts/units";
import { WhatFrees } from "./what-frees";

type Verb = "grow" | "set" | "scrub" | "check" | "reclaim";

export default function Space(): JSX.Element {
  const pools = useList<Pool>(() => "/api/v1/pools", false);
  const [open, setOpen] = createSignal<{ verb: Verb; pool: Pool }>();
  const close = () => setOpen(undefined);
  return (
    <>
      <Head
        title="Space"
        about="Where the bytes are, and what frees them"
        same={[
          { what: "show the pool", windlass: "windlass pool show p0", path: "/api/v1/pools/p0" },
          { what: "when the pool is full", path: "/api/v1/pools/p0/forecast" },
          { what: "list what frees space", windlass: "windlass pool frees p0", path: "/api/v1/pools/p0/frees" },
          {
            what: "free stored zeros of all volumes",
            windlass: "windlass volume reclaim --all",
            method: "POST",
            path: "/api/v1/pools/p0/reclaim",
            body: {},
          },
        ]}
      />
      <SpaceTabs trash={pools.data()?.reduce((sum, pool) => sum + (pool.trash ?? 0), 0)} />
      <Shown of={pools}>
        {(items) => (
          <For each={items()}>
            {(pool) => (
              <>
                <section class="card pool">
                  <div class="head">
                    <div>
                      <h2>
                        {pool.name} · <Bytes of={pool.size_bytes} /> ·{" "}
                        <span class={pool.state === "healthy" ? "" : "bad"}>{pool.state.replace("-", " ")}</span>
                      </h2>
                    </div>
                    <div class="head-actions">
                      <Act needs="admin" onClick={() => setOpen({ verb: "grow", pool })}>
                        Grow
                      </Act>
                      <Act needs="admin" onClick={() => setOpen({ verb: "set", pool })}>
                        Thresholds
                      </Act>
                      <Act onClick={() => setOpen({ verb: "reclaim", pool })}>Reclaim zeros</Act>
                      <Act onClick={() => setOpen({ verb: "scrub", pool })}>Scrub</Act>
                      <Act onClick={() => setOpen({ verb: "check", pool })}>Check</Act>
                    </div>
                  </div>
                  <PoolBar pool={pool} />
                  <Forecast pool={pool.name} />
                </section>
                <div class="cards">
                  <Sum pool={pool} />
                  <Limits pool={pool} />
                </div>
              </>
            )}
          </For>
        )}
      </Shown>
      <For each={pools.data()?.map(({ name }) => name)}>{(name) => <WhatFrees pool={name} />}</For>
      <Show when={open()} keyed>
        {({ verb, pool }) =>
          verb === "grow" ? (
            <GrowPool pool={pool} onClose={close} />
          ) : verb === "set" ? (
            <SetPool pool={pool} onClose={close} />
          ) : (
            <StartPoolJob pool={pool.name} kind={verb} onClose={close} />
          )
        }
      </Show>
    </>
  );
}

/** The sum, to the byte. */
function Sum(props: { pool: Pool }): JSX.Element {
  const exact = (value: number | null | undefined) => (value == null ? "being counted" : exactBytes(value));
  const line = (name: string, value: number | null | undefined) => (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{exact(value)}</td>
    </tr>
  );
  return (
    <section class="card">
      <h2>To the byte</h2>
      <table class="plain">
        <tbody>
          {line("metadata", props.pool.metadata_bytes)}
          {line("unique", props.pool.unique_bytes)}
          {line("shared", props.pool.shared_bytes)}
          {line("snapshots", props.pool.snapshot_bytes)}
          {line("trash", props.pool.trash_bytes)}
          {line("tokens", props.pool.token_bytes)}
          {line("= used", props.pool.used_bytes)}
          {line("free", props.pool.free_bytes)}
          {line("= size", props.pool.size_bytes)}
        </tbody>
      </table>
      <p class="soft small below-bar">
        At most <Bytes of={props.pool.reclaimable_bytes ?? 0} /> of the used bytes are about to become free.
      </p>
    </section>
  );
}

function Limits(props: { pool: Pool }): JSX.Element {
  const saving = () =>
    props.pool.used_bytes > props.pool.metadata_bytes
      ? props.pool.mapped_bytes / (props.pool.used_bytes - props.pool.metadata_bytes)
      : undefined;
  return (
    <section class="card">
      <h2>Promises and limits</h2>
      <dl class="facts">
        <dt>Available</dt>
        <dd>
          <Bytes of={props.pool.available_bytes} /> <span class="soft small">free and not promised</span>
        </dd>
        <dt>Promised</dt>
        <dd>
          <Bytes of={props.pool.promised_bytes ?? 0} />{" "}
          <span class="soft small">to thick volumes and reservations</span>
        </dd>
        <dt>Provisioned</dt>
        <dd>
          <Bytes of={props.pool.provisioned_bytes} />, {times(props.pool.provisioned_bytes / props.pool.size_bytes)} its
          size; limit{" "}
          {props.pool.commitment_limit_percent == null ? "off" : times(props.pool.commitment_limit_percent / 100)}
        </dd>
        <dt>Sharing</dt>
        <dd title="Mapped bytes of all volumes and shares, by bytes stored for them">
          {saving() === undefined ? NONE : times(saving() ?? 1)}
        </dd>
        <dt>Thresholds</dt>
        <dd>
          warning {props.pool.warn_percent} %, critical {props.pool.critical_percent} %; used and promised{" "}
          {percent(props.pool.used_bytes + (props.pool.promised_bytes ?? 0), props.pool.size_bytes)}
        </dd>
        <dt>Holds</dt>
        <dd>
          {count(props.pool.volumes, "volume")}, {count(props.pool.shares ?? 0, "share")},{" "}
          {count(props.pool.snapshots, "snapshot")}
        </dd>
        <dt>Last scrub</dt>
        <dd>
          <Show when={props.pool.scrub} fallback="none since the array started">
            {(scrub) => (
              <>
                <Ago at={scrub().finished} />, {grouped(scrub().bad_blocks)} bad blocks in{" "}
                <Bytes of={scrub().verified_bytes} />
              </>
            )}
          </Show>
        </dd>
        <dt>Last check</dt>
        <dd>
          <Show when={props.pool.check} fallback="none since the array started">
            {(check) => (
              <>
                <Ago at={check().finished} />, {grouped(check().count)} findings
              </>
            )}
          </Show>
        </dd>
      </dl>
    </section>
  );
}
