// Signing in and out, and who the page belongs to.

import { credentials, credentialsOf, drop, keep, refuse, tabToken } from "../session";
import { exchange } from "./client";
import { asFailure, Refused } from "./failure";
import { api } from "./paths";
import type { SetupRun, SetupState, SignInStart, SignInState } from "./schema";

const HERE = "/api/v1/sign-in";
/** Pause before the array is asked again who the person is. */
const RETRY_MS = 2000;

const who = async (headers: Record<string, string>): Promise<SignInState> =>
  JSON.parse(await exchange("GET", HERE, headers)) as SignInState;

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

/** Changes the password of the user that the page belongs to; all sign-ins of the user end, and this one begins anew. */
export async function changePassword(user: string, present: string, next: string): Promise<void> {
  // A wrong present password is no end of the session.
  const body = { password: next, present_password: present };
  await exchange("PUT", api("users", user, "password"), credentials(), body);
  await signIn({ user, password: next });
}

/** Ends the sign-in. */
export async function endSignIn(): Promise<void> {
  try {
    await exchange("DELETE", HERE, credentials());
  } catch (failure) {
    // It has ended already; a token has none.
    if (!(failure instanceof Refused)) throw failure;
  }
}

/** Signs out: drops the token, or ends the sign-in first. */
export async function signOut(): Promise<void> {
  await endSignIn();
  drop();
}
