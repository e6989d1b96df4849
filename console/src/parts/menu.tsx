// A button that opens a list of actions: arrows move, Enter acts, Escape closes.

import { createSignal, createUniqueId, For, type JSX, Show } from "solid-js";
import type { Role } from "../api/schema";
import { unless } from "../session";
import "./menu.css";

/** One action. */
export interface Action {
  label: string;
  run: () => void;
  /** True if the action destroys data. */
  danger?: boolean;
  /** Role that the action needs; without one, anybody may do it. */
  needs?: Role;
  /** Another reason why the action is disabled. */
  unless?: string | undefined;
}

const GAP_PX = 4;

export function Menu(props: { label: string; text?: JSX.Element; actions: () => Action[] }): JSX.Element {
  const id = createUniqueId();
  const [open, setOpen] = createSignal(false);
  let button: HTMLButtonElement | undefined;
  let list: HTMLDivElement | undefined;
  const place = () => {
    if (button === undefined || list === undefined) return;
    const from = button.getBoundingClientRect();
    const size = list.getBoundingClientRect();
    const below = from.bottom + GAP_PX + size.height <= innerHeight;
    list.style.setProperty("left", `${Math.max(8, from.right - size.width)}px`);
    list.style.setProperty("top", `${Math.max(8, below ? from.bottom + GAP_PX : from.top - GAP_PX - size.height)}px`);
  };
  const items = () => [...(list?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
  const move = (event: KeyboardEvent) => {
    const all = items();
    const present = all.indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) all.at((present + step) % all.length)?.focus();
    else if (event.key === "Home") all.at(0)?.focus();
    else if (event.key === "End") all.at(-1)?.focus();
    else if (event.key === "Tab") list?.hidePopover();
    else return;
    if (event.key !== "Tab") event.preventDefault();
  };
  return (
    <>
      <button
        type="button"
        class="quiet"
        ref={button}
        aria-label={props.label}
        aria-haspopup="menu"
        aria-expanded={open()}
        popovertarget={id}
        data-menu=""
      >
        {props.text ?? "⋯"}
      </button>
      <div
        id={id}
        class="actions"
        popover="auto"
        role="menu"
        aria-label={props.label}
        tabindex={-1}
        ref={list}
        onKeyDown={move}
        onToggle={(event) => {
          setOpen(event.newState === "open");
          if (event.newState !== "open") return;
          place();
          items()[0]?.focus();
        }}
      >
        <Show when={open()}>
          <For each={props.actions()}>
            {(action) => {
              const reason = () => (action.needs === undefined ? undefined : unless(action.needs)) ?? action.unless;
              return (
                <button
                  type="button"
                  role="menuitem"
                  classList={{ danger: action.danger ?? false }}
                  aria-disabled={reason() !== undefined}
                  title={reason()}
                  onClick={() => {
                    if (reason() !== undefined) return;
                    list?.hidePopover();
                    action.run();
                  }}
                >
                  {action.label}
                </button>
              );
            }}
          </For>
        </Show>
      </div>
    </>
  );
}
