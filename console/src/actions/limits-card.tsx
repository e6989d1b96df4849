// Card with the QoS policy of a volume or host, what it has held back, and the choice of another.

import { createSignal, type JSX, Show } from "solid-js";
import type { Host, Volume } from "../api/schema";
import { Act } from "../parts/act";
import { heldWords } from "../parts/limit-words";
import { ChoosePolicy } from "./limits";

export function LimitsCard(props: { volume: Volume } | { host: Host }): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const of = () => ("volume" in props ? props.volume : props.host);
  return (
    <section class="card">
      <h2>Limits</h2>
      <dl class="facts">
        <dt>Policy</dt>
        <dd>
          <Show when={of().qos_policy} fallback="none">
            {(policy) => <a href={`/settings/limits?q=${encodeURIComponent(policy())}`}>{policy()}</a>}
          </Show>
        </dd>
        <dt>Held back</dt>
        <dd>{heldWords(of().qos_held)}</dd>
      </dl>
      <p class="under">
        <Act onClick={() => setOpen(true)}>Choose policy</Act>
      </p>
      <Show when={open()}>
        <ChoosePolicy {...props} onClose={() => setOpen(false)} />
      </Show>
    </section>
  );
}
