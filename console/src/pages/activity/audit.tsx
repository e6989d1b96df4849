// The audit: who changed what, from where, and with which result.

import { useSearchParams } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { send } from "../../api/client";
import { asFailure, type Failure } from "../../api/failure";
import { useList } from "../../api/list";
import { api, withQuery } from "../../api/paths";
import type { AuditEntry, AuditVerification } from "../../api/schema";
import { AUDIT_COLUMNS } from "../../parts/audit-entries";
import { Empty, FailureBox, Shown } from "../../parts/state";
import { Table } from "../../parts/table";
import { grouped } from "../../parts/units";

/** Entries on the page. */
const MOST = 200;
/** Interval at which they are read: the array looks through its files for them. */
const INTERVAL_MS = 60_000;

const FILTERS = [
  { name: "who", label: "User or token of the entries", placeholder: "who: user, token, uid:0" },
  { name: "action", label: "Operation of the entries", placeholder: "action: volume_delete" },
  { name: "target", label: "Object of the entries", placeholder: "target: name of an object" },
] as const;

export function AuditTab(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ who?: string; action?: string; target?: string }>();
  const entries = useList<AuditEntry>(
    () => withQuery("/api/v1/audit", { limit: MOST, who: search.who, action: search.action, target: search.target }),
    false,
    INTERVAL_MS,
    true,
  );
  const filtered = () => FILTERS.some(({ name }) => search[name] !== undefined);
  return (
    <>
      <div class="filters narrow">
        <For each={FILTERS}>
          {({ name, label, placeholder }) => (
            <input
              type="search"
              placeholder={placeholder}
              aria-label={label}
              value={search[name] ?? ""}
              onChange={(event) =>
                setSearch({ [name]: event.currentTarget.value.trim() || undefined }, { replace: true })
              }
            />
          )}
        </For>
        <Verify />
      </div>
      <Shown of={{ ...entries, more: () => false }}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={<Empty>{filtered() ? "Nothing matches." : "Nothing was changed yet."}</Empty>}
          >
            <Show when={entries.more()}>
              <p class="note">These are the newest {grouped(items().length)}; the command line goes further back.</p>
            </Show>
            <Table
              label="Audit"
              columns={AUDIT_COLUMNS}
              total={items().length}
              row={(index) => items()[index]}
              id={({ seq }) => String(seq)}
              changing={entries.changing()}
              query={search}
            />
          </Show>
        )}
      </Shown>
    </>
  );
}

/** Verifies the chain of the entries. */
function Verify(): JSX.Element {
  const [found, setFound] = createSignal<AuditVerification>();
  const [failure, setFailure] = createSignal<Failure>();
  const [busy, setBusy] = createSignal(false);
  const verify = async () => {
    setBusy(true);
    setFound(undefined);
    setFailure(undefined);
    try {
      setFound(await send<AuditVerification>("GET", api("audit", "verify")));
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" disabled={busy()} aria-busy={busy()} onClick={() => void verify()}>
        Verify
      </button>
      <span role="status">
        <Show when={found()}>
          {(present) =>
            present().ok ? (
              <span class="good">all {grouped(present().lines)} lines fit together</span>
            ) : (
              <span class="bad">changed or removed: {present().first_bad}</span>
            )
          }
        </Show>
      </span>
      <Show when={failure()}>{(present) => <FailureBox failure={present()} />}</Show>
    </>
  );
}
