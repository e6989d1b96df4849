// What a code means: causes, and what to do.

import { For, type JSX, Show } from "solid-js";
import type { Code, CodeStep } from "../api/schema";
import { Lines } from "./copy";

export function Explanation(props: { of: Code }): JSX.Element {
  return (
    <>
      <p>{props.of.meaning}</p>
      <Show when={props.of.causes.length > 0}>
        <p class="soft">Possible causes</p>
        <ul>
          <For each={props.of.causes}>{(cause) => <li>{cause}</li>}</For>
        </ul>
      </Show>
      <Steps of={props.of.todo} />
      <Show when={props.of.standard}>{(section) => <p class="soft small">{section()}</p>}</Show>
    </>
  );
}

/** What to do, in order. */
export function Steps(props: { of: CodeStep[] }): JSX.Element {
  return (
    <For each={props.of}>
      {(step) => ("command" in step ? <Lines text={step.command} what="the command" /> : <p>{step.text}</p>)}
    </For>
  );
}
