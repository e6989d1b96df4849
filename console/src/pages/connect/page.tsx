// Connect: five steps from a system to a host that uses a volume or share, each with an address of its own. What was chosen
// is in the address, and comes back with the page.

import { useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createEffect, createSignal, For, type JSX, Match, Show, Switch } from "solid-js";
import { useList } from "../../api/list";
import { withQuery } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { ConnectPlan, ConnectSystem, Host } from "../../api/schema";
import { TextField } from "../../parts/form";
import { Head } from "../../parts/head";
import { HostsTabs } from "../../parts/hosts-tabs";
import { windlass } from "../../parts/shell-lines";
import { Shown } from "../../parts/state";
import { ContentStep, HostStep } from "./choose";
import { Commands } from "./commands";
import { type Choice, choiceOf, connectPath, remember, remembered, STEPS, type StepName } from "./steps";
import { Watch } from "./watch";

export default function Connect(): JSX.Element {
  const parameters = useParams<{ step?: string }>();
  const [search, setSearch] = useSearchParams();
  const navigate = useNavigate();
  /** Secret that the array made for a host just now; it is nowhere else. */
  const [secret, setSecret] = createSignal<{ host: string; text: string }>();
  const choice = () => choiceOf(search);
  const step = (): StepName =>
    STEPS.find(({ id }) => id === parameters.step)?.id ?? STEPS.find(({ done }) => !done(choice()))?.id ?? "commands";
  createEffect(() => {
    const present = choice();
    const kept = remembered();
    if (Object.keys(present).length > 0) remember(present);
    else if (Object.keys(kept).length > 0) setSearch({ ...kept }, { replace: true });
  });
  const choose = (more: Choice, next?: StepName) => {
    const all = { ...choice(), ...more };
    remember(all);
    if (next === undefined) setSearch({ ...all }, { replace: true });
    else navigate(connectPath(next, all));
  };
  const systems = useList<ConnectSystem>(() => "/api/v1/connect/systems", false);
  const plan = useQuery<ConnectPlan>(() => {
    const { system, host, volume, share, adapter } = choice();
    if (system === undefined || host === undefined || (volume ?? share) === undefined) return undefined;
    return withQuery("/api/v1/connect/plan", { system, host, volume, share, adapter });
  });
  const known = (host: Host) => {
    const made = host.generated?.chap_secret;
    if (made != null) setSecret({ host: host.name, text: made });
    choose({ host: host.name }, "volume");
  };
  const content = () =>
    choice().share === undefined ? ["--volume", choice().volume ?? "VOLUME"] : ["--share", choice().share];
  return (
    <>
      <Head
        title="Connect"
        about="What to enter on a host so that it uses a volume or share, and how far it is"
        same={[
          {
            what: "print the commands",
            windlass: windlass("connect", choice().system ?? "SYSTEM", choice().host ?? "HOST", ...content()),
            path: withQuery("/api/v1/connect/plan", { ...choice() }),
          },
          ...(choice().share === undefined
            ? [
                {
                  what: "follow the host",
                  windlass: windlass(
                    "connect",
                    choice().system ?? "SYSTEM",
                    choice().host ?? "HOST",
                    ...content(),
                    "--watch",
                  ),
                  path: withQuery("/api/v1/connect/state", { host: choice().host, volume: choice().volume }),
                },
              ]
            : []),
        ]}
      />
      <HostsTabs />
      <nav aria-label="Steps">
        <ol class="connect-steps">
          <For each={STEPS}>
            {({ id, title, chosen }) => (
              <li>
                <a href={connectPath(id, choice())} aria-current={step() === id ? "step" : undefined}>
                  {title}
                  <Show when={chosen(choice())}>{(text) => <span class="soft"> {text()}</span>}</Show>
                </a>
              </li>
            )}
          </For>
        </ol>
      </nav>
      <Switch>
        <Match when={step() === "system"}>
          <h2>System of the host</h2>
          <Shown of={systems}>
            {(items) => (
              <ul class="choices-list">
                <For each={items()}>
                  {(item) => (
                    <li>
                      <button
                        type="button"
                        aria-pressed={choice().system === item.system}
                        onClick={() =>
                          choose(
                            { system: item.system, ...(item.shares ? {} : { share: undefined }) },
                            choice().host === undefined ? "host" : "commands",
                          )
                        }
                      >
                        {item.title}
                      </button>{" "}
                      <span class="soft small">{item.versions}</span>
                    </li>
                  )}
                </For>
              </ul>
            )}
          </Shown>
        </Match>
        <Match when={step() === "host"}>
          <HostStep host={choice().host} onChoose={known} />
        </Match>
        <Match when={step() === "volume"}>
          <ContentStep
            choice={choice()}
            shares={systems.data()?.find(({ system }) => system === choice().system)?.shares ?? false}
            onChoose={choose}
          />
        </Match>
        <Match when={step() === "commands"}>
          <Show
            when={STEPS.slice(0, 3).every(({ done }) => done(choice()))}
            fallback={<p class="soft">Choose a system, a host and a volume first; the commands appear here.</p>}
          >
            <Show when={choice().system === "esxi"}>
              <TextField
                label="iSCSI adapter of the host"
                name="adapter"
                value={choice().adapter ?? ""}
                onInput={(adapter) => choose({ adapter: adapter || undefined })}
                hint="such as vmhba64; the first step shows it"
              />
            </Show>
            <Shown of={plan}>
              {(data) => (
                <Commands plan={data()} secret={secret()?.host === choice().host ? secret()?.text : undefined} />
              )}
            </Shown>
            <p>
              <a class="button primary" href={connectPath("watch", choice())}>
                Watch the host
              </a>
            </p>
          </Show>
        </Match>
        <Match when={step() === "watch"}>
          <Watch choice={choice()} plan={plan.data()} />
        </Match>
      </Switch>
    </>
  );
}
