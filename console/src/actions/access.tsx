// Dialogs that grant and revoke access to volumes.

import { createSignal, For, type JSX } from "solid-js";
import { send } from "../api/client";
import { granteeName, granteeOptions, groupOf } from "../api/grants";
import { choiceHint, useList } from "../api/list";
import { api } from "../api/paths";
import type { Access, AccessGrant, Host, HostGroup } from "../api/schema";
import { DestroyDialog } from "../parts/destroy";
import { ChangeDialog } from "../parts/dialog";
import { ChoiceField, TextField } from "../parts/form";
import { oneByOne } from "../parts/one-by-one";
import { windlass } from "../parts/shell-lines";
import type { Closing } from "./closing";

/** Option value that grants access to every initiator. */
const ANY = "any:";

/** Grants one volume or several to a host, a group or everybody. */
export function GrantAccess(props: Closing & { volumes: string[]; host?: string }): JSX.Element {
  const hosts = useList<Host>(() => api("hosts"));
  const groups = useList<HostGroup>(() => api("host-groups"));
  const [to, setTo] = createSignal(props.host === undefined ? "" : `host:${props.host}`);
  const [lun, setLun] = createSignal("");
  const [done, setDone] = createSignal(0);
  const options = () => [
    { value: "", label: "choose" },
    ...(hosts.data() ?? []).map(({ name }) => ({ value: `host:${name}`, label: name })),
    ...(groups.data() ?? []).map(({ name }) => ({ value: `group:${name}`, label: `group ${name}` })),
    { value: ANY, label: "everybody: every initiator, no password" },
  ];
  const lunError = () =>
    lun().trim() === "" || (/^\d{1,5}$/.test(lun().trim()) && Number(lun()) <= 16383) ? undefined : "0 to 16383";
  const body = (volume: string): AccessGrant => {
    const [kind, name] = [to().slice(0, to().indexOf(":")), to().slice(to().indexOf(":") + 1)];
    const grant: AccessGrant = { volume };
    if (to() === ANY) grant.any = true;
    else if (kind === "group") grant.group = name;
    else grant.host = name;
    if (lun().trim() !== "") grant.lun = Number(lun());
    return grant;
  };
  const one = () => props.volumes.length === 1;
  const first = () => props.volumes[0] ?? "";
  const grantee = () => {
    const grant = body("");
    if (grant.any) return ["--any"];
    return grant.group == null ? ["--host", grant.host || "HOST"] : ["--group", grant.group];
  };
  return (
    <ChangeDialog
      title={one() ? `Grant ${first()}` : `Grant ${props.volumes.length} volumes`}
      verb={one() ? "Grant access" : `Grant ${props.volumes.length} volumes`}
      onClose={props.onClose}
      fields={{ "lun-taken": "lun", "already-granted": "to", "invalid-lun": "lun" }}
      ready={to() !== "" && lunError() === undefined}
      dirty={() => lun() !== ""}
      same={props.volumes.map((volume) => ({
        what: "grant access",
        windlass: windlass(
          "access",
          "grant",
          volume,
          ...grantee(),
          ...(lun().trim() === "" ? [] : ["--lun", lun().trim()]),
        ),
        method: "POST",
        path: api("access"),
        body: body(volume),
      }))}
      several={!one()}
      run={(stopped) =>
        oneByOne(props.volumes, done(), (volume) => send<Access>("POST", api("access"), body(volume)), setDone, stopped)
      }
    >
      <ChoiceField
        label="To"
        name="to"
        value={to()}
        onInput={(next) => {
          setTo(next);
          setDone(0);
        }}
        options={options()}
        hint={choiceHint("The hosts see it at once.", hosts, groups)}
      />
      {one() ? (
        <TextField
          label="Logical unit number"
          name="lun"
          value={lun()}
          onInput={setLun}
          error={lunError()}
          hint="empty: the lowest that is free; above 255 not every host finds it"
        />
      ) : (
        <>
          <p>Each gets the lowest logical unit number that is free:</p>
          <ul>
            <For each={props.volumes}>{(volume) => <li>{volume}</li>}</For>
          </ul>
          {done() > 0 && (
            <p role="status">
              {done()} of {props.volumes.length} granted.
            </p>
          )}
        </>
      )}
    </ChangeDialog>
  );
}

/** Takes a volume from a host, `group:NAME` or `any`. */
export function RevokeAccess(props: Closing & { volume: string; host: string }): JSX.Element {
  return (
    <DestroyDialog
      title={`Revoke ${props.volume} from ${granteeName(props.host)}`}
      verb="Revoke access"
      onClose={props.onClose}
      same={{
        what: "revoke access",
        windlass: windlass("access", "revoke", props.volume, ...granteeOptions(props.host), "--yes"),
        method: "DELETE",
        path: api("access", props.volume, props.host),
      }}
    >
      <p>
        {groupOf(props.host) === undefined && props.host !== "any" ? "The host loses" : "All of these hosts lose"} the
        volume at once, also while in use. Unmount it there first.
      </p>
    </DestroyDialog>
  );
}
