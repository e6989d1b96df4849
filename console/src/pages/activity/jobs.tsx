// Jobs: background work, running first.

import { createMemo, createSignal, type JSX, Show } from "solid-js";
import { CancelJob, SetJob } from "../../actions/job";
import { useList } from "../../api/list";
import type { Job } from "../../api/schema";
import { Ago } from "../../parts/numbers";
import { Rows } from "../../parts/rows";
import { Empty, Shown } from "../../parts/state";
import type { Column } from "../../parts/table";
import { duration } from "../../parts/time";
import { bytes, grouped, NONE, percent } from "../../parts/units";

const amount = (job: Job, value: number): string =>
  job.unit === "bytes" ? bytes(value) : `${grouped(value)} ${job.unit}`;

function Result(props: { job: Job }): JSX.Element {
  const { job } = props;
  const word = job.state === "failed" ? <span class="bad">failed: {job.error}</span> : job.state;
  const report =
    job.reclaim != null
      ? `freed ${bytes(job.reclaim.deallocated_bytes)} of ${bytes(job.reclaim.scanned_bytes)}`
      : job.reshare != null
        ? `${job.reshare.compare_only ? "could free" : "freed"} ${bytes(job.reshare.freed_bytes)} of ${bytes(job.reshare.scanned_bytes)}`
        : job.scrub != null
          ? `${grouped(job.scrub.bad_blocks)} bad blocks in ${bytes(job.scrub.verified_bytes)}`
          : job.check != null
            ? `${grouped(job.check.count)} findings in ${grouped(job.check.blocks)} blocks`
            : undefined;
  return (
    <>
      {word}
      <Show when={report}>{(text) => <span class="soft">, {text()}</span>}</Show>
    </>
  );
}

const COLUMNS: Column<Job>[] = [
  { key: "kind", title: "Kind", cell: ({ kind }) => kind, by: ({ kind }) => kind },
  { key: "subject", title: "Subject", cell: ({ subject }) => subject, by: ({ subject }) => subject },
  {
    key: "progress",
    title: "Progress",
    cell: (job) => (
      <Show when={job.state === "running"} fallback={<Result job={job} />}>
        <progress max={Math.max(1, job.total)} value={job.done} aria-label={`${job.kind} of ${job.subject}`} />{" "}
        {percent(job.done, job.total)}
      </Show>
    ),
    by: ({ done, total }) => done / Math.max(1, total),
  },
  {
    key: "rate",
    title: "Rate",
    number: true,
    rank: 2,
    cell: (job) => (job.rate_per_second == null ? NONE : `${amount(job, job.rate_per_second)}/s`),
  },
  {
    key: "left",
    title: "Left",
    number: true,
    rank: 2,
    cell: ({ eta_seconds }) => (eta_seconds == null ? NONE : duration(eta_seconds)),
  },
  {
    key: "share",
    title: "Share",
    number: true,
    rank: 2,
    about: "Share of time while hosts are active",
    cell: ({ share_percent }) => `${share_percent} %`,
    by: ({ share_percent }) => share_percent,
  },
  {
    key: "started",
    title: "Started",
    rank: 2,
    cell: ({ started }) => <Ago at={started} />,
    by: ({ started }) => started,
  },
  {
    key: "finished",
    title: "Ended",
    rank: 3,
    cell: ({ finished }) => <Ago at={finished} />,
    by: ({ finished }) => finished ?? "",
  },
];

export function JobsTab(): JSX.Element {
  const jobs = useList<Job>(() => "/api/v1/jobs", true, 2000);
  const [open, setOpen] = createSignal<{ verb: "set" | "cancel"; job: Job }>();
  const close = () => setOpen(undefined);
  const sorted = createMemo(() =>
    jobs.data()?.toSorted((one, other) => Number(other.state === "running") - Number(one.state === "running")),
  );
  const ended = (job: Job) => (job.state === "running" ? undefined : "it has ended");
  return (
    <>
      <Shown of={{ ...jobs, data: sorted }}>
        {(items) => (
          <Show
            when={items().length > 0}
            fallback={
              <Empty>
                Nothing runs, and nothing has run since the array started. Reclaim, scrub and check begin on the page
                Space.
              </Empty>
            }
          >
            <Rows
              label="Jobs"
              columns={COLUMNS}
              rows={items()}
              id={({ id }) => id}
              actions={(job) => [
                {
                  label: "Change its share…",
                  needs: "operator",
                  unless: ended(job),
                  run: () => setOpen({ verb: "set", job }),
                },
                {
                  label: "Cancel…",
                  needs: "operator",
                  danger: true,
                  unless: ended(job) ?? (job.sanitize == null ? undefined : "a host started it; it runs to its end"),
                  run: () => setOpen({ verb: "cancel", job }),
                },
              ]}
            />
          </Show>
        )}
      </Shown>
      <Show when={open()} keyed>
        {({ verb, job }) =>
          verb === "set" ? <SetJob job={job} onClose={close} /> : <CancelJob job={job} onClose={close} />
        }
      </Show>
    </>
  );
}
