// The commands, one block for each purpose.

import { For, type JSX } from "solid-js";
import type { Step } from "../../connect/steps";
import { Copy, Lines } from "../../parts/copy";

export function Steps(props: { steps: Step[] }): JSX.Element {
  const all = () => props.steps.map((step) => `# ${step.purpose}\n${step.lines.join("\n")}\n`).join("\n");
  return (
    <>
      <h2>
        Commands <Copy text={all()} what="all commands" />
      </h2>
      <ol class="commands">
        <For each={props.steps}>
          {(step) => (
            <li>
              <h3>{step.purpose}</h3>
              <Lines text={step.lines.join("\n")} what={step.purpose} />
            </li>
          )}
        </For>
      </ol>
    </>
  );
}
