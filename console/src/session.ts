// Session of the tab: the sign-in of a user, whose cookie the browser keeps, or a token, which the tab keeps until it is
// closed. A user who touches neither keys nor pointer for half an hour is signed out: requests of the page itself would
// keep the sign-in alive.

import { createSignal } from "solid-js";
import type { Role, SignInState } from "./api/schema";

const TOKEN = "windlass-token";
/** When somebody was last seen in any tab: milliseconds since 1970. */
const SEEN = "windlass-seen";
/** Time between two looks, and between two notes, in milliseconds. */
const LOOK_MS = 10_000;

const [token, setToken] = createSignal(sessionStorage.getItem(TOKEN));
const [state, setState] = createSignal<SignInState>();
const [ended, setEnded] = createSignal(false);
/** Number of the sign-in: an answer to a request of an earlier one says nothing about this one. */
let generation = 0;
/** True while the sign-in is replaced by another. */
let replacing = false;

/** Who uses the page; `undefined` until the array has said so. */
export const person = state;

/** True while the page has a sign-in or a token. */
export const signedIn = () => token() !== null || state() !== undefined;

/** True after the array refused what it took before: the page stays, and asks again. */
export const sessionEnded = ended;

/** The token of the tab. */
export const tabToken = token;

/** Headers that identify the person. */
export function credentials(): Record<string, string> {
  const present = token();
  if (present !== null) return credentialsOf(present);
  const csrf = state()?.csrf;
  return csrf == null ? {} : { "Windlass-CSRF": csrf };
}

/** Headers for a token that is not known to be right yet. */
export const credentialsOf = (candidate: string): Record<string, string> => ({ Authorization: `Bearer ${candidate}` });

/** Keeps who the array says the person is, and the token, if there is one. */
export function keep(present: SignInState, accepted?: string): void {
  if (accepted === undefined) sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, accepted);
  generation += 1;
  setToken(accepted ?? null);
  setState(present);
  setEnded(false);
  seen();
}

/** Number of the present sign-in. */
export const signInNumber = (): number => generation;

/** Notes that the array no longer accepts the person, of this sign-in. */
export function refuse(of = generation): void {
  if (signedIn() && of === generation && !replacing) setEnded(true);
}

/** Replaces the sign-in; what the array refuses meanwhile is the former one. */
export async function replace(by: () => Promise<void>): Promise<void> {
  replacing = true;
  try {
    await by();
  } finally {
    replacing = false;
  }
}

/** Drops the person and the token. */
export function drop(): void {
  sessionStorage.removeItem(TOKEN);
  setToken(null);
  setState(undefined);
  setEnded(false);
}

const RANK: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** Reason why the person may not do what needs a role. */
export function unless(role: Role): string | undefined {
  const present = state();
  return present === undefined || RANK[present.role] >= RANK[role] ? undefined : `needs the role ${role}`;
}

let noted = 0;
function seen(): void {
  if (Date.now() - noted < LOOK_MS) return;
  noted = Date.now();
  localStorage.setItem(SEEN, String(noted));
}

/** Calls `leave` when nobody was seen for as long as the sign-in lasts without a request; once for the page. */
export function watchIdle(leave: () => void): void {
  for (const kind of ["keydown", "pointerdown", "wheel"]) addEventListener(kind, seen, { passive: true });
  setInterval(() => {
    const seconds = state()?.idle_seconds;
    if (seconds == null || ended()) return;
    const last = Number(localStorage.getItem(SEEN) ?? noted);
    if (Date.now() - last > seconds * 1000) leave();
  }, LOOK_MS);
}
