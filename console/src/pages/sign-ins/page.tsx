// Sign-ins of browsers.

import { createSignal, type JSX, Show } from "solid-js";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { SignIn } from "../../api/schema";
import { DestroyDialog } from "../../parts/destroy";
import { Head } from "../../parts/head";
import { Ago, Until } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { SettingsTabs } from "../../parts/settings-tabs";
import { windlass } from "../../parts/shell-lines";
import { Empty, Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { browserName } from "./agent";

const COLUMNS: Column<SignIn>[] = [
  {
    key: "user",
    title: "User",
    cell: (sign) => (
      <>
        {sign.user} {sign.this && <span class="tag">this browser</span>}{" "}
        {sign.display && <span class="tag">wall display</span>}
      </>
    ),
    by: ({ user }) => user,
  },
  { key: "from", title: "From", cell: ({ from }) => from, by: ({ from }) => from },
  {
    key: "agent",
    title: "Browser",
    rank: 2,
    cell: ({ agent }) => <span title={agent}>{browserName(agent)}</span>,
    by: ({ agent }) => browserName(agent),
  },
  { key: "since", title: "Since", cell: ({ since }) => <Ago at={since} />, by: ({ since }) => since },
  {
    key: "used",
    title: "Last request",
    rank: 2,
    cell: ({ last_use }) => <Ago at={last_use} />,
    by: ({ last_use }) => last_use,
  },
  {
    key: "ends",
    title: "Ends",
    rank: 2,
    about: "If there is no further request",
    cell: ({ ends }) => <Until at={ends} past="now" />,
    by: ({ ends }) => ends,
  },
];

export default function SignIns(): JSX.Element {
  const signs = useList<SignIn>(() => "/api/v1/sign-ins", false);
  const [ending, setEnding] = createSignal<SignIn>();
  return (
    <>
      <Head
        title="Sign-ins"
        about="Browsers that are signed in"
        same={[{ what: "list the sign-ins", windlass: "windlass sign-in list", path: "/api/v1/sign-ins" }]}
      />
      <SettingsTabs />
      <Shown of={signs}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>No browser is signed in with name and password.</Empty>}>
            <Rows
              label="Sign-ins"
              columns={COLUMNS}
              rows={items()}
              id={({ id }) => id}
              actions={(sign) => [{ label: "End…", needs: "admin", danger: true, run: () => setEnding(sign) }]}
            />
          </Show>
        )}
      </Shown>
      <Show when={ending()} keyed>
        {(sign) => (
          <DestroyDialog
            title={`End the sign-in of ${sign.user}`}
            verb="End sign-in"
            onClose={() => setEnding(undefined)}
            same={{
              what: "end this sign-in",
              windlass: windlass("sign-in", "end", sign.id, "--yes"),
              method: "DELETE",
              path: api("sign-ins", sign.id),
            }}
          >
            <p>
              {sign.this
                ? "This is your own: the page asks you to sign in again."
                : "The browser is asked to sign in again; what is typed there stays."}
            </p>
          </DestroyDialog>
        )}
      </Show>
    </>
  );
}
