// Initiators without a host, logged in because a volume is open to everybody.

import { For, type JSX, Show } from "solid-js";
import type { Session } from "../../api/schema";
import { Act } from "../../parts/act";

const MOST = 5;

export function Unknown(props: { sessions: Session[]; onMake: (iqn: string) => void }): JSX.Element {
  const unknown = () => {
    const strangers = props.sessions.filter(({ host }) => host == null);
    return [...new Map(strangers.map((session) => [session.initiator, session])).values()];
  };
  return (
    <Show when={unknown().length > 0}>
      <section class="card pool">
        <h2>Logged in without being a host</h2>
        <ul class="lines-list">
          <For each={unknown().slice(0, MOST)}>
            {(session) => (
              <li>
                <span>
                  <code>{session.initiator}</code> from {session.peer_address}
                </span>
                <Act onClick={() => props.onMake(session.initiator)}>Make it a host</Act>
              </li>
            )}
          </For>
        </ul>
        <Show when={unknown().length > MOST}>
          <p class="soft small">And {unknown().length - MOST} more, under Sessions.</p>
        </Show>
      </section>
    </Show>
  );
}
