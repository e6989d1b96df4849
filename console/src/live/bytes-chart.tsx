// The chart of bytes that hosts read and write, which pages of volumes and shares have.

import type { JSX } from "solid-js";
import { AT } from "./activity";
import { type Of, perSecond, SeriesChart } from "./charts";

export function BytesChart(props: Of): JSX.Element {
  return (
    <SeriesChart
      of={props.of}
      title="Throughput"
      about="Bytes a second that hosts read and write."
      format={perSecond}
      base={1024}
      lines={[
        { series: "read_bytes", at: AT.readBytes, name: "read", tone: "array" },
        { series: "written_bytes", at: AT.writtenBytes, name: "write", tone: "other", dashed: true },
      ]}
    />
  );
}
