// Grantee of a grant, with a link to its page.

import { type JSX, Match, Switch } from "solid-js";
import { groupOf } from "../api/grants";
import { groupPath, pagePath } from "../api/page-paths";

export function Grantee(props: { of: string }): JSX.Element {
  return (
    <Switch fallback={<a href={pagePath("host", props.of)}>{props.of}</a>}>
      <Match when={props.of === "any"}>
        <span class="tag warn">everybody</span>
      </Match>
      <Match when={groupOf(props.of)}>{(group) => <a href={groupPath(group())}>group {group()}</a>}</Match>
      <Match when={props.of.includes("/")}>{props.of}</Match>
    </Switch>
  );
}
