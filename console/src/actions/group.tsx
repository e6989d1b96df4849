// Dialogs that create, change and delete host groups.

import { createSignal, For, type JSX, Show } from "solid-js";
import { choiceHint, useList } from "../api/list";
import { api } from "../api/paths";
import type { Host, HostGroup } from "../api/schema";
import { DeleteDialog } from "../parts/destroy";
import { ChangeDialog } from "../parts/dialog";
import { CheckField, TextField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import type { Closing } from "./closing";

/** Hosts to choose from. */
function Members(props: { chosen: string[]; onChange: (chosen: string[]) => void }): JSX.Element {
  const hosts = useList<Host>(() => api("hosts"));
  const toggle = (name: string, on: boolean) =>
    props.onChange(on ? [...props.chosen, name] : props.chosen.filter((other) => other !== name));
  return (
    <fieldset>
      <legend>Hosts</legend>
      {hosts.more() && <p class="soft small">{choiceHint("", hosts)}</p>}
      <Show when={(hosts.data() ?? []).length > 0} fallback={<p class="soft">There is no host yet.</p>}>
        <For each={hosts.data() ?? []}>
          {({ name }) => (
            <CheckField
              label={name}
              name={`host-${name}`}
              checked={props.chosen.includes(name)}
              onInput={(on) => toggle(name, on)}
            />
          )}
        </For>
      </Show>
    </fieldset>
  );
}

export function CreateGroup(props: Closing): JSX.Element {
  const [name, setName] = createSignal("");
  const [hosts, setHosts] = createSignal<string[]>([]);
  const body = () => ({ name: name().trim(), hosts: hosts() });
  return (
    <ChangeDialog
      title="New host group"
      verb="Create group"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={name().trim() !== ""}
      dirty={() => name() !== "" || hosts().length > 0}
      same={{ what: "create this group", method: "POST", path: api("host-groups"), body: body() }}
    >
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <Members chosen={hosts()} onChange={setHosts} />
    </ChangeDialog>
  );
}

export function SetGroup(props: Closing & { group: HostGroup }): JSX.Element {
  const { group } = props;
  const [hosts, setHosts] = createSignal(group.hosts);
  const body = () => ({
    add: hosts().filter((name) => !group.hosts.includes(name)),
    remove: group.hosts.filter((name) => !hosts().includes(name)),
  });
  const some = () => body().add.length + body().remove.length > 0;
  return (
    <ChangeDialog
      title={`Members of ${group.name}`}
      verb="Change members"
      edited={{ path: api("host-groups", group.id), shown: group }}
      onClose={props.onClose}
      ready={some()}
      dirty={some}
      same={{
        what: "change its members",
        windlass: windlass(
          "host-group",
          "set",
          group.name,
          ...body().add.flatMap((name) => ["--add", name]),
          ...body().remove.flatMap((name) => ["--remove", name]),
          ...(body().remove.length > 0 ? ["--yes"] : []),
        ),
        method: "PATCH",
        path: api("host-groups", group.name),
        body: body(),
      }}
    >
      <p>A host that leaves loses the volumes of the group at once.</p>
      <Members chosen={hosts()} onChange={setHosts} />
    </ChangeDialog>
  );
}

export function DeleteGroup(props: Closing & { group: string }): JSX.Element {
  return (
    <DeleteDialog
      noun="group"
      name={props.group}
      onClose={props.onClose}
      same={{ windlass: windlass("host-group", "delete", props.group, "--yes"), path: api("host-groups", props.group) }}
    >
      <p>Its hosts stay.</p>
    </DeleteDialog>
  );
}
