// Session of the tab: a token, which the page keeps for the life of the tab and sends in a header. The console does not
// yet sign in with name and password (`/api/v1/sign-in`).

import { createSignal } from "solid-js";

const KEY = "windlass-token";

const [token, setToken] = createSignal(sessionStorage.getItem(KEY));
const [ended, setEnded] = createSignal(false);

/** True while the page has a token. */
export const signedIn = () => token() !== null;

/** True after the array refused a token that it took before: the page stays, and asks again. */
export const sessionEnded = ended;

/** Headers that identify the person. */
export function credentials(): Record<string, string> {
  const present = token();
  return present === null ? {} : { Authorization: `Bearer ${present}` };
}

/** Headers for a token that is not known to be right yet. */
export const credentialsOf = (candidate: string): Record<string, string> => ({ Authorization: `Bearer ${candidate}` });

/** Keeps a token that the array has accepted. */
export function keep(accepted: string): void {
  sessionStorage.setItem(KEY, accepted);
  setToken(accepted);
  setEnded(false);
}

/** Notes that the array no longer accepts the token. */
export function refuse(): void {
  if (signedIn()) setEnded(true);
}

/** Drops the token. */
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  setToken(null);
  setEnded(false);
}
