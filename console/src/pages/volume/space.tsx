// Space of a volume: the bar with exact bytes, and the result of UNMAP commands.

import { For, type JSX, Show } from "solid-js";
import { api } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { Volume, VolumeSpace } from "../../api/schema";
import { ContentBar } from "../../parts/content-bar";
import { Bytes } from "../../parts/numbers";
import { Shown } from "../../parts/state";
import { COUNTING, exactBytes, grouped } from "../../parts/units";

const exact = (value: number | null | undefined): string => (value == null ? COUNTING : exactBytes(value));

export function SpaceTab(props: { volume: Volume }): JSX.Element {
  const space = useQuery<VolumeSpace>(() => api("volumes", props.volume.name, "space"));
  return (
    <Shown of={space}>
      {(present) => (
        <>
          <section class="card pool">
            <ContentBar
              label={`Space of ${props.volume.name}`}
              content={{ ...present(), size_bytes: present().provisioned_bytes }}
            />
          </section>
          <div class="cards">
            <section class="card">
              <h2>To the byte</h2>
              <dl class="facts">
                <dt>Capacity</dt>
                <dd>{exact(present().provisioned_bytes)}</dd>
                <dt>Mapped</dt>
                <dd>{exact(present().mapped_bytes)}</dd>
                <dt>Unique</dt>
                <dd>{exact(present().unique_bytes)}</dd>
                <dt>Shared</dt>
                <dd>{exact(present().shared_bytes)}</dd>
                <dt>Snapshots</dt>
                <dd>{exact(present().snapshot_bytes)}</dd>
                <dt>Promised</dt>
                <dd>{exact(present().promised_bytes)}</dd>
              </dl>
              <p class="soft small">Mapped = unique + shared. Unique is what deleting the volume frees.</p>
            </section>
            <Unmapped space={present()} />
          </div>
        </>
      )}
    </Shown>
  );
}

function Unmapped(props: { space: VolumeSpace }): JSX.Element {
  const unmapped = () => props.space.unmapped;
  return (
    <section class="card">
      <h2>
        What became of unmapped bytes <span class="soft small">since the array started</span>
      </h2>
      <dl class="facts">
        <dt>Commands</dt>
        <dd>{grouped(unmapped().commands)}</dd>
        <dt>Asked for</dt>
        <dd>
          <Bytes of={unmapped().requested_bytes} />
        </dd>
        <dt>Unmapped</dt>
        <dd>
          <Bytes of={unmapped().deallocated_bytes} />
        </dd>
        <dt>At edges</dt>
        <dd>
          <Bytes of={unmapped().unaligned_bytes} /> <span class="soft small">read as zeros, may stay allocated</span>
        </dd>
        <dt>Below 4 KiB</dt>
        <dd>{grouped(unmapped().below_grain_commands)} commands without effect</dd>
      </dl>
      <Show when={unmapped().kept.length > 0}>
        <h3>Kept by snapshots</h3>
        <ul class="lines-list">
          <For each={unmapped().kept}>
            {(kept) => (
              <li>
                <span>@{kept.snapshot}</span>
                <span>
                  <Bytes of={kept.unique_bytes} />
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
