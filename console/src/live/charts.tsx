// The charts of activity: latency first, then operations, then bytes; the array's, or those of one volume.

import { createMemo, type JSX } from "solid-js";
import { Chart } from "../parts/chart";
import { bytes, latency, rate } from "../parts/units";
import { samples, WINDOW_MS } from "./feed";
import type { Activity, Sample } from "./rates";

/** Length of the axis before there are more samples. */
const SHORTEST_SECONDS = 60;

/** Times and values of samples; a gap is a point without values, directly after the one before it. */
function series(values: (sample: Sample) => (number | undefined)[], width: number) {
  const times: number[] = [];
  const columns: (number | null)[][] = Array.from({ length: width }, () => []);
  for (const sample of samples()) {
    const at = sample === undefined ? (times.at(-1) ?? 0) + 0.001 : sample.at / 1000;
    times.push(at);
    const row = sample === undefined ? [] : values(sample);
    for (const [index, column] of columns.entries()) column.push(row[index] ?? null);
  }
  return { times, columns };
}

/** The time since the first sample, in seconds: at least a minute, at most ten. */
function range(): [number, number] {
  const end = (samples().at(-1)?.at ?? Date.now()) / 1000;
  const age = end - (samples().find((sample) => sample !== undefined)?.at ?? Date.now()) / 1000;
  return [end - Math.min(WINDOW_MS / 1000, Math.max(SHORTEST_SECONDS, Math.ceil(age / 60) * 60)), end];
}

const perSecond = (value: number): string => `${bytes(value)}/s`;
const of = (sample: Sample, volume: string | undefined): Activity | undefined =>
  volume === undefined ? sample.array : sample.volumes.get(volume);

interface Of {
  /** One volume or share; without it, the array. */
  volume?: string;
}

export function LatencyChart(props: Of): JSX.Element {
  const data = createMemo(() => series((sample) => [of(sample, props.volume)?.p99, of(sample, props.volume)?.p50], 2));
  return (
    <Chart
      title="Latency"
      about="Time from the arrival of a read or write to its status, of all between two samples. From a histogram whose buckets double, interpolated."
      times={data().times}
      range={range()}
      format={latency}
      lines={[
        { name: "p99", tone: "bad", values: data().columns[0] ?? [] },
        { name: "p50", tone: "array", values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function OperationsChart(props: Of): JSX.Element {
  const data = createMemo(() =>
    series((sample) => [of(sample, props.volume)?.reads ?? 0, of(sample, props.volume)?.writes ?? 0], 2),
  );
  return (
    <Chart
      title="IOPS"
      about="Reads and writes a second."
      times={data().times}
      range={range()}
      format={rate}
      lines={[
        { name: "read", tone: "array", values: data().columns[0] ?? [] },
        { name: "write", tone: "other", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}

export function BytesChart(props: Of): JSX.Element {
  const data = createMemo(() =>
    series((sample) => [of(sample, props.volume)?.readBytes ?? 0, of(sample, props.volume)?.writtenBytes ?? 0], 2),
  );
  return (
    <Chart
      title="Throughput"
      about="Bytes a second that hosts read and write."
      times={data().times}
      range={range()}
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
  const data = createMemo(() => series((sample) => [sample.offload, sample.network], 2));
  return (
    <Chart
      title="Host and array"
      about="By the array: bytes that offload commands cloned, zeroed or freed. Over the network: bytes that hosts read and wrote."
      times={data().times}
      range={range()}
      format={perSecond}
      base={1024}
      lines={[
        { name: "by the array", tone: "array", values: data().columns[0] ?? [] },
        { name: "over the network", tone: "network", dashed: true, values: data().columns[1] ?? [] },
      ]}
    />
  );
}
