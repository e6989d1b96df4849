// Tables of offload primitives, and the distribution of their latency.

import { createEffect, For, type JSX, Show } from "solid-js";
import type { OffloadStatistics } from "../../api/schema";
import "./primitives.css";
import { Rows } from "../rows";
import type { Column } from "../table";
import { bytes, grouped, latency, NONE } from "../units";
import type { Total } from "./primitive-totals";

/** VMware's names of the primitives. */
const ALSO: Record<string, string> = {
  ats: "COMPARE AND WRITE",
  xcopy: "EXTENDED COPY",
  zero: "WRITE SAME",
  unmap: "UNMAP",
};

const time = (total: Total, microseconds: number): string => (total.commands === 0 ? NONE : latency(microseconds));

function Refused(props: { total: Total }): JSX.Element {
  const failed = () => props.total.refused + props.total.errors;
  return (
    <Show when={failed() > 0} fallback="0">
      <a class="bad" href={`/offload/refusals?primitive=${props.total.primitive}`}>
        {grouped(failed())}
      </a>
    </Show>
  );
}

const COLUMNS: Column<Total>[] = [
  {
    key: "primitive",
    title: "Primitive",
    cell: (total) => <span title={ALSO[total.primitive]}>{total.primitive.toUpperCase()}</span>,
    by: ({ primitive }) => primitive,
  },
  {
    key: "commands",
    title: "Commands",
    number: true,
    cell: (total) => grouped(total.commands),
    by: ({ commands }) => commands,
  },
  { key: "ok", title: "Done", number: true, rank: 2, cell: (total) => grouped(total.ok), by: ({ ok }) => ok },
  {
    key: "refused",
    title: "Refused",
    number: true,
    about: "Refused, or failed inside the array",
    cell: (total) => <Refused total={total} />,
    by: ({ refused }) => refused,
  },
  {
    key: "contended",
    title: "Contended",
    number: true,
    rank: 2,
    about: "COMPARE AND WRITE that found other content: normal between hosts",
    cell: (total) => grouped(total.miscompares),
    by: ({ miscompares }) => miscompares,
  },
  {
    key: "gain",
    title: "No gain",
    number: true,
    rank: 2,
    about: "Done, but without the benefit of the offload",
    cell: (total) => grouped(total.noGain),
    by: ({ noGain }) => noGain,
  },
  {
    key: "total",
    title: "Total",
    number: true,
    rank: 3,
    about: "Time of all commands together",
    cell: (total) => time(total, total.totalUs),
    by: ({ totalUs }) => totalUs,
  },
  {
    key: "average",
    title: "Average",
    number: true,
    rank: 2,
    cell: (total) => time(total, total.averageUs),
    by: ({ averageUs }) => averageUs,
  },
  {
    key: "p99",
    title: "p99",
    number: true,
    rank: 2,
    about: "99 of 100 commands took at most this long; an upper bound",
    cell: (total) => time(total, total.p99Us),
    by: ({ p99Us }) => p99Us,
  },
  {
    key: "max",
    title: "Max",
    number: true,
    rank: 2,
    cell: (total) => time(total, total.maxUs),
    by: ({ maxUs }) => maxUs,
  },
  {
    key: "bytes",
    title: "Bytes",
    number: true,
    rank: 2,
    about: "Bytes that the commands addressed",
    cell: (total) => bytes(total.bytes),
    by: ({ bytes: value }) => value,
  },
  {
    key: "kept",
    title: "Kept off",
    number: true,
    about: "Bytes that hosts did not have to transfer",
    cell: (total) => bytes(total.keptOff),
    by: ({ keptOff }) => keptOff,
  },
];

export function PrimitiveTable(props: { totals: Total[] }): JSX.Element {
  return (
    <Rows
      label="Offload primitives since the array started"
      columns={COLUMNS}
      rows={props.totals}
      id={(total) => total.primitive}
      parameter="primitives"
    />
  );
}

/** Latency distribution of one primitive. */
export function HistogramRow(props: { statistics: OffloadStatistics }): JSX.Element {
  const buckets = () => props.statistics.latency.histogram ?? [];
  const most = () => Math.max(1, ...buckets().map(({ count }) => count));
  const bound = (upper: number | null | undefined) => (upper == null ? "longer" : `≤ ${latency(upper)}`);
  return (
    <section class="card">
      <h3>{props.statistics.primitive.toUpperCase()}, by latency</h3>
      <table class="histogram">
        <thead class="unseen">
          <tr>
            <th scope="col">Latency</th>
            <th scope="col">Share</th>
            <th scope="col">Commands</th>
          </tr>
        </thead>
        <tbody>
          <For each={buckets()}>
            {(bucket) => (
              <tr>
                <th scope="row">{bound(bucket.upper_us)}</th>
                <td class="bar-cell">
                  <i
                    ref={(bar) =>
                      createEffect(() => bar.style.setProperty("width", `${(bucket.count / most()) * 100}%`))
                    }
                  />
                </td>
                <td class="number">{grouped(bucket.count)}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </section>
  );
}
