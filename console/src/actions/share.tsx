// Dialogs that create, change and delete shares, and grant access to them.

import { createSignal, type JSX, Show } from "solid-js";
import { granteeName, granteeOptions } from "../api/grants";
import { choiceHint, useList } from "../api/list";
import { api, withQuery } from "../api/paths";
import type { ExportGrant, Host, HostGroup, Share, ShareCreate, ShareSet } from "../api/schema";
import { DeleteDialog, DestroyDialog } from "../parts/destroy";
import { ChangeDialog } from "../parts/dialog";
import { Foreseen } from "../parts/effect";
import { CheckField, ChoiceField, TextField } from "../parts/form";
import { type Same, windlass } from "../parts/shell-lines";
import { exactBytes, parseSize, sizeArgument } from "../parts/units";
import type { Closing } from "./closing";

const quotaError = (text: string): string | undefined =>
  text.trim() === "" || parseSize(text) !== undefined ? undefined : "write for example 100G or 1.5TiB";

export function CreateShare(props: Closing & { onDone?: (share: Share) => void }): JSX.Element {
  const [name, setName] = createSignal("");
  const [quota, setQuota] = createSignal("");
  const [owner, setOwner] = createSignal("");
  const ids = () => /^(\d{1,10}):(\d{1,10})$/.exec(owner().trim());
  const ownerError = () =>
    owner().trim() === "" || ids() !== null ? undefined : "a user and a group as numbers, such as 1000:1000";
  const body = (): ShareCreate => ({
    name: name().trim(),
    ...(quota().trim() === "" ? {} : { quota_bytes: parseSize(quota()) ?? 0 }),
    ...(ids() === null ? {} : { owner_uid: Number(ids()?.[1]), owner_gid: Number(ids()?.[2]) }),
  });
  return (
    <ChangeDialog
      title="New share"
      verb="Create share"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name", "invalid-quota": "quota" }}
      ready={name().trim() !== "" && quotaError(quota()) === undefined && ownerError() === undefined}
      dirty={() => name() + quota() + owner() !== ""}
      same={{
        what: "create this share",
        windlass: windlass(
          "share",
          "create",
          name().trim() || "NAME",
          ...(quota().trim() === "" ? [] : ["--quota", sizeArgument(parseSize(quota()) ?? 0)]),
          ...(ids() === null ? [] : ["--owner", owner().trim()]),
        ),
        method: "POST",
        path: api("shares"),
        body: body(),
      }}
      after={(share: Share) => props.onDone?.(share)}
    >
      <TextField
        label="Name"
        name="name"
        required
        value={name()}
        onInput={setName}
        hint="letters, digits, '.', '_' and '-'; no volume has it"
      />
      <div class="two">
        <TextField
          label="Quota"
          name="quota"
          value={quota()}
          onInput={setQuota}
          error={quotaError(quota())}
          hint={
            parseSize(quota()) === undefined
              ? "largest space, in whole MiB; empty: none"
              : exactBytes(parseSize(quota()) ?? 0)
          }
        />
        <TextField
          label="Owner of the root directory"
          name="owner"
          placeholder="0:0"
          value={owner()}
          onInput={setOwner}
          error={ownerError()}
          hint="user and group as numbers"
        />
      </div>
      <p class="soft small">No host may use it before access is granted.</p>
    </ChangeDialog>
  );
}

/** Option value that grants access to all hosts. */
const ANY = "any:";
const NETWORK = "network:";

export function GrantShare(props: Closing & { share: string; host?: string | undefined }): JSX.Element {
  const hosts = useList<Host>(() => api("hosts"));
  const groups = useList<HostGroup>(() => api("host-groups"));
  const [to, setTo] = createSignal(props.host === undefined ? "" : `host:${props.host}`);
  const [network, setNetwork] = createSignal("");
  const [readOnly, setReadOnly] = createSignal(false);
  const rest = () => to().slice(to().indexOf(":") + 1);
  const body = (): ExportGrant => ({
    ...(to() === ANY
      ? { any: true }
      : to() === NETWORK
        ? { network: network().trim() }
        : to().startsWith("group:")
          ? { group: rest() }
          : { host: rest() }),
    ...(readOnly() ? { read_only: true } : {}),
  });
  const grantee = () =>
    to() === ANY
      ? ["--any"]
      : to() === NETWORK
        ? ["--network", network().trim()]
        : to().startsWith("group:")
          ? ["--group", rest()]
          : ["--host", rest() || "HOST"];
  const ready = () => to() !== "" && (to() !== NETWORK || network().trim() !== "");
  const same = (): Same => ({
    what: "grant access",
    windlass: windlass("access", "grant", props.share, ...grantee(), ...(readOnly() ? ["--read-only"] : [])),
    method: "POST",
    path: api("shares", props.share, "exports"),
    body: body(),
  });
  return (
    <ChangeDialog
      title={`Grant ${props.share}`}
      verb="Grant access"
      onClose={props.onClose}
      fields={{ "invalid-network": "network", "host-unidentified": "to" }}
      ready={ready()}
      same={same()}
    >
      <ChoiceField
        label="To"
        name="to"
        value={to()}
        onInput={setTo}
        options={[
          { value: "", label: "choose" },
          ...(hosts.data() ?? []).map(({ name }) => ({ value: `host:${name}`, label: name })),
          ...(groups.data() ?? []).map(({ name }) => ({ value: `group:${name}`, label: `group ${name}` })),
          { value: NETWORK, label: "a network" },
          { value: ANY, label: "everybody" },
        ]}
        hint={choiceHint("A host is known by its addresses. A rule about the same hosts is replaced.", hosts, groups)}
      />
      <Show when={to() === NETWORK}>
        <TextField label="Network" name="network" placeholder="192.0.2.0/24" value={network()} onInput={setNetwork} />
      </Show>
      <CheckField label="Read-only" name="read_only" checked={readOnly()} onInput={setReadOnly} />
      <Foreseen of={same()} when={ready()} />
    </ChangeDialog>
  );
}

