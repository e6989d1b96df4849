// The volumes and shares that hosts used most in the last minute.

import { For, type JSX, Show } from "solid-js";
import { contentPath } from "../../api/page-paths";
import { useBusiest } from "../../live/activity";
import { bytes, latency, rate } from "../../parts/units";

export default function Busiest(): JSX.Element {
  const busiest = useBusiest();
  const rows = () => busiest() ?? [];
  return (
    <section class="card">
      <h2>
        Busiest <span class="soft small">last minute</span>
      </h2>
      <Show
        when={rows().length > 0}
        fallback={<p class="soft">{busiest() === undefined ? "…" : "No volume or share was read or written."}</p>}
      >
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
                    <a href={contentPath(row.kind === "share", row.name)}>{row.name}</a>
                  </th>
                  <td class="number">{rate(row.n)}</td>
                  <td class="number">{bytes(row.b)}/s</td>
                  <td class="number">{latency(row.p99)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </Show>
    </section>
  );
}
