// Command lines as text, safe for a POSIX shell whatever the names are.

import type { Method } from "../api/client";

/** One action: its line for `windlass`, if it has one, and its request. */
export interface Same {
  what: string;
  windlass?: string;
  method?: Method;
  path: string;
  body?: unknown;
}

/** A word for a shell, quoted if it has to be. */
export const quoted = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

/** `windlass WORD …`; words that are `undefined` are left out. */
export const windlass = (...words: (string | undefined)[]): string =>
  ["windlass", ...words.filter((word) => word !== undefined).map(quoted)].join(" ");

/** A request as a line for curl. The certificate is that of the array, which the reader has compared. */
export function curl(origin: string, method: Method, path: string, body?: unknown): string {
  const parts = ['curl --cacert cert.pem -H "Authorization: Bearer $WINDLASS_TOKEN"'];
  if (method !== "GET") parts.push(`-X ${method}`);
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return [...parts, quoted(origin + path)].join(" ");
}

/** Lines for windlass, one for each action that has one. */
export const windlassLines = (all: Same[]): string => all.flatMap((same) => same.windlass ?? []).join("\n");

/** Lines for curl, one for each action. */
export const curlLines = (origin: string, all: Same[]): string =>
  all.map((same) => curl(origin, same.method ?? "GET", same.path, same.body)).join("\n");
