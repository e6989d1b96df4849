// Reasons why a request has no result.

import type { Problem } from "./schema";

/** The array refused a request, and says why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.detail);
  }
}

/** No answer came: the array is stopped or restarting, or the network is interrupted. */
export class NoContact extends Error {}

/** Reason why there is no result. */
export type Failure = Refused | NoContact;

/** Failure of a request; errors of the console itself are thrown again. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Refused || error instanceof NoContact) return error;
  throw error;
}
