// Dialogs: a real <dialog>; the first field has the focus, Escape asks only when something was typed.

import { createSignal, createUniqueId, type JSX, onMount, Show } from "solid-js";
import { send } from "../api/client";
import { asFailure, type Failure, Refused } from "../api/failure";
import { changed } from "../api/query";
import { ConflictBox, Conflicted, type Edited, guarded } from "./conflict";
import "./dialog.css";
import { FieldErrors } from "./form";
import { Stopped } from "./one-by-one";
import { SameLines } from "./same-lines";
import type { Same } from "./shell-lines";
import { FailureBox } from "./state";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: JSX.Element;
  /** True if typed text would be lost; Escape then asks first. */
  dirty?: () => boolean;
  /** True if the dialog cannot be closed. */
  fixed?: boolean;
  /** True while a change is in progress; the dialog cannot be closed then. */
  held?: () => boolean;
}

export function Dialog(props: DialogProps): JSX.Element {
  const id = createUniqueId();
  const [asking, setAsking] = createSignal(false);
  let dialog: HTMLDialogElement | undefined;
  const show = () => {
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-first], input, select, textarea")?.focus();
  };
  onMount(show);
  const stays = () => props.fixed || props.held?.();
  const leave = () => {
    if (stays()) return;
    if (props.dirty?.() && !asking()) setAsking(true);
    else dialog?.close();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // A browser closes a dialog at the second Escape, whatever was done about the first.
      onClose={() => (stays() ? show() : props.onClose())}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
    >
      <header>
        <h2 id={id}>{props.title}</h2>
        <Show when={!props.fixed}>
          <button type="button" class="quiet" aria-label="close" disabled={props.held?.()} onClick={leave}>
            ✕
          </button>
        </Show>
      </header>
      <Show when={asking()}>
        <p class="note" role="alert">
          Close without doing it?{" "}
          <button type="button" onClick={() => dialog?.close()}>
            Close
          </button>{" "}
          <button type="button" onClick={() => setAsking(false)}>
            Go on
          </button>
        </p>
      </Show>
      <div class="body">{props.children}</div>
    </dialog>
  );
}

/** Content shown after a change, such as a secret. */
export class Shows {
  constructor(readonly element: JSX.Element) {}
}

/** A dialog that sends one change. */
export interface ChangeProps {
  title: string;
  /** Label of the button: the action and its object. */
  verb: string;
  danger?: boolean;
  /** Form fields, or an explanation. */
  children?: JSX.Element;
  /** Called with the last answer to the requests. A [`Shows`] that it returns is shown in place of the form. */
  after?: (answer: never) => unknown;
  /** Sends the requests instead of the dialog. It asks between them whether it is to stop, as [`oneByOne`] does. */
  run?: (stopped: () => boolean) => Promise<unknown>;
  /** True if the action sends several requests and can be stopped between them. */
  several?: boolean;
  /** Field that a problem is about, by its code; others are shown at the top. */
  fields?: Record<string, string>;
  /** `false` disables the button: a field is missing or wrong. */
  ready?: boolean;
  dirty?: () => boolean;
  /** Requests of the action, with their command lines. */
  same: Same | Same[];
  /** The object that the change is about. If another administrator changes it meanwhile, the dialog shows both versions. */
  edited?: Edited;
  /** Fields of each request that its command line does not show. */
  secret?: Record<string, string>;
  onClose: () => void;
}

export function ChangeDialog(props: ChangeProps): JSX.Element {
  const [failure, setFailure] = createSignal<Failure>();
  const [busy, setBusy] = createSignal(false);
  const [stopping, setStopping] = createSignal(false);
  const [result, setResult] = createSignal<JSX.Element>();
  const guard = guarded(() => props.edited);
  const perform = async () => {
    let answer: unknown;
    for (const { method = "GET", path, body } of [props.same].flat()) {
      const whole = props.secret === undefined ? body : { ...(body as object), ...props.secret };
      answer = await guard.change((tag) => send(method, path, whole, undefined, tag), (body ?? {}) as object);
    }
    return props.after?.(answer as never);
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (busy() || props.ready === false) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const outcome = await (props.run === undefined ? perform() : props.run(stopping));
      await changed();
      if (outcome instanceof Shows) setResult(() => outcome.element);
      else props.onClose();
    } catch (error) {
      // Some requests may have taken effect, also one without an answer.
      void changed();
      if (!(error instanceof Stopped || error instanceof Conflicted)) setFailure(asFailure(error));
    } finally {
      setBusy(false);
      setStopping(false);
    }
  };
  const keys = (event: KeyboardEvent & { currentTarget: HTMLFormElement }) => {
    if (event.key === "Enter" && event.ctrlKey) event.currentTarget.requestSubmit();
  };
  const errors = () => {
    const present = failure();
    if (!(present instanceof Refused)) return {};
    const { code, fields } = present.problem;
    const field = props.fields?.[code] ?? fields?.[0]?.field;
    return field === undefined ? {} : { [field]: present.problem.detail };
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      held={busy}
      // The array may not show the result again, such as a secret: only its button closes it.
      fixed={result() !== undefined}
      dirty={() => props.dirty?.() ?? false}
    >
      <Show
        when={result() === undefined}
        fallback={
          <>
            {result()}
            <footer>
              <button type="button" class="primary" onClick={() => props.onClose()}>
                Done
              </button>
            </footer>
          </>
        }
      >
        <form onSubmit={(event) => void submit(event)} onKeyDown={keys}>
          <Show when={failure()}>{(present) => <FailureBox failure={present()} />}</Show>
          <Show when={guard.present()}>
            {(now) => (
              <ConflictBox
                shown={props.edited?.shown ?? {}}
                now={now()}
                wanted={([props.same].flat()[0]?.body ?? {}) as object}
              />
            )}
          </Show>
          <FieldErrors.Provider value={errors}>{props.children}</FieldErrors.Provider>
          <details class="same-below">
            <summary>{"{ } the same on a command line"}</summary>
            <SameLines same={props.same} />
          </details>
          <footer>
            <button
              type="button"
              disabled={busy() && (!props.several || stopping())}
              onClick={() => (busy() ? setStopping(true) : props.onClose())}
            >
              {busy() && props.several ? "Stop" : "Cancel"}
            </button>
            <button
              type="submit"
              class={props.danger ? "primary danger" : "primary"}
              disabled={busy() || props.ready === false}
              aria-busy={busy()}
            >
              {busy() ? `${props.verb} …` : props.verb}
            </button>
          </footer>
        </form>
      </Show>
    </Dialog>
  );
}
