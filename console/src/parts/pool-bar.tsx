// The space of a pool: parts that add up to its size.

import { type JSX, Show } from "solid-js";
import type { Pool } from "../api/schema";
import { Bytes } from "./numbers";
import { type Part, SpaceBar } from "./space-bar";
import { percent, times } from "./units";

/** Parts of a pool; before unique and shared are counted, used space is one part. */
export function partsOf(pool: Pool): Part[] {
  const { unique_bytes, shared_bytes, snapshot_bytes, token_bytes } = pool;
  const free: Part = { name: "free", bytes: pool.free_bytes, tone: "free", about: "can take new data" };
  const metadata: Part = {
    name: "metadata",
    bytes: pool.metadata_bytes,
    tone: "other",
    about: "log, space map and tree pages",
  };
  if (unique_bytes == null || shared_bytes == null || snapshot_bytes == null) {
    return [
      { name: "data, being counted", bytes: pool.used_bytes - pool.metadata_bytes, tone: "array" },
      metadata,
      free,
    ];
  }
  return [
    { name: "unique", bytes: unique_bytes, tone: "array", about: "deleting its volume or share frees it" },
    {
      name: "shared",
      bytes: shared_bytes,
      tone: "shared",
      about: "stored once for several owners, or about to become free",
    },
    { name: "snapshots", bytes: snapshot_bytes, tone: "network", about: "deleting all snapshots frees it" },
    ...((token_bytes ?? 0) > 0
      ? [
          {
            name: "tokens",
            bytes: token_bytes ?? 0,
            tone: "bad",
            about: "kept by copy tokens of hosts until they expire",
          } satisfies Part,
        ]
      : []),
    metadata,
    free,
  ];
}

export function PoolBar(props: { pool: Pool }): JSX.Element {
  const { warn_percent, critical_percent } = props.pool;
  const marks = [
    ...(warn_percent == null ? [] : [{ at: warn_percent, name: `warning at ${warn_percent} %` }]),
    ...(critical_percent == null ? [] : [{ at: critical_percent, name: `critical at ${critical_percent} %` }]),
  ];
  return (
    <>
      <SpaceBar label={`Space of pool ${props.pool.name}`} parts={partsOf(props.pool)} marks={marks} />
      <p class="soft small below-bar">
        {percent(props.pool.used_bytes, props.pool.size_bytes)} used · available{" "}
        <Bytes of={props.pool.available_bytes} />
        <Show when={(props.pool.promised_bytes ?? 0) > 0}>
          {" "}
          (<Bytes of={props.pool.promised_bytes} /> of the free space are promised)
        </Show>
        <Show when={props.pool.provisioned_bytes > 0}>
          {" "}
          · provisioned <Bytes of={props.pool.provisioned_bytes} />,{" "}
          {times(props.pool.provisioned_bytes / props.pool.size_bytes)} its size
        </Show>
      </p>
    </>
  );
}
