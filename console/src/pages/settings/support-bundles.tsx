// Support bundles: what is inside, and their download.

import { createSignal, For, type JSX, lazy, Show } from "solid-js";
import { useList } from "../../api/list";
import { api } from "../../api/paths";
import type { Bundle, BundleFile, Job } from "../../api/schema";
import { Act } from "../../parts/act";
import { FileLink } from "../../parts/file-link";
import { Ago, Bytes } from "../../parts/numbers";
import { Empty, Shown } from "../../parts/state";
import { percent } from "../../parts/units";

const CreateBundle = lazy(async () => ({ default: (await import("../../actions/bundle")).CreateBundle }));
const DeleteBundle = lazy(async () => ({ default: (await import("../../actions/bundle")).DeleteBundle }));

/** Interval at which the bundles are read: a job makes them. */
const EVERY_MS = 5000;

export function SupportBundles(): JSX.Element {
  const bundles = useList<Bundle>(() => "/api/v1/support-bundles", false, EVERY_MS);
  const jobs = useList<Job>(() => "/api/v1/jobs");
  const running = () => jobs.data()?.find(({ kind, state }) => kind === "bundle" && state === "running");
  const [creating, setCreating] = createSignal(false);
  const [deleting, setDeleting] = createSignal<Bundle>();
  return (
    <section class="card">
      <h2>Support bundle</h2>
      <p>
        One file for those who help: versions, configuration, objects, events, audit, figures and the last of the log.
        It has no secrets and no content of volumes or shares. Three are kept, for a day.
      </p>
      <Shown of={bundles}>
        {(items) => (
          <Show when={items().length > 0} fallback={<Empty>There is none now.</Empty>}>
            <ul class="lines-list">
              <For each={items()}>
                {(bundle) => (
                  <li>
                    <Inside of={bundle} />
                    <span>
                      <FileLink
                        path={api("support-bundles", bundle.id, "download")}
                        name={`windlass-${bundle.id}.tar.gz`}
                      >
                        Download
                      </FileLink>{" "}
                      <Act needs="admin" class="danger" onClick={() => setDeleting(bundle)}>
                        Delete…
                      </Act>
                    </span>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Shown>
      <Show when={running()}>
        {(job) => <p role="status">One is being made: {percent(job().done, job().total)}.</p>}
      </Show>
      <Act
        needs="admin"
        unless={running() === undefined ? undefined : "one is being made"}
        onClick={() => setCreating(true)}
      >
        New bundle…
      </Act>
      <Show when={creating()}>
        <CreateBundle onClose={() => setCreating(false)} />
      </Show>
      <Show when={deleting()} keyed>
        {(bundle) => <DeleteBundle bundle={bundle} onClose={() => setDeleting(undefined)} />}
      </Show>
    </section>
  );
}

/** The files in a bundle, read when they are looked at. */
function Inside(props: { of: Bundle }): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const files = useList<BundleFile>(
    () => (open() ? api("support-bundles", props.of.id, "contents") : undefined),
    false,
    3_600_000,
  );
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Ago at={props.of.created} />, <Bytes of={props.of.size_bytes} />, names {props.of.names}
      </summary>
      <Shown of={files}>
        {(items) => (
          <For each={items()}>
            {({ name, size_bytes }) => (
              <div class="small">
                <code>{name}</code> <Bytes of={size_bytes} />
              </div>
            )}
          </For>
        )}
      </Shown>
    </details>
  );
}
