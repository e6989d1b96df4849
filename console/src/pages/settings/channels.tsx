// Channels, which are told of alerts: whether they work, a test of each, and their end.

import { createSignal, For, type JSX, lazy, Match, Show, Switch } from "solid-js";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { Channel, ChannelOutcome } from "../../api/schema";
import { Act } from "../../parts/act";
import { DeleteDialog } from "../../parts/destroy";
import { ChangeDialog, Shows } from "../../parts/dialog";
import { Ago } from "../../parts/numbers";
import { windlass } from "../../parts/shell-lines";
import { Empty, Shown } from "../../parts/state";

const EditChannel = lazy(() => import("../../actions/channel"));

type Open = { verb: "test" | "change" | "delete"; of: Channel };

export function Channels(): JSX.Element {
  const channels = useList<Channel>(() => "/api/v1/channels", false);
  const [open, setOpen] = createSignal<Open>();
  const [creating, setCreating] = createSignal(false);
  const close = () => setOpen(undefined);
  return (
    <section class="card">
      <h2>Notification</h2>
      <Shown of={channels}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>No channel sends alerts.</Empty>}>
            <ul class="lines-list">
              <For each={items()}>
                {(of) => (
                  <li>
                    <span>
                      <strong>{of.name}</strong> <span class="soft">{of.settings.kind}</span> <State of={of} />
                    </span>
                    <span>
                      <Act needs="admin" onClick={() => setOpen({ verb: "test", of })}>
                        Test…
                      </Act>{" "}
                      <Act needs="admin" onClick={() => setOpen({ verb: "change", of })}>
                        Change…
                      </Act>{" "}
                      <Act needs="admin" class="danger" onClick={() => setOpen({ verb: "delete", of })}>
                        Delete…
                      </Act>
                    </span>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Shown>
      <Act needs="admin" onClick={() => setCreating(true)}>
        New channel…
      </Act>
      <Show when={creating()}>
        <EditChannel onClose={() => setCreating(false)} />
      </Show>
      <Show when={open()} keyed>
        {(present) => (
          <Switch>
            <Match when={present.verb === "test"}>
              <Test of={present.of} onClose={close} />
            </Match>
            <Match when={present.verb === "change"}>
              <EditChannel channel={present.of} onClose={close} />
            </Match>
            <Match when={present.verb === "delete"}>
              <Delete of={present.of} onClose={close} />
            </Match>
          </Switch>
        )}
      </Show>
    </section>
  );
}

/** How a channel is, with its peer's words. */
function State(props: { of: Channel }): JSX.Element {
  return (
    <div class="small" classList={{ bad: props.of.failing }}>
      {props.of.enabled ? "" : "off; "}
      {props.of.min_severity} and worse;{" "}
      <Show when={props.of.last} fallback="never used">
        {(last) => (
          <>
            {last().outcome} <Ago at={last().time} />
            {last().detail === "" ? "" : `: ${last().detail}`}
          </>
        )}
      </Show>
    </div>
  );
}

interface DialogProps {
  of: Channel;
  onClose: () => void;
}

function Test(props: DialogProps): JSX.Element {
  return (
    <ChangeDialog
      title={`Test ${props.of.name}`}
      verb="Send a test"
      onClose={props.onClose}
      same={{
        what: "send a test",
        windlass: windlass("channel", "test", props.of.name),
        method: "POST",
        path: api("channels", props.of.id, "test"),
      }}
      after={({ outcome, detail }: ChannelOutcome) =>
        new Shows(
          <p classList={{ bad: outcome !== "sent" }}>
            {outcome === "sent" ? "The peer has taken it" : "It could not be sent"}: {detail}
          </p>,
        )
      }
    >
      <p>
        A message that says that it is a test is sent at once, also if the channel is off. It takes at most half a
        minute.
      </p>
    </ChangeDialog>
  );
}

function Delete(props: DialogProps): JSX.Element {
  return (
    <DeleteDialog
      noun="channel"
      name={props.of.name}
      onClose={props.onClose}
      same={{ windlass: windlass("channel", "delete", props.of.name, "--yes"), path: api("channels", props.of.id) }}
    >
      <p>The channel gets no further messages.</p>
    </DeleteDialog>
  );
}
