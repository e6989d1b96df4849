// Performance of a volume: latency first.

import type { JSX } from "solid-js";
import type { Volume } from "../../api/schema";
import { BytesChart, LatencyChart, OperationsChart } from "../../live/charts";

export function PerformanceTab(props: { volume: Volume }): JSX.Element {
  const of = () => ({ kind: "volume" as const, id: props.volume.id });
  return (
    <>
      <div class="cards">
        <LatencyChart of={of()} />
        <OperationsChart of={of()} />
        <BytesChart of={of()} />
      </div>
      <p class="soft small">
        The array takes a sample each second, and keeps ten minutes. Prometheus keeps more:{" "}
        <code>/metrics/volumes</code>.
      </p>
    </>
  );
}
