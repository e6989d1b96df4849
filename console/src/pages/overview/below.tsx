// Lower part of the overview: bytes that offload kept off the network, and the last events.

import { For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import type { Event, OffloadTotal } from "../../api/schema";
import { useTopics } from "../../live/stream";
import { KeptOffLine } from "../../parts/kept-off";
import { Ago, Bytes } from "../../parts/numbers";
import { grouped } from "../../parts/units";

const EVENTS = 6;

export default function Below(props: { totals: OffloadTotal[] | undefined }): JSX.Element {
  return (
    <div class="cards below">
      <Show when={props.totals}>{(totals) => <KeptOff totals={totals()} />}</Show>
      <LastEvents />
    </div>
  );
}

/** Bytes that offload kept off the network since the array started. */
function KeptOff(props: { totals: OffloadTotal[] }): JSX.Element {
  const sum = () => props.totals.reduce((all, total) => all + total.host_bytes_avoided, 0);
  return (
    <section class="card">
      <h2>
        <a href="/offload">Kept off the wire</a>
      </h2>
      <p>
        <strong class="figure">
          <Bytes of={sum()} />
        </strong>{" "}
        <span class="soft">since the array started</span>
      </p>
      <KeptOffLine />
      <dl class="facts">
        <For each={props.totals}>
          {(total) => (
            <>
              <dt>{total.primitive.toUpperCase()}</dt>
              <dd>
                {grouped(total.commands)} commands
                <Show when={total.refused > 0}>
                  , <a href={`/offload/refusals?primitive=${total.primitive}`}>{grouped(total.refused)} refused</a>
                </Show>
              </dd>
            </>
          )}
        </For>
      </dl>
    </section>
  );
}

function LastEvents(): JSX.Element {
  useTopics(["events"]);
  const events = useList<Event>(() => `/api/v1/events?limit=${EVENTS}`, false);
  return (
    <section class="card">
      <h2>
        <a href="/activity/events">Last events</a>
      </h2>
      <ul class="lines-list">
        <For each={(events.data() ?? []).toReversed()}>
          {(event) => (
            <li>
              <span>{event.message}</span>
              <span class="soft small">
                <Ago at={event.time} />
              </span>
            </li>
          )}
        </For>
      </ul>
    </section>
  );
}
