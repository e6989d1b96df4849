// A run: what it does at present, its activity, its results, its report, and the comparison with another one.

import { createSignal, For, type JSX, Show } from "solid-js";
import { CancelLabRun } from "../../actions/lab";
import { useList } from "../../api/list";
import { api, withQuery } from "../../api/paths";
import { useQuery } from "../../api/query";
import type { LabRun } from "../../api/schema";
import { perSecond } from "../../live/charts";
import { followed } from "../../live/followed";
import { Act } from "../../parts/act";
import { Chart } from "../../parts/chart";
import { FileLink } from "../../parts/file-link";
import { ChoiceField } from "../../parts/form";
import { Head } from "../../parts/head";
import { now } from "../../parts/now";
import { Ago, At } from "../../parts/numbers";
import { Shown } from "../../parts/state";
import { duration } from "../../parts/time";
import { count, latency, NONE, percent } from "../../parts/units";
import { Result } from "./bars";
import { sizeWord, summary } from "./figures";

/** Beginning of a step that names the side, which stands before it. */
const SIDE = /^(off|on): /;
/** Shortest axis of the charts in seconds. */
const LEAST_SECONDS = 60;

const TAG: Record<LabRun["state"], string> = {
  running: "tag",
  done: "tag good",
  failed: "tag bad",
  cancelled: "tag warn",
  uploaded: "tag",
};

export const State = (props: { of: LabRun }): JSX.Element => (
  <span class={TAG[props.of.state]}>{props.of.now?.ending ? "is ending" : props.of.state}</span>
);

export function Run(props: { id: string }): JSX.Element {
  const run = useQuery<LabRun>(() => api("lab", "runs", props.id));
  const [cancelling, setCancelling] = createSignal(false);
  const about = () => {
    const present = run.data();
    if (present === undefined) return undefined;
    return `${present.cases.join(", ")}; size ${sizeWord(present.size)}, ${count(present.pairs, "round")}; ${present.array ?? present.by}`;
  };
  return (
    <>
      <Head
        title={`Run ${props.id}`}
        about={about()}
        same={[
          { what: "show the run", windlass: `windlass lab array show ${props.id}`, path: api("lab", "runs", props.id) },
        ]}
      >
        <Show when={run.data()?.state === "running"}>
          <Act
            class="danger"
            unless={run.data()?.now?.ending ? "it is about to end" : undefined}
            onClick={() => setCancelling(true)}
          >
            Cancel…
          </Act>
        </Show>
        <Show when={run.data()?.has_report}>
          <FileLink path={`${api("lab", "runs", props.id)}/report.html`} name={`lab-run-${props.id}.html`}>
            Report
          </FileLink>
          <FileLink path={`${api("lab", "runs", props.id)}/results.json`} name={`lab-run-${props.id}.json`}>
            Results, JSON
          </FileLink>
        </Show>
      </Head>
      <p>
        <a href="/lab">All cases and runs</a>
      </p>
      <Shown of={run}>
        {(present) => (
          <>
            <Show when={present().state === "running"}>
              <Watched id={props.id} />
            </Show>
            <Standing run={present()} />
            <Show when={(present().points ?? []).length > 0}>
              <Activity run={present()} />
            </Show>
            <For each={present().results}>{(result) => <Result of={result} />}</For>
            <Show when={present().has_report}>
              <Compare id={present().id} />
            </Show>
          </>
        )}
      </Shown>
      <Show when={cancelling()}>
        <CancelLabRun run={props.id} onClose={() => setCancelling(false)} />
      </Show>
    </>
  );
}

const pathOf = (id: string | number): string => api("lab", "runs", String(id));

const useRun = followed("lab", ({ id }) => pathOf(id));

/** Follows the run while it goes on. */
function Watched(props: { id: string }): JSX.Element {
  useRun(
    () => pathOf(props.id),
    () => `lab:${props.id}`,
  );
  return null;
}