export function RevokeShare(props: Closing & { share: string; host: string }): JSX.Element {
  return (
    <DestroyDialog
      title={`Revoke ${props.share} from ${granteeName(props.host)}`}
      verb="Revoke access"
      onClose={props.onClose}
      same={{
        what: "revoke access",
        windlass: windlass("access", "revoke", props.share, ...granteeOptions(props.host), "--yes"),
        method: "DELETE",
        path: api("shares", props.share, "exports", props.host),
      }}
    >
      <p>Its mounts get errors at once. Unmount it there first.</p>
    </DestroyDialog>
  );
}

export function ChangeShare(props: Closing & { share: Share; onRenamed?: (name: string) => void }): JSX.Element {
  const { share } = props;
  const [name, setName] = createSignal(share.name);
  const [quota, setQuota] = createSignal(share.quota_bytes == null ? "" : sizeArgument(share.quota_bytes));
  const [copy, setCopy] = createSignal<string>(share.copy);
  const body = (): ShareSet => {
    const set: ShareSet = {};
    const wanted = quota().trim() === "" ? 0 : (parseSize(quota()) ?? 0);
    if (name().trim() !== share.name) set.name = name().trim();
    if (wanted !== (share.quota_bytes ?? 0)) set.quota_bytes = wanted;
    if (copy() !== share.copy) set.copy = copy() === "share" ? "share" : "physical";
    return set;
  };
  const some = () => Object.keys(body()).length > 0;
  const ready = () => some() && name().trim() !== "" && quotaError(quota()) === undefined;
  const same = (): Same => ({
    what: "change this share",
    windlass: windlass(
      "share",
      "set",
      share.name,
      ...(body().name == null ? [] : ["--name", name().trim()]),
      ...(body().quota_bytes == null ? [] : ["--quota", quota().trim() || "none"]),
      ...(body().copy == null ? [] : ["--copy", copy()]),
    ),
    method: "PATCH",
    path: api("shares", share.name),
    body: body(),
  });
  return (
    <ChangeDialog
      title={`Change ${share.name}`}
      verb="Change share"
      edited={{ path: api("shares", share.id), shown: share }}
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name", "invalid-quota": "quota" }}
      ready={ready()}
      dirty={some}
      same={same()}
      after={(after: Share) => {
        if (after.name !== share.name) props.onRenamed?.(after.name);
      }}
    >
      <TextField
        label="Name"
        name="name"
        required
        value={name()}
        onInput={setName}
        hint="hosts find it by its name; present mounts stay"
      />
      <TextField
        label="Quota"
        name="quota"
        value={quota()}
        onInput={setQuota}
        error={quotaError(quota())}
        hint="empty: none"
      />
      <ChoiceField
        label="A server-side copy"
        name="copy"
        value={copy()}
        onInput={setCopy}
        options={[
          { value: "share", label: "shares blocks with its source until one changes" },
          { value: "physical", label: "gets blocks of its own" },
        ]}
      />
      <Foreseen of={same()} when={ready()} />
    </ChangeDialog>
  );
}

export function DeleteShare(props: Closing & { share: Share; onDone?: () => void }): JSX.Element {
  const [snapshots, setSnapshots] = createSignal(false);
  return (
    <DeleteDialog
      noun="share"
      name={props.share.name}
      typed={props.share.name}
      counts
      onClose={props.onClose}
      onDone={props.onDone}
      same={{
        windlass: windlass("share", "delete", props.share.name, ...(snapshots() ? ["--with-snapshots"] : []), "--yes"),
        path: withQuery(api("shares", props.share.name), { with_snapshots: snapshots() || undefined }),
      }}
    >
      <p>The share is deleted with all of its files.</p>
      <Show when={props.share.snapshots > 0}>
        <CheckField
          label={`Delete its snapshots too (${props.share.snapshots})`}
          name="with_snapshots"
          checked={snapshots()}
          onInput={setSnapshots}
        />
      </Show>
    </DeleteDialog>
  );
}
