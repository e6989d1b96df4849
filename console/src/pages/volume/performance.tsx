// Performance of a volume: latency first.

import type { JSX } from "solid-js";
import type { Volume } from "../../api/schema";
import { BytesChart } from "../../live/bytes-chart";
import { LatencyChart, OperationsChart } from "../../live/charts";
import { RangeChoice } from "../../live/range-choice";

export function PerformanceTab(props: { volume: Volume }): JSX.Element {
  const of = () => ({ kind: "volume" as const, id: props.volume.id });
  return (
    <>
      <RangeChoice />
      <div class="cards">
        <LatencyChart of={of()} />
        <OperationsChart of={of()} />
        <BytesChart of={of()} />
      </div>
      <p class="soft small">
        The array keeps a value a second for ten minutes, one for each five minutes for 30 days, and one for each hour
        for 90 days. Prometheus keeps more: <code>/metrics/volumes</code>.
      </p>
    </>
  );
}
