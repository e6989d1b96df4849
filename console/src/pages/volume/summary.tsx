// Summary of a volume: space, activity, offload, hosts.

import { For, type JSX, Show } from "solid-js";
import { pagePath } from "../../api/page-paths";
import type { Volume } from "../../api/schema";
import { LatencyChart, OperationsChart } from "../../live/charts";
import { ContentBar } from "../../parts/content-bar";
import { Grantee } from "../../parts/grantee";
import { PrimitiveTiles } from "./primitives";

export function SummaryTab(props: { volume: Volume }): JSX.Element {
  const below = (tab: string) => `${pagePath("volume", props.volume.name)}/${tab}`;
  return (
    <>
      <section class="card pool">
        <h2>
          <a href={below("space")}>Space</a>
        </h2>
        <ContentBar label={`Space of ${props.volume.name}`} content={props.volume} />
      </section>
      <div class="cards">
        <LatencyChart of={{ kind: "volume", id: props.volume.id }} />
        <OperationsChart of={{ kind: "volume", id: props.volume.id }} />
      </div>
      <div class="cards">
        <section class="card">
          <h2>
            <a href={below("offload")}>Offload</a>
          </h2>
          <PrimitiveTiles name={props.volume.name} />
        </section>
        <section class="card">
          <h2>
            <a href={below("hosts")}>Hosts</a>
          </h2>
          <Show when={props.volume.luns.length > 0} fallback={<p class="soft">No host may use it.</p>}>
            <ul class="lines-list">
              <For each={props.volume.luns}>
                {(lun) => (
                  <li>
                    <Grantee of={lun.host} />
                    <span class="soft">LUN {lun.lun}</span>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        </section>
      </div>
    </>
  );
}
