// A file of the array: opened in a tab of its own, which the cookie of a sign-in may read; saved where the page has a token.

import { createSignal, type JSX, Show } from "solid-js";
import { download } from "../api/client";
import { asFailure, type Failure } from "../api/failure";
import { tabToken } from "../session";

export function FileLink(props: { path: string; name: string; children: JSX.Element }): JSX.Element {
  const [failure, setFailure] = createSignal<Failure>();
  const save = async () => {
    setFailure(undefined);
    try {
      const address = URL.createObjectURL(await download(props.path));
      const link = document.createElement("a");
      link.href = address;
      link.download = props.name;
      link.click();
      // The browser has taken it by then.
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      setFailure(asFailure(error));
    }
  };
  return (
    <>
      <a
        class="button"
        href={props.path}
        target="_blank"
        rel="noopener"
        onClick={(event) => {
          if (tabToken() === null) return;
          event.preventDefault();
          void save();
        }}
      >
        {props.children}
      </a>
      <Show when={failure()}>
        {(present) => (
          <span class="bad small" role="alert">
            {present().message}
          </span>
        )}
      </Show>
    </>
  );
}
