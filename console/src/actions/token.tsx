// Dialogs of tokens: create, delete.

import { createSignal, type JSX, Show } from "solid-js";
import { api } from "../api/paths";
import type { Role, Token, TokenCreated } from "../api/schema";
import { Lines } from "../parts/copy";
import { DeleteDialog } from "../parts/destroy";
import { ChangeDialog, Shows } from "../parts/dialog";
import { CheckField, ChoiceField, TextField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import { words } from "../parts/words";
import type { Closing } from "./closing";
import { RoleField } from "./role-field";

const DAY_MS = 86_400_000;
const LIFETIMES = [
  { value: "1", label: "a day" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
  { value: "", label: "no end" },
];

export function CreateToken(props: Closing): JSX.Element {
  const [name, setName] = createSignal("");
  const [role, setRole] = createSignal<Role>("operator");
  const [days, setDays] = createSignal("90");
  const [volumes, setVolumes] = createSignal("");
  const [networks, setNetworks] = createSignal("");
  const [metrics, setMetrics] = createSignal(false);
  const [from] = createSignal(Date.now());
  const nets = () => words(networks());
  const pattern = () => (metrics() || volumes().trim() === "" ? undefined : volumes().trim());
  const expires = () => (days() === "" ? undefined : new Date(from() + Number(days()) * DAY_MS).toISOString());
  return (
    <ChangeDialog
      title="New token"
      verb="Create token"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name", "invalid-scope": "volumes" }}
      ready={name().trim() !== ""}
      dirty={() => name() !== ""}
      same={{
        what: "create this token",
        windlass: windlass(
          "token",
          "create",
          name().trim() || "NAME",
          "--role",
          role(),
          ...(pattern() === undefined ? [] : ["--volumes", pattern()]),
          ...nets().flatMap((net) => ["--network", net]),
          ...(metrics() ? ["--metrics-only"] : []),
          ...(days() === "" ? [] : ["--expires", `${days()}d`]),
        ),
        method: "POST",
        path: api("tokens"),
        body: {
          name: name().trim(),
          role: role(),
          scopes: { volumes: pattern(), networks: nets(), metrics_only: metrics() },
          expires: expires(),
        },
      }}
      after={({ name: of, secret }: TokenCreated) =>
        new Shows(
          <>
            <p>The secret of {of}. The array does not keep it, so this is the only time that it is shown.</p>
            <Lines text={secret} what="the secret" />
          </>,
        )
      }
    >
      <TextField
        label="Name"
        name="name"
        required
        value={name()}
        onInput={setName}
        hint="The program that will use it; the audit shows this name."
      />
      <RoleField value={role()} onInput={setRole} />
      <ChoiceField label="Ends after" name="expires" value={days()} onInput={setDays} options={LIFETIMES} />
      <CheckField label="Only for /metrics" name="metrics_only" checked={metrics()} onInput={setMetrics} />
      <Show when={!metrics()}>
        <TextField
          label="Only volumes whose names match"
          name="volumes"
          placeholder="any; such as csi-*"
          value={volumes()}
          onInput={setVolumes}
        />
      </Show>
      <TextField
        label="Only from these networks"
        name="networks"
        placeholder="any; such as 10.0.0.0/24"
        value={networks()}
        onInput={setNetworks}
      />
    </ChangeDialog>
  );
}

export function DeleteToken(props: Closing & { token: Token }): JSX.Element {
  return (
    <DeleteDialog
      noun="token"
      name={props.token.name}
      onClose={props.onClose}
      same={{ windlass: windlass("token", "delete", props.token.name, "--yes"), path: api("tokens", props.token.name) }}
    >
      <p>Programs that use it are refused from now on.</p>
    </DeleteDialog>
  );
}
