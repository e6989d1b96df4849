// The charts of activity: latency first, then operations, then bytes; the array's, or those of one volume.

import { type Accessor, createMemo, type JSX } from "solid-js";
import { Chart } from "../parts/chart";
import { bytes, latency, rate } from "../parts/units";
import { AT, type Subject, useActivity } from "./activity";
import { columnsOf, type Point, WINDOW_SECONDS } from "./points";

/** Length of the axis before there are more samples. */
const SHORTEST_SECONDS = 60;

/** Times and values of series, and the time that the axis has: at least a minute, at most ten. */
function useSeries(of: Accessor<Subject | undefined>, series: number[]) {
  const points = useActivity(of);
  return createMemo(() => ({ ...columnsOf(points(), series), range: rangeOf(points()) }));
}

function rangeOf(points: Point[]): [number, number] {
  const end = points.at(-1)?.at ?? Math.floor(Date.now() / 1000);
  const age = Math.ceil((end - (points[0]?.at ?? end)) / 60) * 60;
  return [end - Math.min(WINDOW_SECONDS, Math.max(SHORTEST_SECONDS, age)), end];
}

const perSecond = (value: number): string => `${bytes(value)}/s`;

interface Of {
  /** One volume or share; without it, the array. */
  of?: Subject;
}

export function LatencyChart(props: Of): JSX.Element {
  const data = useSeries(() => props.of, [AT.p99, AT.p50]);
  return (
    <Chart
      title="Latency"
      about="Time from the arrival of a read or write to its status, over each second. A second without reads and writes has no latency."
      times={data().times}
      range={data().range}
      format={latency}
      lines={[
        { name: "p99", tone: "bad", values: data().columns[0] ?? [] },
        { name: "p50", tone: "array", values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function OperationsChart(props: Of): JSX.Element {
  const data = useSeries(() => props.of, [AT.reads, AT.writes]);
  return (
    <Chart
      title="IOPS"
      about="Reads and writes a second."
      times={data().times}
      range={data().range}
      format={rate}
      lines={[
        { name: "read", tone: "array", values: data().columns[0] ?? [] },
        { name: "write", tone: "other", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function BytesChart(props: Of): JSX.Element {
  const data = useSeries(() => props.of, [AT.readBytes, AT.writtenBytes]);
  return (
    <Chart
      title="Throughput"
      about="Bytes a second that hosts read and write."
      times={data().times}
      range={data().range}
      format={perSecond}
      base={1024}
      lines={[
        { name: "read", tone: "array", values: data().columns[0] ?? [] },
        { name: "write", tone: "other", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function HostAndArrayChart(): JSX.Element {
  const data = useSeries(() => undefined, [AT.offload, AT.network]);
  return (
    <Chart
      title="Host and array"
      about="By the array: bytes that offload commands cloned, zeroed or freed. Over the network: bytes that hosts read and wrote."
      times={data().times}
      range={data().range}
      format={perSecond}
      base={1024}
      lines={[
        { name: "by the array", tone: "array", values: data().columns[0] ?? [] },
        { name: "over the network", tone: "network", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}
