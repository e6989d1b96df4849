// A bar whose parts add up to the whole, with the same numbers in words.

import { createEffect, For, type JSX, Show } from "solid-js";
import { Bytes } from "./numbers";
import "./space-bar.css";
import { bytes } from "./units";

export interface Part {
  name: string;
  bytes: number;
  tone: "array" | "network" | "other" | "bad" | "shared" | "free";
  about?: string;
}

export function SpaceBar(props: { label: string; parts: Part[]; marks?: { at: number; name: string }[] }): JSX.Element {
  const whole = () => props.parts.reduce((sum, part) => sum + part.bytes, 0);
  const said = () => props.parts.map((part) => `${part.name} ${bytes(part.bytes)}`).join(", ");
  const width = (element: HTMLElement, of: () => number) =>
    createEffect(() => element.style.setProperty("flex-grow", String(Math.max(0, of()))));
  return (
    <div class="space">
      <div class="space-bar" role="img" aria-label={`${props.label}: ${said()}`}>
        <For each={props.parts}>
          {(part) => (
            <Show when={part.bytes > 0}>
              <span class={part.tone} ref={(element) => width(element, () => part.bytes / Math.max(1, whole()))} />
            </Show>
          )}
        </For>
        <For each={props.marks ?? []}>
          {(mark) => (
            <i
              class="mark"
              title={mark.name}
              ref={(element) => createEffect(() => element.style.setProperty("left", `${mark.at}%`))}
            />
          )}
        </For>
      </div>
      <ul class="space-key">
        <For each={props.parts}>
          {(part) => (
            <li title={part.about}>
              <i class={part.tone} />
              {part.name} <Bytes of={part.bytes} />
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}
