// The search box: `/` leads to it, arrows choose, Enter opens.

import { useNavigate } from "@solidjs/router";
import { createMemo, createSignal, createUniqueId, For, type JSX, onCleanup, onMount, Show } from "solid-js";
import { send } from "../api/client";
import type { Part } from "../api/list";
import type { Found } from "../api/schema";
import { unless } from "../session";
import { PLACES } from "./places";
import { type Hit, hit, LONGEST, pagesNamed, searchPath } from "./search-hits";
import { FURTHER } from "./search-pages";

/** Pause in typing after which the array is asked. */
const PAUSE_MS = 150;
/** Pages that the person may see. */
const pages = (): Hit[] =>
  [...PLACES, ...FURTHER.filter(({ needs = "viewer" }) => unless(needs) === undefined)].map(({ name, path }) => ({
    kind: "page",
    name,
    path,
  }));

/** `text`: what was typed before the box was loaded; `isWanted`: typing goes on in it. */
export function Search(props: { text: string; isWanted: boolean }): JSX.Element {
  const id = createUniqueId();
  const go = useNavigate();
  const [text, setText] = createSignal("");
  const [objects, setObjects] = createSignal<Hit[]>([]);
  const [note, setNote] = createSignal<string>();
  const [chosen, setChosen] = createSignal(0);
  const [open, setOpen] = createSignal(false);
  const found = createMemo(() => [...pagesNamed(pages(), text()), ...objects()]);
  let pause: ReturnType<typeof setTimeout> | undefined;
  let present = new AbortController();
  const stop = () => {
    clearTimeout(pause);
    present.abort();
  };
  onCleanup(stop);
  let box: HTMLInputElement | undefined;
  const ask = async (wanted: string, signal: AbortSignal) => {
    try {
      const { items } = await send<Part<Found>>("GET", searchPath(wanted), undefined, signal);
      if (signal.aborted) return;
      setObjects(items.map(hit));
      setNote(undefined);
    } catch {
      if (signal.aborted) return;
      setObjects([]);
      setNote("the array does not answer: only pages are found");
    }
  };
  const type = (next: string) => {
    stop();
    setText(next);
    setChosen(0);
    if (next.trim() === "") {
      setObjects([]);
      setNote(undefined);
      return;
    }
    const asked = new AbortController();
    present = asked;
    setNote("searching …");
    pause = setTimeout(() => void ask(next, asked.signal), PAUSE_MS);
  };
  onMount(() => {
    type(props.text);
    if (props.isWanted) box?.focus();
  });
  const choose = (named: Hit | undefined) => {
    if (named === undefined) return;
    type("");
    setOpen(false);
    go(named.path);
  };
  const keys = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((present) => Math.min(found().length - 1, Math.max(0, present + step)));
    } else if (event.key === "Enter") {
      choose(found()[chosen()]);
    } else if (event.key === "Escape") {
      type("");
      event.currentTarget.blur();
    }
  };
  const shown = () => open() && text().trim() !== "";
  return (
    <search class="search">
      <input
        ref={box}
        type="search"
        data-search=""
        placeholder="/ search"
        aria-label="Search volumes, hosts, groups, shares, snapshots, jobs and pages"
        role="combobox"
        aria-expanded={shown()}
        aria-controls={`${id}-found`}
        aria-activedescendant={shown() && found().length > 0 ? `${id}-${chosen()}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        value={text()}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        maxlength={LONGEST}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={keys}
      />
      <div id={`${id}-found`} role="listbox" aria-label="Found" hidden={!shown()}>
        <For each={found()}>
          {(named, position) => (
            <div
              id={`${id}-${position()}`}
              role="option"
              tabindex={-1}
              aria-selected={position() === chosen()}
              onMouseDown={(event) => {
                event.preventDefault();
                choose(named);
              }}
            >
              <span>{named.name}</span>
              <span class="soft">
                {named.matched} {named.kind}
              </span>
            </div>
          )}
        </For>
        <Show when={shown() && found().length === 0 && note() === undefined}>
          <div role="option" aria-selected="false" aria-disabled="true" tabindex={-1} class="soft">
            nothing is named so
          </div>
        </Show>
        <Show when={note()}>
          <div role="option" aria-selected="false" aria-disabled="true" tabindex={-1} class="soft small">
            {note()}
          </div>
        </Show>
      </div>
    </search>
  );
}
