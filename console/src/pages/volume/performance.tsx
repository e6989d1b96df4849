// Performance of a volume: latency first.

import type { JSX } from "solid-js";
import { BytesChart, LatencyChart, OperationsChart } from "../../live/charts";
import { interval } from "../../live/feed";
import { duration } from "../../parts/time";

export function PerformanceTab(props: { name: string }): JSX.Element {
  return (
    <>
      <div class="cards">
        <LatencyChart volume={props.name} />
        <OperationsChart volume={props.name} />
        <BytesChart volume={props.name} />
      </div>
      <p class="soft small">
        A sample every {duration(interval())}, kept by this page for ten minutes. Prometheus keeps more:{" "}
        <code>/metrics</code>.
      </p>
    </>
  );
}
