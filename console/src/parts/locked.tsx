// Locks: what they keep cannot be deleted before they end.

import { type JSX, Show } from "solid-js";
import { now } from "./now";
import { Until } from "./numbers";
import { instant } from "./time";
import { NONE } from "./units";

/** What a lock may keep. */
export interface Lockable {
  /** End of the lock, which may be over. */
  locked_until?: string | null;
}

/** Seconds for which it is still locked; 0 if it is not. */
export const lockedSeconds = ({ locked_until }: Lockable): number =>
  locked_until == null ? 0 : Math.max(0, (Date.parse(locked_until) - now()) / 1000);

/** Reason why it cannot be deleted. */
export function lockedReason(of: Lockable): string | undefined {
  return lockedSeconds(of) > 0 ? `locked until ${instant(Date.parse(of.locked_until ?? ""))}` : undefined;
}

/** Time until the end of the lock. */
export function Locked(props: { of: Lockable }): JSX.Element {
  return (
    <Show when={props.of.locked_until} fallback={NONE}>
      {(at) => <Until at={at()} past={NONE} />}
    </Show>
  );
}
