// The charts of activity: latency first, then operations, then bytes; the array's, or those of one volume.

import type { JSX } from "solid-js";
import { Chart, type Line } from "../parts/chart";
import { bytes, latency, rate } from "../parts/units";
import { AT, type Subject } from "./activity";
import { useSeries } from "./series";

export const perSecond = (value: number): string => `${bytes(value)}/s`;

export interface Of {
  /** One volume or share; without it, the array. */
  of?: Subject;
}

/** A line of a series: its name in the history, and its place in a sample. */
type SeriesLine = Omit<Line, "values"> & { series: string; at: number };

/** A chart of series of one subject, over the range of the page. */
export function SeriesChart(
  props: Of & {
    title: string;
    about: string;
    format: (value: number) => string;
    base?: 10 | 1024;
    lines: SeriesLine[];
  },
): JSX.Element {
  const data = useSeries(
    () => props.of,
    props.lines.map(({ series, at }) => [series, at]),
  );
  return (
    <Chart
      title={props.title}
      about={props.about}
      times={data().times}
      range={data().range}
      live={data().live}
      chosen={data().chosen ?? false}
      failure={data().failure}
      format={props.format}
      base={props.base}
      lines={props.lines.map((line, number) => ({ ...line, values: data().columns[number] ?? [] }))}
    />
  );
}

export function LatencyChart(props: Of): JSX.Element {
  return (
    <SeriesChart
      of={props.of}
      title="Latency"
      about="Time from the arrival of a read or write to its status, over each second. A time without reads and writes has no latency."
      format={latency}
      lines={[
        { series: "latency_p99", at: AT.p99, name: "p99", tone: "bad" },
        { series: "latency_p50", at: AT.p50, name: "p50", tone: "array" },
      ]}
    />
  );
}

export function OperationsChart(props: Of): JSX.Element {
  return (
    <SeriesChart
      of={props.of}
      title="IOPS"
      about="Reads and writes a second."
      format={rate}
      lines={[
        { series: "read_ops", at: AT.reads, name: "read", tone: "array" },
        { series: "write_ops", at: AT.writes, name: "write", tone: "other", dashed: true },
      ]}
    />
  );
}

export function HostAndArrayChart(): JSX.Element {
  return (
    <SeriesChart
      title="Host and array"
      about="By the array: bytes that offload commands cloned, zeroed or freed. Over the network: bytes that hosts read and wrote."
      format={perSecond}
      base={1024}
      lines={[
        { series: "offloaded_bytes", at: AT.offload, name: "by the array", tone: "array" },
        { series: "network_bytes", at: AT.network, name: "over the network", tone: "network", dashed: true },
      ]}
    />
  );
}
