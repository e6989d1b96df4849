// Title of a page, what it is about, and its actions; tabs below.

import { useLocation } from "@solidjs/router";
import { createEffect, For, type JSX, Show } from "solid-js";
import { Commands } from "./commands";
import type { Same } from "./shell-lines";

export function Head(props: {
  title: string;
  about?: JSX.Element;
  same?: Same[];
  children?: JSX.Element;
}): JSX.Element {
  createEffect(() => {
    document.title = `${props.title} · Windlass`;
  });
  return (
    <div class="head">
      <div>
        <h1 tabindex={-1}>{props.title}</h1>
        <Show when={props.about}>
          <p class="about">{props.about}</p>
        </Show>
      </div>
      <div class="head-actions">
        <Show when={props.same}>{(same) => <Commands same={same()} />}</Show>
        {props.children}
      </div>
    </div>
  );
}

export interface Tab {
  name: string;
  path: string;
  count?: number | undefined;
  /** Its page has parts at longer paths. */
  parts?: boolean;
}

/** Path of a tab of a page; the summary has that of the page. */
export const tabPath = (page: string, tab: string | undefined): string =>
  tab === undefined || tab === "summary" ? page : `${page}/${tab}`;

/** Tabs of a page by their names, with counts. */
export const tabsOf = (page: string, names: string[], counts: Partial<Record<string, number>>): Tab[] =>
  names.map((name) => ({
    name: name.charAt(0).toUpperCase() + name.slice(1),
    path: tabPath(page, name),
    count: counts[name],
  }));

/** True if a path is that of a tab. */
const isOf = (tab: Tab, path: string): boolean =>
  path === tab.path || (tab.parts === true && path.startsWith(`${tab.path}/`));

export function Tabs(props: { label: string; tabs: Tab[] }): JSX.Element {
  const location = useLocation();
  return (
    <nav aria-label={props.label}>
      <ul class="tabs">
        <For each={props.tabs}>
          {(tab) => (
            <li>
              <a href={tab.path} aria-current={isOf(tab, location.pathname) ? "page" : undefined}>
                {tab.name}
                <Show when={tab.count !== undefined}>{` ${tab.count}`}</Show>
              </a>
            </li>
          )}
        </For>
      </ul>
    </nav>
  );
}
