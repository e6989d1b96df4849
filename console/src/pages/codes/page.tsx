// Codes: what each means, what causes it, and what to do.

import { useParams, useSearchParams } from "@solidjs/router";
import { createMemo, For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { withQuery } from "../../api/paths";
import type { Code, CodeKind } from "../../api/schema";
import { Explanation } from "../../parts/explanation";
import { Head } from "../../parts/head";
import { Rows } from "../../parts/rows";
import { windlass } from "../../parts/shell-lines";
import { CodeLink, Empty, Shown } from "../../parts/state";
import type { Column } from "../../parts/table";

const KINDS: Record<CodeKind, string> = {
  problem: "problem of a request",
  refusal: "reason of the offload log",
  alert: "alert",
  warning: "warning about a change",
  event: "event",
  exit: "exit status",
  sense: "sense data",
};

const COLUMNS: Column<Code>[] = [
  { key: "code", title: "Code", cell: ({ code }) => <CodeLink of={code} />, by: ({ code }) => code },
  { key: "kind", title: "Kind", cell: ({ kind }) => KINDS[kind], by: ({ kind }) => kind },
  {
    key: "meaning",
    title: "Meaning",
    rank: 2,
    cell: ({ meaning }) => <span title={meaning}>{meaning}</span>,
    by: ({ meaning }) => meaning,
  },
];

export default function Codes(): JSX.Element {
  const params = useParams<{ code?: string }>();
  return (
    <Show when={params.code} keyed fallback={<All />}>
      {(code) => <One code={decoded(code)} />}
    </Show>
  );
}

/** Decodes a part of an address. A percent sign that a person typed may encode nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function One(props: { code: string }): JSX.Element {
  const path = () => `/api/v1/codes/${encodeURIComponent(props.code)}`;
  const codes = useList<Code>(path, false);
  return (
    <>
      <Head
        title={props.code}
        about={<a href="/codes">All codes</a>}
        same={[{ what: "explain this code", windlass: windlass("explain", props.code), path: path() }]}
      />
      <Shown of={codes}>
        {(items) => (
          <div class="cards">
            <For each={items()}>
              {(code) => (
                <section class="card">
                  <h2>As {KINDS[code.kind]}</h2>
                  <Explanation of={code} />
                </section>
              )}
            </For>
          </div>
        )}
      </Shown>
    </>
  );
}

function All(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ kind?: string; q?: string }>();
  const codes = useList<Code>(() => withQuery("/api/v1/codes", { kind: search.kind }), false);
  const found = createMemo(() => {
    const words = (search.q ?? "").toLowerCase();
    return codes.data()?.filter(({ code, meaning }) => `${code} ${meaning.toLowerCase()}`.includes(words));
  });
  return (
    <>
      <Head
        title="Codes"
        about="What the codes of errors, refusals, alerts, warnings, events, exit statuses and sense data mean"
        same={[
          {
            what: "list the codes",
            windlass: windlass("explain", "--list", ...(search.kind ? [search.kind] : [])),
            path: withQuery("/api/v1/codes", { kind: search.kind }),
          },
        ]}
      />
      <div class="filters">
        <input
          type="search"
          placeholder="filter: code or words"
          aria-label="Filter codes"
          value={search.q ?? ""}
          onInput={(event) => setSearch({ q: event.currentTarget.value || undefined }, { replace: true })}
        />
        <select
          aria-label="Kind"
          value={search.kind ?? ""}
          onInput={(event) => setSearch({ kind: event.currentTarget.value || undefined }, { replace: true })}
        >
          <option value="">all kinds</option>
          <For each={Object.entries(KINDS)}>{([kind, words]) => <option value={kind}>{words}</option>}</For>
        </select>
      </div>
      <Shown of={{ ...codes, data: found }}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>No code fits.</Empty>}>
            <Rows label="Codes" columns={COLUMNS} rows={items()} id={({ kind, code }) => `${kind} ${code}`} />
          </Show>
        )}
      </Shown>
    </>
  );
}
