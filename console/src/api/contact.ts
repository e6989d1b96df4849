// Contact with the array, and the time of its loss.

import { createSignal } from "solid-js";

/** Loss of contact. */
export interface Loss {
  /** Time of the last answer, in milliseconds since 1970. */
  since: number;
}

const [loss, setLoss] = createSignal<Loss>();
let last = Date.now();

/** The present loss of contact; `undefined` while the array answers. */
export const contactLost = loss;

/** An answer came. */
export function heard(): void {
  last = Date.now();
  setLoss(undefined);
}

/** No answer came. */
export function missed(): void {
  if (loss() === undefined) setLoss({ since: last });
}
