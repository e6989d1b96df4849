// Dialogs that create a volume: an empty one, or a clone.

import { createSignal, type JSX, Show } from "solid-js";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Status, Volume, VolumeCreate } from "../../api/schema";
import { ChangeDialog } from "../../parts/dialog";
import { CheckField, TextField } from "../../parts/form";
import { Bytes } from "../../parts/numbers";
import { windlass } from "../../parts/shell-lines";
import { exactBytes, parseSize, sizeArgument } from "../../parts/units";
import type { Closing } from "../closing";
import { SIZE_HINT, sizeError } from "./size";

/** Problems of a new volume, by the field that they are about. */
const FIELDS = {
  exists: "name",
  "invalid-name": "name",
  "invalid-size": "size",
  "not-found": "source",
  "over-commitment": "size",
};

export function CreateVolume(props: Closing & { onDone?: (volume: Volume) => void }): JSX.Element {
  const [name, setName] = createSignal("");
  const [size, setSize] = createSignal("");
  const [thick, setThick] = createSignal(false);
  const status = useQuery<Status>(() => "/api/v1/system");
  const pool = () => status.data()?.pools[0];
  const body = (): VolumeCreate => ({
    name: name().trim(),
    size_bytes: parseSize(size()) ?? 0,
    reserve: thick() ? "thick" : "thin",
  });
  return (
    <ChangeDialog
      title="New volume"
      verb="Create volume"
      onClose={props.onClose}
      fields={FIELDS}
      ready={name().trim() !== "" && parseSize(size()) !== undefined}
      dirty={() => name() + size() !== ""}
      same={{
        what: "create this volume",
        windlass: windlass(
          "volume",
          "create",
          name().trim() || "NAME",
          "--size",
          sizeArgument(body().size_bytes ?? 0),
          ...(thick() ? ["--reserve", "thick"] : []),
        ),
        method: "POST",
        path: api("volumes"),
        body: body(),
      }}
      after={(volume: Volume) => props.onDone?.(volume)}
    >
      <div class="two">
        <TextField
          label="Name"
          name="name"
          required
          value={name()}
          onInput={setName}
          hint="letters, digits, '.', '_' and '-'"
        />
        <TextField
          label="Size"
          name="size"
          required
          placeholder="100G"
          value={size()}
          onInput={setSize}
          error={sizeError(size())}
          hint={parseSize(size()) === undefined ? SIZE_HINT : exactBytes(parseSize(size()) ?? 0)}
        />
      </div>
      <CheckField
        label="Thick: keep its space free, so that its writes never fail for lack of it"
        name="thick"
        checked={thick()}
        onInput={setThick}
        hint={
          <Show when={pool()}>
            {(present) => (
              <>
                Pool {present().name} can promise <Bytes of={present().available_bytes} /> more. A thin volume takes
                space as hosts write.
              </>
            )}
          </Show>
        }
      />
    </ChangeDialog>
  );
}

/** Clones a volume, or a snapshot as `volume@snapshot`. */
export function CloneVolume(props: Closing & { source: string; onDone?: (volume: Volume) => void }): JSX.Element {
  const [name, setName] = createSignal("");
  const body = (): VolumeCreate => ({ name: name().trim(), source: props.source });
  return (
    <ChangeDialog
      title={`Clone ${props.source}`}
      verb="Create clone"
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name" }}
      ready={name().trim() !== ""}
      dirty={() => name() !== ""}
      same={{
        what: "create this clone",
        windlass: windlass("volume", "clone", props.source, name().trim() || "NAME"),
        method: "POST",
        path: api("volumes"),
        body: body(),
      }}
      after={(volume: Volume) => props.onDone?.(volume)}
    >
      <p>A clone shares all content with its source. It takes no time and no space until one of both changes.</p>
      <TextField label="Name of the clone" name="name" required value={name()} onInput={setName} />
    </ChangeDialog>
  );
}
