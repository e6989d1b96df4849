// Questions to the array that change with what a person chooses: asked when the choice is still, and again while the array counts.

import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import { type Method, send } from "./client";
import { asFailure, type Failure } from "./failure";

/** Time without a change of the question after which the array is asked. */
const STILL_MS = 250;
/** Time after which it is asked again while it counts. */
const AGAIN_MS = 1500;

/** A question: a request that changes nothing. */
export interface Question {
  method: Method;
  path: string;
  body?: unknown;
}

export interface Asked<T> {
  /** The answer to the present question. */
  answer: Accessor<T | undefined>;
  /** Why there is none. */
  failure: Accessor<Failure | undefined>;
  retry: () => void;
}

/** Asks at once and after each change of the question. `counts`: the array still counts, so that it is asked again. */
export function asked<T>(question: Accessor<Question | undefined>, counts: (answer: T) => boolean): Asked<T> {
  const [answer, setAnswer] = createSignal<T>();
  const [failure, setFailure] = createSignal<Failure>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ending = new AbortController();
  const ask = async () => {
    const present = question();
    if (present === undefined) return;
    ending = new AbortController();
    const { signal } = ending;
    try {
      const found = await send<T>(present.method, present.path, present.body, signal);
      if (signal.aborted) return;
      setFailure(undefined);
      setAnswer(() => found);
      if (counts(found)) timer = setTimeout(() => void ask(), AGAIN_MS);
    } catch (error) {
      if (!signal.aborted) setFailure(asFailure(error));
    }
  };
  const stop = () => {
    clearTimeout(timer);
    ending.abort();
  };
  createEffect(
    on(
      () => JSON.stringify(question()),
      (_, before) => {
        stop();
        // An answer to an earlier question does not answer this one.
        setAnswer(undefined);
        setFailure(undefined);
        timer = setTimeout(() => void ask(), before === undefined ? 0 : STILL_MS);
      },
    ),
  );
  onCleanup(stop);
  return { answer, failure, retry: () => void ask() };
}
