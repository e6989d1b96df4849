// Dialogs that create, change and delete hosts, and end their sessions.

import { createSignal, type JSX, Show } from "solid-js";
import { api } from "../api/paths";
import type { Host, HostCreate, HostSet, Session } from "../api/schema";
import { Lines } from "../parts/copy";
import { DeleteDialog, DestroyDialog } from "../parts/destroy";
import { ChangeDialog, Shows } from "../parts/dialog";
import { CheckField, TextField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import { words } from "../parts/words";
import type { Closing } from "./closing";

const FIELDS = {
  exists: "name",
  "invalid-name": "name",
  "initiator-name-taken": "iqns",
  "invalid-iqn": "iqns",
  "invalid-initiator-name": "iqns",
  "address-taken": "addresses",
  "invalid-address": "addresses",
  "host-unidentified": "iqns",
};
const IQN_HINT = "one a line, such as iqn.1998-01.com.vmware:esx01";

/** A secret that the array shows once. */
function Secret(props: { host: Host }): JSX.Element {
  return (
    <Show when={props.host.generated?.chap_secret}>
      {(secret) => (
        <>
          <p>
            The CHAP secret of user {props.host.chap?.user ?? ""}. The array shows it this once; enter it on the host.
          </p>
          <Lines text={secret()} what="the CHAP secret" />
        </>
      )}
    </Show>
  );
}

export function CreateHost(props: Closing & { iqn?: string; onDone?: (host: Host) => void }): JSX.Element {
  const [name, setName] = createSignal("");
  const [iqns, setIqns] = createSignal(props.iqn ?? "");
  const [addresses, setAddresses] = createSignal("");
  const [chap, setChap] = createSignal(false);
  const body = (): HostCreate => ({
    name: name().trim(),
    iqns: words(iqns()),
    ...(words(addresses()).length > 0 ? { addresses: words(addresses()) } : {}),
    ...(chap() ? { chap: { user: name().trim() } } : {}),
  });
  const each = (flag: string, values: string[]) => values.flatMap((value) => [flag, value]);
  return (
    <ChangeDialog
      title="New host"
      verb="Create host"
      onClose={props.onClose}
      fields={FIELDS}
      ready={name().trim() !== "" && words(iqns() + addresses()).length > 0}
      dirty={() => name() + addresses() !== ""}
      same={{
        what: "create this host",
        windlass: windlass(
          "host",
          "create",
          name().trim() || "NAME",
          ...each("--iqn", words(iqns())),
          ...each("--address", words(addresses())),
          ...(chap() ? ["--chap-user", name().trim()] : []),
        ),
        method: "POST",
        path: api("hosts"),
        body: body(),
      }}
      after={(host: Host) => {
        props.onDone?.(host);
        return host.generated?.chap_secret == null ? undefined : new Shows(<Secret host={host} />);
      }}
    >
      <TextField
        label="Name"
        name="name"
        required
        value={name()}
        onInput={setName}
        hint="letters, digits, '.', '_' and '-'"
      />
      <TextField
        label="Initiator names, for volumes"
        name="iqns"
        multiline
        value={iqns()}
        onInput={setIqns}
        hint={IQN_HINT}
      />
      <TextField
        label="IP addresses, for shares"
        name="addresses"
        value={addresses()}
        onInput={setAddresses}
        hint="those from which it mounts shares; it needs an initiator name or an address"
      />
      <CheckField
        label="Require CHAP"
        name="chap"
        checked={chap()}
        onInput={setChap}
        hint="The user is the name of the host; the array makes the secret and shows it once."
      />
    </ChangeDialog>
  );
}

export function ChangeHost(props: Closing & { host: Host; onRenamed?: (name: string) => void }): JSX.Element {
  const { host } = props;
  const [name, setName] = createSignal(host.name);
  const [iqns, setIqns] = createSignal(host.iqns.join("\n"));
  const [addresses, setAddresses] = createSignal((host.addresses ?? []).join("\n"));
  const [chap, setChap] = createSignal(host.chap != null);
  const body = (): HostSet => {
    const set: HostSet = {};
    if (name().trim() !== host.name) set.name = name().trim();
    if (words(iqns()).join() !== host.iqns.join()) set.iqns = words(iqns());
    if (words(addresses()).join() !== (host.addresses ?? []).join()) set.addresses = words(addresses());
    if (chap() && host.chap == null) set.chap = { user: name().trim() };
    if (!chap() && host.chap != null) set.remove_chap = true;
    return set;
  };
  const some = () => Object.keys(body()).length > 0;
  return (
    <ChangeDialog
      title={`Change ${host.name}`}
      verb="Change host"
      edited={{ path: api("hosts", host.id), shown: host }}
      onClose={props.onClose}
      fields={FIELDS}
      ready={some() && name().trim() !== ""}
      dirty={some}
      same={{ what: "change this host", method: "PATCH", path: api("hosts", host.name), body: body() }}
      after={(after: Host) => {
        if (after.name !== host.name) props.onRenamed?.(after.name);
        return after.generated?.chap_secret == null ? undefined : new Shows(<Secret host={after} />);
      }}
    >
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <TextField
        label="Initiator names, for volumes"
        name="iqns"
        multiline
        value={iqns()}
        onInput={setIqns}
        hint={IQN_HINT}
      />
      <TextField
        label="IP addresses, for shares"
        name="addresses"
        multiline
        value={addresses()}
        onInput={setAddresses}
      />
      <CheckField
        label="Require CHAP"
        name="chap"
        checked={chap()}
        onInput={setChap}
        hint="It applies to the next login; sessions stay."
      />
    </ChangeDialog>
  );
}

/** Makes a new CHAP secret for a host. */
export function SetSecret(props: Closing & { host: Host }): JSX.Element {
  const user = () => props.host.chap?.user ?? props.host.name;
  return (
    <ChangeDialog
      title={`New CHAP secret for ${props.host.name}`}
      verb="Set secret"
      onClose={props.onClose}
      same={{
        what: "make a new secret",
        windlass: windlass("host", "set", props.host.name, "--chap-user", user(), "--chap-secret", "generate"),
        method: "PATCH",
        path: api("hosts", props.host.name),
        body: { chap: { user: user(), generate: true } },
      }}
      after={(after: Host) => new Shows(<Secret host={after} />)}
    >
      <p>
        The array makes a secret for user {user()} and shows it once. Sessions stay; the next login needs the new
        secret.
      </p>
    </ChangeDialog>
  );
}

export function DeleteHost(props: Closing & { host: string; onDone?: () => void }): JSX.Element {
  return (
    <DeleteDialog
      noun="host"
      name={props.host}
      onClose={props.onClose}
      onDone={props.onDone}
      same={{ windlass: windlass("host", "delete", props.host, "--yes"), path: api("hosts", props.host) }}
    >
      <p>No data is lost.</p>
    </DeleteDialog>
  );
}

export function EndSession(props: Closing & { session: Session }): JSX.Element {
  const id = () => String(props.session.id);
  return (
    <DestroyDialog
      title={`End session ${id()} of ${props.session.host ?? props.session.initiator}`}
      verb="End session"
      onClose={props.onClose}
      same={{
        what: "end this session",
        windlass: windlass("session", "drop", id(), "--yes"),
        method: "DELETE",
        path: api("sessions", id()),
      }}
    >
      <p>With one path only, the I/O of the host stands still until it has logged in again.</p>
    </DestroyDialog>
  );
}
