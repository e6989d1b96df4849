// The volumes and shares that hosts used most in the last minute.

import { createMemo, For, type JSX, Show } from "solid-js";
import { contentPath } from "../../api/search";
import { busiest } from "../../live/busiest";
import { samples } from "../../live/feed";
import { bytes, latency, NONE, rate } from "../../parts/units";

const MOST = 5;

export function Busiest(): JSX.Element {
  const rows = createMemo(() => busiest(samples(), Date.now(), MOST));
  return (
    <section class="card">
      <h2>
        Busiest <span class="soft small">last minute</span>
      </h2>
      <Show when={rows().length > 0} fallback={<p class="soft">No volume or share was read or written.</p>}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="number">
                IOPS
              </th>
              <th scope="col" class="number">
                Throughput
              </th>
              <th scope="col" class="number">
                p99
              </th>
            </tr>
          </thead>
          <tbody>
            <For each={rows()}>
              {(row) => (
                <tr>
                  <th scope="row">
                    <a href={contentPath(row.share, row.name)}>{row.name}</a>
                  </th>
                  <td class="number">{rate(row.operations)}</td>
                  <td class="number">{bytes(row.bytes)}/s</td>
                  <td class="number">{row.p99 === undefined ? NONE : latency(row.p99)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </Show>
    </section>
  );
}
