// Offload of a volume: one sentence for each primitive.

import { For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { OffloadStatistics } from "../../api/schema";
import { bytes, grouped } from "../../parts/units";

/** One sentence for each primitive that was used. */
export function PrimitiveTiles(props: { name: string }): JSX.Element {
  const statistics = useList<OffloadStatistics>(() => api("volumes", props.name, "offload"), false);
  const used = () => (statistics.data() ?? []).filter((item) => item.commands > 0);
  return (
    <Show when={used().length > 0} fallback={<p class="soft">No host has used an offload on it yet.</p>}>
      <ul class="lines-list">
        <For each={used()}>
          {(item) => (
            <li>
              <span>
                <strong>{item.primitive.toUpperCase()}</strong> {grouped(item.ok)} done
                <Show when={item.refused > 0}>
                  <span class="bad">, {grouped(item.refused)} refused</span>
                </Show>
                <Show when={item.miscompares > 0}>
                  <span class="soft">, {grouped(item.miscompares)} contended</span>
                </Show>
              </span>
              <span class="soft">
                {bytes(item.bytes)}, {bytes(item.host_bytes_avoided)} kept off the wire
              </span>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}
