// Dialogs that grow a pool, change its thresholds, and start its jobs.

import { createSignal, type JSX } from "solid-js";
import { api } from "../api/paths";
import type { Pool, PoolGrow, PoolSet } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { ChoiceField, TextField } from "../parts/form";
import { Bytes } from "../parts/numbers";
import { windlass } from "../parts/shell-lines";
import { exactBytes, parseSize, sizeArgument } from "../parts/units";
import type { Closing } from "./closing";

export function GrowPool(props: Closing & { pool: Pool }): JSX.Element {
  const [by, setBy] = createSignal("size");
  const [value, setValue] = createSignal("");
  const size = () => parseSize(value());
  const body = (): PoolGrow => (by() === "size" ? { size_bytes: size() ?? 0 } : { device: value().trim() });
  return (
    <ChangeDialog
      title={`Grow ${props.pool.name}`}
      verb="Grow pool"
      onClose={props.onClose}
      fields={{ "invalid-size": "value", "device-unusable": "value" }}
      ready={by() === "size" ? size() !== undefined : value().trim() !== ""}
      dirty={() => value() !== ""}
      same={{
        what: "grow this pool",
        windlass: windlass(
          "pool",
          "grow",
          props.pool.name,
          ...(by() === "size" ? ["--size", sizeArgument(size() ?? 0)] : ["--device", value().trim() || "PATH"]),
        ),
        method: "POST",
        path: api("pools", props.pool.name, "grow"),
        body: body(),
      }}
    >
      <p>
        It has <Bytes of={props.pool.size_bytes} />. Hosts notice nothing. A pool cannot shrink.
      </p>
      <ChoiceField
        label="By"
        name="by"
        value={by()}
        onInput={setBy}
        options={[
          { value: "size", label: "a new size of its last file or device" },
          { value: "device", label: "another blank device or file" },
        ]}
      />
      <TextField
        label={by() === "size" ? "New size" : "Path on the array's machine"}
        name="value"
        required
        value={value()}
        onInput={setValue}
        error={
          by() === "size" && value() !== "" && size() === undefined ? "write for example 100G or 1.5TiB" : undefined
        }
        hint={by() === "size" && size() !== undefined ? exactBytes(size() ?? 0) : undefined}
      />
    </ChangeDialog>
  );
}

const percentError = (text: string): string | undefined =>
  /^(100|[1-9][0-9]?)$/.test(text.trim()) ? undefined : "1 to 100";

export function SetPool(props: Closing & { pool: Pool }): JSX.Element {
  const { pool } = props;
  const [warn, setWarn] = createSignal(String(pool.warn_percent ?? ""));
  const [critical, setCritical] = createSignal(String(pool.critical_percent ?? ""));
  const [limit, setLimit] = createSignal(String(pool.commitment_limit_percent ?? ""));
  const [latency, setLatency] = createSignal(pool.latency_alert_us == null ? "" : String(pool.latency_alert_us / 1000));
  const latencyUs = () => Math.round(Number(latency().trim().replace(",", ".")) * 1000);
  const latencyError = () =>
    latency().trim() === "" || (latencyUs() >= 100 && latencyUs() <= 60_000_000) ? undefined : "0.1 to 60 000";
  const limitError = () =>
    limit().trim() === "" || /^\d{1,9}$/.test(limit().trim()) ? undefined : "a number of percent";
  const body = (): PoolSet => {
    const set: PoolSet = {};
    if (Number(warn()) !== pool.warn_percent) set.warn_percent = Number(warn());
    if (Number(critical()) !== pool.critical_percent) set.critical_percent = Number(critical());
    if (Number(limit()) !== (pool.commitment_limit_percent ?? 0)) set.commitment_limit_percent = Number(limit());
    if (latencyError() === undefined && latencyUs() !== (pool.latency_alert_us ?? 0))
      set.latency_alert_us = latencyUs();
    return set;
  };
  const some = () => Object.keys(body()).length > 0;
  const words = () => {
    const set = body();
    return [
      ...(set.warn_percent == null ? [] : ["--warn", String(set.warn_percent)]),
      ...(set.critical_percent == null ? [] : ["--critical", String(set.critical_percent)]),
      ...(set.commitment_limit_percent == null
        ? []
        : ["--commitment", set.commitment_limit_percent === 0 ? "off" : String(set.commitment_limit_percent)]),
      ...(set.latency_alert_us == null
        ? []
        : ["--latency-alert", set.latency_alert_us === 0 ? "off" : `${set.latency_alert_us}us`]),
    ];
  };
  return (
    <ChangeDialog
      title={`Thresholds of ${pool.name}`}
      verb="Change thresholds"
      onClose={props.onClose}
      fields={{ "invalid-setting": "critical" }}
      ready={
        some() &&
        percentError(warn()) === undefined &&
        percentError(critical()) === undefined &&
        limitError() === undefined &&
        latencyError() === undefined
      }
      dirty={some}
      same={{
        what: "change the thresholds",
        windlass: windlass("pool", "set", pool.name, ...words()),
        method: "PATCH",
        path: api("pools", pool.name),
        body: body(),
      }}
    >
      <div class="two">
        <TextField
          label="Warn above"
          name="warn"
          value={warn()}
          onInput={setWarn}
          error={percentError(warn())}
          hint="percent of the pool that is used or promised"
        />
        <TextField
          label="Critical above"
          name="critical"
          value={critical()}
          onInput={setCritical}
          error={percentError(critical())}
          hint="percent, not below the first"
        />
      </div>
      <TextField
        label="Limit of over-commitment"
        name="limit"
        value={limit()}
        onInput={setLimit}
        error={limitError()}
        hint="sizes of all volumes together, in percent of the pool; empty: off"
      />
      <TextField
        label="Alert for slow reads and writes"
        name="latency"
        value={latency()}
        onInput={setLatency}
        error={latencyError()}
        hint="milliseconds; when more than 1 % of those of hosts take longer for five minutes. Empty: off"
      />
    </ChangeDialog>
  );
}

const JOBS = {
  scrub: {
    title: "Scrub",
    what: "It reads and verifies all stored data, and names what is bad.",
    line: ["pool", "scrub"],
  },
  check: { title: "Check", what: "It verifies map and reference counts of the pool in use.", line: ["pool", "check"] },
  reclaim: {
    title: "Reclaim zeros of all volumes in",
    what: "It reads all volumes and frees stored blocks of zeros. Content does not change.",
    line: undefined,
  },
} as const;

export function StartPoolJob(props: Closing & { pool: string; kind: keyof typeof JOBS }): JSX.Element {
  const job = () => JOBS[props.kind];
  const line = () =>
    props.kind === "reclaim"
      ? windlass("volume", "reclaim", "--all", "--no-wait")
      : windlass(...(job().line ?? []), props.pool);
  return (
    <ChangeDialog
      title={`${job().title} ${props.pool}`}
      verb={`Start ${props.kind}`}
      onClose={props.onClose}
      same={{
        what: `start ${props.kind}`,
        windlass: line(),
        method: "POST",
        path: api("pools", props.pool, props.kind),
        body: {},
      }}
    >
      <p>
        {job().what} A job does it in the background, and takes only its share of time while hosts are active; Activity
        shows it.
      </p>
    </ChangeDialog>
  );
}
