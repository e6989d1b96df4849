// What deleting several objects together would free: the sum that sharing allows, not that of the rows.

import { type JSX, Show } from "solid-js";
import { asked } from "../api/asked";
import { api } from "../api/paths";
import type { WhatIfAnswer } from "../api/schema";
import { FailureBox } from "./state";
import { exactBytes } from "./units";

/** Most objects of one question. */
const MOST = 256;

interface TogetherProps {
  /** Volumes, shares and snapshots by name or id; what is in the trash by id. */
  ids: string[];
  /** True if volumes and shares go with their snapshots. */
  withSnapshots?: boolean;
}

export function Together(props: TogetherProps): JSX.Element {
  const possible = () => props.ids.length > 0 && props.ids.length <= MOST;
  const sum = asked<WhatIfAnswer>(
    () =>
      possible()
        ? {
            method: "POST",
            path: api("space", "what-if"),
            body: { delete: props.ids, with_snapshots: props.withSnapshots },
          }
        : undefined,
    ({ freed_bytes }) => freed_bytes == null,
  );
  const words = () => {
    if (props.ids.length > MOST) return `The array counts at most ${MOST} together.`;
    const bytes = sum.answer()?.freed_bytes;
    return bytes == null ? "Together: … is being counted" : `Together they free ${exactBytes(bytes)}.`;
  };
  return (
    <Show when={sum.failure()} fallback={<span role="status">{words()}</span>}>
      {(failure) => <FailureBox failure={failure()} retry={sum.retry} />}
    </Show>
  );
}