/** What the run does, or how it ended. */
function Standing(props: { run: LabRun }): JSX.Element {
  return (
    <section class="lab-standing" role="status">
      <p>
        <State of={props.run} />{" "}
        <Show
          when={props.run.now}
          fallback={
            <>
              {summary(props.run)}; began <Ago at={props.run.started} />
              <Show when={props.run.finished}>
                {(finished) => (
                  <>
                    , took {duration((Date.parse(finished()) - Date.parse(props.run.started)) / 1000)}, ended{" "}
                    <At at={finished()} /> UTC
                  </>
                )}
              </Show>
            </>
          }
        >
          {(doing) => (
            <>
              <Show when={doing().case}>
                <b>{doing().case}</b> ({doing().number} of {props.run.cases.length})
              </Show>{" "}
              <Show when={doing().side}>
                {doing().side}, round {doing().round} of {props.run.pairs} ·{" "}
              </Show>
              {doing().step.replace(SIDE, "")}{" "}
              <Show when={doing().total > 0}>
                <progress max={doing().total} value={doing().done} aria-label="progress of the step" />{" "}
                {percent(doing().done, doing().total)}
              </Show>{" "}
              · {duration((now() - Date.parse(props.run.started)) / 1000)}
            </>
          )}
        </Show>
      </p>
      <Show when={props.run.now}>
        {(doing) => (
          <p class="soft small">
            Others' p99: {doing().hosts_p99_us == null ? NONE : latency(doing().hosts_p99_us ?? 0)}
            {props.run.stop_when_host_p99_us == null
              ? ", without a limit"
              : `, limit ${latency(props.run.stop_when_host_p99_us)}`}
          </p>
        )}
      </Show>
      <Show when={props.run.reason}>{(reason) => <p class="bad">{reason()}</p>}</Show>
      <Show when={(props.run.left ?? []).length > 0}>
        <div class="failure" role="alert">
          <strong>Something is left on the array; its next start removes it.</strong>
          <ul>
            <For each={props.run.left}>{(left) => <li>{left}</li>}</For>
          </ul>
        </div>
      </Show>
    </section>
  );
}

/** Bytes on the wire, and the p99 of other volumes and shares. */
function Activity(props: { run: LabRun }): JSX.Element {
  const points = () => props.run.points ?? [];
  const start = () => Date.parse(props.run.started) / 1000;
  const times = () => points().map(({ seconds }) => start() + seconds);
  const range = (): [number, number] => [start(), start() + Math.max(LEAST_SECONDS, points().at(-1)?.seconds ?? 0)];
  const wire = (side: "off" | "on") =>
    points().map((point) => (point.side === side ? point.wire_bytes_per_second : null));
  const others = () => points().some(({ hosts_p99_us }) => hosts_p99_us != null);
  return (
    <div class="cards">
      <Chart
        title="Wire of the laboratory"
        about="Bytes a second between the hosts of the laboratory and the array, both ways; off is copied by the host, on by the array."
        times={times()}
        range={range()}
        live={props.run.state === "running"}
        format={perSecond}
        base={1024}
        lines={[
          { name: "off", tone: "network", values: wire("off") },
          { name: "on", tone: "array", values: wire("on") },
        ]}
      />
      <Show when={others()}>
        <Chart
          title="p99 of others"
          about="Highest p99 of the other volumes and shares in each second; a time without their reads and writes has none."
          times={times()}
          range={range()}
          live={props.run.state === "running"}
          format={latency}
          lines={[{ name: "p99", tone: "bad", values: points().map(({ hosts_p99_us }) => hosts_p99_us ?? null) }]}
        />
      </Show>
    </div>
  );
}

/** The comparison with another run that has results. */
function Compare(props: { id: number }): JSX.Element {
  const runs = useList<LabRun>(() => "/api/v1/lab/runs", false);
  const [other, setOther] = createSignal("");
  const others = () => (runs.data() ?? []).filter(({ id, has_report }) => has_report && id !== props.id);
  return (
    <section class="under lab-compare">
      <h2>Compare</h2>
      <Show
        when={others().length > 0}
        fallback={<p class="soft">With another run, or with results of another array that were uploaded.</p>}
      >
        <ChoiceField
          label="With"
          name="other"
          value={other()}
          onInput={setOther}
          options={[
            { value: "", label: "choose a run" },
            ...others().map((run) => ({
              value: String(run.id),
              label: `run ${run.id}, ${run.array ?? run.state}: ${run.cases.join(", ")}`.slice(0, 90),
            })),
          ]}
        />
        <Show when={other()}>
          {(chosen) => (
            <FileLink
              path={withQuery(`${api("lab", "runs", String(props.id))}/report.html`, { with: chosen() })}
              name={`lab-runs-${props.id}-${chosen()}.html`}
            >
              Comparison
            </FileLink>
          )}
        </Show>
      </Show>
    </section>
  );
}
