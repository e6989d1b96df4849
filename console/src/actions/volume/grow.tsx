// Dialog that enlarges a volume.

import { createSignal, type JSX } from "solid-js";
import { api } from "../../api/paths";
import type { Volume, VolumeSet } from "../../api/schema";
import { ChangeDialog } from "../../parts/dialog";
import { Foreseen } from "../../parts/effect";
import { TextField } from "../../parts/form";
import { Bytes } from "../../parts/numbers";
import { type Same, windlass } from "../../parts/shell-lines";
import { bytes, exactBytes, parseSize, sizeArgument } from "../../parts/units";
import type { Closing } from "../closing";
import { SIZE_HINT, sizeError } from "./size";

export function GrowVolume(props: Closing & { volume: Volume }): JSX.Element {
  const [size, setSize] = createSignal("");
  const wanted = () => parseSize(size());
  const tooSmall = () => {
    const present = wanted();
    return present !== undefined && present <= props.volume.size_bytes
      ? `it has ${bytes(props.volume.size_bytes)} already`
      : undefined;
  };
  const body = (): VolumeSet => ({ size_bytes: wanted() ?? 0 });
  const same = (): Same => ({
    what: "grow this volume",
    windlass: windlass("volume", "grow", props.volume.name, "--size", sizeArgument(wanted() ?? 0)),
    method: "PATCH",
    path: api("volumes", props.volume.name),
    body: body(),
  });
  return (
    <ChangeDialog
      title={`Grow ${props.volume.name}`}
      verb="Grow volume"
      onClose={props.onClose}
      fields={{ "invalid-size": "size", "over-commitment": "size" }}
      ready={wanted() !== undefined && tooSmall() === undefined}
      dirty={() => size() !== ""}
      same={same()}
    >
      <p>
        It has <Bytes of={props.volume.size_bytes} />. Hosts learn of the new size at once; their file systems have to
        be grown there. A volume cannot shrink.
      </p>
      <TextField
        label="New size"
        name="size"
        required
        value={size()}
        onInput={setSize}
        error={sizeError(size()) ?? tooSmall()}
        hint={wanted() === undefined ? SIZE_HINT : exactBytes(wanted() ?? 0)}
      />
      <Foreseen of={same()} when={wanted() !== undefined && wanted() !== props.volume.size_bytes} />
    </ChangeDialog>
  );
}
