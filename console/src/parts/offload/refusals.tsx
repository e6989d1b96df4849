// Commands that were refused, failed or had no benefit, grouped by reason, with what helps.

import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { contentPath } from "../../api/page-paths";
import { withQuery } from "../../api/paths";
import { reuse } from "../../api/reuse";
import type { Code, OffloadEnding, OffloadRefusal } from "../../api/schema";
import { Explanation } from "../explanation";
import { Ago } from "../numbers";
import { Rows } from "../rows";
import { Empty, Shown } from "../state";
import type { Column } from "../table";
import { grouped } from "../units";
import { type Group, groups } from "./refusal-groups";

/** Most entries of the log that the array keeps. */
const MOST = 1024;
const EXAMPLES = 5;
const WORD: Record<OffloadEnding, string> = { refused: "refused", failed: "failed", ineffective: "no gain" };

const several = (names: string[]): string =>
  names.length <= 2 ? names.join(", ") : `${names[0]} and ${names.length - 1} more`;

const COLUMNS: Column<Group>[] = [
  {
    key: "reason",
    title: "Reason",
    cell: (group) => <span title={group.reason}>{group.reason}</span>,
    by: ({ reason }) => reason,
  },
  {
    key: "primitive",
    title: "Primitive",
    cell: (group) => group.primitive.toUpperCase(),
    by: ({ primitive }) => primitive,
  },
  {
    key: "ending",
    title: "Ending",
    rank: 2,
    cell: (group) => <span classList={{ bad: group.ending !== "ineffective" }}>{WORD[group.ending]}</span>,
    by: ({ ending }) => ending,
  },
  {
    key: "count",
    title: "Count",
    number: true,
    about: `Commands among the last ${MOST} entries of the array's log`,
    cell: (group) => grouped(group.count),
    by: ({ count }) => count,
  },
  { key: "hosts", title: "Hosts", rank: 2, cell: (group) => several(group.hosts), by: ({ hosts }) => hosts.length },
  {
    key: "volumes",
    title: "Volumes",
    rank: 2,
    cell: (group) => several(group.volumes),
    by: ({ volumes }) => volumes.length,
  },
  {
    key: "holders",
    title: "Reserved by",
    rank: 3,
    about: "Holders of the reservations that refused commands, as they were then",
    cell: (group) => several(group.holders) || "–",
    by: ({ holders }) => holders.length,
  },
  { key: "last", title: "Last", rank: 2, cell: (group) => <Ago at={group.last} />, by: ({ last }) => last },
];

/** `helps`: what can be done at once against a group. */
export function Refusals(props: {
  of?: string;
  primitive?: string;
  helps?: (group: Group) => JSX.Element;
}): JSX.Element {
  const log = useList<OffloadRefusal>(() => withQuery("/api/v1/offload/log", { volume: props.of, limit: MOST }), false);
  const codes = useList<Code>(() => "/api/v1/codes?kind=refusal", false);
  const [opened, setOpened] = createSignal<string>();
  const grouped_ = createMemo<Group[] | undefined>((before) => {
    const wanted = log
      .data()
      ?.filter(({ primitive }) => props.primitive === undefined || primitive === props.primitive);
    return wanted && reuse(before, groups(wanted));
  });
  return (
    <section class="refusals">
      <h2>
        Refused and without gain, by reason <span class="soft small">of the last {MOST} in the array's log</span>
      </h2>
      <Shown of={{ ...log, data: grouped_ }}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>Every offload command did what it was sent for.</Empty>}>
            <Rows
              label="Reasons"
              columns={COLUMNS}
              rows={items()}
              id={({ key }) => key}
              parameter="reasons"
              actions={(group) => [{ label: "Examples and what helps", run: () => setOpened(group.key) }]}
            />
            <For each={items().map(({ key }) => key)}>
              {(key) => (
                <Show when={items().find((group) => group.key === key)}>
                  {(group) => (
                    <details class="group" open={key === opened()}>
                      <summary>
                        {group().primitive.toUpperCase()}, {group().reason}: what helps
                      </summary>
                      <Show when={codes.data()?.find(({ code }) => code === group().code)}>
                        {(code) => <Explanation of={code()} />}
                      </Show>
                      {props.helps?.(group())}
                      <Examples group={group()} />
                    </details>
                  )}
                </Show>
              )}
            </For>
          </Show>
        )}
      </Shown>
    </section>
  );
}

function Examples(props: { group: Group }): JSX.Element {
  return (
    <ul class="lines-list">
      <For each={props.group.entries.slice(0, EXAMPLES)}>
        {(entry) => (
          <li>
            <span>
              <a href={contentPath(entry.kind === "share", entry.volume)}>{entry.volume}</a>
              {` from ${entry.host ?? entry.initiator}: ${entry.detail}`}
            </span>
            <span class="soft small">
              {(entry.count ?? 1) > 1 ? `×${grouped(entry.count ?? 1)} ` : ""}
              <Ago at={entry.time} />
            </span>
          </li>
        )}
      </For>
    </ul>
  );
}
