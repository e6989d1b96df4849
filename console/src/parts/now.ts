// The time of this machine, for texts such as "4 min ago".

import { createSignal } from "solid-js";

const [now, setNow] = createSignal(Date.now());
setInterval(() => {
  if (!document.hidden) setNow(Date.now());
}, 1000);

/** The time of this machine in milliseconds since 1970; it moves once a second. */
export { now };
