// Text to copy, with a button that says what it did.

import { createSignal, type JSX } from "solid-js";

/** Time for which the button confirms the copy. */
const SAID_MS = 2000;

export function Copy(props: { text: string; what: string }): JSX.Element {
  const [said, setSaid] = createSignal<string>();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text);
      setSaid("copied");
    } catch {
      setSaid("not permitted: select the text");
    }
    setTimeout(() => setSaid(undefined), SAID_MS);
  };
  return (
    <button type="button" class="quiet copy" onClick={() => void copy()} aria-label={`copy ${props.what}`}>
      <span aria-live="polite">{said() ?? "copy"}</span>
    </button>
  );
}

/** Lines for a shell, with a button to copy them. */
export function Lines(props: { text: string; what: string }): JSX.Element {
  return (
    <div class="lines">
      {/* A long line scrolls; the keyboard has to reach it. */}
      <pre tabindex={0}>
        <code>{props.text}</code>
      </pre>
      <Copy text={props.text} what={props.what} />
    </div>
  );
}
