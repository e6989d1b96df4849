// An empty array: the three steps to the first I/O of a host, each done in place.

import { createSignal, type JSX, Show } from "solid-js";
import { CreateHost } from "../../actions/host";
import { CreateVolume } from "../../actions/volume/create";
import type { Status } from "../../api/schema";
import { Act } from "../../parts/act";

export default function FirstSteps(props: { status: Status }): JSX.Element {
  const [open, setOpen] = createSignal<"volume" | "host">();
  return (
    <section class="steps">
      <h2>Three steps to the first byte</h2>
      <ol>
        <li>
          <strong>Make a volume.</strong> A block device of the size that hosts will see; it takes space as they write.
          <p>
            <Act class="primary" first onClick={() => setOpen("volume")}>
              New volume
            </Act>
          </p>
        </li>
        <li classList={{ done: props.status.hosts > 0 }}>
          <strong>Name a host.</strong> A machine, by the initiator name that it shows.
          <p>
            <Act onClick={() => setOpen("host")}>New host</Act>
          </p>
        </li>
        <li>
          <strong>Connect it.</strong> Grant the volume to the host, and enter the printed commands there.
          <p>
            <a class="button" href="/hosts/connect">
              Connect
            </a>
          </p>
        </li>
      </ol>
      <Show when={open() === "volume"}>
        <CreateVolume onClose={() => setOpen(undefined)} />
      </Show>
      <Show when={open() === "host"}>
        <CreateHost onClose={() => setOpen(undefined)} />
      </Show>
    </section>
  );
}
