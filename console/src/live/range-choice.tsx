// Choice of the range that the charts of a page show.

import { createSignal, For, type JSX, Show } from "solid-js";
import { now } from "../parts/now";
import { chosenRange, RANGES, spanOf, timeOf } from "./ranges";
import { useRange } from "./series";

export function RangeChoice(): JSX.Element {
  const [range, setRange] = useRange();
  const [choosing, setChoosing] = createSignal(false);
  return (
    <fieldset class="ranges">
      <legend class="unseen">Range</legend>
      <For each={RANGES}>
        {(choice) => (
          <button type="button" aria-pressed={range().key === choice.key} onClick={() => setRange(choice)}>
            {choice.every === 0 ? "live" : choice.key}
          </button>
        )}
      </For>
      <button
        type="button"
        aria-pressed={range().span !== undefined}
        aria-expanded={choosing()}
        onClick={() => setChoosing(!choosing())}
      >
        from … to …
      </button>
      <Show when={choosing()}>
        <Custom />
      </Show>
    </fieldset>
  );
}

/** Two times, in UTC as everywhere; at first those of the range that is shown. */
function Custom(): JSX.Element {
  const [range, setRange] = useRange();
  const word = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 16);
  const [first, last] = spanOf(range(), now());
  const [from, setFrom] = createSignal(word(first));
  const [to, setTo] = createSignal(word(last));
  const chosen = () => chosenRange(timeOf(from()), timeOf(to()));
  const field = (label: string, value: () => string, set: (value: string) => void) => (
    <input
      type="datetime-local"
      aria-label={`${label}, in UTC`}
      value={value()}
      onInput={(event) => set(event.currentTarget.value)}
    />
  );
  return (
    <>
      {field("From", from, setFrom)}
      {field("To", to, setTo)}
      <button
        type="button"
        disabled={chosen() === undefined}
        onClick={() => {
          const present = chosen();
          if (present !== undefined) setRange(present);
        }}
      >
        Show
      </button>
    </>
  );
}
