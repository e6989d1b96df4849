// Columns of snapshots.

import { type JSX, Show } from "solid-js";
import { contentPath } from "../api/page-paths";
import type { Snapshot } from "../api/schema";
import { lockedSeconds } from "./locked";
import { Ago, Bytes } from "./numbers";
import type { Column } from "./table";
import { duration, instant } from "./time";
import { NONE } from "./units";

/** Columns of a table of snapshots; `of` shows of what each is. */
export function snapshotColumns(of: boolean): Column<Snapshot>[] {
  const volume: Column<Snapshot> = {
    key: "volume",
    title: "Of",
    cell: ({ volume: name, of_share }) => (
      <>
        <a href={`${contentPath(of_share, name)}/snapshots`}>{name}</a> {of_share && <span class="tag">share</span>}
      </>
    ),
    by: ({ volume: name }) => name,
  };
  return [
    { key: "name", title: "Name", cell: ({ name }) => name, by: ({ name }) => name },
    ...(of ? [volume] : []),
    {
      key: "created",
      title: "Taken",
      rank: of ? 2 : 1,
      cell: ({ created }) => <Ago at={created} />,
      by: ({ created }) => created,
    },
    {
      key: "frees",
      title: "Frees",
      number: true,
      about: "Bytes that deleting it alone frees",
      cell: ({ unique_bytes }) => <Bytes of={unique_bytes ?? null} />,
      by: ({ unique_bytes }) => unique_bytes ?? -1,
    },
    {
      key: "size",
      title: "Mapped",
      number: true,
      rank: 2,
      cell: ({ mapped_bytes }) => <Bytes of={mapped_bytes} />,
      by: ({ mapped_bytes }) => mapped_bytes,
    },
    {
      key: "clones",
      title: "Clones",
      rank: 2,
      cell: ({ dependents }) => dependents.join(", ") || NONE,
      by: ({ dependents }) => dependents.length,
    },
    {
      key: "schedule",
      title: "Schedule",
      rank: 2,
      cell: ({ schedule }) => schedule ?? NONE,
      by: ({ schedule }) => schedule ?? "",
    },
    {
      key: "kept",
      title: "Kept",
      rank: 2,
      about: "Pinned: no schedule removes it. Locked: nobody deletes it before that time.",
      cell: (snapshot) => <Kept of={snapshot} />,
      by: ({ pinned, locked_until }) => `${locked_until ?? ""}${pinned ? "pinned" : ""}`,
    },
    {
      key: "group",
      title: "Taken with others",
      rank: 3,
      cell: ({ group_id }) => (group_id == null ? "no" : "yes"),
      by: ({ group_id }) => group_id ?? "",
    },
  ];
}

/** What keeps a snapshot from deletion. */
function Kept(props: { of: Snapshot }): JSX.Element {
  const left = () => lockedSeconds(props.of);
  return (
    <>
      <Show when={left() > 0}>
        <span class="tag" title={instant(Date.parse(props.of.locked_until ?? ""))}>
          locked {duration(left()).split(" ").slice(0, 2).join(" ")}
        </span>{" "}
      </Show>
      <Show when={props.of.pinned}>
        <span class="tag">pinned</span>
      </Show>
    </>
  );
}
