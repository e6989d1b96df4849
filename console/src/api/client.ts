// Requests to the array, with the problem document of a refusal.

import { credentials, keep, refuse, signInNumber, tabToken } from "../session";
import { heard, missed } from "./contact";
import { NoContact, Refused } from "./failure";
import type { Problem, SignInState } from "./schema";

/** Longest time for an answer; the array gives up before. */
const TIMEOUT_MS = 95_000;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Asks the array who has these credentials; without any, who has the cookie. */
export const who = async (headers: Record<string, string>): Promise<SignInState> =>
  JSON.parse(await exchange("GET", "/api/v1/sign-in", headers)) as SignInState;

/** Sends a request of the person. `body`: a file, or what becomes JSON. `tag`: that of the object that the change is about, as the person knows it. */
export async function send<T>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  tag?: string,
  key?: string,
): Promise<T> {
  const { text } = await ask(method, path, body, signal, tag, key);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** Reads an object with its tag. */
export async function read<T>(path: string): Promise<{ object: T; tag: string | undefined }> {
  const { text, tag } = await ask("GET", path);
  return { object: JSON.parse(text) as T, tag };
}

/** Text of an answer, and the tag of the object in it. */
interface Answer {
  text: string;
  tag: string | undefined;
}

async function ask(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  tag?: string,
  key?: string,
): Promise<Answer> {
  const number = signInNumber();
  const once = () => {
    const headers: Record<string, string> = { ...credentials() };
    if (tag !== undefined) headers["If-Match"] = tag;
    if (key !== undefined) headers["Idempotency-Key"] = key;
    return answer(method, path, headers, body, signal);
  };
  try {
    return await once().catch(async (failure: unknown) => {
      // Another tab has signed in: its cookie is that of this tab, and needs another header.
      if (!(failure instanceof Refused) || failure.problem.code !== "foreign-page" || tabToken() !== null)
        throw failure;
      keep(await who({}));
      return once();
    });
  } catch (failure) {
    if (failure instanceof Refused && failure.status === 401) refuse(number);
    throw failure;
  }
}

/** Sends a request with given credentials; the answer is text. */
export async function exchange(
  method: Method,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
  signal?: AbortSignal,
): Promise<string> {
  return (await answer(method, path, headers, body, signal)).text;
}

async function answer(
  method: Method,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const [response, text] = await contact(signal, async () => {
    const got = await fetch(path, {
      method,
      // A file has a type of its own.
      ...(body instanceof Blob
        ? { headers, body }
        : body === undefined
          ? { headers }
          : { headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      cache: "no-store",
    });
    return [got, await got.text()];
  });
  if (response.ok) return { text, tag: response.headers.get("ETag") ?? undefined };
  throw new Refused(response.status, problemOf(response.status, text));
}

/** Reads a file, whatever bytes it has. */
export async function download(path: string): Promise<Blob> {
  const [response, bytes] = await contact(undefined, async () => {
    const got = await fetch(path, { headers: credentials(), cache: "no-store" });
    return [got, await got.blob()];
  });
  if (response.ok) return bytes;
  throw new Refused(response.status, problemOf(response.status, await bytes.text()));
}

/** Opens a stream of text, which ends with `signal`; it has no limit of time. */
export async function stream(
  path: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<ReadableStreamDefaultReader<string>> {
  const response = await contact(signal, () => fetch(path, { headers, signal, cache: "no-store" }));
  if (response.ok && response.body !== null) return response.body.pipeThrough(new TextDecoderStream()).getReader();
  throw new Refused(response.status, problemOf(response.status, await response.text()));
}

/** Talks to the array, and notes contact or its loss. An exchange that `signal` ends counts as neither. */
async function contact<T>(signal: AbortSignal | undefined, talk: () => Promise<T>): Promise<T> {
  try {
    const answer = await talk();
    heard();
    return answer;
  } catch (cause) {
    if (signal?.aborted) throw cause;
    missed();
    throw new NoContact("the array does not answer", { cause });
  }
}

/** The problem document of an answer, or one that says what came instead. */
function problemOf(status: number, text: string): Problem {
  try {
    const problem: unknown = JSON.parse(text);
    if (typeof problem === "object" && problem !== null && "code" in problem && "detail" in problem) {
      return problem as Problem;
    }
  } catch {
    // Not JSON: the answer of a proxy, for example.
  }
  return {
    type: "about:blank",
    title: "no problem document",
    status,
    code: "unexpected-answer",
    detail: `status ${status} came without a problem document; is a proxy in between?`,
  };
}
