// Bytes that hosts did not have to transfer, over restarts of the array.

import { type JSX, Show } from "solid-js";
import { withQuery } from "../api/paths";
import { useQuery } from "../api/query";
import type { OffloadSum, OffloadTotals } from "../api/schema";
import { now } from "./now";
import { midnight } from "./time";
import { bytes } from "./units";

const kept = (sums: OffloadSum[]): string => bytes(sums.reduce((sum, row) => sum + row.host_bytes_avoided, 0));

export function KeptOffLine(): JSX.Element {
  const totals = useQuery<OffloadTotals>(
    () => withQuery("/api/v1/offload/totals", { day: midnight(now()) }),
    60_000,
    true,
  );
  return (
    <Show when={totals.data()} fallback={<p class="soft small">{totals.failure()?.message}</p>}>
      {(present) => (
        <p class="soft small">
          Kept off the wire: today {kept(present().today)} · 30 days {kept(present().days_30)} · since{" "}
          {present().since.slice(0, 10)} {kept(present().all)}
        </p>
      )}
    </Show>
  );
}
