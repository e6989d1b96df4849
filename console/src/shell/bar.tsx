// The bar at the top: health, load, space, jobs, search, time.

import { createSignal, type JSX, Show } from "solid-js";
import { contactLost } from "../api/contact";
import { forget } from "../api/query";
import type { SignInState } from "../api/schema";
import { signOut } from "../api/sign-in";
import { useStatus } from "../api/status";
import { forgetActivity, latest } from "../live/activity";
import { Menu } from "../parts/menu";
import { now } from "../parts/now";
import { clock } from "../parts/time";
import { latency, NONE, percent, rate } from "../parts/units";
import { person } from "../session";
import type { Search } from "./search";
import { standing } from "./standing";

export function Bar(props: { onPassword: () => void }): JSX.Element {
  const status = useStatus();
  const state = () => standing(status.data(), contactLost() !== undefined);
  const load = () => (contactLost() === undefined ? latest()?.array : undefined);
  const pool = () => status.data()?.pools[0];
  const running = () => (status.data()?.jobs ?? []).filter((job) => job.state === "running").length;
  return (
    <header class="bar">
      <a href={state().alerts > 0 ? "/activity/alerts" : "/"} class={`health dot ${state().level}`}>
        {state().word}
        <Show when={state().alerts > 0}>{` · ${state().alerts} ${state().alerts === 1 ? "alert" : "alerts"}`}</Show>
      </a>
      <a href="/" class="vital" title="Reads and writes of all volumes and shares, a second">
        <b>{load() === undefined ? NONE : rate((load()?.ro ?? 0) + (load()?.wo ?? 0))}</b> IOPS
      </a>
      <a href="/" class="vital late" title="99 of 100 reads and writes took at most this long">
        p99 <b>{load()?.p99 == null ? NONE : latency(load()?.p99 ?? 0)}</b>
      </a>
      <Show when={pool()}>
        {(present) => (
          <a href="/space" class="vital" title="Part of the pool that cannot take new data">
            pool <b>{percent(present().used_bytes, present().size_bytes)}</b>
          </a>
        )}
      </Show>
      <Show when={running() > 0}>
        <a href="/activity/jobs" class="vital">
          <b>{running()}</b> {running() === 1 ? "job" : "jobs"}
        </a>
      </Show>
      <span class="grow" />
      <span class="vital late">UTC {clock(now())}</span>
      <SearchPlace />
      <Show when={person()}>{(present) => <You present={present()} onPassword={props.onPassword} />}</Show>
    </header>
  );
}

/** The search box. Until it is loaded, at the first focus, a field that takes the first letters. */
function SearchPlace(): JSX.Element {
  const [loaded, setLoaded] = createSignal<{ Search: typeof Search; text: string; isWanted: boolean }>();
  let first: HTMLInputElement | undefined;
  const load = async () => {
    try {
      const { Search } = await import("./search");
      setLoaded({ Search, text: first?.value ?? "", isWanted: document.activeElement === first });
    } catch {
      // The array does not answer: the next focus tries again.
    }
  };
  return (
    <Show
      when={loaded()}
      keyed
      fallback={
        <search class="search">
          <input
            ref={first}
            type="search"
            data-search=""
            placeholder="/ search"
            aria-label="Search"
            onFocus={() => void load()}
          />
        </search>
      }
    >
      {({ Search, text, isWanted }) => <Search text={text} isWanted={isWanted} />}
    </Show>
  );
}

/** Who uses the page, and the way out. */
function You(props: { present: SignInState; onPassword: () => void }): JSX.Element {
  const [failed, setFailed] = createSignal(false);
  const leave = async () => {
    setFailed(false);
    try {
      await signOut();
    } catch {
      setFailed(true);
      return;
    }
    forget();
    forgetActivity();
  };
  const isUser = () => props.present.kind === "user";
  return (
    <>
      <Show when={failed()}>
        <span class="bad small" role="alert">
          not signed out: the array does not answer
        </span>
      </Show>
      <Menu
        label={`You are ${props.present.user}, ${props.present.role}`}
        text={
          <>
            <span class="who">{props.present.user}</span> <span class="soft small">{props.present.role}</span>
          </>
        }
        actions={() => [
          ...(isUser() ? [{ label: "Change password…", run: props.onPassword }] : []),
          { label: "Sign out", run: () => void leave() },
        ]}
      />
    </>
  );
}
