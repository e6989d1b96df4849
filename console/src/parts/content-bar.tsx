// The space of a volume or share: unique, shared, never written.

import { type JSX, Show } from "solid-js";
import { Bytes } from "./numbers";
import { type Part, SpaceBar } from "./space-bar";

export interface Content {
  /** Capacity or quota; without it, the bar ends at what is mapped. */
  size_bytes?: number | null;
  mapped_bytes: number;
  unique_bytes?: number | null;
  shared_bytes?: number | null;
  snapshot_bytes?: number | null;
}

export function ContentBar(props: { label: string; content: Content }): JSX.Element {
  const parts = (): Part[] => {
    const { size_bytes, mapped_bytes, unique_bytes, shared_bytes } = props.content;
    const rest: Part[] =
      size_bytes == null
        ? []
        : [
            {
              name: "not written",
              bytes: Math.max(0, size_bytes - mapped_bytes),
              tone: "free",
              about: "takes no space",
            },
          ];
    if (unique_bytes == null || shared_bytes == null)
      return [
        { name: "mapped", bytes: mapped_bytes, tone: "array", about: "unique and shared are being counted" },
        ...rest,
      ];
    return [
      { name: "unique", bytes: unique_bytes, tone: "array", about: "deleting it frees this" },
      {
        name: "shared",
        bytes: shared_bytes,
        tone: "shared",
        about: "a snapshot, clone or copied range refers to it too",
      },
      ...rest,
    ];
  };
  return (
    <>
      <SpaceBar label={props.label} parts={parts()} />
      <p class="soft small below-bar">
        <Show when={props.content.unique_bytes != null} fallback="What is unique and what is shared is being counted.">
          Deleting it frees <Bytes of={props.content.unique_bytes} />, deleting its snapshots{" "}
          <Bytes of={props.content.snapshot_bytes ?? 0} />; both together may free more.
        </Show>
      </p>
    </>
  );
}
