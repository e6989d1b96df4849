// Dialogs that change the share of a job, and cancel it.

import { createSignal, type JSX } from "solid-js";
import { api } from "../api/paths";
import type { Job } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { TextField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import type { Closing } from "./closing";

export function SetJob(props: Closing & { job: Job }): JSX.Element {
  const [share, setShare] = createSignal(String(props.job.share_percent));
  const error = () => (/^(100|[1-9][0-9]?)$/.test(share().trim()) ? undefined : "1 to 100");
  const body = () => ({ share_percent: Number(share()) });
  return (
    <ChangeDialog
      title={`Share of ${props.job.kind} of ${props.job.subject}`}
      verb="Change share"
      onClose={props.onClose}
      ready={error() === undefined}
      same={{
        what: "change its share",
        windlass: windlass("job", "set", props.job.id, "--share", share().trim()),
        method: "PATCH",
        path: api("jobs", props.job.id),
        body: body(),
      }}
    >
      <TextField
        label="Share of time in percent"
        name="share"
        value={share()}
        onInput={setShare}
        error={error()}
        hint="while hosts are active; without them it takes all"
      />
    </ChangeDialog>
  );
}

export function CancelJob(props: Closing & { job: Job }): JSX.Element {
  return (
    <ChangeDialog
      title={`Cancel ${props.job.kind} of ${props.job.subject}`}
      verb="Cancel job"
      danger
      onClose={props.onClose}
      same={{
        what: "cancel this job",
        windlass: windlass("job", "cancel", props.job.id),
        method: "DELETE",
        path: api("jobs", props.job.id),
      }}
    >
      <p>What it has done so far remains.</p>
    </ChangeDialog>
  );
}
