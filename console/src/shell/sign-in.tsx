// Signing in: with name and password, or with a token; a new array is set up here.

import { createSignal, type JSX, onMount, Show } from "solid-js";
import { asFailure, type Failure, Refused } from "../api/failure";
import { changed } from "../api/query";
import { setUp, setupNeeded, signIn, takeToken } from "../api/sign-in";
import { Dialog } from "../parts/dialog";
import { CheckField, TextField } from "../parts/form";
import { NewPassword, useNewPassword } from "../parts/new-password";
import { FailureBox } from "../parts/state";
import { person, tabToken } from "../session";
import { Mark } from "./icons";

/** Characters that a header can hold. */
const POSSIBLE = /^[\x21-\x7e]+$/;

/** A form whose one request proves who the person is. */
function CredentialsForm(props: {
  verb: string;
  ready: boolean;
  send: () => Promise<void>;
  /** Code of a problem that a field shows. */
  shown?: (failure: Failure) => boolean;
  onFailure: (failure: Failure | undefined) => void;
  children: JSX.Element;
}): JSX.Element {
  const [failure, setFailure] = createSignal<Failure>();
  const [busy, setBusy] = createSignal(false);
  const tell = (present: Failure | undefined) => {
    setFailure(present);
    props.onFailure(present);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy() || !props.ready) return;
    setBusy(true);
    tell(undefined);
    try {
      const before = person();
      await props.send();
      // Another person must not see what the one before has read; the same one gets what is new.
      if (before !== undefined && (before.kind !== person()?.kind || before.user !== person()?.user)) location.reload();
      else void changed();
    } catch (error) {
      tell(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Show when={failure() && !props.shown?.(failure() as Failure) && failure()}>
        {(present) => <FailureBox failure={present()} />}
      </Show>
      {props.children}
      <button type="submit" class="primary" disabled={busy() || !props.ready} aria-busy={busy()}>
        {props.verb}
      </button>
    </form>
  );
}

const isWrong = (failure: Failure | undefined): boolean => failure instanceof Refused && failure.status === 401;

function PasswordForm(): JSX.Element {
  const [user, setUser] = createSignal(person()?.kind === "user" ? (person()?.user ?? "") : "");
  const [password, setPassword] = createSignal("");
  const [display, setDisplay] = createSignal(false);
  const [wrong, setWrong] = createSignal(false);
  return (
    <CredentialsForm
      verb="Sign in"
      ready={user().trim() !== "" && password() !== ""}
      send={() => signIn({ user: user().trim(), password: password(), display: display() })}
      shown={isWrong}
      onFailure={(failure) => setWrong(isWrong(failure))}
    >
      <TextField label="Name" name="user" complete="username" required value={user()} onInput={setUser} />
      <TextField
        label="Password"
        name="password"
        type="password"
        complete="current-password"
        required
        value={password()}
        onInput={setPassword}
        error={wrong() ? "the array does not take this name with this password" : undefined}
      />
      <CheckField
        label="A wall display: a viewer stays signed in for 30 days"
        name="display"
        checked={display()}
        onInput={setDisplay}
      />
    </CredentialsForm>
  );
}

function TokenForm(): JSX.Element {
  const [token, setToken] = createSignal("");
  const [wrong, setWrong] = createSignal(false);
  const shape = () =>
    token() === "" || POSSIBLE.test(token().trim()) ? undefined : "a token has no spaces or accents";
  return (
    <CredentialsForm
      verb="Sign in with the token"
      ready={token().trim() !== "" && shape() === undefined}
      send={() => takeToken(token().trim())}
      shown={isWrong}
      onFailure={(failure) => setWrong(isWrong(failure))}
    >
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
            The first one is in <code>admin.token</code> in the array's state directory, usually{" "}
            <code>/var/lib/windlass</code>. This tab keeps it until it is closed.
          </>
        }
      />
    </CredentialsForm>
  );
}

/** Both ways to sign in, and the way between them. */
function Forms(): JSX.Element {
  const [byToken, setByToken] = createSignal(tabToken() !== null);
  return (
    <>
      <Show when={byToken()} fallback={<PasswordForm />}>
        <TokenForm />
      </Show>
      <button type="button" class="quiet" onClick={() => setByToken(!byToken())}>
        {byToken() ? "With name and password instead" : "With a token instead"}
      </button>
    </>
  );
}

/** Creates the first administrator of a new array. */
function SetUpForm(): JSX.Element {
  const [code, setCode] = createSignal("");
  const [user, setUser] = createSignal("");
  const password = useNewPassword();
  return (
    <CredentialsForm
      verb="Create the administrator"
      ready={code().trim() !== "" && user().trim() !== "" && password.ready()}
      send={() => setUp({ code: code().trim(), user: user().trim(), password: password.value() })}
      onFailure={() => undefined}
    >
      <p>This array has no administrator yet. The code shows that you may make one.</p>
      <TextField
        label="Code"
        name="code"
        required
        value={code()}
        onInput={setCode}
        hint={
          <>
            It is in <code>setup.code</code> in the array's state directory, usually <code>/var/lib/windlass</code>, for
            an hour after the start; <code>windlass setup code</code> makes another.
          </>
        }
      />
      <TextField label="Your name" name="user" complete="username" required value={user()} onInput={setUser} />
      <NewPassword of={password} />
    </CredentialsForm>
  );
}

/** The page before anything else, or, `again`, a dialog over it when the array no longer takes the person. */
export default function SignIn(props: { again: boolean }): JSX.Element {
  return (
    <Show when={props.again} fallback={<FirstPage />}>
      <Dialog title="Sign in again" onClose={() => undefined} fixed>
        <p>The sign-in of this tab has ended. The page stays as it is.</p>
        <Forms />
      </Dialog>
    </Show>
  );
}

function FirstPage(): JSX.Element {
  const [needed, setNeeded] = createSignal(false);
  const [anyway, setAnyway] = createSignal(false);
  onMount(() => {
    document.title = "Sign in · Windlass";
    // Without an answer there is nothing to set up either; signing in says why.
    setupNeeded().then(setNeeded, asFailure);
  });
  const setsUp = () => needed() && !anyway();
  return (
    <main class="sign-in">
      <div class="mark">
        <Mark />
        <h1>Windlass</h1>
      </div>
      <Show when={setsUp()} fallback={<Forms />}>
        <SetUpForm />
      </Show>
      <Show when={needed()}>
        <button type="button" class="quiet" onClick={() => setAnyway(!anyway())}>
          {anyway() ? "Set the array up instead" : "Sign in instead"}
        </button>
      </Show>
      <footer class="soft small">
        {location.host} · compare the certificate with <code>tls/cert.pem</code> in the array's state directory
      </footer>
    </main>
  );
}
