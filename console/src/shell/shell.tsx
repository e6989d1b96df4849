// The frame of every page: rail, bar, one banner at most, and where the focus goes.

import { useLocation, useNavigate } from "@solidjs/router";
import {
  createEffect,
  createSignal,
  ErrorBoundary,
  type JSX,
  lazy,
  on,
  onCleanup,
  onMount,
  Show,
  Suspense,
} from "solid-js";
import { contactLost } from "../api/contact";
import { endSignIn, resume } from "../api/sign-in";
import { useStatus } from "../api/status";
import { now } from "../parts/now";
import { Loading } from "../parts/state";
import { clock, duration } from "../parts/time";
import { person, refuse, sessionEnded, signedIn, signInNumber, tabToken, watchIdle } from "../session";
import { Bar } from "./bar";
import { listen } from "./keys";
import { Rail } from "./rail";
import "./shell.css";

const KeyList = lazy(() => import("./key-list"));
const SignIn = lazy(() => import("./sign-in"));
const ChangePassword = lazy(() => import("./change-password"));

/** Pause before the array is asked again to end a sign-in. */
const RETRY_MS = 5000;

/** Banner above the content of a page: at most one, the most severe. */
function Banner(props: { upgraded: boolean }): JSX.Element {
  const status = useStatus();
  const stopped = () =>
    status
      .data()
      ?.pools.find((pool) => pool.state === "stopped" || pool.state === "full" || pool.state === "below-full");
  return (
    <Show
      when={!sessionEnded()}
      fallback={
        <div class="banner" role="alert">
          <p>The session of this tab has ended; what the page shows is from before.</p>
        </div>
      }
    >
      <Show
        when={!props.upgraded}
        fallback={
          <div class="banner" role="alert">
            <p>
              The array was upgraded.{" "}
              <button type="button" onClick={() => location.reload()}>
                Load its pages again
              </button>
            </p>
          </div>
        }
      >
        <Show
          when={contactLost()}
          fallback={
            <Show when={stopped()}>
              {(pool) => (
                <div class="banner" role="alert">
                  <p>
                    Pool {pool().name} is {pool().state.replace("-", " ")}
                    {pool().stopped_reason == null ? "" : `: ${pool().stopped_reason}`}.{" "}
                    <a href="/space">What frees space</a>
                  </p>
                </div>
              )}
            </Show>
          }
        >
          {(loss) => (
            <div class="banner" role="alert">
              <p>
                No contact with the array since {clock(loss().since)} UTC, {duration((now() - loss().since) / 1000)}{" "}
                ago. It is asked again every few seconds; what the page shows is from before.
              </p>
            </div>
          )}
        </Show>
      </Show>
    </Show>
  );
}

export function Shell(props: { children?: JSX.Element }): JSX.Element {
  const [asked, setAsked] = createSignal(tabToken() !== null);
  onMount(() => {
    void resume().finally(() => setAsked(true));
    watchIdle(() => {
      const number = signInNumber();
      refuse();
      // The sign-in ends at the array, too, as soon as it answers.
      const end = () => {
        if (signInNumber() === number) endSignIn().catch(() => setTimeout(end, RETRY_MS));
      };
      end();
    });
  });
  const mustChange = () => person()?.must_change ?? false;
  const [changing, setChanging] = createSignal(false);
  return (
    <>
      <Show when={signedIn() && !mustChange()}>
        <Frame onPassword={() => setChanging(true)}>{props.children}</Frame>
      </Show>
      <Suspense>
        <Show when={asked() && (!signedIn() || sessionEnded())}>
          <SignIn again={signedIn()} />
        </Show>
        <Show when={signedIn() && (mustChange() || changing())}>
          <ChangePassword must={mustChange()} onClose={() => setChanging(false)} />
        </Show>
      </Suspense>
    </>
  );
}

function Frame(props: { children?: JSX.Element; onPassword: () => void }): JSX.Element {
  const go = useNavigate();
  const location = useLocation();
  const [keyList, setKeyList] = createSignal(false);
  const [upgraded, setUpgraded] = createSignal(false);
  onMount(() => {
    onCleanup(
      listen(
        (path) => go(path),
        () => setKeyList(true),
      ),
    );
    // A page of another version is not there any more.
    const gone = () => setUpgraded(true);
    window.addEventListener("vite:preloadError", gone);
    onCleanup(() => window.removeEventListener("vite:preloadError", gone));
  });
  // The heading gets the focus after navigation, so that readers and the tab key begin there.
  createEffect(
    on(
      () => location.pathname,
      () => requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus()),
      { defer: true },
    ),
  );
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Bar onPassword={props.onPassword} />
      <Rail />
      <main class="main" id="main">
        <Banner upgraded={upgraded()} />
        <ErrorBoundary
          fallback={(error: unknown, reset) => (
            <div class="failure" role="alert">
              <strong>This page has a defect.</strong>
              <p>{error instanceof Error ? error.message : String(error)}</p>
              <button type="button" onClick={reset}>
                Show it again
              </button>
            </div>
          )}
        >
          <Suspense fallback={<Loading />}>{props.children}</Suspense>
        </ErrorBoundary>
      </main>
      <Show when={keyList()}>
        <Suspense>
          <KeyList onClose={() => setKeyList(false)} />
        </Suspense>
      </Show>
    </div>
  );
}
