// Numbers and times in running text and tables: short, with the exact value on hover.

import type { JSX } from "solid-js";
import { Show } from "solid-js";
import { now } from "./now";
import { ago, duration, instant } from "./time";
import { bytes, COUNTING, exactBytes, NONE } from "./units";

/** Bytes; `null` is being counted, `undefined` does not apply. */
export function Bytes(props: { of: number | null | undefined }): JSX.Element {
  return (
    <Show when={props.of !== undefined} fallback={NONE}>
      <Show when={props.of !== null} fallback={<span title="is being counted">{COUNTING}</span>}>
        <data value={props.of ?? 0} title={exactBytes(props.of ?? 0)}>
          {bytes(props.of ?? 0)}
        </data>
      </Show>
    </Show>
  );
}

/** Age of an instant, with the full time on hover. */
export function Ago(props: { at: string | null | undefined }): JSX.Element {
  return (
    <Show when={props.at} fallback={NONE}>
      {(at) => (
        <time dateTime={at()} title={instant(Date.parse(at()))}>
          {ago(Date.parse(at()), now())}
        </time>
      )}
    </Show>
  );
}

/** The full time. */
export function At(props: { at: string }): JSX.Element {
  return <time dateTime={props.at}>{instant(Date.parse(props.at)).replace(" UTC", "")}</time>;
}

/** Time until an instant, with the full time on hover; `past` when it is over. */
export function Until(props: { at: string; past: JSX.Element }): JSX.Element {
  const left = () => (Date.parse(props.at) - now()) / 1000;
  return (
    <time dateTime={props.at} title={instant(Date.parse(props.at))}>
      {left() > 0 ? `in ${duration(left())}` : props.past}
    </time>
  );
}
