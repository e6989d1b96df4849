// Cases to run, by paper; size, rounds, and when to stop for the sake of hosts.

import { useNavigate } from "@solidjs/router";
import { createSignal, For, type JSX, Show } from "solid-js";
import { send } from "../../api/client";
import { asFailure, type Failure } from "../../api/failure";
import { changed } from "../../api/query";
import type { LabCase, LabResult, LabRun, LabRunCreate } from "../../api/schema";
import { Act } from "../../parts/act";
import { Commands } from "../../parts/commands";
import { ChoiceField, TextField } from "../../parts/form";
import { windlass } from "../../parts/shell-lines";
import { FailureBox } from "../../parts/state";
import { count } from "../../parts/units";
import { gain, headline, limitOf, papers } from "./figures";

const SIZES = [
  { value: "64M", label: "tiny: disks of 64 MiB" },
  { value: "512M", label: "disks of 512 MiB" },
  { value: "small", label: "small: disks of 1 to 3 GiB" },
  { value: "paper", label: "as in the papers: up to 200 GiB" },
];

export function Choose(props: {
  cases: LabCase[];
  last: Map<string, LabResult>;
  running: number | undefined;
}): JSX.Element {
  const go = useNavigate();
  const [chosen, setChosen] = createSignal<string[]>(["clone-template"]);
  const [size, setSize] = createSignal("small");
  const [pairs, setPairs] = createSignal("3");
  const [limit, setLimit] = createSignal("");
  const [failure, setFailure] = createSignal<Failure>();
  const [busy, setBusy] = createSignal(false);
  const isRounds = () => /^(100|[1-9][0-9]?)$/.test(pairs().trim());
  const toggle = (name: string, on: boolean) =>
    // In the order of the papers.
    setChosen((before) =>
      props.cases.map((each) => each.name).filter((each) => (each === name ? on : before.includes(each))),
    );
  const body = (): LabRunCreate => {
    const stop = limitOf(limit());
    return {
      cases: chosen(),
      size: size(),
      pairs: Number(pairs()),
      ...(stop == null ? {} : { stop_when_host_p99_us: stop }),
    };
  };
  const reason = () => {
    if (props.running !== undefined) return `run ${props.running} goes on, and there is one at a time`;
    if (chosen().length === 0) return "choose a case";
    if (!isRounds()) return "rounds are 1 to 100";
    if (limitOf(limit()) === null) return "the limit is a number of milliseconds";
    return busy() ? "it begins" : undefined;
  };
  const start = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      const run = await send<LabRun>("POST", "/api/v1/lab/runs", body());
      void changed();
      go(`/lab/runs/${run.id}`);
    } catch (error) {
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="card">
      <h2>Cases</h2>
      <div class="lab-papers">
        <For each={papers(props.cases)}>
          {(paper) => (
            <fieldset>
              <legend>
                {paper.name} <span class="soft small">{paper.system}</span>
              </legend>
              <Show when={paper.unavailable}>{(why) => <p class="small">Not run here: {why()}.</p>}</Show>
              <For each={paper.cases}>
                {(each) => (
                  <Case
                    of={each}
                    last={props.last.get(each.name)}
                    chosen={chosen().includes(each.name)}
                    onChoose={(on) => toggle(each.name, on)}
                  />
                )}
              </For>
            </fieldset>
          )}
        </For>
      </div>
      <div class="lab-settings">
        <ChoiceField
          label="Size"
          name="size"
          value={size()}
          onInput={setSize}
          options={SIZES}
          hint="small takes a minute a case at most"
        />
        <TextField
          label="Rounds, each off and on"
          name="pairs"
          value={pairs()}
          onInput={setPairs}
          error={isRounds() ? undefined : "1 to 100"}
        />
        <TextField
          label="Stop when hosts' p99 exceeds, in ms"
          name="limit"
          value={limit()}
          onInput={setLimit}
          placeholder="no limit"
          error={limitOf(limit()) === null ? "a number of milliseconds" : undefined}
          hint="of other volumes and shares, for three seconds"
        />
      </div>
      <p class="soft small">
        Where: new scratch volumes, granted to a host of the laboratory with CHAP. They are removed at the end, also
        when the run is cancelled. Hosts that are active share the figures: measure while they are quiet.
      </p>
      <Show when={failure()}>{(present) => <FailureBox failure={present()} />}</Show>
      <p class="bulk">
        <Act class="primary" first unless={reason()} onClick={() => void start()}>
          Run {count(chosen().length, "case")}
        </Act>
        <Commands
          same={[
            {
              what: "run these cases",
              windlass: windlass(
                ...["lab", "array", "start", ...chosen(), "--size", size(), "--pairs", pairs().trim()],
                ...(limitOf(limit()) == null ? [] : ["--stop-when-host-p99", String((limitOf(limit()) ?? 0) / 1000)]),
              ),
              method: "POST",
              path: "/api/v1/lab/runs",
              body: body(),
            },
          ]}
        />
      </p>
    </section>
  );
}

function Case(props: {
  of: LabCase;
  last: LabResult | undefined;
  chosen: boolean;
  onChoose: (on: boolean) => void;
}): JSX.Element {
  const last = () => {
    const measure = props.last === undefined ? undefined : headline(props.last);
    return measure === undefined ? undefined : gain(measure);
  };
  return (
    <label class="lab-case" title={`${props.of.test}: ${props.of.finding}`}>
      <input
        type="checkbox"
        name={props.of.name}
        checked={props.chosen}
        disabled={props.of.unavailable != null}
        onInput={(event) => props.onChoose(event.currentTarget.checked)}
      />
      <span>
        <b>{props.of.name}</b> <span class="soft small">{props.of.needs.join(", ")}</span>
        <span class="soft small lab-title">{props.of.title}</span>
      </span>
      <Show when={last()}>
        <span class="small lab-last">last {last()}</span>
      </Show>
    </label>
  );
}
