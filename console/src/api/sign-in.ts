// Signing in and out, and who the page belongs to.

import { credentials, credentialsOf, drop, keep, person, refuse, replace, tabToken } from "../session";
import { exchange, who } from "./client";
import { asFailure, Refused } from "./failure";
import { api } from "./paths";
import type { SetupRun, SetupState, SignInStart } from "./schema";

const HERE = "/api/v1/sign-in";
/** Pause before the array is asked again who the person is. */
const RETRY_MS = 2000;

/** Finds out who the page belongs to: by the token of the tab, or the cookie of the browser. */
export async function resume(): Promise<void> {
  const token = tabToken();
  try {
    keep(await who(credentials()), token ?? undefined);
  } catch (failure) {
    if (asFailure(failure) instanceof Refused) refuse();
    // Without an answer, the page goes on with what it has meanwhile.
    else setTimeout(() => void resume(), RETRY_MS);
  }
}

/** Signs in with name and password. */
export async function signIn(start: SignInStart): Promise<void> {
  await exchange("POST", HERE, {}, start);
  keep(await who({}));
}

/** Takes a token. */
export async function takeToken(token: string): Promise<void> {
  keep(await who(credentialsOf(token)), token);
}

/** True if the array has no administrator yet. */
export async function setupNeeded(): Promise<boolean> {
  return (JSON.parse(await exchange("GET", api("setup"), {})) as SetupState).needed;
}

/** Creates the first administrator, who is signed in then. */
export async function setUp(run: SetupRun): Promise<void> {
  await exchange("POST", api("setup"), {}, run);
  keep(await who({}));
}

/** Changes the password of the person; all sign-ins of the user end, and this one begins anew. */
export async function changePassword(present: string, next: string): Promise<void> {
  // An administrator may have renamed the user since the sign-in.
  await resume();
  const { user = "", idle_seconds } = person() ?? {};
  await replace(async () => {
    const body = { password: next, present_password: present };
    await exchange("PUT", api("users", user, "password"), credentials(), body);
    await signIn({ user, password: next, display: idle_seconds == null });
  });
}

/** Ends the sign-in. One that has ended already counts as ended. */
export async function endSignIn(): Promise<void> {
  try {
    await exchange("DELETE", HERE, credentials());
  } catch (failure) {
    if (!(failure instanceof Refused && (failure.status === 401 || failure.status === 404))) throw failure;
  }
}

/** Signs out: drops the token, or ends the sign-in first. */
export async function signOut(): Promise<void> {
  if (tabToken() === null) await endSignIn();
  drop();
}
