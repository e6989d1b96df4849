// A case's result: bars of both sides, with the paper's outlined, and all figures below.

import { For, type JSX, Show } from "solid-js";
import type { LabMeasure, LabResult } from "../../api/schema";
import { figure, gain, headline, lengths, paperChange, words } from "./figures";

const TAG: Record<LabResult["outcome"], [string, string]> = {
  passed: ["tag good", "passed"],
  failed: ["tag bad", "failed"],
  "not-run": ["tag warn", "not run or in part"],
};

export const Outcome = (props: { of: LabResult["outcome"] }): JSX.Element => (
  <span class={TAG[props.of][0]}>{TAG[props.of][1]}</span>
);

export function Result(props: { of: LabResult }): JSX.Element {
  return (
    <article class="lab-result" data-case={props.of.case}>
      <h3>
        {props.of.case} <Outcome of={props.of.outcome} />
      </h3>
      <Show when={(props.of.failures ?? []).length > 0}>
        <ul class="bad">
          <For each={props.of.failures}>{(failure) => <li>{failure}</li>}</For>
        </ul>
      </Show>
      <Show when={props.of.skipped}>{(why) => <p class="soft">{why()}</p>}</Show>
      <Show when={headline(props.of)}>{(measure) => <Bars of={measure()} />}</Show>
      <Show when={props.of.goals > 0}>
        <p class="small soft">
          {props.of.goals_reached} of {props.of.goals} goals of an array that does the work as metadata
        </p>
      </Show>
      <Show when={props.of.measures.length > 0}>
        <details>
          <summary>All figures</summary>
          <Figures of={props.of.measures} />
        </details>
      </Show>
    </article>
  );
}

/** Both sides of a figure. Teal is by the array, grey by the host, and outlined what the paper has. */
function Bars(props: { of: LabMeasure }): JSX.Element {
  const long = () => lengths(props.of);
  const said = () =>
    `${words(props.of.name)}: off ${figure(props.of.off, props.of.unit)}, on ${figure(props.of.on, props.of.unit)}`;
  return (
    <div class="lab-bars">
      <Bar name="off" tone="network" part={long().off} value={figure(props.of.off, props.of.unit)} about={said()} />
      <Bar name="on" tone="array" part={long().on} value={figure(props.of.on, props.of.unit)} />
      <Show when={long().paper !== undefined && props.of.paper_ratio}>
        {(ratio) => <Bar name="paper, on" tone="paper" part={long().paper ?? 0} value={paperChange(ratio())} />}
      </Show>
      <p class="small">
        <span class="soft">{words(props.of.name)}</span> <b>{gain(props.of)}</b>
      </p>
    </div>
  );
}

function Bar(props: { name: string; tone: string; part: number; value: string; about?: string }): JSX.Element {
  return (
    <>
      <span class="small soft">{props.name}</span>
      {/* Its width is an attribute: styles in the page are forbidden. */}
      <svg
        class={props.tone}
        viewBox="0 0 1000 12"
        preserveAspectRatio="none"
        role={props.about === undefined ? undefined : "img"}
        aria-label={props.about}
        aria-hidden={props.about === undefined}
      >
        <rect x="1" y="1" height="10" width={Math.max(3, 998 * props.part)} />
      </svg>
      <span class="number">{props.value}</span>
    </>
  );
}

function Figures(props: { of: LabMeasure[] }): JSX.Element {
  return (
    <div class="scroll">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <th scope="col" class="number">
              Off
            </th>
            <th scope="col" class="number">
              On
            </th>
            <th scope="col" class="number">
              Gain
            </th>
            <th scope="col" class="number">
              Paper
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={props.of}>
            {(measure) => (
              <tr>
                <th scope="row">{words(measure.name)}</th>
                <td class="number">{figure(measure.off, measure.unit)}</td>
                <td class="number">{figure(measure.on, measure.unit)}</td>
                <td class="number">{gain(measure) ?? "–"}</td>
                <td class="number">{measure.paper_ratio == null ? "–" : paperChange(measure.paper_ratio)}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}
