// Summary of a share: space, reads and writes since the array started, settings.

import { type JSX, Show } from "solid-js";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Latency, Share, ShareIo } from "../../api/schema";
import { BytesChart } from "../../live/bytes-chart";
import { LatencyChart } from "../../live/charts";
import { ContentBar } from "../../parts/content-bar";
import { Copy } from "../../parts/copy";
import { At, Bytes } from "../../parts/numbers";
import { grouped, latency, NONE } from "../../parts/units";

const percentiles = (of: Latency): string =>
  (of.count ?? 0) === 0 ? NONE : `p50 ${latency(of.p50_us)}, p99 ${latency(of.p99_us)}, at most`;

export function SummaryTab(props: { share: Share }): JSX.Element {
  const io = useQuery<ShareIo>(() => api("shares", props.share.name, "io"), 5000);
  return (
    <>
      <section class="card pool">
        <h2>Space</h2>
        <ContentBar
          label={`Space of ${props.share.name}`}
          content={{ ...props.share, size_bytes: props.share.quota_bytes ?? null }}
        />
      </section>
      <div class="cards">
        <LatencyChart of={{ kind: "share", id: props.share.id }} />
        <BytesChart of={{ kind: "share", id: props.share.id }} />
        <section class="card">
          <h2>
            Reads and writes <span class="soft small">since the array started</span>
          </h2>
          <Show when={io.data()}>
            {(present) => (
              <dl class="facts">
                <dt>Reads</dt>
                <dd>
                  {grouped(present().reads)}, <Bytes of={present().read_bytes} />
                </dd>
                <dt>Their latency</dt>
                <dd>{percentiles(present().read_latency)}</dd>
                <dt>Writes</dt>
                <dd>
                  {grouped(present().writes)}, <Bytes of={present().written_bytes} />
                </dd>
                <dt>Their latency</dt>
                <dd>{percentiles(present().write_latency)}</dd>
              </dl>
            )}
          </Show>
        </section>
        <section class="card">
          <h2>Settings</h2>
          <dl class="facts">
            <dt>Quota</dt>
            <dd>
              <Show when={props.share.quota_bytes != null} fallback="none">
                <Bytes of={props.share.quota_bytes} />
              </Show>
            </dd>
            <dt>Promised</dt>
            <dd>
              <Bytes of={props.share.promised_bytes} />
            </dd>
            <dt>Server-side copies</dt>
            <dd>{props.share.copy === "share" ? "share blocks with their source" : "get blocks of their own"}</dd>
            <dt>Root directory</dt>
            <dd>
              owner {props.share.owner_uid}:{props.share.owner_gid}, mode {props.share.mode}
            </dd>
            <dt>Id</dt>
            <dd>
              <code>{props.share.id}</code> <Copy text={props.share.id} what="the id" />
            </dd>
            <dt>Created</dt>
            <dd>
              <At at={props.share.created} />
            </dd>
          </dl>
        </section>
      </div>
    </>
  );
}
