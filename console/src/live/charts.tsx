// The charts of activity: latency first, then operations, then bytes; the array's, or those of one volume.

import type { JSX } from "solid-js";
import { Chart } from "../parts/chart";
import { bytes, latency, rate } from "../parts/units";
import { AT, type Subject } from "./activity";
import { useSeries } from "./series";

export const perSecond = (value: number): string => `${bytes(value)}/s`;

export interface Of {
  /** One volume or share; without it, the array. */
  of?: Subject;
}

export function LatencyChart(props: Of): JSX.Element {
  const data = useSeries(
    () => props.of,
    [
      ["latency_p99", AT.p99],
      ["latency_p50", AT.p50],
    ],
  );
  return (
    <Chart
      title="Latency"
      about="Time from the arrival of a read or write to its status, over each second. A time without reads and writes has no latency."
      times={data().times}
      range={data().range}
      live={data().live}
      failure={data().failure}
      format={latency}
      lines={[
        { name: "p99", tone: "bad", values: data().columns[0] ?? [] },
        { name: "p50", tone: "array", values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function OperationsChart(props: Of): JSX.Element {
  const data = useSeries(
    () => props.of,
    [
      ["read_ops", AT.reads],
      ["write_ops", AT.writes],
    ],
  );
  return (
    <Chart
      title="IOPS"
      about="Reads and writes a second."
      times={data().times}
      range={data().range}
      live={data().live}
      failure={data().failure}
      format={rate}
      lines={[
        { name: "read", tone: "array", values: data().columns[0] ?? [] },
        { name: "write", tone: "other", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function HostAndArrayChart(): JSX.Element {
  const data = useSeries(
    () => undefined,
    [
      ["offloaded_bytes", AT.offload],
      ["network_bytes", AT.network],
    ],
  );
  return (
    <Chart
      title="Host and array"
      about="By the array: bytes that offload commands cloned, zeroed or freed. Over the network: bytes that hosts read and wrote."
      times={data().times}
      range={data().range}
      live={data().live}
      failure={data().failure}
      format={perSecond}
      base={1024}
      lines={[
        { name: "by the array", tone: "array", values: data().columns[0] ?? [] },
        { name: "over the network", tone: "network", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}
