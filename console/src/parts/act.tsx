// A button that begins a change. It says why when the role of the person does not allow the change.

import type { JSX } from "solid-js";
import type { Role } from "../api/schema";
import { unless } from "../session";

interface ActProps {
  onClick: () => void;
  children: JSX.Element;
  class?: string;
  /** Role that the change needs. */
  needs?: Role;
  /** Another reason why it cannot be begun. */
  unless?: string | undefined;
  /** The key `n` presses it. */
  first?: boolean;
}

export function Act(props: ActProps): JSX.Element {
  const reason = () => unless(props.needs ?? "operator") ?? props.unless;
  return (
    <button
      type="button"
      class={props.class}
      data-new={props.first ? "" : undefined}
      aria-disabled={reason() !== undefined}
      title={reason()}
      onClick={() => reason() === undefined && props.onClick()}
    >
      {props.children}
    </button>
  );
}
