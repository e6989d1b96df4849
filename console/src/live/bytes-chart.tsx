// The chart of bytes that hosts read and write, which pages of volumes and shares have.

import type { JSX } from "solid-js";
import { Chart } from "../parts/chart";
import { AT } from "./activity";
import { type Of, perSecond } from "./charts";
import { useSeries } from "./series";

export function BytesChart(props: Of): JSX.Element {
  const data = useSeries(
    () => props.of,
    [
      ["read_bytes", AT.readBytes],
      ["written_bytes", AT.writtenBytes],
    ],
  );
  return (
    <Chart
      title="Throughput"
      about="Bytes a second that hosts read and write."
      times={data().times}
      range={data().range}
      live={data().live}
      failure={data().failure}
      format={perSecond}
      base={1024}
      lines={[
        { name: "read", tone: "array", values: data().columns[0] ?? [] },
        { name: "write", tone: "other", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}
