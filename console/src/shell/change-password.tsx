// The dialog in which a person changes the own password.

import { createSignal, type JSX, Show } from "solid-js";
import { asFailure, type Failure, Refused } from "../api/failure";
import { changePassword, signOut } from "../api/sign-in";
import { Dialog } from "../parts/dialog";
import { TextField } from "../parts/form";
import { NewPassword, useNewPassword } from "../parts/new-password";
import { FailureBox } from "../parts/state";

/** Changes the password of the person. `must`: nothing else can be done before. */
export default function ChangePassword(props: { must: boolean; onClose: () => void }): JSX.Element {
  const [present, setPresent] = createSignal("");
  const [failure, setFailure] = createSignal<Failure>();
  const [busy, setBusy] = createSignal(false);
  const next = useNewPassword();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy() || present() === "" || !next.ready()) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await changePassword(present(), next.value());
      props.onClose();
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  const isWrong = () => {
    const said = failure();
    return said instanceof Refused && ["sign-in-refused", "wrong-password"].includes(said.problem.code);
  };
  return (
    <Dialog
      title="Change your password"
      onClose={props.onClose}
      fixed={props.must}
      held={busy}
      dirty={() => present() !== ""}
    >
      <form onSubmit={(event) => void submit(event)}>
        <Show when={!isWrong() && failure()}>{(present) => <FailureBox failure={present()} />}</Show>
        <p>
          {props.must
            ? "An administrator has set the present one; choose your own before anything else."
            : "Your other sign-ins end."}
        </p>
        <TextField
          label="Present password"
          name="present-password"
          type="password"
          complete="current-password"
          required
          value={present()}
          onInput={setPresent}
          error={isWrong() ? "this is not the present password" : undefined}
        />
        <NewPassword of={next} label="New password" />
        <footer>
          <Show when={props.must}>
            <button
              type="button"
              disabled={busy()}
              onClick={() => void signOut().catch((error) => setFailure(asFailure(error)))}
            >
              Sign out
            </button>
          </Show>
          <button
            type="submit"
            class="primary"
            disabled={busy() || present() === "" || !next.ready()}
            aria-busy={busy()}
          >
            Change password
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
