// The dialog that plans a configuration, that of a file or of a kept day, shows its steps, and applies them.

import { createSignal, For, type JSX, onMount, Show } from "solid-js";
import { download, send } from "../api/client";
import { asFailure, type Failure } from "../api/failure";
import { useList } from "../api/list";
import { api, withQuery } from "../api/paths";
import { useQuery } from "../api/query";
import type {
  AuditEntry,
  ConfigurationApplied,
  ConfigurationPlan,
  ConfigurationStep,
  GeneratedSecret,
} from "../api/schema";
import { AUDIT_COLUMNS, Changes } from "../parts/audit-entries";
import { Copy } from "../parts/copy";
import { ChangeDialog, Shows } from "../parts/dialog";
import { CheckField, FileField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import { FailureBox, Shown } from "../parts/state";
import { Table } from "../parts/table";
import { count } from "../parts/units";
import type { Closing } from "./closing";

/** Steps and entries that are shown. */
const MOST = 200;
/** Interval at which the progress of an apply is read. */
const PROGRESS_MS = 1000;
const SIGNS = { add: "+", change: "~", remove: "−" };

/** `day`: a day whose configuration the array has kept; without it, the dialog asks for a file. */
export default function PlanConfiguration(props: Closing & { day?: string }): JSX.Element {
  const [file, setFile] = createSignal<File>();
  const [plan, setPlan] = createSignal<ConfigurationPlan>();
  const [failure, setFailure] = createSignal<Failure>();
  const [deletes, setDeletes] = createSignal(false);
  const [busy, setBusy] = createSignal(false);
  const ask = async () => {
    const of = file();
    setPlan(undefined);
    setFailure(undefined);
    if (of === undefined && props.day === undefined) return;
    setBusy(true);
    try {
      const bytes = of ?? (await download(api("config", "history", props.day ?? "")));
      const type = /\.json$/i.test(of?.name ?? "") ? "application/json" : "application/toml";
      const found = await send<ConfigurationPlan>("POST", "/api/v1/config/plan", new Blob([bytes], { type }));
      if (of === file()) setPlan(found);
    } catch (error) {
      if (of === file()) setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  onMount(() => void ask());
  const choose = (chosen: File | undefined) => {
    setFile(chosen);
    void ask();
  };
  const steps = () => plan()?.steps ?? [];
  const removes = () => steps().some(({ op, kind }) => op === "remove" && (kind === "volume" || kind === "share"));
  const ready = () => steps().length > 0 && plan()?.problems === 0 && (deletes() || !removes());
  return (
    <ChangeDialog
      title={props.day === undefined ? "Plan a configuration" : `Since ${props.day}`}
      verb={steps().length === 0 ? "Apply" : `Apply ${count(steps().length, "step")}`}
      danger={steps().some(({ op }) => op === "remove")}
      onClose={props.onClose}
      ready={ready()}
      same={{
        what: "apply this plan",
        windlass: windlass(
          "config",
          "apply",
          plan()?.id ?? "PLAN",
          ...(removes() && deletes() ? ["--allow-delete"] : []),
        ),
        method: "POST",
        path: "/api/v1/config/apply",
        body: { plan: plan()?.id, allow_delete: removes() && deletes() },
      }}
      after={() => new Shows(<Applied plan={plan()?.id} />)}
    >
      <Show
        when={props.day}
        fallback={
          <FileField
            label="Document"
            name="file"
            accept=".toml,.json"
            hint="TOML or JSON, as the array exports it"
            onInput={choose}
          />
        }
      >
        {(day) => <Since day={day()} />}
      </Show>
      <Show when={failure()}>{(present) => <FailureBox failure={present()} retry={() => void ask()} />}</Show>
      <Show when={busy()}>
        <p class="soft">The array is asked which steps lead there …</p>
      </Show>
      <Show when={plan()}>
        {(present) => (
          <section aria-live="polite" aria-label="plan">
            <Show
              when={steps().length > 0}
              fallback={<p>There is nothing to do: the array is as the document says.</p>}
            >
              <h3>
                Steps from the present configuration to{" "}
                {props.day === undefined ? "that of the file" : "that of the day"}
              </h3>
              <ul class="lines-list">
                <For each={steps().slice(0, MOST)}>{(step) => <Step of={step} />}</For>
              </ul>
              <Show when={steps().length > MOST}>
                <p class="note">And {steps().length - MOST} more, which the command line lists.</p>
              </Show>
              <Show when={present().problems > 0}>
                <p class="bad" role="alert">
                  {count(present().problems, "step")} cannot be taken: correct the document.
                </p>
              </Show>
              <Show when={removes()}>
                <CheckField
                  label="Delete volumes and shares that are not in it"
                  name="allow_delete"
                  checked={deletes()}
                  onInput={setDeletes}
                  hint="They go to the trash, after all other steps."
                />
              </Show>
            </Show>
            <p class="soft small">
              The plan starts from the revision <code>{present().base_revision.slice(0, 12)}</code>; if the
              configuration changes before it is applied, the array refuses it.{" "}
              <button type="button" class="quiet" onClick={() => void ask()}>
                Plan again
              </button>
            </p>
          </section>
        )}
      </Show>
    </ChangeDialog>
  );
}

function Step(props: { of: ConfigurationStep }): JSX.Element {
  return (
    <li>
      <span>
        <code class="sign">{SIGNS[props.of.op]}</code> {props.of.kind.replaceAll("_", " ")}{" "}
        <strong>{props.of.name}</strong>{" "}
        <Show when={props.of.op === "change"}>
          <Changes of={props.of.change} />
        </Show>
        <Show when={props.of.problem}>{(problem) => <span class="bad"> {problem()}</span>}</Show>
        <Show when={props.of.note}>{(note) => <span class="soft small"> {note()}</span>}</Show>
      </span>
    </li>
  );
}

/** Who has changed what since a day. */
function Since(props: { day: string }): JSX.Element {
  const entries = useList<AuditEntry>(
    () => withQuery("/api/v1/audit", { since: `${props.day}T00:00:00Z`, limit: MOST }),
    false,
  );
  return (
    <details>
      <summary>Who changed what since then</summary>
      <Shown of={{ ...entries, more: () => false }}>
        {(items) => (
          <Table
            label="Changes since then"
            columns={AUDIT_COLUMNS}
            total={items().length}
            row={(index) => items()[index]}
            id={({ seq }) => String(seq)}
          />
        )}
      </Shown>
      <Show when={entries.more()}>
        <p class="note">These are the newest {MOST}; the command line goes further back.</p>
      </Show>
    </details>
  );
}

/** Random key under which the array keeps an answer for a retry. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("-");
}

/** Progress and result of an apply, and the secrets that it generated. */
function Applied(props: { plan: string | undefined }): JSX.Element {
  const applied = useQuery<ConfigurationApplied>(() => api("config", "applied"), PROGRESS_MS);
  const [secrets, setSecrets] = createSignal<GeneratedSecret[]>([]);
  const [failure, setFailure] = createSignal<Failure>();
  const path = api("config", "applied", "secrets");
  // A retry has the key of the request whose answer did not arrive, and gets the same secrets.
  let key = newKey();
  const take = async () => {
    setFailure(undefined);
    try {
      // An answer has some of them.
      for (let left = true; left; ) {
        const answer = send<{ items: GeneratedSecret[] }>("POST", path, undefined, undefined, undefined, key);
        const { items } = await answer;
        key = newKey();
        setSecrets((before) => [...before, ...items]);
        left = items.length > 0;
      }
    } catch (error) {
      setFailure(asFailure(error));
    }
  };
  const of = (state: string) => (applied.data()?.steps ?? []).filter((step) => step.state === state);
  return (
    <Shown of={applied}>
      {(present) => (
        <Show
          when={present().plan === props.plan}
          fallback={<p>Another plan has been applied since; Activity has the result of this one.</p>}
        >
          <p role="status">
            {of("done").length} of {count(present().steps.length, "step")} taken
            {present().finished == null ? " so far." : "."}
          </p>
          <progress max={present().steps.length} value={of("done").length} aria-label="steps taken" />
          <For each={of("failed").slice(0, MOST)}>
            {({ kind, name, error }) => (
              <p class="bad">
                {kind.replaceAll("_", " ")} {name}: {error}
              </p>
            )}
          </For>
          <Show when={failure()}>{(found) => <FailureBox failure={found()} retry={() => void take()} />}</Show>
          <Show when={present().finished != null && present().secrets > 0 && secrets().length === 0}>
            <button type="button" onClick={() => void take()}>
              Show the generated secrets, once
            </button>
          </Show>
          <For each={secrets()}>
            {({ kind, name, field, secret }) => (
              <p>
                {field.replaceAll("_", " ")} of {kind} {name}: <code>{secret}</code>{" "}
                <Copy text={secret} what={`the ${field} of ${name}`} />
              </p>
            )}
          </For>
        </Show>
      )}
    </Shown>
  );
}
