// `{ }`: command lines that do the same as the view or dialog.

import { createSignal, For, type JSX, Show } from "solid-js";
import { Dialog } from "./dialog";
import { SameLines } from "./same-lines";
import type { Same } from "./shell-lines";

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
        <Dialog title="The same on a command line" onClose={() => setOpen(false)}>
          <For each={props.same}>{(same) => <SameLines same={same} />}</For>
          <p class="soft small">
            On the array's machine, <code>windlass</code> finds it by itself. From elsewhere, <code>--server</code>{" "}
            names it and <code>WINDLASS_TOKEN</code> holds the token; <code>curl</code> takes both as written here.
          </p>
        </Dialog>
      </Show>
    </>
  );
}
