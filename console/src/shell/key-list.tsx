// The list of keys; loaded when it is opened.

import { For, type JSX } from "solid-js";
import { Dialog } from "../parts/dialog";
import { KEYS } from "./keys";

export default function KeyList(props: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={() => props.onClose()}>
      <dl class="facts">
        <For each={KEYS}>
          {([key, what]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{what}</dd>
            </>
          )}
        </For>
      </dl>
      <p class="soft small">Settings switches single keys off.</p>
    </Dialog>
  );
}
