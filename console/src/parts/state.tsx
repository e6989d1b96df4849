// The states that every view has: loading, empty, error, forbidden, stale.

import { createSignal, For, type JSX, onCleanup, Show } from "solid-js";
import { type Failure, Refused } from "../api/failure";
import { Copy } from "./copy";
import "./state.css";
import { clock } from "./time";
import { bytes, grouped } from "./units";

/** Nothing is shown while a view loads for less than this. */
const PATIENCE_MS = 150;

/** Properties of a query that a view shows. */
interface Loaded<T> {
  data: () => T | undefined;
  failure: () => Failure | undefined;
  asOf: () => number | undefined;
  refresh: () => Promise<void>;
  /** True if the array has more rows than were read. */
  more?: () => boolean;
  total?: () => number | undefined;
}

/** Shows data when it is there, and why not when it is not. */
export function Shown<T>(props: { of: Loaded<T>; children: (data: () => NonNullable<T>) => JSX.Element }): JSX.Element {
  return (
    <>
      <Show when={props.of.failure()}>
        {(failure) => (
          <>
            <Show when={props.of.data() !== undefined && props.of.asOf()}>
              {(asOf) => <p class="stale-note">as of {clock(asOf())} UTC; the last attempt failed</p>}
            </Show>
            <Show when={failure() instanceof Refused || props.of.data() === undefined}>
              <FailureBox failure={failure()} retry={() => void props.of.refresh()} />
            </Show>
          </>
        )}
      </Show>
      <Show
        when={props.of.data() as NonNullable<T> | undefined}
        fallback={<Show when={!props.of.failure()}>{<Loading />}</Show>}
      >
        {(data) => (
          <div classList={{ stale: props.of.failure() !== undefined }}>
            <Show when={props.of.more?.()}>
              <p class="note">Not all {grouped(props.of.total?.() ?? 0)} are looked at; the command line lists them.</p>
            </Show>
            {props.children(data)}
          </div>
        )}
      </Show>
    </>
  );
}

/** A grey frame, after a short time. */
export function Loading(): JSX.Element {
  const [shown, setShown] = createSignal(false);
  const timer = setTimeout(() => setShown(true), PATIENCE_MS);
  onCleanup(() => clearTimeout(timer));
  return (
    <Show when={shown()}>
      <div class="loading" role="status">
        <span class="unseen">loading</span>
        <For each={[1, 2, 3, 4, 5]}>{() => <span class="bone" />}</For>
      </div>
    </Show>
  );
}

/** Explanation of an empty view, and the way to create the first object. */
export function Empty(props: { children: JSX.Element; action?: JSX.Element }): JSX.Element {
  return (
    <div class="empty">
      <p>{props.children}</p>
      {props.action}
    </div>
  );
}

/** A code, with its explanation behind it. */
export const CodeLink = (props: { of: string }): JSX.Element => (
  <a href={`/codes/${encodeURIComponent(props.of)}`}>
    <code>{props.of}</code>
  </a>
);

/** A problem document, or that no answer came. */
export function FailureBox(props: { failure: Failure; retry?: () => void }): JSX.Element {
  const problem = () => (props.failure instanceof Refused ? props.failure.problem : undefined);
  return (
    <div class="failure" role="alert">
      <Show
        when={problem()}
        fallback={
          <>
            <strong>The array does not answer.</strong>
            <p>It may be stopped or restarting, or the network between here and it is interrupted.</p>
          </>
        }
      >
        {(present) => (
          <>
            <strong>{present().status === 403 ? "not allowed" : present().title}</strong>
            <p>{present().detail}</p>
            <Show when={present().needed_bytes != null && present().available_bytes != null}>
              <p>
                needed {bytes(present().needed_bytes ?? 0)}, available {bytes(present().available_bytes ?? 0)}
              </p>
            </Show>
            <Show when={(present().users ?? []).length > 0}>
              <ul>
                <For each={present().users ?? []}>
                  {(user) => (
                    <li>
                      {user.kind}: {user.description}
                    </li>
                  )}
                </For>
              </ul>
            </Show>
            <Show when={present().help}>
              {(help) => (
                <p>
                  <span class="soft">What helps:</span> {help()} <Copy text={help()} what="what helps" />
                </p>
              )}
            </Show>
            <p class="soft small">
              code <CodeLink of={present().code} />, status {present().status}
            </p>
          </>
        )}
      </Show>
      <Show when={props.retry}>
        <button type="button" onClick={() => props.retry?.()}>
          Try again
        </button>
      </Show>
    </div>
  );
}
