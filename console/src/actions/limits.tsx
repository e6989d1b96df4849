// Dialogs for QoS policies: limits of volumes and hosts.

import { createSignal, type JSX, Show } from "solid-js";
import { useList } from "../api/list";
import { api, withQuery } from "../api/paths";
import type { Host, QosPolicy, Volume } from "../api/schema";
import { DeleteDialog } from "../parts/destroy";
import { ChangeDialog } from "../parts/dialog";
import { CheckField, ChoiceField, TextField } from "../parts/form";
import { burstOf, burstText, NO_BURST, sizeOf, wholeOf } from "../parts/limit-words";
import { windlass } from "../parts/shell-lines";
import { sizeArgument } from "../parts/units";
import { words } from "../parts/words";
import type { Closing } from "./closing";

const text = (value: number | null | undefined, shown: (value: number) => string): string =>
  value == null ? "" : shown(value);

/** Creates a policy, or changes one. */
export function EditPolicy(props: Closing & { policy?: QosPolicy }): JSX.Element {
  const old = props.policy;
  const [name, setName] = createSignal(old?.name ?? "");
  const [iops, setIops] = createSignal(text(old?.iops, String));
  const [burst, setBurst] = createSignal(burstText(old?.iops_burst, String));
  const [bytes, setBytes] = createSignal(text(old?.bytes_per_second, sizeArgument));
  const [bytesBurst, setBytesBurst] = createSignal(burstText(old?.bytes_burst, sizeArgument));
  const [weight, setWeight] = createSignal(String(old?.weight ?? 100));
  const [shared, setShared] = createSignal(old?.shared ?? false);
  const fields = (): Record<string, unknown> => ({
    name: name().trim(),
    iops: wholeOf(iops()),
    iops_burst: burstOf(burst(), wholeOf),
    bytes_per_second: sizeOf(bytes()),
    bytes_burst: burstOf(bytesBurst(), sizeOf),
    weight: wholeOf(weight()),
    shared: shared(),
  });
  const first = fields();
  const isNone = (value: unknown) => value === 0 || JSON.stringify(value) === JSON.stringify(NO_BURST);
  /** Fields of the request: of a change, those that differ, so that what others have changed stays. */
  const sent = () =>
    Object.fromEntries(
      Object.entries(fields()).filter(([field, value]) =>
        old === undefined ? !isNone(value) : JSON.stringify(value) !== JSON.stringify(first[field]),
      ),
    );
  const options: Record<string, () => string[]> = {
    name: () => (old === undefined ? [] : ["--name", name().trim()]),
    iops: () => ["--iops", iops().trim() || "off"],
    iops_burst: () => ["--burst", burst().trim() || "off"],
    bytes_per_second: () => ["--bandwidth", bytes().trim() || "off"],
    bytes_burst: () => ["--burst-bandwidth", bytesBurst().trim() || "off"],
    weight: () => ["--weight", weight().trim()],
    shared: () => (old === undefined ? (shared() ? ["--shared"] : []) : ["--shared", shared() ? "on" : "off"]),
  };
  const wrong = (field: string, such: string) => (fields()[field] === undefined ? such : undefined);
  const isChanged = () => JSON.stringify(fields()) !== JSON.stringify(first);
  return (
    <ChangeDialog
      title={old === undefined ? "New policy" : `Change ${old.name}`}
      verb={old === undefined ? "Create policy" : "Change policy"}
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={name().trim() !== "" && isChanged() && Object.values(fields()).every((value) => value !== undefined)}
      dirty={isChanged}
      {...(old === undefined ? {} : { edited: { path: api("qos-policies", old.id), shown: old } })}
      same={{
        what: old === undefined ? "create this policy" : "change this policy",
        windlass: windlass(
          "qos",
          old === undefined ? "create" : "set",
          old?.name ?? (name().trim() || "NAME"),
          ...Object.keys(sent()).flatMap((field) => options[field]?.() ?? []),
        ),
        method: old === undefined ? "POST" : "PATCH",
        path: old === undefined ? api("qos-policies") : api("qos-policies", old.name),
        body: sent(),
      }}
    >
      <Show when={old !== undefined}>
        <p class="note">The new limits hold at once, also for commands that wait.</p>
      </Show>
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <div class="two">
        <TextField
          label="Operations per second"
          name="iops"
          value={iops()}
          onInput={setIops}
          error={wrong("iops", "a whole number")}
          hint="at least 100; empty: no limit. Each 16 KiB count as one."
        />
        <TextField
          label="Burst of operations"
          name="iops_burst"
          placeholder="10000@30s"
          value={burst()}
          onInput={setBurst}
          error={wrong("iops_burst", "such as 10000@30s")}
          hint="saved up while less is used"
        />
        <TextField
          label="Bytes per second"
          name="bytes_per_second"
          placeholder="100M"
          value={bytes()}
          onInput={setBytes}
          error={wrong("bytes_per_second", "such as 100M or 1G")}
          hint="at least 1M; empty: no limit"
        />
        <TextField
          label="Burst of bytes"
          name="bytes_burst"
          placeholder="500M@30s"
          value={bytesBurst()}
          onInput={setBytesBurst}
          error={wrong("bytes_burst", "such as 500M@30s")}
        />
      </div>
      <TextField
        label="Weight"
        name="weight"
        value={weight()}
        onInput={setWeight}
        error={wrong("weight", "a whole number")}
        hint="share beside others where there is less than all want: 10 to 1000"
      />
      <CheckField
        label="Its volumes share one allowance"
        name="shared"
        checked={shared()}
        onInput={setShared}
        hint="Otherwise each volume has its own. Each host always has its own."
      />
    </ChangeDialog>
  );
}

