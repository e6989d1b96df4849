// The dialog of a change that destroys: what it frees and what breaks is shown first, and a refusal disables its button.

import { createSignal, type JSX, Show } from "solid-js";
import { ChangeDialog } from "./dialog";
import { EffectBox, foresee } from "./effect";
import { TextField } from "./form";
import type { Same } from "./shell-lines";

export interface DestroyProps {
  title: string;
  /** Label of the button: the action and its noun. */
  verb: string;
  /** The request, with its command line. */
  same: Same;
  /** Word that has to be typed, such as the name of what cannot be restored easily. */
  typed?: string | undefined;
  /** True if the change frees space that can be counted. */
  counts?: boolean;
  /** Field that a problem is about, by its code. */
  fields?: Record<string, string>;
  /** Called after the change. */
  onDone?: (() => void) | undefined;
  onClose: () => void;
  /** An explanation, and options of the change. */
  children?: JSX.Element;
}

export function DestroyDialog(props: DestroyProps): JSX.Element {
  const [typed, setTyped] = createSignal("");
  const foreseen = foresee(() => props.same, props.counts ?? false);
  const isTyped = () => props.typed === undefined || typed() === props.typed;
  return (
    <ChangeDialog
      title={props.title}
      verb={props.verb}
      danger
      onClose={props.onClose}
      ready={isTyped() && foreseen.answer()?.allowed === true}
      dirty={() => typed() !== ""}
      same={props.same}
      fields={props.fields ?? {}}
      after={() => props.onDone?.()}
    >
      {props.children}
      <EffectBox of={foreseen} counts={props.counts ?? false} />
      <Show when={props.typed}>
        {(word) => <TextField label={`Type ${word()} to confirm`} name="confirm" value={typed()} onInput={setTyped} />}
      </Show>
    </ChangeDialog>
  );
}

/** Words of a deletion: `noun` is that of the command line and of the sentence, such as `host group`. */
interface DeleteProps extends Omit<DestroyProps, "title" | "verb" | "same"> {
  noun: string;
  name: string;
  same: Omit<Same, "what" | "method">;
}

/** The dialog that deletes one object of any noun. */
export function DeleteDialog(props: DeleteProps): JSX.Element {
  return (
    <DestroyDialog
      {...props}
      title={`Delete ${props.name}`}
      verb={`Delete ${props.noun}`}
      same={{ what: `delete this ${props.noun}`, method: "DELETE", ...props.same }}
    />
  );
}
