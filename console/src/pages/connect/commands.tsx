// The commands of a plan, one block for each, with the reason of each step, and those that undo them.

import { For, type JSX, Show } from "solid-js";
import type { ConnectCommand, ConnectPlan, ConnectStep } from "../../api/schema";
import { Copy, Lines } from "../../parts/copy";
import { replaced, script } from "./steps";

/** Placeholder of the secret of the host. */
const SECRET = "CHAP-SECRET";

export function Commands(props: { plan: ConnectPlan; secret: string | undefined }): JSX.Element {
  const text = (of: ConnectCommand) => (props.secret === undefined ? of.text : replaced(of.text, SECRET, props.secret));
  const placeholders = () =>
    props.plan.placeholders.filter((placeholder) => props.secret === undefined || placeholder.text !== SECRET);
  const all = (commands: ConnectCommand[]) => script(commands.map((each) => ({ ...each, text: text(each) })));
  const needed = () => props.plan.steps.filter(({ optional }) => !optional);
  const name = (of: ConnectCommand, title: string) =>
    of.file == null ? `a command of ${title}` : `the file ${of.file}`;
  return (
    <>
      <For each={props.plan.warnings}>{(warning) => <p class="note">{warning}</p>}</For>
      <Show when={placeholders().length > 0}>
        <dl class="placeholders">
          <For each={placeholders()}>
            {(placeholder) => (
              <>
                <dt>
                  <code>{placeholder.text}</code>
                </dt>
                <dd>{placeholder.meaning}</dd>
              </>
            )}
          </For>
        </dl>
      </Show>
      <Show when={props.secret}>
        <p class="note">
          The commands have the secret that the array has just made. It shows it this once: after a reload a placeholder
          stands for it.
        </p>
      </Show>
      <h2>
        Commands <Copy text={all(needed().flatMap(({ commands }) => commands))} what="the commands that are needed" />
      </h2>
      <ol class="commands">
        <For each={props.plan.steps}>
          {(step) => (
            <li>
              <h3>
                {step.title} <span class="soft small">{marks(step)}</span>
              </h3>
              <details class="why">
                <summary>Why?</summary>
                <p>{step.why}</p>
              </details>
              <For each={step.commands}>
                {(command) => (
                  <>
                    <Show when={command.file}>{(file) => <p class="small">File {file()}:</p>}</Show>
                    <Lines text={text(command)} what={name(command, step.title)} />
                  </>
                )}
              </For>
            </li>
          )}
        </For>
      </ol>
      <details class="undo">
        <summary>Undo commands</summary>
        <Lines text={all(props.plan.undo)} what="the undo commands" />
        <Show when={props.plan.undo_note}>{(note) => <p class="small">{note()}</p>}</Show>
      </details>
      <Show when={props.plan.undo_host_warning}>
        {(warning) => (
          <details class="undo-host">
            <summary>Take the host off the array</summary>
            <p class="note">{warning()}</p>
            <Lines text={all(props.plan.undo_host)} what="the commands that take the host off the array" />
          </details>
        )}
      </Show>
    </>
  );
}

/** Place of a step, and what is special about it. */
const marks = ({ optional, once_per_host, place }: ConnectStep): string =>
  [optional ? "optional" : "", once_per_host ? "once for each host" : "", place].filter(Boolean).join(", ");
