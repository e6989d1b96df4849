// People who may sign in, and what they may do.

import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { CreateUser, DeleteUser, EditUser, ResetPassword } from "../../actions/user";
import { useList } from "../../api/list";
import type { Account } from "../../api/schema";
import { ListPage } from "../../parts/list-page";
import type { Action } from "../../parts/menu";
import { Ago } from "../../parts/numbers";
import { SettingsTabs } from "../../parts/settings-tabs";
import type { Column } from "../../parts/table";
import { person } from "../../session";

type Verb = "edit" | "password" | "delete";

const isYou = ({ name }: Account): boolean => person()?.kind === "user" && person()?.user === name;

const COLUMNS: Column<Account>[] = [
  {
    key: "name",
    title: "Name",
    cell: (user) => (
      <>
        {user.name} {isYou(user) && <span class="tag">you</span>}
      </>
    ),
    by: ({ name }) => name,
  },
  { key: "role", title: "Role", cell: ({ role }) => role, by: ({ role }) => role },
  {
    key: "state",
    title: "State",
    cell: ({ locked, must_change }) => (
      <Show when={!locked} fallback={<span class="tag bad">locked</span>}>
        <Show when={must_change} fallback="active">
          <span title="The user has to change the password at the next sign-in">new password due</span>
        </Show>
      </Show>
    ),
    by: ({ locked }) => (locked ? 1 : 0),
  },
  {
    key: "last",
    title: "Last sign-in",
    cell: ({ last_sign_in }) => <Ago at={last_sign_in} />,
    by: ({ last_sign_in }) => last_sign_in ?? "",
  },
  {
    key: "created",
    title: "Created",
    rank: 3,
    cell: ({ created }) => <Ago at={created} />,
    by: ({ created }) => created,
  },
];

export default function People(): JSX.Element {
  const users = useList<Account>(() => "/api/v1/users", false);
  const [open, setOpen] = createSignal<{ verb: Verb; user: Account } | { verb: "create" }>();
  const close = () => setOpen(undefined);
  const of = () => {
    const present = open();
    return present !== undefined && "user" in present ? present : undefined;
  };
  const action = (verb: Verb, label: string, user: Account): Action => ({
    label,
    needs: "admin",
    run: () => setOpen({ verb, user }),
  });
  return (
    <ListPage
      title="People"
      about="Who may sign in, and what they may do"
      same={[
        { what: "list the users", windlass: "windlass user list", path: "/api/v1/users" },
        {
          what: "create a user",
          windlass: "windlass user create NAME --role operator",
          method: "POST",
          path: "/api/v1/users",
          body: { name: "NAME", role: "operator", password: "PASSWORD" },
        },
      ]}
      add={{ label: "New user", needs: "admin", run: () => setOpen({ verb: "create" }) }}
      above={<SettingsTabs />}
      of={users}
      empty={<>No user yet: people share tokens, and the audit names the token only.</>}
      columns={COLUMNS}
      id={({ name }) => name}
      actions={(user) => [
        action("edit", "Change…", user),
        {
          ...action("password", "Set a password…", user),
          unless: isYou(user) ? "your own is changed in the menu at the top right" : undefined,
        },
        { ...action("delete", "Delete…", user), danger: true },
      ]}
    >
      <Show when={open()?.verb === "create"}>
        <CreateUser onClose={close} />
      </Show>
      <Show when={of()} keyed>
        {({ verb, user }) => (
          <Switch>
            <Match when={verb === "edit"}>
              <EditUser user={user} onClose={close} />
            </Match>
            <Match when={verb === "password"}>
              <ResetPassword user={user} onClose={close} />
            </Match>
            <Match when={verb === "delete"}>
              <DeleteUser user={user} onClose={close} />
            </Match>
          </Switch>
        )}
      </Show>
    </ListPage>
  );
}