/** Gives a policy to volumes and hosts. */
export function AttachPolicy(props: Closing & { policy: QosPolicy }): JSX.Element {
  const [volumes, setVolumes] = createSignal("");
  const [hosts, setHosts] = createSignal("");
  const body = () => ({ volumes: words(volumes()), hosts: words(hosts()) });
  const list = (flag: string, names: string[]) => (names.length > 0 ? [flag, names.join(",")] : []);
  return (
    <ChangeDialog
      title={`Attach ${props.policy.name}`}
      verb="Attach policy"
      onClose={props.onClose}
      ready={body().volumes.length + body().hosts.length > 0}
      dirty={() => volumes() + hosts() !== ""}
      same={{
        what: "attach this policy",
        windlass: windlass(
          "qos",
          "attach",
          props.policy.name,
          ...list("--volume", body().volumes),
          ...list("--host", body().hosts),
        ),
        method: "POST",
        path: api("qos-policies", props.policy.name, "attach"),
        body: body(),
      }}
    >
      <p>It takes the place of the policies that they have.</p>
      <TextField label="Volumes" name="volumes" multiline value={volumes()} onInput={setVolumes} />
      <TextField label="Hosts" name="hosts" multiline value={hosts()} onInput={setHosts} />
    </ChangeDialog>
  );
}

/** Gives a volume or host another policy, or none. */
export function ChoosePolicy(props: Closing & ({ volume: Volume } | { host: Host })): JSX.Element {
  const [kind, of] = "volume" in props ? (["volume", props.volume] as const) : (["host", props.host] as const);
  const before = of.qos_policy ?? "";
  const [policy, setPolicy] = createSignal(before);
  const policies = useList<QosPolicy>(() => "/api/v1/qos-policies");
  const names = () => [...new Set([before, ...(policies.data() ?? []).map(({ name }) => name)])];
  return (
    <ChangeDialog
      title={`Limits of ${of.name}`}
      verb="Set policy"
      onClose={props.onClose}
      edited={{ path: api(`${kind}s`, of.id), shown: of }}
      ready={policy() !== before}
      dirty={() => policy() !== before}
      same={{
        what: `set the policy of this ${kind}`,
        windlass:
          policy() === ""
            ? windlass("qos", "detach", `--${kind}`, of.name)
            : windlass("qos", "attach", policy(), `--${kind}`, of.name),
        method: "PATCH",
        path: api(`${kind}s`, of.name),
        body: { qos_policy: policy() },
      }}
    >
      <ChoiceField
        label="Policy"
        name="qos_policy"
        value={policy()}
        onInput={setPolicy}
        options={[
          { value: "", label: "none" },
          ...names()
            .filter((name) => name !== "")
            .map((name) => ({ value: name, label: name })),
        ]}
      />
    </ChangeDialog>
  );
}

export function DeletePolicy(props: Closing & { policy: QosPolicy }): JSX.Element {
  const isUsed = () => props.policy.volumes.length + props.policy.hosts.length > 0;
  return (
    <DeleteDialog
      noun="policy"
      name={props.policy.name}
      onClose={props.onClose}
      same={{
        windlass: windlass("qos", "delete", props.policy.name, ...(isUsed() ? ["--force"] : []), "--yes"),
        path: withQuery(api("qos-policies", props.policy.name), { force: isUsed() || undefined }),
      }}
    >
      <Show when={isUsed()}>
        <p class="note">
          Its volumes and hosts have no limits then: {[...props.policy.volumes, ...props.policy.hosts].join(", ")}.
        </p>
      </Show>
    </DeleteDialog>
  );
}
