// Single keys. They never act in fields or dialogs, and can be switched off (WCAG 2.1.4).

import { PLACES } from "./places";
import { keys } from "./preferences";

/** Action of each key, for the list that `?` shows. */
export const KEYS: [string, string][] = [
  ...PLACES.map(({ key, name }): [string, string] => [`g ${key}`, name]),
  ["/", "search"],
  ["j  k", "next and previous row"],
  ["x", "select the row"],
  [".", "actions of the row"],
  ["Enter", "open the row"],
  ["n", "new"],
  ["c", "the same on a command line"],
  ["?", "this list"],
  ["Esc", "close, back to the page"],
];

/** Time for the second key after `g`. */
const CHORD_MS = 1500;

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;

const click = (selector: string): boolean => {
  const found = document.querySelector<HTMLElement>(`main ${selector}`);
  found?.click();
  return found !== null;
};

/** The row that has the focus. */
const row = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>("[data-row]") ?? null;

function move(step: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const present = row();
  const next = rows[present === null ? 0 : rows.indexOf(present) + step];
  const target = next?.querySelector<HTMLElement>("a, button, input");
  target?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return target != null;
}

function inRow(selector: string): boolean {
  const found = row()?.querySelector<HTMLElement>(selector);
  found?.click();
  return found != null;
}

const ACTIONS: Record<string, () => boolean> = {
  j: () => move(1),
  k: () => move(-1),
  x: () => inRow(".tick input"),
  ".": () => inRow("[data-menu]"),
  n: () => click("[data-new]"),
  c: () => click("[data-commands]"),
};

/** Listens to keys; returns how to stop. `go` opens a page, `list` shows the keys. */
export function listen(go: (path: string) => void, list: () => void): () => void {
  let chordUntil = 0;
  const act = (event: KeyboardEvent) => {
    if (!keys() || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open], :popover-open") !== null) return;
    if (performance.now() < chordUntil) {
      chordUntil = 0;
      const place = PLACES.find(({ key }) => key === event.key);
      if (place !== undefined) {
        event.preventDefault();
        go(place.path);
      }
      return;
    }
    if (event.key === "g") chordUntil = performance.now() + CHORD_MS;
    else if (event.key === "?") list();
    else if (event.key === "/") {
      event.preventDefault();
      document.querySelector<HTMLElement>("[data-search]")?.focus();
    } else if (ACTIONS[event.key]?.()) event.preventDefault();
  };
  document.addEventListener("keydown", act);
  return () => document.removeEventListener("keydown", act);
}
