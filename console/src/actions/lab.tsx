// Dialogs of the laboratory: cancelling a run, and results of elsewhere.

import { useNavigate } from "@solidjs/router";
import { createSignal, type JSX } from "solid-js";
import { send } from "../api/client";
import { api } from "../api/paths";
import type { LabRun } from "../api/schema";
import { ChangeDialog } from "../parts/dialog";
import { FileField } from "../parts/form";
import { windlass } from "../parts/shell-lines";
import type { Closing } from "./closing";

export function CancelLabRun(props: Closing & { run: string }): JSX.Element {
  return (
    <ChangeDialog
      title={`Cancel run ${props.run}`}
      verb="Cancel run"
      danger
      onClose={props.onClose}
      same={{
        what: "cancel this run",
        windlass: windlass("lab", "array", "cancel", props.run),
        method: "DELETE",
        path: api("lab", "runs", props.run),
      }}
    >
      <p>Cases that have ended keep their results. The scratch volumes and their host are removed.</p>
    </ChangeDialog>
  );
}

export function UploadResults(props: Closing): JSX.Element {
  const go = useNavigate();
  const [file, setFile] = createSignal<File>();
  const upload = async () => {
    const text = (await file()?.text()) ?? "";
    let results: unknown;
    try {
      results = JSON.parse(text);
    } catch {
      // The array says what is wrong with a file that is none of its own.
      results = text;
    }
    const run = await send<LabRun>("POST", "/api/v1/lab/results", results);
    go(`/lab/runs/${run.id}`);
  };
  return (
    <ChangeDialog
      title="Upload results"
      verb="Upload"
      onClose={props.onClose}
      ready={file() !== undefined}
      run={upload}
      same={{ what: "upload results", method: "POST", path: "/api/v1/lab/results" }}
    >
      <p>
        A file of <code>windlass lab run --save FILE</code>, measured against this array or another one. It is kept as a
        run, to compare it.
      </p>
      <FileField
        label="File"
        name="file"
        accept=".json,application/json"
        hint="JSON of at most 8 MiB"
        onInput={setFile}
      />
    </ChangeDialog>
  );
}
