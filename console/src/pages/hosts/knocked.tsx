// Initiators that tried to log in and could use no volume, with the reason and what helps, and logged-in initiators
// that belong to no host.

import { createSignal, For, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import type { Login, Session } from "../../api/schema";
import { Act } from "../../parts/act";
import { Ago } from "../../parts/numbers";

const MOST = 5;

/** One initiator at the array's door. */
interface Knock {
  initiator: string;
  from: string;
  detail: string;
  time: string;
  count: number;
  host: string | undefined;
  chap: boolean;
  /** Number of the attempt: a hidden knock is shown again when there is a later one. */
  id: number;
}

const ofLogin = (login: Login): Knock => ({
  initiator: login.initiator,
  from: login.from,
  detail: login.outcome === "unknown-initiator" ? "not known" : login.detail,
  time: login.time,
  count: login.count,
  host: login.host ?? undefined,
  chap: login.outcome === "chap-failed",
  id: login.id,
});

const ofSession = (session: Session): Knock => ({
  initiator: session.initiator,
  from: session.peer_address,
  detail: "logged in without being a host",
  time: session.since,
  count: 1,
  host: undefined,
  chap: false,
  id: 0,
});

export function Knocked(props: {
  sessions: Session[];
  onMake: (iqn: string) => void;
  onSecret: (host: string) => void;
}): JSX.Element {
  const refused = useList<Login>(() => "/api/v1/logins?refused=true", true, 2000);
  const [hidden, setHidden] = createSignal<Record<string, number>>({});
  const all = () => {
    const inside = new Set(props.sessions.map(({ initiator }) => initiator));
    // An initiator that is logged in now needs no help with its earlier refusals.
    const knocks = (refused.data() ?? []).filter(({ initiator }) => !inside.has(initiator)).map(ofLogin);
    const strangers = props.sessions.filter(({ host }) => host == null).map(ofSession);
    const newest = new Map<string, Knock>();
    for (const knock of [...knocks, ...strangers]) {
      if (!newest.has(knock.initiator)) newest.set(knock.initiator, knock);
    }
    const made = (knock: Knock) => knock.host !== undefined && knock.detail === "not known";
    return [...newest.values()].filter((knock) => !made(knock) && (hidden()[knock.initiator] ?? -1) < knock.id);
  };
  return (
    <Show when={all().length > 0}>
      <section class="card pool" aria-label="Who knocked">
        <h2>Who knocked</h2>
        <ul class="lines-list">
          <For each={all().slice(0, MOST)}>
            {(knock) => (
              <li>
                <span>
                  <code>{knock.initiator}</code> from {knock.from}, <Ago at={knock.time} />
                  {knock.count > 1 ? `, ×${knock.count}` : ""}: {knock.detail}
                </span>
                <span>
                  <Show when={knock.host === undefined}>
                    <Act onClick={() => props.onMake(knock.initiator)}>Make a host…</Act>
                  </Show>
                  <Show when={knock.chap && knock.host}>
                    {(host) => <Act onClick={() => props.onSecret(host())}>Set secret…</Act>}
                  </Show>{" "}
                  <button
                    type="button"
                    class="quiet"
                    onClick={() => setHidden({ ...hidden(), [knock.initiator]: knock.id })}
                  >
                    Hide<span class="unseen"> {knock.initiator}</span>
                  </button>
                </span>
              </li>
            )}
          </For>
        </ul>
        <Show when={all().length > MOST}>
          <p class="soft small">And {all().length - MOST} more: windlass session logins lists them.</p>
        </Show>
      </section>
    </Show>
  );
}
