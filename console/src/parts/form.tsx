// Fields of forms: a label, the field, a hint, and the error beside it. Shape is checked here; meaning by the array.

import { type Accessor, createContext, createSignal, createUniqueId, For, type JSX, Show, useContext } from "solid-js";
import "./form.css";

/** The array's error messages by field name. */
export const FieldErrors = createContext<Accessor<Record<string, string>>>(() => ({}));

interface FieldProps {
  label: string;
  name: string;
  hint?: JSX.Element;
  /** Error of form. */
  error?: string | undefined;
}

function Field(
  props: FieldProps & { children: (ids: { id: string; describedBy: string; invalid: boolean }) => JSX.Element },
): JSX.Element {
  const id = createUniqueId();
  const said = useContext(FieldErrors);
  const error = () => said()[props.name] ?? props.error;
  return (
    <div class="field" classList={{ wrong: error() !== undefined }}>
      <label for={id}>{props.label}</label>
      {props.children({
        id,
        describedBy: `${id}-hint`,
        get invalid() {
          return error() !== undefined;
        },
      })}
      <div id={`${id}-hint`}>
        <Show when={error()}>
          <p class="error">{error()}</p>
        </Show>
        <Show when={props.hint}>
          <p class="hint">{props.hint}</p>
        </Show>
      </div>
    </div>
  );
}

interface TextProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
  required?: boolean;
  type?: "text" | "password" | "number";
  multiline?: boolean;
  disabled?: boolean;
  /** What a browser may fill in. */
  complete?: "username" | "current-password" | "new-password";
}

export function TextField(props: TextProps): JSX.Element {
  return (
    <Field {...props}>
      {(ids) => (
        <Show
          when={props.multiline}
          fallback={
            <input
              id={ids.id}
              name={props.name}
              type={props.type ?? "text"}
              value={props.value}
              placeholder={props.placeholder}
              required={props.required}
              disabled={props.disabled}
              aria-describedby={ids.describedBy}
              aria-invalid={ids.invalid}
              autocomplete={props.complete ?? "off"}
              spellcheck={false}
              onInput={(event) => props.onInput(event.currentTarget.value)}
            />
          }
        >
          <textarea
            id={ids.id}
            name={props.name}
            rows={3}
            value={props.value}
            aria-describedby={ids.describedBy}
            aria-invalid={ids.invalid}
            spellcheck={false}
            onInput={(event) => props.onInput(event.currentTarget.value)}
          />
        </Show>
      )}
    </Field>
  );
}

interface ChoiceProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  options: { value: string; label: string }[];
}

export function ChoiceField(props: ChoiceProps): JSX.Element {
  return (
    <Field {...props}>
      {(ids) => (
        <select
          id={ids.id}
          name={props.name}
          aria-describedby={ids.describedBy}
          aria-invalid={ids.invalid}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        >
          <For each={props.options}>
            {(option) => (
              <option value={option.value} selected={option.value === props.value}>
                {option.label}
              </option>
            )}
          </For>
        </select>
      )}
    </Field>
  );
}

export function CheckField(props: {
  label: string;
  name: string;
  checked: boolean;
  onInput: (checked: boolean) => void;
  hint?: JSX.Element;
}): JSX.Element {
  const id = createUniqueId();
  return (
    <div class="field check">
      <label>
        <input
          type="checkbox"
          name={props.name}
          checked={props.checked}
          aria-describedby={`${id}-hint`}
          onInput={(event) => props.onInput(event.currentTarget.checked)}
        />
        {props.label}
      </label>
      <div id={`${id}-hint`}>
        <Show when={props.hint}>
          <p class="hint">{props.hint}</p>
        </Show>
      </div>
    </div>
  );
}

/** Largest file that the array takes. */
const MOST_BYTES = 8 * 2 ** 20;

/** A file of the reader's machine; `undefined` if it is too large. */
export function FileField(
  props: FieldProps & { accept: string; onInput: (file: File | undefined) => void },
): JSX.Element {
  const [large, setLarge] = createSignal(false);
  const choose = (file: File | undefined) => {
    setLarge(file !== undefined && file.size > MOST_BYTES);
    props.onInput(large() ? undefined : file);
  };
  return (
    <Field {...props} error={large() ? "The file has more than 8 MiB." : props.error}>
      {(ids) => (
        <input
          id={ids.id}
          name={props.name}
          type="file"
          accept={props.accept}
          aria-describedby={ids.describedBy}
          aria-invalid={ids.invalid}
          onChange={(event) => choose(event.currentTarget.files?.[0])}
        />
      )}
    </Field>
  );
}
