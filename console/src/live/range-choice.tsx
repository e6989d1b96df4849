// Choice of the range that the charts of a page show.

import { For, type JSX } from "solid-js";
import { RANGES } from "./ranges";
import { useRange } from "./series";

export function RangeChoice(): JSX.Element {
  const [range, setRange] = useRange();
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
    </fieldset>
  );
}
