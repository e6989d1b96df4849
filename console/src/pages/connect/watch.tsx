// Watch: what the array sees of a host, until it can use the volume. Nothing is needed from the host.

import { createEffect, createSignal, For, type JSX, Show } from "solid-js";
import { withQuery } from "../../api/paths";
import type { ConnectPlan, ConnectState } from "../../api/schema";
import { followed } from "../../live/followed";
import { Copy } from "../../parts/copy";
import { now } from "../../parts/now";
import { Ago } from "../../parts/numbers";
import { PRIMITIVE_NAMES, standing } from "../../parts/offload/standings";
import { Shown } from "../../parts/state";
import type { Choice } from "./steps";

/** Time after which a host that did nothing may need help. */
const PATIENCE_MS = 60_000;

const pathOf = ({ host, volume }: { host: string; volume?: string | null | undefined }): string =>
  withQuery("/api/v1/connect/state", { host, volume: volume ?? undefined });

const useState = followed("connect", pathOf);

function Row(props: { sign: "seen" | "missing" | "warn" | "refused"; children: JSX.Element }): JSX.Element {
  const words = { seen: "✓ done: ", missing: "○ waiting: ", warn: "● look: ", refused: "✕ refused: " };
  return (
    <li class={`watch-${props.sign}`}>
      <span aria-hidden="true">{words[props.sign].slice(0, 2)}</span>
      <span class="unseen">{words[props.sign].slice(2)}</span>
      {props.children}
    </li>
  );
}

export function Watch(props: { choice: Choice; plan: ConnectPlan | undefined }): JSX.Element {
  const opened = Date.now();
  const [moved, setMoved] = createSignal(opened);
  const of = () => {
    const { host, volume, share } = props.choice;
    return host === undefined || share !== undefined ? undefined : { host, volume };
  };
  const state = useState(
    () => {
      const present = of();
      return present === undefined ? undefined : pathOf(present);
    },
    () => {
      const present = of();
      return present && `connect:${[present.host, present.volume ?? []].flat().join(",")}`;
    },
  );
  let before = "";
  createEffect(() => {
    const data = state.data();
    const present = JSON.stringify([data?.logins, data?.paths, data?.asked, data?.missing]);
    if (present !== before) setMoved(Date.now());
    before = present;
  });
  const waits = () => now() - moved() > PATIENCE_MS;
  return (
    <Show
      when={props.choice.host !== undefined}
      fallback={<p class="soft">Choose a host first; what it does appears here.</p>}
    >
      <Show
        when={props.choice.share === undefined}
        fallback={<p class="soft">The clients of a share are listed on its page; NFS has no logins to watch.</p>}
      >
        <h2>What the array sees of {props.choice.host}</h2>
        <Shown of={state}>
          {(data) => (
            <>
              <Seen state={data()} />
              <p role="status">
                <Show
                  when={data().ready}
                  fallback={data()
                    .missing.map(({ text }) => text)
                    .join("; ")}
                >
                  <span class="tag good">ready</span> {data().host} can use {data().volume ?? "its volumes"}.
                </Show>
              </p>
              <Show when={!data().ready && waits()}>
                <div class="note">
                  <p>
                    Nothing has changed for a minute. Look at the firewall, the VLAN, and the addresses of the portals.
                  </p>
                  <Show when={props.plan?.facts.portals?.[0]}>
                    {(portal) => (
                      <p>
                        From the host: <code>{tryOut(portal())}</code> <Copy text={tryOut(portal())} what="the test" />
                      </p>
                    )}
                  </Show>
                </div>
              </Show>
            </>
          )}
        </Shown>
      </Show>
    </Show>
  );
}

/** Command that shows whether a host reaches a portal. */
function tryOut(portal: string): string {
  const at = portal.lastIndexOf(":");
  return `nc -z -v -w 3 ${portal.slice(0, at).replace(/^\[|\]$/g, "")} ${portal.slice(at + 1)}`;
}

function Seen(props: { state: ConnectState }): JSX.Element {
  const failures = () => {
    const logins = props.state.logins;
    const success = logins.findIndex(({ outcome, discovery }) => outcome === "ok" && !discovery);
    return (success < 0 ? logins : logins.slice(0, success)).filter(({ outcome }) => outcome !== "ok");
  };
  const portals = () => props.state.paths.length + props.state.missing_portals.length;
  const asked = () =>
    Object.entries({ B0h: props.state.asked.b0, B2h: props.state.asked.b2, "8Fh": props.state.asked.x8f })
      .filter(([, time]) => time != null)
      .map(([page]) => page);
  return (
    <ul class="watched">
      <Show
        when={props.state.discovery}
        fallback={<Row sign={props.state.paths.length > 0 ? "seen" : "missing"}>asks for targets</Row>}
      >
        {(login) => (
          <Row sign="seen">
            {login().from} asked {login().portal} for targets, <Ago at={login().time} />
          </Row>
        )}
      </Show>
      <For each={failures()}>
        {(login) => (
          <Row sign="refused">
            {login.initiator} from {login.from} at {login.portal}: {login.detail}, <Ago at={login.time} />
            {login.count > 1 ? ` (×${login.count})` : ""}
          </Row>
        )}
      </For>
      <For each={props.state.paths} fallback={<Row sign="missing">logs in</Row>}>
        {(path) => (
          <Row sign={path.state.startsWith("active") ? "seen" : "warn"}>
            logged in at {path.portal} from {path.from}, <Ago at={path.since} /> ({path.state})
          </Row>
        )}
      </For>
      <Show when={props.state.paths.length > 0 && props.state.missing_portals.length > 0}>
        <Row sign="warn">
          {props.state.paths.length} of {portals()} paths: log in at {props.state.missing_portals.join(", ")} too
        </Row>
      </Show>
      <Row sign={props.state.asked.capacity == null ? "missing" : "seen"}>
        {props.state.asked.capacity == null ? "sees" : "saw"}{" "}
        {props.state.lun == null ? "the volume" : `LUN ${props.state.lun}`}
        {props.state.asked.capacity == null ? "" : ", and read its capacity"}
      </Row>
      <Row sign={asked().length > 0 ? "seen" : "missing"}>
        {asked().length > 0 ? `asked for ${asked().join(", ")}` : "asks what the array can do for it"}
      </Row>
      <Row sign={props.state.first_io == null ? "missing" : "seen"}>first read or write</Row>
      <For each={props.state.primitives}>
        {(row) => (
          <Row sign={row.status === "supported" ? "seen" : row.status === "unknown" ? "missing" : "refused"}>
            {PRIMITIVE_NAMES[row.name] ?? row.name} {standing(row)}
          </Row>
        )}
      </For>
    </ul>
  );
}
