// `{ }`: command lines that do the same as the view or dialog.

import { createSignal, type JSX, lazy, Show, Suspense } from "solid-js";
import type { Same } from "./shell-lines";

const CommandLines = lazy(() => import("./command-lines"));

/** Opens the lines of a view. */
export function Commands(props: { same: Same[] }): JSX.Element {
  const [open, setOpen] = createSignal(false);
  return (
    <>
      <button
        type="button"
        class="quiet"
        data-commands=""
        aria-label="the same on a command line"
        title="the same on a command line"
        onClick={() => setOpen(true)}
      >
        {"{ }"}
      </button>
      <Show when={open()}>
        <Suspense>
          <CommandLines same={props.same} onClose={() => setOpen(false)} />
        </Suspense>
      </Show>
    </>
  );
}
