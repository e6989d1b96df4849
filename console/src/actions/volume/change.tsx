// Dialog that changes name and settings of a volume.

import { createSignal, type JSX } from "solid-js";
import { api } from "../../api/paths";
import type { Volume, VolumeSet } from "../../api/schema";
import { ChangeDialog } from "../../parts/dialog";
import { Foreseen } from "../../parts/effect";
import { CheckField, ChoiceField, TextField } from "../../parts/form";
import { type Same, windlass } from "../../parts/shell-lines";
import type { Closing } from "../closing";

const percentOf = (text: string): number => (text.trim() === "" ? 0 : Number(text));
const percentError = (text: string): string | undefined =>
  text.trim() === "" || /^(100|[1-9]?[0-9])$/.test(text.trim()) ? undefined : "0 to 100";

export function ChangeVolume(props: Closing & { volume: Volume; onRenamed?: (name: string) => void }): JSX.Element {
  const { volume } = props;
  const [name, setName] = createSignal(volume.name);
  const [cache, setCache] = createSignal(volume.write_cache);
  const [zeros, setZeros] = createSignal(volume.zero_detection ?? true);
  const [reserve, setReserve] = createSignal<string>(volume.reserve ?? "thin");
  const [warn, setWarn] = createSignal(String(volume.warn_percent ?? ""));
  const [critical, setCritical] = createSignal(String(volume.critical_percent ?? ""));
  const body = (): VolumeSet => {
    const set: VolumeSet = {};
    if (name().trim() !== volume.name) set.name = name().trim();
    if (cache() !== volume.write_cache) set.write_cache = cache();
    if (zeros() !== (volume.zero_detection ?? true)) set.zero_detection = zeros();
    if (reserve() !== volume.reserve) set.reserve = reserve() === "thick" ? "thick" : "thin";
    if (percentOf(warn()) !== (volume.warn_percent ?? 0)) set.warn_percent = percentOf(warn());
    if (percentOf(critical()) !== (volume.critical_percent ?? 0)) set.critical_percent = percentOf(critical());
    return set;
  };
  const words = () => {
    const set = body();
    const flag = (name_: string, value: unknown): string[] =>
      value === undefined ? [] : [`--${name_}`, String(value)];
    const switched = (value: boolean | null | undefined) => (value == null ? undefined : value ? "on" : "off");
    const threshold = (value: number | null | undefined) => (value === 0 ? "none" : (value ?? undefined));
    return [
      ...flag("name", set.name ?? undefined),
      ...flag("write-cache", switched(set.write_cache)),
      ...flag("zero-detection", switched(set.zero_detection)),
      ...flag("reserve", set.reserve ?? undefined),
      ...flag("warn", threshold(set.warn_percent)),
      ...flag("critical", threshold(set.critical_percent)),
    ];
  };
  const some = () => Object.keys(body()).length > 0;
  const ready = () =>
    some() && name().trim() !== "" && percentError(warn()) === undefined && percentError(critical()) === undefined;
  const same = (): Same => ({
    what: "change this volume",
    windlass: windlass("volume", "set", volume.name, ...words()),
    method: "PATCH",
    path: api("volumes", volume.name),
    body: body(),
  });
  return (
    <ChangeDialog
      title={`Change ${volume.name}`}
      verb="Change volume"
      edited={{ path: api("volumes", volume.id), shown: volume }}
      onClose={props.onClose}
      fields={{ exists: "name", "invalid-name": "name", "no-space": "reserve", "invalid-setting": "warn" }}
      ready={ready()}
      dirty={some}
      same={same()}
      after={(after: Volume) => {
        if (after.name !== volume.name) props.onRenamed?.(after.name);
      }}
    >
      <TextField label="Name" name="name" required value={name()} onInput={setName} />
      <ChoiceField
        label="Reserve"
        name="reserve"
        value={reserve()}
        onInput={setReserve}
        options={[
          { value: "thin", label: "thin: takes space as hosts write" },
          { value: "thick", label: "thick: its space is kept free" },
        ]}
      />
      <CheckField
        label="Write cache: acknowledge writes before they are durable"
        name="write_cache"
        checked={cache()}
        onInput={setCache}
        hint="A power cut may lose what a host has not flushed. Switching it off first makes all writes durable."
      />
      <CheckField
        label="Zero detection: do not store blocks of zeros"
        name="zero_detection"
        checked={zeros()}
        onInput={setZeros}
      />
      <div class="two">
        <TextField
          label="Warn above"
          name="warn"
          value={warn()}
          onInput={setWarn}
          error={percentError(warn())}
          hint="percent of the size that is mapped; empty: never"
        />
        <TextField
          label="Critical above"
          name="critical"
          value={critical()}
          onInput={setCritical}
          error={percentError(critical())}
          hint="percent, above the first; empty: never"
        />
      </div>
      <Foreseen of={same()} when={ready()} />
    </ChangeDialog>
  );
}
