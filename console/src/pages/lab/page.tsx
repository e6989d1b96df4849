// The laboratory: the tests of vendors' white papers on scratch volumes of this array, and what they found.

import { useParams } from "@solidjs/router";
import { createSignal, type JSX, Show } from "solid-js";
import { UploadResults } from "../../actions/lab";
import { useList } from "../../api/list";
import type { LabCase, LabRun } from "../../api/schema";
import { Act } from "../../parts/act";
import { Head } from "../../parts/head";
import { Ago } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { Empty, Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { count } from "../../parts/units";
import { Choose } from "./choose";
import { lastResults, papers, sizeWord, summary } from "./figures";
import "./lab.css";
import { Run, State } from "./run";

const EVERY_MS = 3000;

const COLUMNS: Column<LabRun>[] = [
  { key: "run", title: "Run", rank: 1, by: ({ id }) => id, cell: ({ id }) => <a href={`/lab/runs/${id}`}>{id}</a> },
  { key: "state", title: "State", rank: 1, by: ({ state }) => state, cell: (run) => <State of={run} /> },
  {
    key: "cases",
    title: "Cases",
    rank: 1,
    cell: ({ cases }) => <span title={cases.join(", ")}>{cases.join(", ")}</span>,
  },
  { key: "result", title: "Result", rank: 1, cell: (run) => summary(run) },
  { key: "size", title: "Size", rank: 2, cell: ({ size, pairs }) => `${sizeWord(size)}, ${count(pairs, "round")}` },
  { key: "started", title: "Started", rank: 2, by: ({ started }) => started, cell: (run) => <Ago at={run.started} /> },
  { key: "by", title: "By", rank: 3, cell: ({ by, array }) => array ?? by },
];

export default function Lab(): JSX.Element {
  const params = useParams<{ id?: string }>();
  return (
    <Show when={params.id} fallback={<Home />} keyed>
      {(id) => <Run id={id} />}
    </Show>
  );
}

function Home(): JSX.Element {
  const cases = useList<LabCase>(() => "/api/v1/lab/cases", false, 600_000);
  const runs = useList<LabRun>(() => "/api/v1/lab/runs", false, EVERY_MS);
  const [uploading, setUploading] = createSignal(false);
  const running = () => runs.data()?.find(({ state }) => state === "running");
  const last = () => runs.data()?.find(({ state }) => state === "done");
  const about = () => {
    const all = cases.data();
    if (all === undefined) return undefined;
    const done = last();
    const words = `${count(all.length, "case")}, ${count(papers(all).length, "paper")}`;
    return done === undefined ? words : `${words}; last run: ${summary(done)}`;
  };
  return (
    <>
      <Head
        title="Lab"
        about={about()}
        same={[{ what: "list the runs", windlass: "windlass lab array list", path: "/api/v1/lab/runs" }]}
      >
        <Act onClick={() => setUploading(true)}>Upload results…</Act>
      </Head>
      <Show when={running()}>
        {(run) => (
          <p class="note" role="status">
            <a href={`/lab/runs/${run().id}`}>Run {run().id}</a> goes on: {run().now?.case ?? run().cases[0]},{" "}
            {run().now?.step}
          </p>
        )}
      </Show>
      <Shown of={cases}>
        {(all) => <Choose cases={all()} last={lastResults(runs.data() ?? [])} running={running()?.id} />}
      </Shown>
      <section class="under">
        <h2>Runs</h2>
        <Shown of={runs}>
          {(items) => (
            <Show
              when={items().length > 0}
              fallback={<Empty>The laboratory has not run yet. Its last twenty runs appear here.</Empty>}
            >
              <Rows label="Runs" columns={COLUMNS} rows={items()} id={({ id }) => String(id)} />
            </Show>
          )}
        </Shown>
      </section>
      <Show when={uploading()}>
        <UploadResults onClose={() => setUploading(false)} />
      </Show>
    </>
  );
}
