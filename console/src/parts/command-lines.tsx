// The dialog with the command lines of a view; loaded when it is opened.

import { For, type JSX } from "solid-js";
import { Dialog } from "./dialog";
import { SameLines } from "./same-lines";
import type { Same } from "./shell-lines";

export default function CommandLines(props: { same: Same[]; onClose: () => void }): JSX.Element {
  return (
    <Dialog title="The same on a command line" onClose={() => props.onClose()}>
      <For each={props.same}>{(same) => <SameLines same={same} />}</For>
      <p class="soft small">
        On the array's machine, <code>windlass</code> finds it by itself. From elsewhere, <code>--server</code> names it
        and <code>WINDLASS_TOKEN</code> holds the token; <code>curl</code> takes both as written here.
      </p>
    </Dialog>
  );
}
