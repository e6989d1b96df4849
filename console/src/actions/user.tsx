// Dialogs of users: create, change, set a password, delete.

import { createSignal, type JSX } from "solid-js";
import { api } from "../api/paths";
import type { Account, Role } from "../api/schema";
import { resume } from "../api/sign-in";
import { DeleteDialog } from "../parts/destroy";
import { ChangeDialog } from "../parts/dialog";
import { CheckField, TextField } from "../parts/form";
import { NewPassword, useNewPassword } from "../parts/new-password";
import { windlass } from "../parts/shell-lines";
import type { Closing } from "./closing";
import { RoleField } from "./role-field";

const SECRET = "(the password)";

export function CreateUser(props: Closing): JSX.Element {
  const [name, setName] = createSignal("");
  const [role, setRole] = createSignal<Role>("operator");
  const [must, setMust] = createSignal(true);
  const password = useNewPassword();
  const shown = () => ({ name: name().trim(), role: role(), password: SECRET, must_change: must() });
  return (
    <ChangeDialog
      title="New user"
      verb="Create user"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name", "weak-password": "new-password" }}
      ready={name().trim() !== "" && password.ready()}
      dirty={() => name() !== "" || password.first() !== ""}
      secret={{ password: password.value() }}
      same={{
        what: "create this user",
        windlass: windlass(
          "user",
          "create",
          name().trim() || "NAME",
          "--role",
          role(),
          ...(must() ? [] : ["--keep-password"]),
        ),
        method: "POST",
        path: api("users"),
        body: shown(),
      }}
    >
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <RoleField value={role()} onInput={setRole} />
      <NewPassword of={password} label="First password" />
      <CheckField
        label="Has to be changed at the first sign-in"
        name="must_change"
        checked={must()}
        onInput={setMust}
      />
    </ChangeDialog>
  );
}

export function EditUser(props: Closing & { user: Account }): JSX.Element {
  const [name, setName] = createSignal(props.user.name);
  const [role, setRole] = createSignal(props.user.role);
  const [locked, setLocked] = createSignal(props.user.locked);
  const body = () => ({
    name: name().trim() === props.user.name ? undefined : name().trim(),
    role: role() === props.user.role ? undefined : role(),
    locked: locked() === props.user.locked ? undefined : locked(),
  });
  const changes = () => Object.values(body()).some((value) => value !== undefined);
  return (
    <ChangeDialog
      title={`Change ${props.user.name}`}
      verb="Change user"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={changes() && name().trim() !== ""}
      dirty={changes}
      same={{
        what: "change this user",
        windlass: windlass(
          "user",
          "set",
          props.user.name,
          ...(body().name === undefined ? [] : ["--name", body().name]),
          ...(body().role === undefined ? [] : ["--role", body().role]),
          ...(body().locked === undefined ? [] : [body().locked ? "--lock" : "--unlock"]),
        ),
        method: "PATCH",
        path: api("users", props.user.name),
        body: body(),
      }}
      // The change can rename the user that is signed in here.
      after={() => resume()}
    >
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <RoleField value={role()} onInput={setRole} hint="With another role, all sign-ins of the user end." />
      <CheckField
        label="Locked: cannot sign in"
        name="locked"
        checked={locked()}
        onInput={setLocked}
        hint="A lock ends all sign-ins. The last administrator can be neither locked nor lowered."
      />
    </ChangeDialog>
  );
}

export function ResetPassword(props: Closing & { user: Account }): JSX.Element {
  const password = useNewPassword();
  return (
    <ChangeDialog
      title={`Set a password for ${props.user.name}`}
      verb="Set password"
      onClose={props.onClose}
      fields={{ "weak-password": "new-password" }}
      ready={password.ready()}
      dirty={() => password.first() !== ""}
      secret={{ password: password.value() }}
      same={{
        what: "set the password of this user",
        windlass: windlass("user", "password", props.user.name),
        method: "PUT",
        path: api("users", props.user.name, "password"),
        body: { password: SECRET },
      }}
    >
      <p>All sign-ins of the user end.</p>
      <NewPassword of={password} label="New password" />
    </ChangeDialog>
  );
}

export function DeleteUser(props: Closing & { user: Account }): JSX.Element {
  return (
    <DeleteDialog
      noun="user"
      name={props.user.name}
      typed={props.user.name}
      onClose={props.onClose}
      same={{ windlass: windlass("user", "delete", props.user.name, "--yes"), path: api("users", props.user.name) }}
    >
      <p>What the user has done stays in the audit, under this name.</p>
    </DeleteDialog>
  );
}
