// Offload of each volume and share, one row each.

import { createMemo, type JSX } from "solid-js";
import { contentPath } from "../../api/page-paths";
import { reuse } from "../../api/reuse";
import type { OffloadStatistics } from "../../api/schema";
import { total } from "../../parts/offload/primitive-totals";
import { Rows } from "../../parts/rows";
import type { Column } from "../../parts/table";
import { bytes, grouped } from "../../parts/units";

interface Line {
  name: string;
  share: boolean;
  deleted: boolean;
  commands: number;
  refused: number;
  noGain: number;
  bytes: number;
  keptOff: number;
}

const COLUMNS: Column<Line>[] = [
  {
    key: "name",
    title: "Name",
    cell: (line) =>
      line.deleted ? (
        <>
          {line.name} <span class="tag">deleted</span>
        </>
      ) : (
        <>
          <a href={`${contentPath(line.share, line.name)}/offload`}>{line.name}</a>{" "}
          {line.share && <span class="tag">share</span>}
        </>
      ),
    by: ({ name }) => name,
  },
  {
    key: "commands",
    title: "Commands",
    number: true,
    cell: (line) => grouped(line.commands),
    by: ({ commands }) => commands,
  },
  {
    key: "refused",
    title: "Refused",
    number: true,
    cell: (line) => <span classList={{ bad: line.refused > 0 }}>{grouped(line.refused)}</span>,
    by: ({ refused }) => refused,
  },
  {
    key: "gain",
    title: "No gain",
    number: true,
    rank: 2,
    cell: (line) => grouped(line.noGain),
    by: ({ noGain }) => noGain,
  },
  {
    key: "bytes",
    title: "Bytes",
    number: true,
    rank: 2,
    about: "Bytes that the commands addressed",
    cell: (line) => bytes(line.bytes),
    by: ({ bytes: value }) => value,
  },
  {
    key: "kept",
    title: "Kept off",
    number: true,
    about: "Bytes that hosts did not have to transfer",
    cell: (line) => bytes(line.keptOff),
    by: ({ keptOff }) => keptOff,
  },
];

export function ByVolume(props: { rows: OffloadStatistics[] }): JSX.Element {
  const lines = createMemo((before: Line[]) => {
    const groups = Map.groupBy(props.rows, (row) => `${row.kind ?? "volume"} ${row.volume} ${row.deleted ?? false}`);
    const present = [...groups.values()].map((rows): Line => {
      const { commands, refused, errors, noGain, bytes: all, keptOff } = total(rows);
      const [first] = rows;
      return {
        name: first?.volume ?? "",
        share: first?.kind === "share",
        deleted: first?.deleted ?? false,
        commands,
        refused: refused + errors,
        noGain,
        bytes: all,
        keptOff,
      };
    });
    return reuse(before, present);
  }, []);
  return <Rows label="Offload of each volume and share" columns={COLUMNS} rows={lines()} id={({ name }) => name} />;
}
