// Entries of the audit, and fields before and after a change.

import { For, type JSX } from "solid-js";
import type { AuditChange, AuditEntry } from "../api/schema";
import { shortly } from "./differences";
import { Ago } from "./numbers";
import type { Column } from "./table";

/** Fields that change. */
export function Changes(props: { of: Record<string, AuditChange> | undefined }): JSX.Element {
  return (
    <For each={Object.entries(props.of ?? {})}>
      {([field, { before, after }], position) => (
        <span title={`${field}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`}>
          {position() > 0 ? "; " : ""}
          <span class="soft">{field}</span> {before == null ? "" : `${shortly(before)} → `}
          {shortly(after)}
        </span>
      )}
    </For>
  );
}

export const AUDIT_COLUMNS: Column<AuditEntry>[] = [
  { key: "time", title: "When", rank: 2, cell: ({ time }) => <Ago at={time} /> },
  {
    key: "who",
    title: "Who",
    cell: ({ who }) => (
      <>
        {who.name} <span class="soft small">{who.kind === "user" ? "" : who.kind}</span>
      </>
    ),
  },
  { key: "from", title: "From", rank: 3, cell: ({ who }) => who.from ?? "this machine" },
  { key: "action", title: "Action", cell: ({ action }) => <code>{action}</code> },
  { key: "target", title: "Object", rank: 2, cell: ({ target }) => target.name },
  { key: "change", title: "Change", rank: 2, cell: (entry) => <Changes of={entry.change} /> },
  {
    key: "result",
    title: "Result",
    cell: ({ result, code }) => (
      <span class={result === "done" ? "" : "bad"} title={code ?? undefined}>
        {result}
      </span>
    ),
  },
  { key: "code", title: "Code", rank: 3, cell: ({ code }) => (code == null ? "" : <code>{code}</code>) },
];
