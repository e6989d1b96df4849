// The field that chooses the role of a user or token.

import type { JSX } from "solid-js";
import type { Role } from "../api/schema";
import { ChoiceField } from "../parts/form";

/** Roles with what they allow. */
const ROLES: { value: Role; label: string }[] = [
  { value: "viewer", label: "viewer: reads" },
  { value: "operator", label: "operator: also volumes, shares, snapshots, hosts, access, jobs" },
  { value: "admin", label: "admin: everything" },
];

export function RoleField(props: { value: Role; onInput: (role: Role) => void; hint?: string }): JSX.Element {
  return (
    <ChoiceField
      label="Role"
      name="role"
      value={props.value}
      onInput={(value) => props.onInput(ROLES.find((role) => role.value === value)?.value ?? "viewer")}
      options={ROLES}
      hint={props.hint}
    />
  );
}
