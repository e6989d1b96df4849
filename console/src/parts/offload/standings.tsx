// Which primitives of volumes work for a host: one column each, as VMware hosts show it.

import { type JSX, Show } from "solid-js";
import type { Host, HostPrimitive } from "../../api/schema";
import { now } from "../now";
import { Ago } from "../numbers";
import { CodeLink } from "../state";
import type { Column } from "../table";
import { ago } from "../time";

/** Names that hosts' administrators know, by those of the API. */
export const PRIMITIVE_NAMES: Record<string, string> = { ats: "ATS", xcopy: "Clone", zero: "Zero", unmap: "Delete" };

const SIGNS = { supported: "✓", "not-supported": "✕", unknown: "○" } as const;

/** What the last command of the primitive came to. */
export function standing(row: HostPrimitive): string {
  if (row.status === "supported") return "works";
  if (row.status === "not-supported") return row.last_refusal?.reason ?? "refused";
  return row.announced ? "announced, not used yet" : "not used yet";
}

function Standing(props: { row: HostPrimitive | undefined; title: string }): JSX.Element {
  const words = () => {
    const { row } = props;
    if (row === undefined) return "unknown";
    const at = row.status === "supported" ? row.last_ok : row.last_refusal?.at;
    const refused = row.status === "not-supported" ? "refused, " : "";
    return `${refused}${standing(row)}${row.status === "unknown" || at == null ? "" : `, ${ago(Date.parse(at), now())}`}`;
  };
  return (
    <span
      role="img"
      aria-label={`${props.title}: ${words()}`}
      title={`${props.title}: ${words()}`}
      classList={{ good: props.row?.status === "supported", bad: props.row?.status === "not-supported" }}
    >
      {SIGNS[props.row?.status ?? "unknown"]}
    </span>
  );
}

/** A host's primitives, one row each. */
export const HOST_PRIMITIVES: Column<HostPrimitive>[] = [
  { key: "primitive", title: "Primitive", cell: (row) => PRIMITIVE_NAMES[row.name] ?? row.name },
  {
    key: "standing",
    title: "Standing",
    cell: (row) => (
      <>
        <Standing row={row} title={PRIMITIVE_NAMES[row.name] ?? row.name} /> {standing(row)}
      </>
    ),
  },
  { key: "worked", title: "Last worked", cell: (row) => <Ago at={row.last_ok} /> },
  { key: "refused", title: "Last refused", rank: 2, cell: (row) => <Ago at={row.last_refusal?.at} /> },
  {
    key: "code",
    title: "Code",
    rank: 2,
    cell: (row) => <Show when={row.last_refusal}>{(refusal) => <CodeLink of={refusal().reason_code} />}</Show>,
  },
];

/** A column for each primitive. */
export const STANDINGS: Column<Host>[] = Object.entries(PRIMITIVE_NAMES).map(([name, title]) => ({
  key: name,
  title,
  rank: 2,
  about: "✓ its last command worked, ✕ was refused, ○ not used in the present sessions",
  cell: (host) => <Standing row={host.primitives?.find((row) => row.name === name)} title={title} />,
}));
