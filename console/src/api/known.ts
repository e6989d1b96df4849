// Last answer for a resource, and the choice of the answer that a view shows.

import type { Failure } from "./failure";

/** Last answer for a resource. */
export interface Known {
  data: unknown;
  failure: Failure | undefined;
  /** Time of the data, in milliseconds since 1970. */
  asOf: number | undefined;
}

/** An answer, and the path that it is for. */
export interface Answered {
  of: string | undefined;
  value: unknown;
}

/** The answer to show for a path: its own. With `keep`, that `before` as long as its own is awaited. */
export function answerOf(before: Answered, of: string | undefined, known: Known | undefined, keep: boolean): Answered {
  const waits = of !== undefined && known?.asOf === undefined && known?.failure === undefined;
  if (keep && waits) return before;
  if (before.of === of && before.value === known?.data) return before;
  return { of, value: known?.data };
}
