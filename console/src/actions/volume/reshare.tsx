// Dialog that starts a job: blocks that a host has copied share those of the original again.

import { createSignal, type JSX } from "solid-js";
import { api } from "../../api/paths";
import type { VolumeReshare } from "../../api/schema";
import { ChangeDialog } from "../../parts/dialog";
import { CheckField, TextField } from "../../parts/form";
import { windlass } from "../../parts/shell-lines";
import { exactBytes, sizeArgument } from "../../parts/units";
import type { Closing } from "../closing";
import { parseOffset } from "./offset";

export function ReshareVolume(props: Closing & { volume: string }): JSX.Element {
  const [other, setOther] = createSignal("");
  const [offset, setOffset] = createSignal("");
  const [compareOnly, setCompareOnly] = createSignal(false);
  const bytes = () => parseOffset(offset());
  const body = (): VolumeReshare => ({
    with: other().trim(),
    ...(bytes() ? { offset_bytes: bytes() } : {}),
    ...(compareOnly() ? { compare_only: true } : {}),
  });
  const line = () => {
    const distance = bytes() ?? 0;
    return windlass(
      "volume",
      "reshare",
      props.volume,
      "--with",
      other().trim() || "OTHER",
      ...(distance === 0 ? [] : [`--offset=${distance < 0 ? "-" : ""}${sizeArgument(Math.abs(distance))}`]),
      ...(compareOnly() ? ["--dry-run"] : []),
      "--no-wait",
    );
  };
  return (
    <ChangeDialog
      title={`Share ${props.volume} again`}
      verb={compareOnly() ? "Start comparison" : "Start reshare"}
      onClose={props.onClose}
      fields={{ "not-found": "with", "reshare-with-itself": "with", "source-is-share": "with" }}
      ready={other().trim() !== "" && bytes() !== undefined}
      dirty={() => other() + offset() !== ""}
      same={{
        what: compareOnly() ? "compare these volumes" : "share the blocks of this copy again",
        windlass: line(),
        method: "POST",
        path: api("volumes", props.volume, "reshare"),
        body: body(),
      }}
    >
      <p>
        A job compares the content of this volume with that of another one, and where it is equal the volume shares the
        blocks of the other: the space of a copy that a host made comes back. Content does not change. While hosts are
        active the job takes only its share of time; Activity shows it.
      </p>
      <div class="two">
        <TextField
          label="With"
          name="with"
          required
          value={other()}
          onInput={setOther}
          hint="another volume, or a snapshot as VOLUME@SNAPSHOT"
        />
        <TextField
          label="Offset"
          name="offset"
          placeholder="0"
          value={offset()}
          onInput={setOffset}
          error={bytes() === undefined ? "a size such as 40G or -40G, a multiple of 4 KiB" : undefined}
          hint={bytes() ? exactBytes(Math.abs(bytes() ?? 0)) : "where the same content is there, if at another place"}
        />
      </div>
      <CheckField
        label="Only compare, and tell how much space it would give back"
        name="compare-only"
        checked={compareOnly()}
        onInput={setCompareOnly}
      />
    </ChangeDialog>
  );
}
