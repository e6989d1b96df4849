// Effect of a change: the dialog asks the array first, and enables its button after the answer.

import { type Accessor, For, type JSX, Show } from "solid-js";
import { type Asked, asked, type Question } from "../api/asked";
import { Refused } from "../api/failure";
import { withQuery } from "../api/paths";
import type { Effect } from "../api/schema";
import type { Same } from "./shell-lines";
import { FailureBox } from "./state";
import { exactBytes } from "./units";

/** Broken objects that are shown. */
const SHOWN = 20;

/** The question what a request would do. */
const dryRun = ({ method = "DELETE", path, body }: Same): Question => ({
  method,
  path: withQuery(path, { dry_run: true }),
  body,
});

/** Asks what a request would do. `counts`: its bytes can be known. */
export const foresee = (request: Accessor<Same>, counts: boolean): Asked<Effect> =>
  asked<Effect>(
    () => dryRun(request()),
    (effect) => counts && effect.allowed && effect.frees_bytes == null,
  );

/** What a change would do, as soon as its form is complete: nothing, for a change without consequences. */
export function Foreseen(props: { of: Same; when: boolean }): JSX.Element {
  const foreseen = asked<Effect>(
    () => (props.when ? dryRun(props.of) : undefined),
    () => false,
  );
  return (
    <Show when={props.when}>
      <EffectBox of={foreseen} counts={false} />
    </Show>
  );
}

/** Shows what the array said. */
export function EffectBox(props: { of: Asked<Effect>; counts: boolean }): JSX.Element {
  const breaks = () => props.of.answer()?.breaks ?? [];
  return (
    <section class="effect" aria-live="polite" aria-label="what it would do">
      <Show when={props.of.failure()}>
        {(failure) => <FailureBox failure={failure()} retry={() => props.of.retry()} />}
      </Show>
      <Show when={!props.of.failure() && props.of.answer() === undefined}>
        <p class="soft">The array is asked what this would do …</p>
      </Show>
      <Show when={props.of.answer()}>
        {(effect) => (
          <>
            <Show when={effect().problem}>
              {(problem) => <FailureBox failure={new Refused(problem().status, problem())} />}
            </Show>
            <Show when={effect().allowed && props.counts}>
              <p>
                <strong>Frees:</strong>{" "}
                {effect().frees_bytes == null ? "… is being counted" : exactBytes(effect().frees_bytes ?? 0)}
              </p>
            </Show>
            <Show when={breaks().length > 0}>
              <p>
                <strong>Breaks:</strong>
              </p>
              <ul>
                <For each={breaks().slice(0, SHOWN)}>
                  {({ kind, name, why }) => (
                    <li>
                      {kind} {name}: {why}
                    </li>
                  )}
                </For>
                <Show when={breaks().length > SHOWN}>
                  <li>and {breaks().length - SHOWN} more</li>
                </Show>
              </ul>
            </Show>
            <For each={effect().warnings}>{({ message }) => <p class="note">{sentence(message)}</p>}</For>
          </>
        )}
      </Show>
    </section>
  );
}

/** A text of the array as a sentence. */
export const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
