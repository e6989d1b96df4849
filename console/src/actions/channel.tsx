// The dialog that creates a channel or changes one. Secrets are written, and never read.

import { createSignal, type JSX, Match, Show, Switch } from "solid-js";
import { api } from "../api/paths";
import type { Channel, ChannelCreate, ChannelSet, ChannelSettings } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { CheckField, ChoiceField, TextField } from "../parts/form";
import { minuteOf, timeOfDay } from "../parts/schedule-words";
import { windlass } from "../parts/shell-lines";
import { words } from "../parts/words";
import {
  BODIES,
  chosen,
  type Fields,
  fieldsOf,
  KINDS,
  type Kind,
  MAIL_TLS,
  SEVERITIES,
  settingsOf,
  settingWords,
  TRANSPORTS,
} from "./channel-settings";
import type { Closing } from "./closing";

export default function EditChannel(props: Closing & { channel?: Channel }): JSX.Element {
  const old = props.channel;
  const [kind, setKind] = createSignal<Kind>(old?.settings.kind ?? "email");
  const [name, setName] = createSignal(old?.name ?? "");
  const [severity, setSeverity] = createSignal<string>(old?.min_severity ?? "warning");
  const [codes, setCodes] = createSignal((old?.codes ?? []).join(" "));
  const [enabled, setEnabled] = createSignal(old?.enabled ?? true);
  const [quiet, setQuiet] = createSignal(
    old?.quiet_hours == null
      ? ""
      : `${timeOfDay(old.quiet_hours.from_minute)}-${timeOfDay(old.quiet_hours.until_minute)}`,
  );
  const [fields, setFields] = createSignal(fieldsOf(old?.settings));
  const [secret, setSecret] = createSignal("");
  const set = (field: keyof Fields) => (value: string) => setFields({ ...fields(), [field]: value });
  const zone = old?.quiet_hours?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hours = () => {
    if (quiet().trim() === "") return { from_minute: 0, until_minute: 0, zone };
    const [from, until] = quiet()
      .split("-")
      .map((text) => minuteOf(text.trim()));
    return from === undefined || until === undefined ? undefined : { from_minute: from, until_minute: until, zone };
  };
  const settings = () => settingsOf(kind(), fields(), old);
  /** What is sent instead of the settings that the command line shows. */
  const withSecret = (): ChannelSettings => {
    const shown = settings();
    if (secret() === "") return shown;
    if (shown.kind === "email") return { ...shown, password: secret() };
    return shown.kind === "webhook" ? { ...shown, secret: secret() } : shown;
  };
  const first = {
    settings: settings(),
    name: name(),
    codes: codes(),
    severity: severity(),
    quiet: quiet(),
    on: enabled(),
  };
  const changesSettings = () => secret() !== "" || JSON.stringify(settings()) !== JSON.stringify(first.settings);
  const common = () => ({
    min_severity: chosen(SEVERITIES, severity()),
    codes: words(codes()),
    enabled: enabled(),
  });
  const body = (): ChannelCreate | ChannelSet => {
    const quiet_hours = hours();
    if (old === undefined)
      return {
        name: name().trim(),
        settings: settings(),
        ...common(),
        ...(quiet().trim() === "" || quiet_hours === undefined ? {} : { quiet_hours }),
      };
    const change: ChannelSet = {};
    if (name().trim() !== first.name) change.name = name().trim();
    if (changesSettings()) change.settings = settings();
    if (severity() !== first.severity) change.min_severity = common().min_severity;
    if (codes() !== first.codes) change.codes = common().codes;
    if (enabled() !== first.on) change.enabled = enabled();
    if (quiet() !== first.quiet && quiet_hours !== undefined) change.quiet_hours = quiet_hours;
    return change;
  };
  const line = () =>
    windlass(
      "channel",
      ...(old === undefined ? ["create", kind(), name().trim() || "NAME"] : ["set", old.name]),
      ...(old !== undefined && name().trim() !== first.name ? ["--name", name().trim()] : []),
      ...(old === undefined || changesSettings() ? settingWords(settings(), secret() !== "") : []),
      ...(severity() === first.severity ? [] : ["--min-severity", severity()]),
      ...(codes() === first.codes ? [] : ["--codes", words(codes()).join() || "all"]),
      ...(quiet() === first.quiet ? [] : ["--quiet-hours", quiet().trim() || "none", "--zone", zone]),
      ...(enabled() === first.on ? [] : ["--enabled", enabled() ? "on" : "off"]),
    );
  const some = () => Object.keys(body()).length > 0;
  const complete = () => {
    const { server, port, from, to, url } = fields();
    const isPort = port.trim() === "" || /^\d{1,5}$/.test(port.trim());
    if (kind() === "webhook") return /^https?:\/\/./.test(url.trim());
    return server.trim() !== "" && isPort && (kind() === "syslog" || (from.trim() !== "" && words(to).length > 0));
  };
  const kept = () =>
    (old?.settings.kind === "email" && old.settings.has_password) ||
    (old?.settings.kind === "webhook" && old.settings.has_secret);
  return (
    <ChangeDialog
      title={old === undefined ? "New channel" : `Change ${old.name}`}
      verb={old === undefined ? "Create channel" : "Change channel"}
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name", "channel-exists": "name" }}
      ready={name().trim() !== "" && complete() && hours() !== undefined && (old === undefined || some())}
      dirty={() => JSON.stringify(body()) !== "{}" && name() + fields().server + fields().url !== ""}
      {...(old === undefined ? {} : { edited: { path: api("channels", old.id), shown: old } })}
      same={{
        what: old === undefined ? "create this channel" : "change this channel",
        windlass: line(),
        method: old === undefined ? "POST" : "PATCH",
        path: old === undefined ? api("channels") : api("channels", old.id),
        body: body(),
      }}
      {...(changesSettings() || old === undefined
        ? { secret: { settings: withSecret() } as unknown as Record<string, string> }
        : {})}
    >
      <div class="side-by-side">
        <TextField label="Name" name="name" required value={name()} onInput={setName} />
        <Show when={old === undefined}>
          <ChoiceField
            label="Kind"
            name="kind"
            value={kind()}
            onInput={(value) => setKind(chosen(KINDS, value))}
            options={KINDS}
          />
        </Show>
      </div>
      <Switch>
        <Match when={kind() === "webhook"}>
          <TextField
            label="Address"
            name="url"
            placeholder="https://oncall.example.org/hook"
            value={fields().url}
            onInput={set("url")}
            hint="It gets a POST request for each message."
          />
          <ChoiceField label="Body" name="body" value={fields().body} onInput={set("body")} options={[...BODIES]} />
          <SecretField
            label="Key of the signature"
            name="secret"
            value={secret()}
            onInput={setSecret}
            kept={kept() === true}
          />
        </Match>
        <Match when={kind() !== "webhook"}>
          <div class="side-by-side">
            <TextField label="Server" name="server" required value={fields().server} onInput={set("server")} />
            <TextField
              label="Port"
              name="port"
              value={fields().port}
              onInput={set("port")}
              hint="empty: the usual one"
            />
            <ChoiceField
              label={kind() === "syslog" ? "Transport" : "Encryption"}
              name="security"
              value={fields().security}
              onInput={set("security")}
              options={kind() === "syslog" ? [...TRANSPORTS] : [...MAIL_TLS]}
            />
          </div>
          <Show when={kind() === "email"}>
            <div class="side-by-side">
              <TextField label="From" name="from" value={fields().from} onInput={set("from")} />
              <TextField label="To" name="to" value={fields().to} onInput={set("to")} hint="one address or several" />
            </div>
            <div class="side-by-side">
              <TextField
                label="User there"
                name="user"
                value={fields().user}
                onInput={set("user")}
                hint="empty: none"
              />
              <SecretField
                label="Password there"
                name="password"
                value={secret()}
                onInput={setSecret}
                kept={kept() === true}
              />
            </div>
          </Show>
        </Match>
      </Switch>
      <ChoiceField label="Alerts" name="min_severity" value={severity()} onInput={setSeverity} options={SEVERITIES} />
      <TextField
        label="Only the codes"
        name="codes"
        value={codes()}
        onInput={setCodes}
        placeholder="pool-full path-lost"
        hint="empty: all"
      />
      <TextField
        label="Quiet hours"
        name="quiet_hours"
        value={quiet()}
        onInput={setQuiet}
        placeholder="22:00-06:00"
        error={hours() === undefined ? "such as 22:00-06:00" : undefined}
        hint={`Only critical alerts are sent then. Times of ${zone}.`}
      />
      <CheckField label="It is on" name="enabled" checked={enabled()} onInput={setEnabled} />
    </ChangeDialog>
  );
}

function SecretField(props: {
  label: string;
  name: string;
  value: string;
  onInput: (value: string) => void;
  kept: boolean;
}): JSX.Element {
  return (
    <TextField
      {...props}
      type="password"
      complete="new-password"
      hint={props.kept ? "one is kept; empty: it stays" : "it is kept, and never shown again"}
    />
  );
}
