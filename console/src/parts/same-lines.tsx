// The lines of one action: for windlass, and for curl.

import { type JSX, Show } from "solid-js";
import { Lines } from "./copy";
import { curl, type Same } from "./shell-lines";

/** Lines of one action. */
export function SameLines(props: { same: Same }): JSX.Element {
  return (
    <section class="same">
      <h3>{props.same.what}</h3>
      <Show when={props.same.windlass}>{(line) => <Lines text={line()} what={`${props.same.what}: windlass`} />}</Show>
      <Lines
        text={curl(location.origin, props.same.method ?? "GET", props.same.path, props.same.body)}
        what={`${props.same.what}: curl`}
      />
    </section>
  );
}
