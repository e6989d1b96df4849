// Columns of the table of volumes.

import { For, type JSX, Show } from "solid-js";
import { granteeName } from "../../api/grants";
import { pagePath } from "../../api/page-paths";
import type { Volume } from "../../api/schema";
import { latestOf } from "../../live/activity";
import { Ago, Bytes } from "../../parts/numbers";
import type { Column } from "../../parts/table";
import { bytes, latency, NONE, percent, rate } from "../../parts/units";

/** Name of the host in a grant to everybody. */
export const ANY = "any";

/** Columns by which the array sorts. */
export const SORTABLE = ["name", "size_bytes", "mapped_bytes", "unique_bytes", "snapshots", "created"];

/** Hosts of a volume: the first, and how many more; everybody stands out. */
function Hosts(props: { volume: Volume }): JSX.Element {
  const hosts = () => props.volume.luns.map((lun) => lun.host);
  return (
    <Show when={!hosts().includes(ANY)} fallback={<span class="tag warn">everybody</span>}>
      <Show when={hosts().length > 0} fallback={<span class="soft">none</span>}>
        {granteeName(hosts()[0] ?? "")}
        <Show when={hosts().length > 1}>
          <span class="soft"> and {hosts().length - 1} more</span>
        </Show>
      </Show>
    </Show>
  );
}

/** Labels of special states. */
function Special(props: { volume: Volume }): JSX.Element {
  const words = () => [
    ...(props.volume.reserve === "thick" ? ["thick"] : []),
    ...(props.volume.write_cache ? ["write cache"] : []),
    ...(props.volume.source == null ? [] : ["clone"]),
  ];
  return <For each={words()}>{(word) => <span class="tag">{word}</span>}</For>;
}

/** Mapped bytes: of the newest sample, which is younger than the list. */
const mapped = (volume: Volume): number => latestOf(volume.id)?.mapped ?? volume.mapped_bytes;

export const COLUMNS: Column<Volume>[] = [
  {
    key: "name",
    title: "Name",
    cell: (volume) => (
      <>
        <a href={pagePath("volume", volume.name)}>{volume.name}</a> <Special volume={volume} />
      </>
    ),
  },
  {
    key: "size_bytes",
    title: "Size",
    number: true,
    about: "Capacity that hosts see",
    cell: (volume) => <Bytes of={volume.size_bytes} />,
  },
  {
    key: "mapped_bytes",
    title: "Mapped",
    number: true,
    about: "Bytes that hosts have written and not unmapped",
    cell: (volume) => (
      <>
        <Bytes of={mapped(volume)} /> <span class="soft small">{percent(mapped(volume), volume.size_bytes)}</span>
      </>
    ),
  },
  {
    key: "unique_bytes",
    title: "Unique",
    number: true,
    rank: 2,
    about: "Bytes that deleting the volume would free",
    cell: (volume) => <Bytes of={volume.unique_bytes ?? null} />,
  },
  {
    key: "snapshots",
    title: "Snaps",
    number: true,
    rank: 2,
    about: "Number of snapshots",
    cell: (volume) => volume.snapshots,
  },
  {
    key: "hosts",
    title: "Hosts",
    rank: 2,
    about: "Hosts that may use it",
    cell: (volume) => <Hosts volume={volume} />,
  },
  {
    key: "iops",
    title: "IOPS",
    number: true,
    rank: 2,
    about: "Reads and writes a second, in the last sample",
    cell: (volume) => (
      <Show when={latestOf(volume.id)} fallback={NONE}>
        {(present) => rate(present().ro + present().wo)}
      </Show>
    ),
  },
  {
    key: "throughput",
    title: "Throughput",
    number: true,
    rank: 3,
    about: "Bytes a second that hosts read and write, in the last sample",
    cell: (volume) => (
      <Show when={latestOf(volume.id)} fallback={NONE}>
        {(present) => `${bytes(present().rb + present().wb)}/s`}
      </Show>
    ),
  },
  {
    key: "p99",
    title: "p99",
    number: true,
    rank: 2,
    about: "99 of 100 reads and writes took at most this long, in the last sample",
    cell: (volume) => (
      <Show when={latestOf(volume.id)?.p99} fallback={NONE}>
        {(value) => latency(value())}
      </Show>
    ),
  },
  { key: "created", title: "Created", rank: 3, cell: (volume) => <Ago at={volume.created} /> },
];
