// A new password, typed twice.

import { createSignal, type JSX } from "solid-js";
import { TextField } from "./form";

/** Least length of a password in characters. */
const LEAST = 12;

/** What is typed. */
export interface TypedPassword {
  value: () => string;
  ready: () => boolean;
  first: () => string;
  setFirst: (value: string) => void;
  second: () => string;
  setSecond: (value: string) => void;
}

export function useNewPassword(): TypedPassword {
  const [first, setFirst] = createSignal("");
  const [second, setSecond] = createSignal("");
  return {
    value: first,
    ready: () => [...first()].length >= LEAST && first() === second(),
    first,
    setFirst,
    second,
    setSecond,
  };
}

export function NewPassword(props: { of: TypedPassword; label?: string }): JSX.Element {
  return (
    <>
      <TextField
        label={props.label ?? "Password"}
        name="new-password"
        type="password"
        complete="new-password"
        required
        value={props.of.first()}
        onInput={props.of.setFirst}
        error={
          props.of.second() !== "" && [...props.of.first()].length < LEAST ? `at least ${LEAST} characters` : undefined
        }
        hint={`At least ${LEAST} characters, not one of the common ones, and without the name.`}
      />
      <TextField
        label="The same again"
        name="again"
        type="password"
        complete="new-password"
        required
        value={props.of.second()}
        onInput={props.of.setSecond}
        error={
          props.of.second() !== "" && !props.of.first().startsWith(props.of.second())
            ? "this is not the same"
            : undefined
        }
      />
    </>
  );
}
