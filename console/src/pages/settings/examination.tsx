// Findings of the array about itself and its machine.

import { For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import type { CheckState, Examined } from "../../api/schema";
import { Lines } from "../../parts/copy";
import { Empty, Shown } from "../../parts/state";
import { count } from "../../parts/units";

const EVERY_MS = 60_000;
const RANK: Record<CheckState, number> = { fail: 0, warning: 1, ok: 2 };
const DOT: Record<CheckState, string> = { fail: "dot critical", warning: "dot warning", ok: "dot ok" };

export function Examination(): JSX.Element {
  const checks = useList<Examined>(() => "/api/v1/doctor", false, EVERY_MS);
  return (
    <section class="card">
      <h2>Examination</h2>
      <Shown of={checks}>
        {(items) => (
          <>
            <Found of={items().filter(({ state }) => state !== "ok")} />
            <details>
              <summary>{count(items().filter(({ state }) => state === "ok").length, "check")} found nothing</summary>
              <ul class="lines-list">
                <For each={items().filter(({ state }) => state === "ok")}>{(each) => <li>{told(each)}</li>}</For>
              </ul>
            </details>
          </>
        )}
      </Shown>
    </section>
  );
}

const told = ({ check, finding, state }: Examined): JSX.Element => (
  <span>
    <span class={DOT[state]}>{check}</span> <span class="soft">{finding}</span>
  </span>
);

function Found(props: { of: Examined[] }): JSX.Element {
  const worstFirst = () => props.of.toSorted((one, other) => RANK[one.state] - RANK[other.state]);
  return (
    <Show when={props.of.length > 0} fallback={<Empty>Nothing has to be mended.</Empty>}>
      <For each={worstFirst()}>
        {(each) => (
          <>
            <p>{told(each)}</p>
            <p class="small">What mends it: {each.fix}</p>
            <Show when={each.commands?.join("\n")}>
              {(commands) => <Lines text={commands()} what={`the commands for ${each.check}`} />}
            </Show>
          </>
        )}
      </For>
    </Show>
  );
}
