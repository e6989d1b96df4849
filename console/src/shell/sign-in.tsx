// Signing in: today, with the token of the array.

import { createSignal, type JSX, Show } from "solid-js";
import { exchange } from "../api/client";
import { asFailure, type Failure, Refused } from "../api/failure";
import { changed } from "../api/query";
import { Dialog } from "../parts/dialog";
import { TextField } from "../parts/form";
import { FailureBox } from "../parts/state";
import { credentialsOf, keep } from "../session";
import { Mark } from "./icons";

/** Characters that a header can hold. */
const POSSIBLE = /^[\x21-\x7e]+$/;

function SignInForm(): JSX.Element {
  const [token, setToken] = createSignal("");
  const [failure, setFailure] = createSignal<Failure>();
  const [busy, setBusy] = createSignal(false);
  const wrong = () => {
    const present = failure();
    return present instanceof Refused && present.status === 401;
  };
  const shape = () =>
    token() === "" || POSSIBLE.test(token().trim()) ? undefined : "a token has no spaces or accents";
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const candidate = token().trim();
    if (busy() || candidate === "" || shape() !== undefined) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await exchange("GET", "/api/v1/system", credentialsOf(candidate));
      keep(candidate);
      // The page shows data from before the session ended.
      void changed();
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Show when={!wrong() && failure()}>{(present) => <FailureBox failure={present()} />}</Show>
      <TextField
        label="Token"
        name="token"
        type="password"
        required
        value={token()}
        onInput={setToken}
        error={wrong() ? "the array does not take this token" : shape()}
        hint={
          <>
            It is in <code>admin.token</code> in the array's state directory, usually <code>/var/lib/windlass</code>.
            This tab keeps it until it is closed.
          </>
        }
      />
      <button type="submit" class="primary" disabled={busy()} aria-busy={busy()}>
        Sign in
      </button>
    </form>
  );
}

/** The page before anything else, or, `again`, a dialog over it when the array no longer takes the token. */
export default function SignIn(props: { again: boolean }): JSX.Element {
  return (
    <Show when={props.again} fallback={<FirstPage />}>
      <Dialog title="Sign in again" onClose={() => undefined} fixed>
        <p>The array no longer takes the token of this tab. The page stays as it is.</p>
        <SignInForm />
      </Dialog>
    </Show>
  );
}

function FirstPage(): JSX.Element {
  document.title = "Sign in · Windlass";
  return (
    <main class="sign-in">
      <div class="mark">
        <Mark />
        <h1>Windlass</h1>
      </div>
      <SignInForm />
      <footer class="soft small">
        {location.host} · compare the certificate with <code>tls/cert.pem</code> in the same directory
      </footer>
    </main>
  );
}
