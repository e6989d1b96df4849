// The lines of one action: for windlass, and for curl.

import { type JSX, Show } from "solid-js";
import { Lines } from "./copy";
import { curlLines, type Same, windlassLines } from "./shell-lines";

/** Lines of one action; of several, one line for each. */
export function SameLines(props: { same: Same | Same[] }): JSX.Element {
  const all = () => [props.same].flat();
  const what = () => all()[0]?.what ?? "";
  return (
    <section class="same">
      <h3>{what()}</h3>
      <Show when={windlassLines(all())}>{(lines) => <Lines text={lines()} what={`${what()}: windlass`} />}</Show>
      <Lines text={curlLines(location.origin, all())} what={`${what()}: curl`} />
    </section>
  );
}
