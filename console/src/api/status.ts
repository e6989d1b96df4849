// The status of the array, which the bar shows on every page.

import { type Query, useQuery } from "./query";
import type { Status } from "./schema";

const EVERY_MS = 5_000;

/** Shows the status, read every five seconds, and when a job or an alert is announced. */
export const useStatus = (): Query<Status> => useQuery<Status>(() => "/api/v1/system", EVERY_MS);
