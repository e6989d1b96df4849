// The settings of a channel as texts of a form, and back.

import type { Channel, ChannelSettings, Severity } from "../api/schema";
import { words } from "../parts/words";

export type Kind = ChannelSettings["kind"];

export const KINDS: { value: Kind; label: string }[] = [
  { value: "email", label: "e-mail" },
  { value: "webhook", label: "webhook" },
  { value: "syslog", label: "syslog" },
];
export const SEVERITIES: { value: Severity; label: string }[] = [
  { value: "info", label: "all" },
  { value: "warning", label: "warnings and critical ones" },
  { value: "critical", label: "critical ones alone" },
];
export const MAIL_TLS = [
  { value: "starttls", label: "STARTTLS" },
  { value: "tls", label: "TLS from the first byte" },
  { value: "none", label: "none" },
] as const;
export const TRANSPORTS = [
  { value: "tls", label: "TLS" },
  { value: "tcp", label: "TCP" },
  { value: "udp", label: "UDP" },
] as const;
export const BODIES = [
  { value: "windlass", label: "Windlass" },
  { value: "alertmanager", label: "Alertmanager" },
] as const;

/** The one of these choices with a value; the first without. */
export function chosen<T extends string>(choices: readonly { value: T }[], value: string): T {
  const found = choices.find((choice) => choice.value === value) ?? choices[0];
  if (found === undefined) throw new Error("no choices");
  return found.value;
}

/** Fields of all kinds, as texts. */
export function fieldsOf(settings: ChannelSettings | undefined) {
  const [mail, hook, log] = [
    settings?.kind === "email" ? settings : undefined,
    settings?.kind === "webhook" ? settings : undefined,
    settings?.kind === "syslog" ? settings : undefined,
  ];
  return {
    server: mail?.server ?? log?.server ?? "",
    port: String(mail?.port ?? log?.port ?? ""),
    security: mail?.tls ?? log?.transport ?? "",
    user: mail?.user ?? "",
    from: mail?.from ?? "",
    to: (mail?.to ?? []).join("\n"),
    url: hook?.url ?? "",
    body: hook?.body ?? "windlass",
    ca: mail?.ca ?? hook?.ca ?? log?.ca ?? "",
  };
}

export type Fields = ReturnType<typeof fieldsOf>;

/** The settings that the fields mean. What no field shows stays as it is. */
export const settingsOf = (kind: Kind, fields: Fields, old: Channel | undefined): ChannelSettings =>
  // The document of the interface types words that have a default more narrowly than the array does.
  plainSettings(kind, fields, old) as ChannelSettings;

function plainSettings(kind: Kind, fields: Fields, old: Channel | undefined) {
  const { server, port, security, user, from, to, url, body, ca } = fields;
  const optional = {
    ...(ca.trim() === "" ? {} : { ca }),
    ...(kind === "webhook" || port.trim() === "" ? {} : { port: Number(port) }),
  };
  if (kind === "webhook") return { kind: "webhook", url: url.trim(), body: chosen(BODIES, body), ...optional };
  const facility = old?.settings.kind === "syslog" ? old.settings.facility : undefined;
  if (kind === "syslog")
    return {
      kind: "syslog",
      server: server.trim(),
      transport: chosen(TRANSPORTS, security),
      ...(facility == null ? {} : { facility }),
      ...optional,
    };
  return {
    kind: "email",
    server: server.trim(),
    tls: chosen(MAIL_TLS, security),
    from: from.trim(),
    to: words(to),
    ...(user.trim() === "" ? {} : { user: user.trim() }),
    ...optional,
  };
}

/** Options of the command line for the settings. */
export function settingWords(present: ChannelSettings, hasSecret: boolean): string[] {
  if (present.kind === "webhook")
    return ["--url", present.url, "--body", present.body ?? "windlass", ...(!hasSecret ? [] : ["--secret", "prompt"])];
  const server = ["--host", present.server, ...(present.port == null ? [] : ["--port", String(present.port)])];
  if (present.kind === "syslog") return [...server, "--transport", present.transport ?? "tls"];
  const user = present.user == null ? [] : ["--user", present.user];
  const password = !hasSecret ? [] : ["--password", "prompt"];
  return [
    ...server,
    "--tls",
    present.tls ?? "starttls",
    ...user,
    ...password,
    "--from",
    present.from,
    "--to",
    present.to.join(),
  ];
}
