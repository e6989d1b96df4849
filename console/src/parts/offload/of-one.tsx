// Offload of one volume or share: primitives, and the commands that were refused or had no benefit.

import { For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { OffloadStatistics } from "../../api/schema";
import { Empty, Shown } from "../state";
import { total } from "./primitive-totals";
import { HistogramRow, PrimitiveTable } from "./primitives";
import { Refusals } from "./refusals";

export function OffloadOf(props: { name: string; kind: "volumes" | "shares" }): JSX.Element {
  const statistics = useList<OffloadStatistics>(() => api(props.kind, props.name, "offload"), false, 5000);
  return (
    <>
      <Shown of={statistics}>
        {(items) => (
          <Show
            when={items().some((item) => item.commands > 0)}
            fallback={
              <Empty>
                No host has used an offload on it yet. <code>windlass probe URL --write-test</code> tries each from any
                machine.
              </Empty>
            }
          >
            <PrimitiveTable totals={items().map((item) => total([item]))} />
            <div class="cards histograms">
              <For each={items().filter((item) => item.commands > 0)}>
                {(item) => <HistogramRow statistics={item} />}
              </For>
            </div>
          </Show>
        )}
      </Shown>
      <Refusals of={props.name} />
    </>
  );
}
