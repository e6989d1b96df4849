// The search box: `/` leads to it, arrows choose, Enter opens.

import { useNavigate } from "@solidjs/router";
import { createMemo, createSignal, createUniqueId, For, type JSX, Show } from "solid-js";
import { matches, type Named } from "../api/matches";
import { allNames } from "../api/names";
import { PLACES } from "./places";

const MOST = 20;

export function Search(): JSX.Element {
  const id = createUniqueId();
  const go = useNavigate();
  const pages = PLACES.map(({ name, path }): Named => ({ kind: "page", name, also: [], path }));
  const [text, setText] = createSignal("");
  const [names, setNames] = createSignal<Named[]>(pages);
  const [note, setNote] = createSignal<string>();
  const [chosen, setChosen] = createSignal(0);
  const [open, setOpen] = createSignal(false);
  const found = createMemo(() => matches(names(), text(), MOST));
  const load = async () => {
    try {
      const { names: all, more } = await allNames();
      setNames([...pages, ...all]);
      setNote(more ? "only the first 10 000 of each kind are searched" : undefined);
    } catch {
      setNote("the array does not answer: only pages are found");
    }
  };
  const choose = (named: Named | undefined) => {
    if (named === undefined) return;
    setText("");
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
      setText("");
      event.currentTarget.blur();
    }
  };
  const shown = () => open() && text().trim() !== "";
  return (
    <search class="search">
      <input
        type="search"
        data-search=""
        placeholder="/ search"
        aria-label="Search volumes, hosts, shares, snapshots and pages"
        role="combobox"
        aria-expanded={shown()}
        aria-controls={`${id}-found`}
        aria-activedescendant={shown() && found().length > 0 ? `${id}-${chosen()}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        value={text()}
        onFocus={() => {
          setOpen(true);
          void load();
        }}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
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
              <span class="soft">{named.kind}</span>
            </div>
          )}
        </For>
        <Show when={shown() && found().length === 0}>
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
